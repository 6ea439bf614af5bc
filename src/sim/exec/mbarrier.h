#pragma once

#include <cstdint>

#include "sim/exec/program.h"

namespace bulkhead::sim {

class PendingEffects;
struct LaunchContext;

/// An mbarrier object: 64 bits of shared memory. Programs see no more of it than the tokens that arriving gives them.
/// A phase is complete when no arrivals and no bytes are pending; then the next begins with the same arrivals.
struct Mbarrier {
    static constexpr unsigned kCountBits = 20, kTransactionBits = 64 - 1 - 2 * kCountBits;
    static constexpr std::uint32_t kMostArrivals = (1u << kCountBits) - 1;
    static constexpr std::int32_t kMostTransactions = (1 << 20) - 1;

    bool phase = false;  ///< of the one under way, by turns
    std::uint32_t expected = 0, pending = 0;
    std::int32_t transactions = 0;  ///< bytes that are yet to come

    static Mbarrier read(std::uint64_t word);
    std::uint64_t word() const;

    void arrive(std::uint32_t count);
    /// ... and is not expected again.
    void drop(std::uint32_t count);
    void expectBytes(std::int32_t bytes) { transactions += bytes; }
    void completeBytes(std::int32_t bytes);
    /// Whether this can be one: an overrun of what it counts would be lost.
    bool fits() const;

  private:
    void endPhase();
};

/// What an mbarrier instruction does. src[0] is the object's address; src[1] a count, a number of bytes, a token or a
/// parity, where there is one.
enum class MbarrierOperation : std::uint8_t {
    init,
    invalidate,
    expectBytes,
    completeBytes,
    arrive,
    arriveExpecting,  ///< src[1] bytes
    drop,
    dropExpecting,
    arriveCopied,  ///< of copies that are done by now: one more arrival, and its arriving
    test,          ///< dst[0]: whether the phase of a token is complete
    testParity,
};
Handler mbarrierHandler(MbarrierOperation);

/// What a copy does to an object when it is done: at once, or when it shows, if the object is another block's.
void completeBytes(std::uint8_t* object, std::uint32_t bytes, bool isRemote, PendingEffects&, const LaunchContext&,
                   std::int32_t line);

/// mbarrier.pending_count: of a token.
void runPendingCount(const Instr&, Warp&, LaneMask);

}  // namespace bulkhead::sim
