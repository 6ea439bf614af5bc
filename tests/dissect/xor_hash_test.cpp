#include "dissect/xor_hash.h"

#include <gtest/gtest.h>

namespace bulkhead::dissect {
namespace {

/// Pairs collide where all functions of a hidden hash agree; some answers are wrong.
class HiddenHash final : public PairOracle {
  public:
    HiddenHash(Subspace functions, Mask addressBits, double wrong, std::uint64_t seed)
        : functions_(std::move(functions)), bits_(addressBits), wrong_(wrong), noise_(seed) {}

    AddressPair randomPair(Random& random) override { return {random.next() & bits_, random.next() & bits_}; }
    bool pairWithDifference(Mask difference, Random& random, AddressPair& pair) override {
        pair.first = random.next() & bits_;
        pair.second = pair.first ^ difference;
        return true;
    }
    std::vector<bool> collide(std::span<const AddressPair> pairs) override {
        std::vector<bool> answers;
        for (const AddressPair& p : pairs) {
            bool same = true;
            for (Mask f : functions_.basis()) same &= !parity(f & (p.first ^ p.second));
            answers.push_back(same != (noise_.uniform() < wrong_));
        }
        return answers;
    }

  private:
    Subspace functions_;
    Mask bits_;
    double wrong_;
    Random noise_;
};

Subspace randomFunctions(Random& random, std::size_t count, Mask bits) {
    Subspace functions;
    while (functions.dimension() < count) functions.add(random.next() & bits);
    return functions;
}

TEST(XorHash, RandomHashesAreFoundExactlyWithTwoPercentOfAnswersWrong) {
    const Mask bits = bitRange(7, 33);
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        Random random(seed);
        const Subspace hidden = randomFunctions(random, 3 + seed % 8, bits);
        HiddenHash oracle(hidden, bits, 0.02, seed);
        XorHashOptions options;
        options.bits = bits;
        options.seed = seed;
        const XorHash found = recoverXorHash(oracle, options);
        ASSERT_TRUE(found.decided) << found.evidence;
        EXPECT_EQ(found.functions, hidden) << "seed " << seed;
        EXPECT_GT(found.confidence, 0.9);
    }
}

TEST(XorHash, AnswersThatAreNoiseAloneStayUndecided) {
    const Mask bits = bitRange(7, 33);
    HiddenHash oracle(Subspace(), bits, 0.5, 1);
    XorHashOptions options;
    options.bits = bits;
    options.maxPairs = 40'000;
    const XorHash found = recoverXorHash(oracle, options);
    EXPECT_FALSE(found.decided);
    EXPECT_FALSE(found.evidence.empty());
    EXPECT_EQ(found.confidence, 0);
}

TEST(XorHash, PairsThatNeverCollideStayUndecided) {
    const Mask bits = bitRange(7, 33);
    HiddenHash oracle(Subspace().orthogonal(bits), bits, 0, 1);
    XorHashOptions options;
    options.bits = bits;
    options.maxPairs = 40'000;
    const XorHash found = recoverXorHash(oracle, options);
    EXPECT_FALSE(found.decided);
    EXPECT_NE(found.evidence.find("none of"), std::string::npos);
}

}  // namespace
}  // namespace bulkhead::dissect
