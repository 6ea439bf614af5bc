#include "dissect/gf2.h"

#include <algorithm>

#include "base/error.h"

namespace bulkhead::dissect {
namespace {

Mask leading(Mask v) {
    return std::bit_floor(v);
}

}  // namespace

Subspace::Subspace(const std::vector<Mask>& vectors) {
    for (Mask v : vectors) add(v);
}

Mask Subspace::reduced(Mask v) const {
    for (Mask b : basis_)
        if ((v & leading(b)) != 0) v ^= b;
    return v;
}

bool Subspace::add(Mask v) {
    v = reduced(v);
    if (v == 0) return false;
    for (Mask& b : basis_)
        if ((b & leading(v)) != 0) b ^= v;
    basis_.insert(std::upper_bound(basis_.begin(), basis_.end(), v), v);
    return true;
}

bool Subspace::vanishesAt(Mask difference) const {
    return std::none_of(basis_.begin(), basis_.end(), [&](Mask f) { return parity(f & difference); });
}

Mask Subspace::random(Random& random) const {
    Mask v = 0;
    for (Mask b : basis_)
        if ((random.next() & 1) != 0) v ^= b;
    return v;
}

Subspace Subspace::orthogonal(Mask bits) const {
    Subspace within;
    for (Mask b : basis_) within.add(b & bits);
    Mask pivots = 0;
    for (Mask b : within.basis_) pivots |= leading(b);
    // A function is free on the bits that lead no vector, and follows from them on those that do.
    Subspace result;
    for (Mask free = bits & ~pivots; free != 0; free &= free - 1) {
        Mask f = free & (~free + 1);
        const Mask bit = f;
        for (Mask b : within.basis_)
            if ((b & bit) != 0) f |= leading(b);
        result.add(f);
    }
    return result;
}

Subspace Subspace::without(Mask bits) const {
    Subspace result;
    std::vector<Mask> pivots;  // vectors that have some of the bits, no two with the same lowest one of them
    for (Mask v : basis_) {
        for (Mask p : pivots)
            if ((v & (p & bits) & (~(p & bits) + 1)) != 0) v ^= p;
        if ((v & bits) != 0) {
            pivots.push_back(v);
        } else {
            result.add(v);
        }
    }
    return result;
}

Subspace intersection(const Subspace& a, const Subspace& b) {
    const Mask all = ~Mask{0};
    return sum(a.orthogonal(all), b.orthogonal(all)).orthogonal(all);
}

Subspace sum(const Subspace& a, const Subspace& b) {
    Subspace result = a;
    for (Mask v : b.basis()) result.add(v);
    return result;
}

std::vector<Mask> dualFunctions(const std::vector<Mask>& vectors, const Subspace& kernel, Mask bits) {
    std::vector<Mask> functions;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        Subspace others = kernel;
        for (std::size_t j = 0; j < vectors.size(); ++j)
            if (j != i) others.add(vectors[j]);
        const Subspace candidates = others.orthogonal(bits);
        Mask found = 0;
        for (Mask f : candidates.basis())
            if (parity(f & vectors[i])) {
                found = f;
                break;
            }
        if (found == 0) throw Error("address differences that should be independent are not");
        functions.push_back(found);
    }
    return functions;
}

}  // namespace bulkhead::dissect
