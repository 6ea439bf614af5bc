#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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

    std::uint64_t evaluate(PhysicalAddress address) const;  ///< bit by bit; AddressMap::locate is the fast way
    std::uint64_t radix() const;                            ///< one more than the largest value

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
    /// The color of the page that holds this address, from 0 to colors(pageBytes) - 1.
    std::uint32_t color(PhysicalAddress, Bytes pageBytes) const;

  private:
    /// Division by a constant. Numbers below 2^32 are divided by multiplying with a reciprocal.
    struct Divider {
        std::uint64_t divisor = 1;
        std::uint64_t reciprocal = 0;  ///< ceil(2^64 / divisor); 0 where numbers may be too large for it

        Divider() = default;
        Divider(std::uint64_t divisor, std::uint64_t largest);
        std::uint64_t quotient(std::uint64_t n) const;
        std::uint64_t remainder(std::uint64_t n) const;
    };

    /// A digit made ready: a field of a source word (the address itself or a word of parities), then what is left
    /// of division, modulus and table once powers of two have become plain bits.
    struct Field {
        std::uint64_t mask = 0;
        std::uint32_t source = 0;  ///< 0 = the address, 1.. = words of parities
        std::uint32_t shift = 0;
        bool plain = true;  ///< nothing is left
        bool hasTable = false;
        std::uint32_t table = 0;  ///< where in tables_ it begins
        Divider divide, modulo;
        std::uint64_t weight = 1;  ///< product of the radices before it
    };
    struct FieldRange {
        std::uint32_t first = 0, last = 0;
    };

    /// What tells the colors of pages of one size apart: parities that are constant within a page, then whole digits
    /// that are.
    struct Coloring {
        std::vector<std::uint64_t> parities;
        std::vector<Digit> digits;
        std::uint32_t count = 1;
    };

    static constexpr std::size_t kMaxWords = 8;

    FieldRange compile(const std::vector<Digit>&, std::vector<std::vector<std::uint64_t>>& words);
    std::uint64_t gather(FieldRange, const std::uint64_t* sources) const;
    static std::uint64_t combine(const std::vector<Digit>&, PhysicalAddress);
    Coloring findColoring(unsigned pageShift) const;
    const Coloring& coloring(Bytes pageBytes) const;

    Roles roles_;
    std::uint32_t slices_ = 1, sets_ = 1, banks_ = 1;

    // The fast path: parities of all roles come out of one XOR of byte-indexed tables, words_ words at a time.
    std::vector<Field> fields_;
    FieldRange slice_, set_, bank_, row_;
    std::vector<std::uint32_t> tables_;
    std::size_t words_ = 0;
    unsigned firstBit_ = 0, byteCount_ = 0;  ///< address bits from here on, eight at a time
    std::vector<std::uint64_t> parities_;    ///< [byte][value][word]
    Divider perChannel_;
    std::vector<Coloring> colorings_;  ///< by log2 of the page size
};

}  // namespace bulkhead::arch
