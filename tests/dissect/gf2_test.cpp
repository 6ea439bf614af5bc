#include "dissect/gf2.h"

#include <gtest/gtest.h>

namespace bulkhead::dissect {
namespace {

Mask bits(std::initializer_list<unsigned> list) {
    Mask m = 0;
    for (unsigned b : list) m |= Mask{1} << b;
    return m;
}

// The functions published for GTX 1070 and 1080.
const std::vector<Mask> kModule = {bits({10, 12, 16, 20, 23, 26, 29, 30}),
                                   bits({11, 12, 13, 15, 17, 20, 21, 23, 25, 26, 30}),
                                   bits({12, 13, 18, 19, 22, 25, 26, 27, 30, 31})};
const std::vector<Mask> kBankOnly = {bits({13, 15, 20, 24, 26, 29, 32}), bits({15, 16, 21, 22, 23, 25, 26, 28, 29}),
                                     bits({16, 19, 23, 27, 30}), bits({17, 20, 22, 23, 24, 27, 28, 29, 31})};
const std::vector<Mask> kSetOnly = {bits({7, 8, 16, 17, 23, 26, 31}),
                                    bits({8, 10, 12, 16, 17, 21, 24, 25, 26, 27}),
                                    bits({9, 10, 18, 25, 29, 30, 31}),
                                    bits({13, 14, 20, 23, 28, 29, 30}),
                                    bits({14, 15, 17, 20, 21, 23, 24, 28, 31}),
                                    bits({15, 16, 19, 20, 23, 24, 25, 26, 28, 29, 30, 32}),
                                    bits({16, 17, 18, 19, 21, 22, 23, 25, 27, 28, 30})};

TEST(Subspace, DoesNotDependOnTheBasisItWasMadeFrom) {
    EXPECT_EQ(Subspace({0b011, 0b110}), Subspace({0b101, 0b011, 0b110}));
    EXPECT_NE(Subspace({0b011}), Subspace({0b110}));
}

TEST(Subspace, TheOrthogonalOfTheOrthogonalIsTheSpan) {
    const Mask all = bitRange(7, 33);
    const Subspace span(kSetOnly);
    const Subspace kernel = span.orthogonal(all);
    EXPECT_EQ(kernel.dimension(), 26 - span.dimension());
    for (Mask k : kernel.basis())
        for (Mask f : kSetOnly) EXPECT_FALSE(parity(k & f));
    EXPECT_EQ(kernel.orthogonal(all), span);
}

TEST(Subspace, BankAndSetFunctionsOfPascalMeetInTheModule) {
    const Subspace module(kModule);
    const Subspace bank = sum(module, Subspace(kBankOnly)), set = sum(module, Subspace(kSetOnly));
    EXPECT_EQ(bank.dimension(), 7u);
    EXPECT_EQ(set.dimension(), 10u);
    EXPECT_EQ(intersection(bank, set), module);
}

TEST(Subspace, WithoutKeepsTheVectorsThatAvoidBits) {
    // Pages of 4 KB on Pascal: one combination of the three module functions uses no bit below 12.
    EXPECT_EQ(Subspace(kModule).without(bitRange(0, 12)).dimension(), 1u);
    EXPECT_EQ(Subspace(kModule).without(bitRange(0, 11)).dimension(), 2u);
    EXPECT_EQ(Subspace(kModule).without(bitRange(0, 16)).dimension(), 0u);
}

TEST(Gf2, DualFunctionsPickOneVectorEach) {
    const std::vector<Mask> vectors = {0b00110, 0b01100, 0b10001};
    const Subspace kernel({0b11111});
    const std::vector<Mask> functions = dualFunctions(vectors, kernel, 0b11111);
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        EXPECT_FALSE(parity(functions[i] & 0b11111));
        for (std::size_t j = 0; j < vectors.size(); ++j) EXPECT_EQ(parity(functions[i] & vectors[j]), i == j);
    }
}

}  // namespace
}  // namespace bulkhead::dissect
