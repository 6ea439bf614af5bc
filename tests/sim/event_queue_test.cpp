#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/clock.h"

namespace bulkhead::sim {
namespace {

TEST(EventQueue, eventsOfOneCycleComeOutInTheOrderTheyWentIn) {
    EventQueue queue;
    for (std::uint32_t i = 0; i < 5; ++i) queue.push(7, EventKind::respond, i);
    ASSERT_EQ(queue.next(), 7u);
    queue.advance(7);
    Event event;
    for (std::uint32_t i = 0; i < 5; ++i) {
        ASSERT_TRUE(queue.popAt(7, event));
        EXPECT_EQ(event.subject, i);
    }
    EXPECT_FALSE(queue.popAt(7, event));
    EXPECT_EQ(queue.next(), kNever);
}

TEST(EventQueue, anEventPushedForThePresentCycleIsPoppedInIt) {
    EventQueue queue;
    queue.advance(100);
    queue.push(100, EventKind::inject, 3);
    Event event;
    ASSERT_TRUE(queue.popAt(100, event));
    EXPECT_EQ(event.subject, 3u);
}

TEST(EventQueue, agreesWithASortedListForNearAndFarEvents) {
    std::mt19937_64 random(1);
    EventQueue queue;
    std::vector<std::pair<Cycles, std::uint32_t>> expected, got;
    Cycles now = 0;
    std::uint32_t name = 0;
    // Times up to 20000 ahead: beyond the wheel's 4096 buckets.
    const auto push = [&] {
        const Cycles when = now + random() % (random() % 2 ? 50 : 20000);
        expected.emplace_back(when, name);
        queue.push(when, EventKind::smWake, name++);
    };
    for (int i = 0; i < 50; ++i) push();
    while (!queue.empty()) {
        now = queue.next();
        queue.advance(now);
        Event event;
        while (queue.popAt(now, event)) {
            got.emplace_back(now, event.subject);
            if (name < 3000) push();
        }
    }
    ASSERT_EQ(got.size(), expected.size());
    // Same times for the same events; the order of times is rising.
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end(), [](auto& a, auto& b) { return a.first < b.first; }));
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, expected);
}

TEST(ClockDomain, edgesShowInTheCoreCycleThatFollowsThem) {
    const ClockDomain memory(924, 700);  // 33 memory cycles in 25 core cycles
    EXPECT_EQ(memory.coreAt(1), 1u);     // 0.76
    EXPECT_EQ(memory.coreAt(2), 2u);     // 1.52
    EXPECT_EQ(memory.coreAt(32), 25u);   // 24.24
    EXPECT_EQ(memory.coreAt(33), 25u);
    EXPECT_EQ(memory.edgeAt(25), 32u);  // the first of the two that show there
    EXPECT_EQ(memory.edgeAt(26), 34u);
}

TEST(ClockDomain, theTwoDirectionsAgreeForFasterAndSlowerClocks) {
    for (const auto& [domain, core] : {std::pair{924, 700}, {1660, 1980}, {3201, 1980}, {700, 700}}) {
        const ClockDomain clock(domain, core);
        for (Cycles now = 0; now < 5000; ++now) {
            const std::uint64_t edge = clock.edgeAt(now);
            EXPECT_GE(clock.coreAt(edge), now);
            if (edge) {
                EXPECT_LT(clock.coreAt(edge - 1), now);
            }
        }
    }
}

TEST(ClockDomain, aFasterClockLosesNoEdges) {
    // Work of one edge each, started whenever it can be: 33 pieces in 25 core cycles.
    const ClockDomain memory(924, 700);
    std::uint64_t free = 0;
    int done = 0;
    for (Cycles now = 0; now < 2500; ++now) {
        while (memory.coreAt(std::max(memory.edgeAt(now), free)) <= now) {
            free = std::max(memory.edgeAt(now), free) + 1;
            ++done;
        }
    }
    EXPECT_NEAR(done, 3300, 2);
}

}  // namespace
}  // namespace bulkhead::sim
