// What each replacement policy does, one behaviour at a time: on a single set, against sequences worked out by hand;
// and what a simulated GPU shows of it.

#include "sim/mem/replacement_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "harness.h"
#include "sim/mem/cache_tags.h"

namespace bulkhead::sim {
namespace {

using Replacement = arch::DeviceProfile::Replacement;

/// One set that is read. Lines are named by letters.
class Set {
  public:
    Set(Replacement replacement, std::uint32_t ways) : tags_(1, ways, replacement) {}

    /// The line that it replaces; '-' if there is none: a hit, or room.
    char read(char line) {
        std::uint32_t way = tags_.find(0, static_cast<std::uint64_t>(line));
        if (way != CacheTags::kNoWay) {
            tags_.use(0, way);
            return '-';
        }
        way = tags_.victim(0);
        const std::uint64_t before = tags_.line(way);
        tags_.place(0, way, static_cast<std::uint64_t>(line), 0);
        return before == CacheTags::kNoLine ? '-' : static_cast<char>(before);
    }
    /// What every read replaces.
    std::string reads(const std::string& lines) {
        std::string replaced;
        for (const char line : lines) replaced += read(line);
        return replaced;
    }
    bool holds(char line) const { return tags_.find(0, static_cast<std::uint64_t>(line)) != CacheTags::kNoWay; }
    CacheTags& tags() { return tags_; }

  private:
    CacheTags tags_;
};

TEST(Replacement, LruKeepsWhatWasUsed) {
    Set set(Replacement::lru, 3);
    EXPECT_EQ(set.reads("ABC"
                        "A"
                        "D"
                        "E"),
              "----BC");
}

TEST(Replacement, FifoDoesNotCareWhatWasUsed) {
    Set set(Replacement::fifo, 3);
    EXPECT_EQ(set.reads("ABC"
                        "A"
                        "D"
                        "E"),
              "----AB");
}

TEST(Replacement, TreePlruGoesToTheHalfThatWasNotUsedLast) {
    // A B | C D, read in this order: the root points left, both nodes below it too. Another read of A turns the root to
    // the right half, whose node points to C; LRU would replace B.
    Set set(Replacement::treePlru, 4);
    EXPECT_EQ(set.reads("ABCD"
                        "A"
                        "E"),
              "-----C");
    // E, in C's place, was used last, so the root points left; of A and B, A was used last.
    EXPECT_EQ(set.read('F'), 'B');
}

TEST(Replacement, TreePlruHasAnyNumberOfWays) {
    // A B | C: the right half of the lower right node has no way.
    Set set(Replacement::treePlru, 3);
    EXPECT_EQ(set.reads("ABC"
                        "D"),
              "---A");
    EXPECT_EQ(set.read('E'), 'C');
    EXPECT_EQ(set.read('F'), 'B');
}

TEST(Replacement, SrripKeepsWhatIsUsedAgainThroughAScan) {
    // After ABCD and AB the lines are expected in 0 0 2 2, the scan comes in with 2: C and D go, then E and F, when A
    // and B are at 2; only the fifth line of the scan finds all four at 2, and A goes as the first of them.
    Set set(Replacement::srrip, 4);
    EXPECT_EQ(set.reads("ABCD"
                        "AB"),
              "------");
    EXPECT_EQ(set.reads("EFGHI"), "CDEFA");
    // LRU loses both to the third and fourth.
    Set lru(Replacement::lru, 4);
    lru.reads(
        "ABCD"
        "AB");
    EXPECT_EQ(lru.reads("EFGH"), "CDAB");
}

TEST(Replacement, RandomTakesEveryWayEquallyOftenAndTheSameInEveryRun) {
    std::string replaced[2];
    for (std::string& run : replaced) {
        Set set(Replacement::random, 4);
        std::map<std::uint32_t, int> ways;
        set.reads("ABCD");
        for (int i = 0; i < 4000; ++i) {
            const std::uint32_t way = set.tags().victim(0);
            ++ways[way];
            run += static_cast<char>('0' + way);
        }
        // 1,000 each, with a standard deviation of 27.
        for (const auto& [way, times] : ways) EXPECT_NEAR(times, 1000, 5 * 27) << way;
        EXPECT_EQ(ways.size(), 4u);
    }
    EXPECT_EQ(replaced[0], replaced[1]);
}

class EveryPolicy : public ::testing::TestWithParam<std::size_t> {
  protected:
    Replacement policy() const { return static_cast<Replacement>(GetParam()); }
};

TEST_P(EveryPolicy, LosesNothingThatFits) {
    Set set(policy(), 6);
    for (int round = 0; round < 20; ++round) EXPECT_EQ(set.reads("ABCDEF"), "------");
}

TEST_P(EveryPolicy, NeverReplacesWhatIsUnderWay) {
    Set set(policy(), 5);
    set.reads("ABCDE");
    for (std::uint32_t way = 0; way < 5; ++way)
        if (way != 3) set.tags().state(way).pending = 1;
    for (int i = 0; i < 50; ++i) EXPECT_EQ(set.tags().victim(0), 3u);
    set.tags().state(3).pending = 1;
    EXPECT_EQ(set.tags().victim(0), CacheTags::kNoWay);
}

TEST_P(EveryPolicy, KeepsSetsApart) {
    CacheTags tags(2, 2, policy());
    for (std::uint64_t line = 0; line < 2; ++line) tags.place(0, tags.victim(0), line, 0);
    for (std::uint64_t line = 10; line < 30; ++line) tags.place(1, tags.victim(1), line, 0);
    EXPECT_NE(tags.find(0, 0), CacheTags::kNoWay);
    EXPECT_NE(tags.find(0, 1), CacheTags::kNoWay);
    EXPECT_EQ(tags.victim(1) / 2, 1u);
}

INSTANTIATE_TEST_SUITE_P(Replacement, EveryPolicy, ::testing::Range(std::size_t{0}, replacementPolicies().size()),
                         [](const auto& info) {
                             std::string name(replacementPolicies()[info.param].name);
                             std::erase(name, '-');
                             return name;
                         });

// ---- on a GPU

constexpr test::Harness::Shape kOneThread{{1}, {1}};

/// Lines of one set of L2.
std::vector<VirtualAddress> linesOfOneL2Set(test::Harness& h, std::size_t count) {
    const auto& map = h.gpu.profile().map;
    const VirtualAddress area = h.buffer(256_MiB);
    const auto& space = h.gpu.memory(h.context).space();
    const auto home = map.locate(space.physical(area));
    std::vector<VirtualAddress> lines;
    for (VirtualAddress at = area; lines.size() < count; at += 128) {
        const auto where = map.locate(space.physical(at));
        if (where.slice == home.slice && where.set == home.set) lines.push_back(at);
    }
    return lines;
}

/// Fills a set, reads its first line again, then one more line, and the first one a third time.
std::string firstLineTwiceAndOneTooMany(const std::vector<VirtualAddress>& lines, const std::string& load) {
    std::vector<VirtualAddress> order(lines);
    order.insert(order.end() - 1, lines.front());
    order.push_back(lines.front());
    std::string text;
    for (const VirtualAddress line : order)
        text += "mov.u64 %rd4, " + std::to_string(line) + "; " + load + " %r1, [%rd4]; add.s32 %r2, %r1, %r2;\n";
    return test::kernelText(text);
}

TEST(Replacement, OfL1IsTheProfiles) {
    // 16 KB, 4 ways, 32 sets; linear index: lines 4 KB apart share a set.
    for (const auto& [policy, misses] : std::map<std::string, std::uint64_t>{{"lru", 5}, {"fifo", 6}}) {
        test::Harness h("gtx480", {"l1.setHash=linear", "l1.replacement=" + policy});
        const VirtualAddress area = h.buffer(1_MiB);
        std::vector<VirtualAddress> lines;
        for (VirtualAddress i = 0; i < 5; ++i) lines.push_back(area + 4096 * i);
        const LaunchId launch = h.run(firstLineTwiceAndOneTooMany(lines, "ld.global.u32"), kOneThread);
        EXPECT_EQ(h.gpu.counters(launch).l1Misses, misses) << policy;
    }
}

TEST(Replacement, OfL2IsTheProfiles) {
    for (const auto& [policy, misses] : std::map<std::string, std::uint64_t>{{"lru", 17}, {"fifo", 18}}) {
        test::Harness h("gtx1080", {"l2.replacement=" + policy});
        ASSERT_EQ(h.gpu.profile().l2.ways, 16);
        const std::vector<VirtualAddress> lines = linesOfOneL2Set(h, 17);
        const LaunchId launch = h.run(firstLineTwiceAndOneTooMany(lines, "ld.global.cg.u32"), kOneThread);
        EXPECT_EQ(h.gpu.counters(launch).l2Misses, misses) << policy;
    }
}

TEST(Replacement, ALoopOverOneLineTooManyHitsOnlyWhereItIsRandom) {
    for (const std::string policy : {"lru", "fifo", "random"}) {
        test::Harness h("gtx480", {"l1.setHash=linear", "l1.replacement=" + policy});
        const VirtualAddress area = h.buffer(1_MiB);
        std::string round;
        for (int i = 0; i < 5; ++i)
            round += "ld.global.u32 %r1, [%rd1+" + std::to_string(4096 * i) + "]; add.s32 %r2, %r1, %r2;\n";
        const LaunchId launch = h.run(test::kernelText(test::repeat(20, round)), kOneThread, {area});
        const std::uint64_t hits = h.gpu.counters(launch).l1Hits;
        if (policy == "random") {
            // A line is still there if none of the up to four replacements since took its way: about a third.
            EXPECT_GT(hits, 20u);
            EXPECT_LT(hits, 60u);
        } else {
            EXPECT_EQ(hits, 0u) << policy;
        }
    }
}

}  // namespace
}  // namespace bulkhead::sim
