#include "sim/sm/functional_units.h"

#include <gtest/gtest.h>

namespace bulkhead::sim {
namespace {

constexpr unsigned kAlu = static_cast<unsigned>(arch::Unit::alu), kLdst = static_cast<unsigned>(arch::Unit::ldst);

FunctionalUnits twoAlusOneLdst() {
    std::array<std::size_t, arch::kUnits> counts{};
    counts.fill(1);
    counts[kAlu] = 2;
    return FunctionalUnits(counts);
}

TEST(FunctionalUnits, AKindIsFreeUntilAllOfItAreBusy) {
    FunctionalUnits units = twoAlusOneLdst();
    units.occupy(kAlu, 12);
    EXPECT_EQ(units.freeAt(kAlu), 0u);
    units.occupy(kAlu, 11);
    EXPECT_EQ(units.freeAt(kAlu), 11u);
    EXPECT_EQ(units.freeAt(kLdst), 0u);
    units.occupy(kAlu, 20);  // the one that is free at 11
    EXPECT_EQ(units.freeAt(kAlu), 12u);
}

TEST(FunctionalUnits, OneThatTakesLongerIsFreeLater) {
    FunctionalUnits units = twoAlusOneLdst();
    units.occupy(kLdst, 5);
    units.prolong(kLdst, 5, 9);
    EXPECT_EQ(units.freeAt(kLdst), 9u);
    units.prolong(kLdst, 9, 7);
    EXPECT_EQ(units.freeAt(kLdst), 9u) << "never earlier";
    units.occupy(kAlu, 5);
    units.occupy(kAlu, 6);
    units.prolong(kAlu, 5, 30);
    EXPECT_EQ(units.freeAt(kAlu), 6u);
}

}  // namespace
}  // namespace bulkhead::sim
