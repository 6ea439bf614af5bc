// What an H200 reads from and writes to DRAM where its L2 cache is nearly full: results/h200/l2-capacity.json, and what
// stays in it of windows that persist: results/h200/l2-persisting.json.

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

/// Bytes to and from DRAM while an array is read.
double readAll(Harness& h, VirtualAddress array, Bytes bytes, const AccessWindow& window = {}) {
    const Harness::Shape shape{{static_cast<std::uint32_t>(bytes / 1024)}, {256}, 0, {}, 0, window};
    return static_cast<double>(h.gpu.counters(h.run(kRead, shape, {array, array, array})).bytesDram);
}

/// A window is read, then 64 MiB of something else, then the window again.
struct Persisting {
    const char* name;
    double setAside;  ///< MiB
    Bytes bytes;      ///< of the window
    AccessWindow how;
    double kept;  ///< of the window's lines, on the card
};

class H200PersistingL2 : public ::testing::TestWithParam<Persisting> {};

TEST_P(H200PersistingL2, keepsAsMuchAsTheCard) {
    const Persisting& p = GetParam();
    Harness h("h200");
    const VirtualAddress window = h.buffer(p.bytes), others = h.buffer(64_MiB);
    h.gpu.setPersistingL2(static_cast<Bytes>(p.setAside * 1_MiB));
    AccessWindow how = p.how;
    how.begin = window;
    how.bytes = p.bytes;
    readAll(h, window, p.bytes, how);
    readAll(h, others, 64_MiB);
    EXPECT_NEAR(1 - readAll(h, window, p.bytes) / static_cast<double>(p.bytes), p.kept, 0.1);
}

INSTANTIATE_TEST_SUITE_P(
    Windows, H200PersistingL2,
    ::testing::Values(
        Persisting{"none", 18.75, 8_MiB, {0, 0, 0, Retention::normal, Retention::normal}, 0},
        Persisting{"nothingSetAside", 0, 8_MiB, {0, 0, 1, Retention::persisting, Retention::normal}, 0.46},
        Persisting{"fits", 18.75, 8_MiB, {0, 0, 1, Retention::persisting, Retention::normal}, 0.99},
        Persisting{"half", 18.75, 8_MiB, {0, 0, 0.5, Retention::persisting, Retention::normal}, 0.55},
        Persisting{"isTooLarge", 18.75, 32_MiB, {0, 0, 1, Retention::persisting, Retention::normal}, 0.59}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(H200L2Windows, StreamingLinesLeaveOthersWhereTheyAre) {
    // On the card 8 MiB stay beside 64 MiB with the streaming property (1.00 of them), and none of them without.
    for (const bool streaming : {false, true}) {
        Harness h("h200");
        const VirtualAddress mine = h.buffer(8_MiB), others = h.buffer(64_MiB);
        readAll(h, mine, 8_MiB);
        readAll(h, others, 64_MiB, {others, streaming ? 64_MiB : 0, 1, Retention::streaming, Retention::streaming});
        EXPECT_NEAR(readAll(h, mine, 8_MiB) / 8_MiB, streaming ? 0 : 1, 0.05);
    }
}

TEST(H200L2Windows, LinesThatPersistAreLikeOthersAfterAReset) {
    Harness h("h200");
    const VirtualAddress mine = h.buffer(8_MiB), others = h.buffer(64_MiB);
    h.gpu.setPersistingL2(16_MiB);
    readAll(h, mine, 8_MiB, {mine, 8_MiB, 1, Retention::persisting, Retention::normal});
    h.gpu.resetPersistingL2();
    readAll(h, others, 64_MiB);
    EXPECT_NEAR(readAll(h, mine, 8_MiB) / 8_MiB, 1, 0.05);
}

}  // namespace
}  // namespace bulkhead::sim
