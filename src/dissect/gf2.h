#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parity.h"
#include "base/random.h"

namespace bulkhead::dissect {

/// A vector over GF(2): a set of address bits. As a function of an address it is the parity of those bits.
using Mask = std::uint64_t;

/// All address bits from `first` up to and without `last`.
constexpr Mask bitRange(unsigned first, unsigned last) {
    const Mask below = last >= 64 ? ~Mask{0} : (Mask{1} << last) - 1;
    return below & ~((Mask{1} << first) - 1);
}

/// A subspace of GF(2)^64. The basis is reduced: the highest bit of each vector is in no other, so that equal spans
/// have equal bases.
class Subspace {
  public:
    Subspace() = default;
    explicit Subspace(const std::vector<Mask>& vectors);

    /// Adds a vector; false if it was in the span already.
    bool add(Mask);
    bool contains(Mask v) const { return reduced(v) == 0; }
    /// What is left of a vector after taking away what the span can express.
    Mask reduced(Mask) const;
    std::size_t dimension() const { return basis_.size(); }
    /// Ordered by highest bit, the lowest first.
    const std::vector<Mask>& basis() const { return basis_; }
    Mask random(Random&) const;
    /// Whether its vectors, as functions, are all even there: none tells addresses apart that differ so.
    bool vanishesAt(Mask difference) const;
    /// Every vector over `bits` whose parity with each vector of the span is even.
    Subspace orthogonal(Mask bits) const;
    /// The vectors that have none of `bits`.
    Subspace without(Mask bits) const;

    bool operator==(const Subspace&) const = default;

  private:
    std::vector<Mask> basis_;
};

Subspace intersection(const Subspace&, const Subspace&);
Subspace sum(const Subspace&, const Subspace&);

/// For linearly independent `vectors`, functions of which the i-th is odd on the i-th vector only, and even on all of
/// `kernel`. Together the vectors must span a space that `kernel` shares nothing with.
std::vector<Mask> dualFunctions(const std::vector<Mask>& vectors, const Subspace& kernel, Mask bits);

}  // namespace bulkhead::dissect
