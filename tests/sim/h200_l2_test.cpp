// What an H200 reads from and writes to DRAM where its L2 cache is nearly full: results/h200/l2-capacity.json.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

/// A thread a word of arrays at %rd1, %rd2 and %rd3.
std::string ofEachWord(const std::string& body) {
    return kernelText(
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 256, %r2; mul.wide.u32 %rd4, %r3, 4;\n"
        "add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; add.u64 %rd7, %rd3, %rd4;\n" +
        body);
}

const std::string kRead = ofEachWord("ld.global.f32 %f1, [%rd5]; add.f32 %f2, %f1, %f1;");
const std::string kWrite = ofEachWord("mov.f32 %f1, 0f3f800000; st.global.f32 [%rd5], %f1;");
const std::string kAdd = ofEachWord(
    "ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6]; add.f32 %f3, %f1, %f2; st.global.f32 [%rd7], %f3;");

struct OnTheCard {
    const char* name;
    const std::string& kernel;
    Bytes bytes;                  ///< of an array
    double megabytesByLaunch[2];  ///< to and from DRAM
};

class H200L2 : public ::testing::TestWithParam<OnTheCard> {};

TEST_P(H200L2, movesAsMuchAsTheCard) {
    Harness h("h200");
    const VirtualAddress arrays[] = {h.buffer(64_MiB), h.buffer(64_MiB), h.buffer(64_MiB)};
    const VirtualAddress others = h.buffer(64_MiB);
    const auto launch = [&](const std::string& kernel, Bytes bytes, std::vector<std::uint64_t> arguments) {
        const Harness::Shape shape{{static_cast<std::uint32_t>(bytes / 1024)}, {256}, 0, {}, 0};
        return 1e-6 * static_cast<double>(h.gpu.counters(h.run(kernel, shape, arguments)).bytesDram);
    };
    launch(kRead, 64_MiB, {others, others, others});  // L2 is full of what nobody wants
    for (const double measured : GetParam().megabytesByLaunch) {
        const double moved = launch(GetParam().kernel, GetParam().bytes, {arrays[0], arrays[1], arrays[2]});
        EXPECT_NEAR(moved, measured, 0.2 * measured + 0.1);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, H200L2,
                         ::testing::Values(OnTheCard{"reads40", kRead, 40_MiB, {41.98, 13.13}},
                                           OnTheCard{"writes32", kWrite, 32_MiB, {3.38, 26.52}},
                                           OnTheCard{"adds16", kAdd, 16_MiB, {36.16, 45.93}}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bulkhead::sim
