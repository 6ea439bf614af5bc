#include "dissect/xor_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bulkhead::dissect {
namespace {

/// The pairs of a batch that collide again and again.
std::vector<AddressPair> confirmed(PairOracle& oracle, std::vector<AddressPair> pairs, unsigned votes) {
    std::vector<bool> first = oracle.collide(pairs);
    std::vector<AddressPair> left;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        if (first[i]) left.push_back(pairs[i]);
    if (left.empty()) return left;
    std::vector<unsigned> yes(left.size(), 0);
    for (unsigned v = 0; v < votes; ++v) {
        const std::vector<bool> again = oracle.collide(left);
        for (std::size_t i = 0; i < left.size(); ++i) yes[i] += again[i] ? 1 : 0;
    }
    std::vector<AddressPair> kept;
    for (std::size_t i = 0; i < left.size(); ++i)
        if (4 * yes[i] > 3 * votes) kept.push_back(left[i]);
    return kept;
}

double shareColliding(PairOracle& oracle, const std::vector<AddressPair>& pairs) {
    if (pairs.empty()) return 0;
    const std::vector<bool> answers = oracle.collide(pairs);
    return static_cast<double>(std::count(answers.begin(), answers.end(), true)) / static_cast<double>(pairs.size());
}

/// Fresh pairs on both sides of the answer.
void checkHeldOut(PairOracle& oracle, const XorHashOptions& options, Random& random, XorHash& hash) {
    const Subspace kernel = hash.functions.orthogonal(options.bits);
    std::vector<AddressPair> same, different;
    for (std::size_t tries = 0; tries < 20 * options.heldOut && same.size() < options.heldOut; ++tries) {
        AddressPair pair;
        if (oracle.pairWithDifference(kernel.random(random), random, pair)) same.push_back(pair);
    }
    for (std::size_t tries = 0; tries < 20 * options.heldOut && different.size() < options.heldOut; ++tries) {
        const AddressPair pair = oracle.randomPair(random);
        if (!kernel.contains((pair.first ^ pair.second) & options.bits)) different.push_back(pair);
    }
    hash.predictedHits = shareColliding(oracle, same);
    hash.predictedMisses = 1 - shareColliding(oracle, different);
}

XorHash searchOnce(PairOracle& oracle, const XorHashOptions& options, Random& random) {
    XorHash hash;
    Subspace kernel;
    std::size_t surplus = 0, size = options.batch;
    while (surplus < options.surplus && hash.pairs < options.maxPairs) {
        std::vector<AddressPair> batch(size);
        for (AddressPair& pair : batch) pair = oracle.randomPair(random);
        hash.pairs += batch.size();
        const std::size_t before = hash.colliding;
        for (const AddressPair& pair : confirmed(oracle, std::move(batch), options.votes)) {
            ++hash.colliding;
            surplus = kernel.add((pair.first ^ pair.second) & options.bits) ? 0 : surplus + 1;
        }
        // Votes cost the same for any number of pairs: where few collide, try more at a time.
        if (hash.colliding - before < options.surplus) size *= 2;
        if (options.progress)
            options.progress(std::min(1.0, static_cast<double>(surplus) / static_cast<double>(options.surplus)));
        if (hash.colliding == 0 && hash.pairs >= options.maxPairs / 4) break;
    }
    hash.functions = kernel.orthogonal(options.bits);
    if (hash.colliding == 0) {
        hash.evidence = fmt::format("none of {} random pairs collided", hash.pairs);
        return hash;
    }
    if (surplus < options.surplus) {
        hash.evidence =
            fmt::format("no stable set of functions after {} pairs, {} of them colliding", hash.pairs, hash.colliding);
        return hash;
    }
    if (hash.functions.dimension() == 0) {
        hash.evidence = fmt::format("no XOR of address bits is the same in all of {} colliding pairs", hash.colliding);
        return hash;
    }
    checkHeldOut(oracle, options, random, hash);
    hash.decided = hash.predictedHits > 0.9 && hash.predictedMisses > 0.9;
    // Wrong with the chance that the surplus lay in too small a space, or that held-out answers agree by accident.
    const double tooFew = std::exp2(-static_cast<double>(surplus));
    hash.confidence = hash.decided ? (1 - tooFew) * std::min(hash.predictedHits, hash.predictedMisses) : 0;
    hash.evidence = fmt::format(
        "{} XOR functions from {} colliding of {} pairs; predictions on fresh pairs: {:.1f} % of "
        "collisions and {:.1f} % of the others correct",
        hash.functions.dimension(), hash.colliding, hash.pairs, 100 * hash.predictedHits, 100 * hash.predictedMisses);
    return hash;
}

}  // namespace

XorHash recoverXorHash(PairOracle& oracle, const XorHashOptions& options) {
    Random random(options.seed);
    XorHash hash;
    // A wrong pair that passes all votes costs a function, and the held-out pairs tell: then it is worth another go.
    for (int attempt = 0; attempt < 3 && !hash.decided; ++attempt) {
        hash = searchOnce(oracle, options, random);
        if (hash.predictedHits < 0.05) break;
    }
    return hash;
}

}  // namespace bulkhead::dissect
