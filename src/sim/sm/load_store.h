#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/mem/cache_tags.h"
#include "sim/mem/mshr.h"
#include "sim/mem/ring.h"
#include "sim/sim_context.h"
#include "sim/sm/coalescer.h"
#include "sim/sm/shared_cache.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

class Crossbar;
class Sm;

/// The LD/ST side of an SM: coalescer, L1D with its MSHRs, constant cache. Memory instructions wait in a short queue;
/// one line a cycle passes the tags of L1D. Whatever cannot go on (no MSHR, no merge left, every way of the set under
/// way, the request port full) holds up all behind it until the cause is gone.
///
/// Where the policy redirects, unused shared memory serves as a second cache beside L1D. A line is in one of them at
/// most: a load that is routed to the other moves it there, through the response queue, by way of an MSHR.
class LoadStore {
  public:
    LoadStore(SimContext&, Crossbar&, Sm&, std::uint32_t port, bool redirects);

    /// A generic access may need two places, one for global and one for local memory: the last one is kept for that.
    bool full() const { return queue_.size() + 1 >= operations_.size(); }
    bool working() const { return !queue_.empty() && !blocked_; }
    bool idle() const { return queue_.empty(); }

    /// Takes the accesses of one warp instruction. Returns a handle that `Sm::loaded` will name when all data are
    /// there, or kNoLoad with `readyAt` set when the time is already known.
    static constexpr std::uint32_t kNoLoad = ~std::uint32_t{0};
    struct Issued {
        std::uint32_t load = kNoLoad;
        Cycles readyAt = 0;
        unsigned passes = 1;       ///< cycles the unit is taken
        std::uint32_t stores = 0;  ///< writes and reductions that will be acknowledged
    };
    Issued issue(const Warp&, std::uint32_t slot, std::uint32_t launch, Route);

    void tick();              ///< one line through the tags
    void receive(RequestId);  ///< a response
    void requestPortFreed() { unblock(); }

    /// L1D for the launch that now begins on an empty SM; its clean lines go at every launch.
    void setCapacity(std::int64_t l1Bytes);
    void invalidate() {
        tags_.invalidateClean();
        constants_.invalidateClean();
        if (shared_) shared_->clear();
    }
    /// A block takes its shared memory, or gives it back.
    void blockStarted(std::uint32_t block, std::uint32_t sharedBytes);
    void blockEnded(std::uint32_t block) {
        if (shared_) shared_->blockEnded(block);
    }

    const CacheTags& l1() const { return tags_; }
    const SharedCache* sharedCache() const { return shared_ ? &*shared_ : nullptr; }

  private:
    enum class Passed : std::uint8_t { yes, mshr, port, line };

    struct Operation {
        AccessKind kind = AccessKind::load;
        bool local = false, constant = false, bypass = false;
        bool redirected = false;  ///< to shared memory
        bool keepsOut = false;    ///< brings nothing into L1D
        std::uint32_t slot = 0, launch = 0, load = kNoLoad;
        std::size_t next = 0;  ///< transaction
        Transactions lines;
    };
    struct Load {
        std::uint32_t remaining = 0;  ///< transactions under way
        Cycles readyAt = 0;
        std::uint32_t nextFree = 0;
    };
    /// A read's token names the load it answers, or L1D, which knows who waits.
    static constexpr std::uint32_t kForL1 = kNoLoad;

    Passed pass(Operation&, const Transaction&);
    /// `Beside`: shared memory serves as a cache beside L1D.
    template <bool Beside>
    Passed passLoad(Operation&, const Transaction&);
    Passed passHit(Operation&, std::uint32_t set, std::uint32_t way);
    Passed passBypass(Operation&, const Transaction&);
    Passed passRedirected(Operation&, const Transaction&, std::uint32_t way, std::uint32_t entry);
    bool mshrRefuses(std::uint32_t entry) const;
    void move(const Operation&, std::uint64_t line, std::uint8_t sectors);
    void fillShared(const Request&, std::uint32_t place);
    void fillL1(const Request&);
    Passed passStore(Operation&, const Transaction&);
    bool makeRoom(std::uint32_t way, const Operation&);
    void send(RequestKind, const Operation&, std::uint64_t line, std::uint8_t sectors, std::uint8_t complete,
              std::uint32_t token);
    void lineDone(std::uint32_t load, Cycles when);
    std::uint32_t takeLoad();
    std::uint32_t setOf(std::uint64_t line) const;
    std::uint8_t widen(std::uint8_t sectors) const;
    Passed passConstant(Operation&, const Transaction&);
    void gatherConstant(const Access&, const AddressSpace&, Transactions&) const;
    void unblock();
    Cycles hitAt() const { return sim_.now - 1 + static_cast<Cycles>(sim_.profile.l1.hitLatency); }

    SimContext& sim_;
    Crossbar& crossbar_;
    Sm& sm_;
    std::uint32_t port_;
    unsigned lineShift_;
    Coalescer coalescer_;
    CacheTags tags_, constants_;
    std::optional<SharedCache> shared_;
    MshrFile mshrs_;
    Ring<std::uint32_t> queue_;  ///< of operations, by index
    std::vector<Operation> operations_;
    std::vector<std::uint32_t> freeOperations_;
    std::vector<Load> loads_;
    std::uint32_t freeLoad_ = kNoLoad;
    bool blocked_ = false;
    Passed blockedBy_ = Passed::yes;
    Cycles blockedSince_ = 0;
};

}  // namespace bulkhead::sim
