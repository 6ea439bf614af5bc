#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/units.h"

namespace bulkhead::walls {

/// Gives out ranges of a space of addresses: the first that fits. Knows which were given out before, and may hold what
/// somebody else has left there.
class ColoredHeap {
  public:
    static constexpr Bytes kAlignment = 512;

    /// Has the addresses of these pieces, in order. `used`: all of it was given out before, by another.
    struct Piece {
        Bytes offset = 0, bytes = 0;
    };
    ColoredHeap(std::vector<Piece>, bool used);
    /// More addresses, above those that it has.
    void add(const Piece&);
    /// How much is free at its end.
    Bytes freeAtEnd() const;

    struct Range {
        Bytes offset = 0;
        Bytes bytes = 0;  ///< as asked for, rounded up
        bool used = false;
    };
    /// Empty if no hole is large enough.
    std::optional<Range> allocate(Bytes);
    void free(const Range&);
    Bytes bytes() const { return bytes_; }
    bool contains(Bytes offset) const;

  private:
    std::vector<Piece> pieces_;
    Bytes bytes_ = 0;
    Bytes fresh_;                  ///< nothing from here on was ever given out
    std::map<Bytes, Bytes> free_;  ///< offset -> bytes; no two adjacent
};

}  // namespace bulkhead::walls
