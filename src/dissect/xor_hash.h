#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "arch/address_map.h"
#include "base/random.h"
#include "dissect/gf2.h"

namespace bulkhead::dissect {

struct AddressPair {
    arch::PhysicalAddress first = 0, second = 0;
};

/// Whatever can tell, by timing, which pairs of addresses collide. An answer may be wrong now and then.
class PairOracle {
  public:
    virtual ~PairOracle() = default;
    /// Two random addresses that can be tried.
    virtual AddressPair randomPair(Random&) = 0;
    /// Two addresses with that difference that can be tried; false if none was found.
    virtual bool pairWithDifference(Mask difference, Random&, AddressPair&) = 0;
    virtual std::vector<bool> collide(std::span<const AddressPair>) = 0;
};

struct XorHashOptions {
    Mask bits = 0;  ///< address bits that may take part
    std::uint64_t seed = 1;
    std::size_t batch = 4096;  ///< pairs tried together at first
    std::size_t maxPairs = 400'000;
    unsigned votes = 3;                    ///< times that a colliding pair is tried again; most must agree
    unsigned surplus = 24;                 ///< colliding pairs that must tell nothing new before the search ends
    std::size_t heldOut = 200;             ///< fresh pairs of each kind to check the answer with
    std::function<void(double)> progress;  ///< share of the surplus reached
};

/// An XOR hash as the span of its functions, or why there is none.
struct XorHash {
    bool decided = false;
    Subspace functions;
    std::size_t pairs = 0;       ///< tried in search
    std::size_t colliding = 0;   ///< of them, after votes
    double predictedHits = 0;    ///< share of held-out pairs that should collide and do
    double predictedMisses = 0;  ///< share of held-out pairs that should not and do not
    double confidence = 0;       ///< of the functions being neither too few nor too many
    std::string evidence;        ///< one sentence
};

/// Algorithm 1's and 2's search over GF(2): differences of colliding pairs span the kernel of the hash, and the
/// functions are what is even on all of it. Random pairs give the differences; votes keep wrong ones out; held-out
/// pairs check the result.
XorHash recoverXorHash(PairOracle&, const XorHashOptions&);

}  // namespace bulkhead::dissect
