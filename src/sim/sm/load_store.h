#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/mem/cache_tags.h"
#include "sim/mem/mshr.h"
#include "sim/mem/prefetch_policy.h"
#include "sim/mem/ring.h"
#include "sim/mem/wide_sectors.h"
#include "sim/sim_context.h"
#include "sim/sm/coalescer.h"
#include "sim/sm/set_index.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

class SharedCache;
class Sm;
class SmPort;

/// The LD/ST side of an SM: coalescer, L1D with its MSHRs, constant cache. Memory instructions wait in a short queue;
/// one line a cycle passes the tags of L1D, or several of a load whose data are there. Whatever cannot go on (no MSHR,
/// no merge left, every way of the set under way, the request port full) holds up all behind it until the cause is
/// gone.
///
/// What an SM has beside L1D where its policy redirects loads is RedirectingLoadStore's.
class LoadStore {
  public:
    LoadStore(SimContext&, SmPort&, Sm&, std::uint32_t port);
    virtual ~LoadStore() = default;

    /// An instruction may need several places: a generic access one for global and one for local memory, a texture
    /// fetch one for each four of its texels. The last ones are kept for that.
    bool full() const { return queue_.size() + kMostOperations > operations_.size(); }
    bool working() const { return !queue_.empty() && !blocked_; }

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

    /// What passes the tags in a cycle.
    void tick() {
        if (working()) passNext();
    }
    void receive(RequestId);  ///< a response
    void requestPortFreed() { unblock(); }

    /// Of an empty SM: L1D, and the shared memory that is carved out beside it. Clean lines go at every launch.
    virtual void setCapacity(Bytes l1Bytes, std::uint32_t sharedBytes);
    virtual void invalidate() {
        tags_.invalidateClean();
        constants_.invalidateClean();
    }
    /// A block takes its shared memory, or gives it back.
    virtual void blockStarted(std::uint32_t /*block*/, std::uint32_t /*sharedBytes*/) {}
    virtual void blockEnded(std::uint32_t /*block*/) {}

    const CacheTags& l1() const { return tags_; }
    virtual const SharedCache* sharedCache() const { return nullptr; }

  protected:
    /// banks: of shared memory are taken in this cycle, or there is no way to them; it comes again in the next.
    enum class Passed : std::uint8_t { yes, hit, banks, mshr, port, line };

    /// The warp and the launch that something happens for.
    struct Issuer {
        std::uint32_t slot = 0, launch = 0;
    };
    struct Operation : Issuer {
        AccessKind kind = AccessKind::load;
        bool local = false, constant = false, bypass = false;
        Route route = Route::l1;
        std::uint32_t load = kNoLoad;
        std::uint32_t pc = 0;               ///< where lines are fetched ahead
        std::size_t next = 0;               ///< transaction
        std::size_t cycles = 0, cycle = 0;  ///< that its lines take if all are there, and have taken
        Transactions lines;
    };
    /// Where a transaction's line is in L1D, if it is.
    struct Place {
        std::uint32_t set, way;
        bool hit;  ///< all that the transaction wants is there
    };
    /// A read's token names the load it answers, or L1D, which knows who waits.
    static constexpr std::uint32_t kForL1 = kNoLoad;
    static constexpr std::size_t kMostOperations = 4;  ///< of one instruction
    /// What a texture fetch takes longer than a load of its texels: coordinates, filter. Assumed.
    static constexpr Cycles kTextureLatency = 60;

    virtual Passed passLoad(Operation&, const Transaction&);
    Passed passHit(Operation&, const Transaction&, Place);
    Passed passBypass(Operation&, const Transaction&);
    Passed passMiss(Operation&, const Transaction&, Place, std::uint32_t entry);

    // What a miss consists of, once an MSHR is there for it.
    bool mshrRefuses(std::uint32_t entry, const Issuer&) const;
    std::uint8_t missing(const Transaction&, Place, std::uint32_t entry) const;
    Passed takePlace(const Operation&, const Transaction&, Place&, bool sends);
    std::uint32_t waitFor(std::uint8_t sectors, const Operation&, const Transaction&, Place, std::uint32_t entry);

    /// A program's access takes the banks of shared memory for so many cycles. Returns how long it waits for them:
    /// nobody else takes them, unless they hold a cache too.
    virtual Cycles takeBanks(unsigned /*passes*/) { return 0; }
    /// Data come for the MSHR.
    virtual void fill(const Request&, const MshrFile::Entry&);
    /// Beside L1D: whether a line is there, and that it would go stale.
    virtual bool isBeside(std::uint64_t /*line*/) const { return false; }
    virtual void dropBeside(std::uint64_t /*line*/) {}

    Place find(const Issuer& by, const Transaction& t) const {
        const std::uint32_t set = setOf(t.line, by.launch), way = tags_.find(set, t.line);
        return {set, way, way != CacheTags::kNoWay && (t.sectors & ~tags_.state(way).valid) == 0};
    }
    bool firstUse(const Transaction&, std::uint8_t& prefetched, std::uint64_t& counter) const;
    void send(RequestKind, const Issuer&, std::uint64_t line, std::uint8_t sectors, std::uint8_t complete,
              std::uint32_t token, std::uint16_t turns = 0, std::uint32_t words = 0);
    void lineDone(std::uint32_t load, Cycles when);
    /// The copy of L1D that a launch uses (Separation).
    std::uint32_t copyOf(std::uint32_t launch) const { return sim_.separation.copyOf(Resource::l1, launch); }
    std::uint32_t setOf(std::uint64_t line, std::uint32_t launch) const {
        return setIndex_.of(line) + sets_ * copyOf(launch);
    }
    /// Of a line that may be under way to both copies.
    static std::uint64_t mshrKey(std::uint64_t line, std::uint32_t copy) { return line | std::uint64_t{copy} << 61; }
    std::uint32_t findMshr(std::uint64_t line, std::uint32_t launch) const {
        return mshrs_.find(mshrKey(line, copyOf(launch)));
    }
    std::uint32_t takeMshr(std::uint64_t line, std::uint32_t launch) {
        return mshrs_.allocate(mshrKey(line, copyOf(launch)), copyOf(launch));
    }
    /// L1D may fetch more than L2's sector at a time.
    std::uint8_t widen(std::uint8_t sectors) const { return wide_[sectors]; }

    SimContext& sim_;
    SmPort& port_;
    Sm& sm_;
    std::uint32_t portNumber_;
    const MachineConfig::L1 config_;
    std::uint32_t sets_;  ///< of one copy of L1D
    CacheTags tags_;
    SetIndex setIndex_;
    MshrFile mshrs_;

  private:
    struct Load {
        std::uint32_t remaining = 0;  ///< transactions under way
        Cycles readyAt = 0;
        Cycles extra = 0;  ///< after the last of its data
        std::uint32_t nextFree = 0;
    };

    void useBanks(const Access&, std::uint32_t launch, Issued&);
    void countPasses(unsigned passes, Cycles waited, std::uint32_t launch, Issued&) const;
    void reachOther(const Access&, std::uint32_t launch, Issued&);
    void otherReached(std::uint32_t load);
    /// An access, or several of one texture fetch that make one operation.
    void enqueue(const Warp&, std::span<const Access>, std::uint32_t slot, std::uint32_t launch, Route, Issued&);
    void enqueueTexels(const Warp&, std::uint32_t slot, std::uint32_t launch, Route, Issued&);
    void gather(const Warp&, std::span<const Access>, Operation&);
    std::size_t cyclesOf(const Access&, const Operation&) const;
    void gatherConstant(const Access&, const AddressSpace&, Transactions&);
    std::uint32_t takeLoad();
    void unblock();

    void passNext();
    Passed pass(Operation&, const Transaction&);
    Passed passConstant(Operation&, const Transaction&);
    Passed passStore(Operation&, const Transaction&);
    Passed writeLocal(Operation&, const Transaction&, Place);
    bool makeRoom(std::uint32_t way, const Issuer&);
    bool joinsAhead(const Transaction&, Place, std::uint32_t entry, Counters&);
    void lookAhead(const Operation&, const Transaction&);
    void fetchAhead(const Issuer&, std::uint64_t line, std::uint8_t sectors);

    Coalescer coalescer_;
    std::uint32_t mappingHint_ = 0;
    WideSectors wide_;
    CacheTags constants_;
    std::unique_ptr<PrefetchPolicy> prefetch_;  ///< null where nothing is fetched ahead
    std::vector<std::uint64_t> ahead_;          ///< what it names
    Ring<std::uint32_t> queue_;                 ///< of operations, by index
    std::vector<Operation> operations_;
    std::vector<std::uint32_t> freeOperations_;
    std::vector<Load> loads_;
    std::uint32_t freeLoad_ = kNoLoad;
    bool blocked_ = false;
    Passed blockedBy_ = Passed::yes;
    Cycles blockedSince_ = 0;
};

}  // namespace bulkhead::sim
