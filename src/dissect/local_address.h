#pragma once

#include <optional>
#include <vector>

#include "dissect/residue_hash.h"

namespace bulkhead::dissect {

/// What is left of a physical address once its slice is known: the index divided by the modulus, and the address bits
/// that have no part in the slice. A memory system that takes a residue for the slice has this quotient for everything
/// behind it, so that sets and banks are XOR hashes of these bits, though not of address bits.
class LocalAddresses {
  public:
    /// `order[i]` is which parity of the hash is bit i of its index; `bits` are the address bits from the line up.
    LocalAddresses(const ResidueHash&, const std::vector<std::size_t>& order, Mask bits);

    Mask bits() const { return bits_; }  ///< that a local address can have
    Mask local(arch::PhysicalAddress) const;
    /// By the index itself; other numberings may call slices otherwise.
    std::uint32_t slice(arch::PhysicalAddress) const;
    /// Where a local address of a slice lies; empty if the quotient is too large for it.
    std::optional<arch::PhysicalAddress> address(Mask local, std::uint32_t slice) const;

    /// Functions of local bits as digits of an AddressMap. Empty if one of them is an XOR of bits of the quotient,
    /// which digits cannot express.
    std::optional<std::vector<arch::Digit>> digits(const Subspace& functions) const;
    std::string describe(const Subspace& functions) const;

  private:
    unsigned plainBits() const { return static_cast<unsigned>(plain_.size()); }

    std::uint32_t modulus_ = 1;
    std::vector<Mask> index_, groups_, plain_;        ///< functions of the address
    std::vector<Mask> indexOf_, groupsOf_, plainOf_;  ///< address bits that flip one of them alone
    Mask bits_ = 0;
};

/// Every order of a hash's parities in which they can be the bits of its index: plain address bits are its upper ones,
/// in their order, and the weights of the others leave some orders. Empty if none fits.
std::vector<std::vector<std::size_t>> indexOrders(const ResidueHash&);

}  // namespace bulkhead::dissect
