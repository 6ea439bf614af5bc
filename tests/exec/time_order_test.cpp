#include "sim/exec/time_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace bulkhead::sim {
namespace {

struct Note {
    Cycles when;
    int text;
};

using Visited = std::vector<std::tuple<Cycles, std::size_t, int>>;  ///< when, unit, text

Visited visitAll(TimeOrder<Note>& order) {
    Visited visited;
    order.visit([&](std::size_t unit, const Note& note) { visited.emplace_back(note.when, unit, note.text); });
    return visited;
}

TEST(TimeOrder, VisitsByCycleThenUnitThenAsNoted) {
    // What was noted, unit by unit, sorted by time alone with what is equal left as it is.
    std::vector<std::vector<Note>> units(7);
    Visited expected;
    std::uint32_t random = 1;
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
        Cycles when = 1'000'000 + unit * 3;
        for (int text = 0; text < 50; ++text) {
            random = random * 1664525 + 1013904223;
            when += random >> 30;
            units[unit].push_back({when, text});
            expected.emplace_back(when, unit, text);
        }
    }
    std::ranges::stable_sort(expected, {}, [](const auto& note) { return std::get<0>(note); });

    TimeOrder<Note> order;
    for (std::size_t unit = 0; unit < units.size(); ++unit) order.add(unit, units[unit]);
    EXPECT_EQ(visitAll(order), expected);
    EXPECT_TRUE(visitAll(order).empty()) << "they are forgotten";
}

TEST(TimeOrder, LeavesOutUnitsThatNotedNothing) {
    const std::vector<Note> nothing, some = {{5, 1}, {9, 2}};
    TimeOrder<Note> order;
    order.add(0, nothing);
    order.add(1, some);
    EXPECT_EQ(visitAll(order), (Visited{{5, 1, 1}, {9, 1, 2}}));
}

}  // namespace
}  // namespace bulkhead::sim
