// Barriers of kernels rewritten to persistent blocks, whose threads may leave before others come to them: the result is
// that of the kernel as it was, or there is none.

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "persistent_walls.h"

namespace bulkhead::sim::test {
namespace {

constexpr unsigned kThreads = 96, kBlocks = 7, kRows = 40;

/// Writes kernels at random, in which threads tell each other what they have by way of shared memory, in rows with a
/// barrier each, and leave or drop out in many ways. A thread that has passed by a barrier comes to none again, as
/// CUDA has it; so what a kernel gives does not depend on who is faster.
class Shapes {
  public:
    explicit Shapes(unsigned seed) : random_(seed) {}

    std::string module() {
        std::string body =
            "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0; mad.lo.u32 %r4, %r2, 7919, %r1;\n"
            "shl.b32 %r5, %r1, 2; mov.u32 %r20, tile; add.u32 %r5, %r5, %r20; mov.u32 %r6, 0; mov.u32 %r7, %r5;\n"
            "mad.lo.u32 %r8, %r1, 5, 1; rem.u32 %r8, %r8, " +
            n(kThreads) +
            "; sub.u32 %r8, %r8, %r1; shl.b32 %r8, "
            "%r8, 2;\nmad.lo.u32 %r9, %r2, " +
            n(kThreads) +
            ", %r1; mul.wide.u32 %rd4, %r9, 4; add.u64 %rd4, %rd1, "
            "%rd4;\nCLEAR: st.shared.u32 [%r7], %r6; add.u32 %r7, %r7, " +
            n(4 * kThreads) + "; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, " + n(kRows) + "; @%p1 bra CLEAR;\n" +
            barrier() + "\n";
        const unsigned statements = upTo(5);
        for (unsigned i = 0; i <= statements; ++i) body += statement();
        body += last();
        return head() +
               "\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
               ".reg .pred %p<16>; .reg .b32 %r<100>; .reg .b64 %rd<100>;\n"
               "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n" +
               body + "DONE: st.global.u32 [%rd4], %r4;\nEND: ret;\n}\n";
    }

  private:
    static std::string n(unsigned value) { return std::to_string(value); }
    unsigned upTo(unsigned most) { return static_cast<unsigned>(random_() % (most + 1)); }
    std::string label() { return "L" + n(labels_++); }

    /// A function that comes to a barrier, one that some threads return from before, one that calls another.
    static std::string head() {
        return ".version 6.3\n.target sm_70\n.address_size 64\n.shared .align 4 .b8 tile[" + n(4 * kRows * kThreads) +
               "];\n.func meet()\n{\nbar.sync 0; ret;\n}\n"
               ".func meetSome(.param .b32 leaves)\n{\n.reg .pred %p; .reg .b32 %r;\nld.param.u32 %r, [leaves]; "
               "setp.ne.u32 %p, %r, 0; @%p ret; bar.sync 0; ret;\n}\n"
               ".func meetDeep()\n{\ncall meet; ret;\n}\n";
    }

    std::string barrier() {
        static const char* const kWays[] = {"bar.sync 0;", "barrier.sync 0;",
                                            "bar.sync 3;", "mov.u32 %r30, 0; bar.sync %r30;",
                                            "call meet;",  "call meetDeep;"};
        return kWays[upTo(usesFunctions_ ? 5 : 2)];
    }

    /// Writes what a thread has into its row, waits, and adds what its neighbour has.
    std::string step() {
        return "st.shared.u32 [%r5], %r4; " + barrier() +
               " add.u32 %r10, %r5, %r8; ld.shared.u32 %r11, [%r10]; mad.lo.u32 %r4, %r4, 31, %r11; add.u32 %r5, "
               "%r5, " +
               n(4 * kThreads) + ";\n";
    }

    /// Puts into %p1 what differs between threads, in whole warps or within them.
    std::string some() {
        const std::string c = n(upTo(kThreads)), m = n(upTo(6) + 2), v = n(upTo(3));
        switch (upTo(5)) {
            case 0:
                return "setp.lt.u32 %p1, %r1, " + c + "; ";
            case 1:
                return "setp.ge.u32 %p1, %r1, " + c + "; ";
            case 2:
                return "shr.u32 %r12, %r1, 5; setp.eq.u32 %p1, %r12, " + v + "; ";
            case 3:
                return "add.u32 %r12, %r1, %r2; rem.u32 %r12, %r12, " + m + "; setp.eq.u32 %p1, %r12, 0; ";
            case 4:
                return "shr.u32 %r12, %r1, 5; add.u32 %r12, %r12, %r2; and.b32 %r12, %r12, 3; setp.eq.u32 %p1, %r12, " +
                       v + "; ";
            default:
                return "mad.lo.u32 %r12, %r2, 40, " + c + "; setp.gt.u32 %p1, %r1, %r12; ";
        }
    }

    std::string leave() {
        const std::string over = label();
        switch (upTo(4)) {
            case 0:
                return some() + "@%p1 st.global.u32 [%rd4], %r4; @%p1 ret;\n";
            case 1:
                return some() + "@%p1 st.global.u32 [%rd4], %r4; @%p1 exit;\n";
            case 2:
                return some() + "@!%p1 bra " + over + "; st.global.u32 [%rd4], %r4; ret;\n" + over + ":\n";
            case 3:
                return some() + "@%p1 bra DONE;\n";
            default:
                return some() + "selp.u32 %r13, 1, 0, %p1;\nT" + over + ": .branchtargets " + over +
                       ", DONE;\nbrx.idx %r13, T" + over + ";\n" + over + ":\n";
        }
    }

    std::string leaveOrNot() { return upTo(1) ? leave() : ""; }

    /// What is the same for the block, as the analysis can see or not.
    std::string same() {
        switch (upTo(2)) {
            case 0:
                return "and.b32 %r14, %r2, 3; ";
            case 1:
                return "ld.global.u32 %r14, [%rd2]; and.b32 %r14, %r14, 3; ";
            default:
                return "mov.u32 %r14, " + n(upTo(3)) + "; ";
        }
    }

    std::string statement() {
        const std::string over = label();
        switch (upTo(3)) {
            case 0:
                return leave();
            case 1:
                return step();
            case 2:
                return same() + "mov.u32 %r15, 0;\n" + over + ": setp.ge.u32 %p2, %r15, %r14; @%p2 bra E" + over +
                       ";\n" + leaveOrNot() + step() + "add.u32 %r15, %r15, 1; bra " + over + ";\nE" + over + ":\n";
            default:
                return same() + "setp.eq.u32 %p2, %r14, 1; @%p2 bra " + over + ";\n" + leaveOrNot() + step() + over +
                       ":\n";
        }
    }

    /// After which no thread comes to a barrier.
    std::string last() {
        const std::string over = label();
        switch (upTo(usesFunctions_ ? 3 : 2)) {
            case 0:
                return "";
            case 1:
                return "add.u32 %r16, %r1, %r2; rem.u32 %r16, %r16, " + n(upTo(6) + 1) + "; mov.u32 %r15, 0;\n" + over +
                       ": setp.ge.u32 %p2, %r15, %r16; @%p2 bra DONE;\n" + step() + "add.u32 %r15, %r15, 1; bra " +
                       over + ";\n";
            case 2:
                return some() + "@%p1 bra DONE;\n" + step();
            default:
                return some() +
                       "selp.u32 %r13, 1, 0, %p1; st.shared.u32 [%r5], %r4;\n{ .param .b32 q; st.param.b32 [q], "
                       "%r13; call meetSome, (q); }\n@%p1 bra DONE;\nadd.u32 %r10, %r5, %r8; ld.shared.u32 %r11, "
                       "[%r10]; mad.lo.u32 %r4, %r4, 31, %r11;\n";
        }
    }

    std::mt19937 random_;
    unsigned labels_ = 0;
    bool usesFunctions_ = upTo(1) != 0;
};

std::vector<std::uint32_t> words(Harness& h, VirtualAddress at, std::size_t count) {
    const std::uint32_t* first = h.data<std::uint32_t>(at, count);
    return {first, first + count};
}

constexpr std::size_t kWords = std::size_t{kThreads} * kBlocks;

struct Outcome {
    std::vector<std::uint32_t> result;
    std::string error;
};

Outcome plain(const std::string& text) {
    Harness h("gtx1080");
    const VirtualAddress result = h.buffer(4 * kWords), same = h.buffer(4);
    *h.data<std::uint32_t>(same) = 2;
    const LaunchRecord record = h.gpu.record(h.run(text, {{kBlocks}, {kThreads}}, {result, same}));
    return {words(h, result, kWords), record.error ? record.error->what() : ""};
}

Outcome inside(const std::string& text) {
    Walls w;
    w.allow({2});
    const VirtualAddress result = w.h.buffer(4 * kWords), same = w.h.buffer(4);
    *w.h.data<std::uint32_t>(same) = 2;
    const LaunchRecord record = w.run(text, {kBlocks, 1, 1}, {kThreads, 1, 1}, {result, same}, 40);
    return {words(w.h, result, kWords), record.error ? record.error->what() : ""};
}

TEST(PersistentBarriers, AnyShapeOfKernelGivesWhatItGave) {
    unsigned refused = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        const std::string text = Shapes(seed).module();
        const ptx::PersistentModule walled = withPersistentBlocks(ptx::parse(text, "test.ptx"));
        if (!walled.refused.empty()) {
            EXPECT_NE(walled.refused.at("k").find("would not meet again"), std::string::npos) << walled.refused.at("k");
            ++refused;
            continue;
        }
        const Outcome expected = plain(text), found = inside(walled.text);
        ASSERT_EQ(expected.error, "") << text;
        ASSERT_EQ(found.error, "") << "seed " << seed << "\n" << text;
        ASSERT_EQ(found.result, expected.result) << "seed " << seed << "\n" << text;
    }
    EXPECT_LT(refused, 100u) << "a guarded return where the analysis cannot see that all lanes go the same way";
}

/// As if the analysis had shown of every kernel that all its threads come to all barriers.
TEST(PersistentBarriers, AMistakeAboutBarriersGivesAnErrorAndNoResult) {
    ptx::PersistentOptions trusting;
    trusting.trustBarriers = true;
    unsigned errors = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        const std::string text = Shapes(seed).module();
        const ptx::PersistentModule walled = withPersistentBlocks(ptx::parse(text, "test.ptx"), trusting);
        if (!walled.refused.empty()) continue;
        const Outcome found = inside(walled.text);
        if (found.error.empty()) {
            ASSERT_EQ(found.result, plain(text).result) << "seed " << seed << "\n" << text;
        } else {
            EXPECT_NE(found.error.find("barrier that can never complete"), std::string::npos) << found.error;
            ++errors;
        }
    }
    EXPECT_GT(errors, 100u) << "kernels that went wrong at all";
}

}  // namespace
}  // namespace bulkhead::sim::test
