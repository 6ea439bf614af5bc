#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/units.h"

namespace bulkhead::arch {

using PhysicalAddress = std::uint64_t;

/// One digit of a location: a number gathered from parities of address bits, then optionally divided, reduced
/// modulo n, and looked up. XOR hashes need only `bits`; a residue hash such as the H200's adds `modulus`; a hash
/// with no closed form adds `table`.
struct Digit {
    std::vector<std::uint64_t> bits;   ///< bit i of the number = parity(address & bits[i])
    std::uint64_t divisor = 1;         ///< number /= divisor
    std::uint64_t modulus = 0;         ///< number %= modulus; 0 leaves it whole
    std::vector<std::uint32_t> table;  ///< number = table[number]; empty leaves it whole

    std::uint64_t evaluate(PhysicalAddress address) const;
    std::uint64_t radix() const;  ///< one more than the largest value

    bool operator==(const Digit&) const = default;
};

/// Which L2 slice, set, DRAM channel, bank and row a physical address falls on. `dissect` writes one, the
/// simulator executes one, `stress` aims with one, `isolate` inverts one into colors.
class AddressMap {
  public:
    struct Location {
        std::uint32_t slice;
        std::uint32_t set;      ///< within the slice
        std::uint32_t channel;  ///< = slice / slicesPerChannel
        std::uint32_t bank;     ///< within the channel
        std::uint64_t row;
    };

    /// Each role is a list of digits, combined in mixed radix with the first digit the least significant.
    struct Roles {
        std::vector<Digit> slice, set, bank, row;
        std::uint32_t slicesPerChannel = 1;
        bool operator==(const Roles&) const = default;
    };

    AddressMap() = default;
    explicit AddressMap(Roles roles);  ///< throws Error on an inconsistent map

    static AddressMap fromJson(const nlohmann::json&);
    nlohmann::json toJson() const;

    Location locate(PhysicalAddress) const;

    std::uint32_t slices() const { return slices_; }
    std::uint32_t setsPerSlice() const { return sets_; }
    std::uint32_t channels() const { return slices_ / roles_.slicesPerChannel; }
    std::uint32_t banksPerChannel() const { return banks_; }
    const Roles& roles() const { return roles_; }

    /// Pages of one color share no slice with pages of another. How many colors pages of this size can have.
    std::uint32_t colors(Bytes pageBytes) const;
    /// The color of the page that holds this address.
    std::uint32_t color(PhysicalAddress, Bytes pageBytes) const;

  private:
    // ... implementation detail of the fast path is the implementer's: all parities of all roles come out of one
    // XOR of byte-indexed tables.
    Roles roles_;
    std::uint32_t slices_ = 1, sets_ = 1, banks_ = 1;
};

}  // namespace bulkhead::arch
