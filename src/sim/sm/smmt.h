#pragma once

#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// Shared memory management table (CIAO II-A): where each resident block's shared memory lies. What lies between is
/// unused, and CIAO takes it for its cache (IV-B).
class Smmt {
  public:
    struct Range {
        std::uint32_t start = 0, bytes = 0;
        bool operator==(const Range&) const = default;
    };

    explicit Smmt(std::uint32_t bytes) : bytes_(bytes) {}

    /// Takes the lowest space there is, in pieces where no hole is large enough. A block must fit.
    void reserve(std::uint32_t block, std::uint32_t bytes);
    void release(std::uint32_t block);

    std::uint32_t reserved() const;
    /// Below that address, where what is above it is not shared memory now.
    Range largestUnused(std::uint32_t end = ~std::uint32_t{0}) const;

  private:
    struct Entry {
        std::uint32_t block;
        Range range;
    };
    /// Calls visit(hole) in the order of addresses, until it says false.
    template <class Visit>
    void eachHole(Visit&& visit) const;

    std::uint32_t bytes_;
    std::vector<Entry> entries_;  ///< by address
};

}  // namespace bulkhead::sim
