// Things by their number, until they are forgotten.

#include "sim/numbered.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bulkhead::sim {
namespace {

using Words = Numbered<std::string>;

std::vector<std::string> allOf(Words& words) {
    std::vector<std::string> all;
    words.each([&](const std::string& word) { all.push_back(word); });
    return all;
}

TEST(Numbered, NumbersGoUpFromOneAndAreNotUsedAgain) {
    Words words;
    EXPECT_FALSE(words.has(0));
    for (std::uint32_t n = 1; n <= 5; ++n) {
        EXPECT_EQ(words.next(), n);
        words.add(std::to_string(n));
    }
    for (const std::uint32_t n : {4u, 1u, 5u, 2u, 3u}) words.forget(n);
    EXPECT_EQ(words.next(), 6u);
    words.add("6");
    EXPECT_EQ(words[6], "6");
}

TEST(Numbered, WhatIsForgottenIsGoneAndTheRestStaysWhereItIs) {
    Words words;
    std::vector<const std::string*> at(1);
    for (int n = 1; n <= 100; ++n) at.push_back(&words.add(std::to_string(n)));
    for (std::uint32_t n = 1; n <= 100; ++n)
        if (n % 10 != 0) words.forget(n);
    for (int n = 101; n <= 1000; ++n) words.add(std::to_string(n));
    for (std::uint32_t n = 1; n <= 100; ++n) {
        ASSERT_EQ(words.has(n), n % 10 == 0);
        if (n % 10 == 0) {
            EXPECT_EQ(&words[n], at[n]);
            EXPECT_EQ(words.at(n), std::to_string(n));
        } else {
            EXPECT_THROW(words.at(n), Error);
        }
    }
    EXPECT_THROW(words.at(1001), Error);
    words.forget(7);
    words.forget(2000);
    EXPECT_EQ(allOf(words).size(), 910u);
    EXPECT_EQ(allOf(words).front(), "10");
}

}  // namespace
}  // namespace bulkhead::sim
