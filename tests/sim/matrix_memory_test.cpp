// Fragments of matrices that a block reads and writes in global memory, beside its other accesses.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

constexpr int kElements = 16 * 16, kLanes = 32;

/// What each lane does to its words of the matrix at `base`: word `lane`, and every 32nd from there.
template <class Instruction>
std::string eachWord(const std::string& base, Instruction instruction) {
    std::string text = "add.u64 %rd5, " + base + ", %rd4;\n";
    for (int word = 0; word < kElements; word += kLanes) text += instruction(word, fmt::format("[%rd5+{}]", 4 * word));
    return text + "bar.sync 0;\n";
}

/// Fills the first buffer with 1, 2, ..., changes it by `change`, moves it to the second by way of a fragment, and from
/// there to the third. The second has zeros stored to it before.
std::string moves(const std::string& change) {
    const std::string fragment = "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}";
    return kernelText("mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; mov.u32 %r3, 16; mov.u32 %r4, 0;\n" +
                      eachWord("%rd2", [](int, const std::string& at) { return "st.global.u32 " + at + ", %r4;\n"; }) +
                      eachWord("%rd1",
                               [](int word, const std::string& at) {
                                   return fmt::format("add.u32 %r2, %r1, {}; st.global.u32 {}, %r2;\n", word + 1, at);
                               }) +
                      change + "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " + fragment + ", [%rd1], %r3;\n" +
                      "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], " + fragment +
                      ", %r3; bar.sync 0;\n" + "add.u64 %rd6, %rd3, %rd4;\n" +
                      eachWord("%rd2", [](int word, const std::string& at) {
                          return fmt::format("ld.global.u32 %r2, {}; st.global.u32 [%rd6+{}], %r2;\n", at, 4 * word);
                      }));
}

void expectMoved(const std::string& text, std::uint32_t more) {
    for (const Timing timing : {Timing::whole, Timing::functional}) {
        Machine::Options options;
        options.timing = timing;
        Harness h("h200", {}, options);
        const VirtualAddress from = h.buffer(4 * kElements), by = h.buffer(4 * kElements), to = h.buffer(4 * kElements);
        const LaunchId launch = h.run(text, {{1}, {kLanes}}, {from, by, to});
        ASSERT_EQ(h.gpu.record(launch).state, LaunchRecord::State::done);
        for (const VirtualAddress matrix : {from, by, to})
            for (std::uint32_t word = 0; word < kElements; ++word)
                ASSERT_EQ(h.data<std::uint32_t>(matrix, kElements)[word], word + 1 + more) << (matrix == by) << word;
    }
}

TEST(MatrixMemory, FragmentsHaveWhatTheBlockHasJustStored) {
    expectMoved(moves(""), 0);
}

TEST(MatrixMemory, FragmentsHaveWhatTheBlocksAtomicsHaveJustMade) {
    expectMoved(
        moves(eachWord("%rd1", [](int, const std::string& at) { return "red.global.add.u32 " + at + ", 5;\n"; })), 5);
}

}  // namespace
}  // namespace bulkhead::sim
