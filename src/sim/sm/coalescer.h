#pragma once

#include <cstdint>
#include <span>

#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// One line touched by one warp instruction.
struct Transaction {
    std::uint64_t line = 0;     ///< address of the line's first byte, in the space the addresses came in
    std::uint32_t words = 0;    ///< stores: written whole, of 4 bytes each
    std::uint8_t sectors = 0;   ///< touched
    std::uint8_t complete = 0;  ///< stores: written whole
    std::uint16_t bytes = 0;    ///< sectors x sector size
    std::uint16_t turns = 0;    ///< atomics: L2 cycles of lanes that meet at one address
};

/// A warp instruction of 16 bytes a lane, in local memory, touches at most four lines a lane.
constexpr std::size_t kMaxTransactions = 4 * kLanes;

struct Transactions {
    std::size_t count = 0;
    std::uint64_t highest = 0;  ///< of the lines so far
    Transaction items[kMaxTransactions];
};

/// Gathers the lanes' addresses into 32 B sectors of 128 B lines (sizes from the profile), lines in the order in which
/// lanes first touch them.
class Coalescer {
  public:
    Coalescer(std::uint64_t lineBytes, std::uint64_t sectorBytes);

    void gather(const Access&, Transactions&) const;
    /// The texels of a fetch, at most four of each lane.
    void gatherTexels(std::span<const Access>, Transactions&) const;
    /// Local memory: word w of lane l lies at base + (w * 32 + l) * 4, so that lanes that use the same variable share
    /// lines.
    void gatherLocal(const Access&, std::uint64_t base, Transactions&) const;
    /// Of an atomic whose lines were gathered: how long lanes take turns at an address where so many of them meet.
    /// `interval` is a lane's turn, in millionths of an L2 cycle.
    void takeTurns(const Access&, std::uint64_t interval, Transactions&) const;

  private:
    struct Coverage {
        std::uint64_t low = 0, high = 0;  ///< bit per byte of a line of up to 128 bytes
    };
    void gatherRange(std::uint64_t from, std::uint64_t to, Transactions&) const;
    void add(Transactions&, Coverage*, std::uint64_t address, unsigned bytes, bool store) const;
    void finish(Transactions&, const Coverage*, bool store) const;

    unsigned lineShift_, sectorShift_;
};

/// Passes over the banks that a shared-memory access takes: the most distinct words that one bank must give. Atomics
/// on one word take a pass a lane.
unsigned bankPasses(const Access&, unsigned banks, unsigned bankBytes);

}  // namespace bulkhead::sim
