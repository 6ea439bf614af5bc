#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/exec/pending_effects.h"
#include "sim/exec/warp.h"
#include "sim/mem/crossbar.h"
#include "sim/sim_context.h"
#include "sim/sm/async_groups.h"
#include "sim/sm/bulk_copy_unit.h"
#include "sim/sm/functional_units.h"
#include "sim/sm/instruction_cache.h"
#include "sim/sm/load_store.h"
#include "sim/sm/shared_memory_port.h"
#include "sim/sm/stores_under_way.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

/// What a block takes from an SM.
struct BlockNeeds {
    std::uint32_t warps = 0, registers = 0, shared = 0;
};

/// What L1D and shared memory have of an SM's memory while blocks of a launch are on it.
struct OnChipDivision {
    Bytes l1Bytes = 0;
    std::uint32_t sharedBytes = 0;  ///< the carve-out
    bool preferred = false;         ///< it was asked for, so it limits how many blocks there are
};

/// How a launch fares on an SM: a block has ended, or lets dependent launches start, or something has gone wrong.
struct LaunchNotice {
    Cycles when;
    std::uint32_t launch;
    std::optional<LaunchError> error = std::nullopt;
    Cluster* cluster = nullptr;  ///< of the block, which had this rank
    std::uint32_t rank = 0;
    bool ended = true;
    bool letsDependents = false;  ///< and had not done so before
};

/// A streaming SM: warps, schedulers, scoreboard, pipelines, LD/ST. It has a time of its own and advances apart from
/// all other units; what it sends to them waits in its port, and what the machine must know in its notices.
///
/// Nothing is polled. A warp's next instruction is examined once, when the one before it has issued: either it can
/// issue (its bit in `ready_` is set), or the cycle is known at which it can (its bit waits in a ring of future
/// cycles), or it waits for something that will announce itself (a load, a barrier). A cycle is then a few operations
/// on bit masks, and an SM with no bit set sleeps.
class Sm final : public Requester {
  public:
    /// `port`: its number on the crossbar; `id`: its own.
    Sm(SimShared&, const CrossbarLatency&, Observer*, std::uint32_t port, std::uint32_t id, const SchedulerChoice&);

    Simulation& sim() { return sim_; }
    const Simulation& sim() const { return sim_; }
    SmPort& port() { return port_; }
    std::uint32_t portNumber() const { return portNumber_; }
    std::vector<LaunchNotice>& notices() { return notices_; }
    const StoresUnderWay& stores() const { return stores_; }
    PendingEffects& effects() { return effects_; }

    /// Up to that time, and not what happens in it. Warps issue nothing while the GPU is another context's.
    void advanceTo(Cycles end, bool issues);
    /// When there is something to do; kNever if nothing will happen by itself.
    Cycles nextEvent(bool issues) const {
        return issues && (runnable_ || bulkCopies_.waitsForGpu()) ? sim_.now() : sim_.nextEvent();
    }

    /// A window has ended, and what others did shows.
    void meetOthers();

    /// Such a block.
    bool fits(const BlockNeeds&, const OnChipDivision&) const;
    /// The same where blocks of the twin take of the same room (Separation).
    bool fitsBeside(const Sm& twin, const BlockNeeds&, const OnChipDivision&) const;
    bool empty() const { return residentBlocks_ == 0; }
    /// Takes a place for the block, which starts then; the first one on an SM divides its memory. `name`: what %smid
    /// says to it.
    void placeBlock(Cycles start, const LaunchContext&, std::uint32_t launch, const BlockNeeds&, const OnChipDivision&,
                    Dim3 index, std::uint64_t number, std::uint32_t name, Cluster* = nullptr, std::uint32_t rank = 0);
    /// Ends every block of a launch at once.
    void abandon(std::uint32_t launch);
    /// What the launch depends on has ended: warps of it that wait for that go on.
    void earlierEnded(std::uint32_t launch);
    void launchEnded(std::uint32_t launch) { stores_.forget(launch); }

    /// Another context takes the GPU: what was in flight inside the SM is done by the time this one comes back.
    void freeze();

    void wake() { runnable_ = true; }
    void beginLaunch();
    /// A launch brings the first lines of its kernel's code. Returns how many of them were not there.
    std::uint32_t bringCode(const Program&, const Code&);

    // From the memory side.
    void receive(RequestId) override;
    void requestPortFreed() override {
        loadStore_->requestPortFreed();
        bulkCopies_.requestPortFreed();
        if (instructions_.retry()) sim_.schedule(sim_.now(), EventKind::fetched, 0);
    }
    void stored(const Request&) override;

    // From the copy engine.
    void copyBegins(std::uint32_t slot, std::uint32_t& launch, std::uint32_t& generation);
    void joinBulkGroup(std::uint32_t slot, std::uint64_t& readGroup, std::uint64_t& writeGroup);
    void bulkStoreSent(std::uint32_t launch) { stores_.sent(launch, 1); }
    void bulkSourceRead(std::uint32_t slot, std::uint32_t generation, std::uint64_t group);
    void bulkWritten(std::uint32_t slot, std::uint32_t generation, std::uint64_t group);

    /// ... which has completed bytes at mbarrier objects.
    void lookAtPhases();
    /// ... which moves bytes of its shared memory.
    void takeShared(std::uint64_t bytes) { sharedMemory_.take(sim_.now(), bytes); }

    // From LD/ST.
    void loaded(std::uint32_t load, Cycles readyAt);
    void storeSent(std::uint32_t slot, std::uint32_t launch);
    void l1Hit(std::uint32_t slot) { ++slots_[slot].counters.l1Hits; }
    void l1Missed(std::uint32_t slot, std::uint64_t line) {
        ++slots_[slot].counters.l1Misses;
        missed(slot, line);
    }
    void missed(std::uint32_t slot, std::uint64_t line);  ///< in L1D, or in shared memory that serves as a cache
    void evicted(std::uint32_t evictor, std::uint32_t owner, std::uint64_t line);
    CloseLook* closeLook() const { return closeLook_; }  ///< null: nobody asks for it
    std::uint64_t localBase(std::uint32_t slot) const { return localBase_ + slot * kLocalStride; }

    std::uint32_t activeWarps() const;  ///< resident, and not held back by the policy
    std::uint32_t residentWarps() const;
    SmSample sample() const;
    const LoadStore& loadStore() const { return *loadStore_; }
    const WarpScheduler& policy() const { return *policy_; }
    /// Of all warps that have had this slot.
    const WarpCounters& warpCounters(std::uint32_t slot) const { return slots_[slot].counters; }
    /// What a barrier of this launch waits for in vain; empty if no warp of it waits at one.
    std::string explainStuck(std::uint32_t launch) const;
    /// Notes the state of every warp, and from then on whether it comes back to it.
    void watchWarps();
    void stopWatching() { watching_ = false; }
    bool allWarpsLoop() const;
    bool someWarpLoops() const;
    std::string explainLoop(std::uint32_t launch) const;

  private:
    static constexpr std::uint32_t kRing = 512;  ///< cycles ahead that a warp may be woken without an event
    static constexpr std::uint64_t kLocalStride = std::uint64_t{1} << 24;

    enum class Wait : std::uint8_t { none, dependency, load, barrier, fence, async, bulk, phase, fetch, end };

    struct Resident {
        std::optional<Block> block;
        std::uint32_t launch = 0;
        BlockNeeds needs;
        std::uint64_t number = 0;
        std::uint32_t warpsLeft = 0;
        std::uint32_t spareRegisters = 0;  ///< that warps have given back (setmaxnreg)
        std::uint8_t slotOf[kMaxWarps] = {};
    };

    /// Timing state of one hardware warp slot.
    struct Slot {
        Warp warp;
        std::vector<Cycles> registerReady;  ///< by scoreboard id; kNever while a load is under way
        std::uint32_t resident = 0;
        std::uint32_t launch = 0;
        std::uint32_t generation = 0;  ///< of the occupant: late data for a former one are dropped
        std::uint32_t loads = 0;       ///< under way
        std::uint32_t stores = 0;
        Cycles since = 0;      ///< when the occupant came
        Cycles lastIssue = 0;  ///< where someone looks closely
        Cycles readyAt = 0;
        Wait wait = Wait::none;
        std::uint8_t unit = 0;   ///< of the next instruction
        std::uint32_t line = 0;  ///< of code, that the warp is in
        std::uint32_t waitGroups = 0;
        std::uint32_t registers = 0, wantedRegisters = 0;  ///< of the warp (setmaxnreg)
        std::uint32_t openCopies = 0;                      ///< cp.async not yet committed
        std::uint64_t firstGroup = 0;
        std::vector<std::uint32_t> groupCopies;  ///< committed groups: copies under way, oldest first
        AsyncGroups bulkReads, bulkWrites;
        bool waitsForReads = false;  ///< of bulk copies; else for writes
        Cycles phaseAwaitedUntil = 0;
        Cycles matrixDone = 0;             ///< when all products of the warp's warpgroup instructions are there
        std::vector<Cycles> matrixGroups;  ///< the same, for each committed group, oldest first
        Warp::Snapshot snapshot;
        bool loops = false;  ///< has come back to the snapshot
        bool moved = false;  ///< has executed something since it was taken
        WarpCounters counters;
    };
    struct LoadInfo {
        std::uint32_t slot = 0, generation = 0;
        Cycles since = 0;
        std::uint64_t group = 0;
        bool async = false;
        std::uint8_t count = 0;
        std::uint16_t registers[8] = {};
    };

    void wakeUp(std::uint32_t) { wake(); }
    /// Of which blocks can have as much: launches that say nothing leave room for others.
    std::uint32_t sharedWith(const OnChipDivision& division) const {
        return division.preferred ? division.sharedBytes : sim_.config.sm.sharedBytes;
    }
    void divide(const OnChipDivision&);
    void startBlock(std::uint32_t resident);
    [[gnu::always_inline]] inline void tick();
    void lookForStarving(Cycles now);
    void issue(std::uint32_t slot);
    [[gnu::noinline]] Cycles issueTensor(Slot&, const Instr&);
    static Cycles matrixGroupsDone(Slot&, std::uint32_t groups);
    Cycles arriveAtBarrier(Cycles done);
    Cycles clusterOpens(const Warp&) const;
    Cycles cyclesAsleep(std::uint32_t nanoseconds) const;
    bool setRegisters(std::uint32_t slot, const Step&);
    void waitFor(std::uint32_t slot, WarpMask& whom);
    void awaitPhase(std::uint32_t slot, std::uint32_t nanoseconds);
    void goOnAfterPhase(std::uint32_t slot);
    void phaseAwaited(std::uint32_t slot);
    void goOnAfterWaiting(std::uint32_t slot, WarpMask& whom, Cycles notBefore);
    [[gnu::noinline]] bool goesOn(std::uint32_t slot, const Instr&, const Step&, Cycles done);
    [[gnu::noinline]] void lookForLoop(Slot&);
    [[gnu::cold]] void fail(std::uint32_t slot, const LaunchError&);
    [[gnu::always_inline]] inline void issueMemory(std::uint32_t slot, const Instr&);
    void noteIssue(std::uint32_t slot, unsigned lanes) {
        if (policy_->countsInstructions()) policy_->issued(slot, lanes);
    }
    void release(const Resident&, std::uint64_t warps, Cycles notBefore);
    void finishWarp(std::uint32_t slot);
    void vacate(std::uint32_t slot);
    void removeBlock(std::uint32_t resident);
    void refresh(std::uint32_t slot, Cycles notBefore);
    void makeReadyAt(std::uint32_t slot, Cycles when);
    [[gnu::noinline]] bool fetch(std::uint32_t slot, const Instr& next, Cycles notBefore);
    void fetched(std::uint32_t);
    bool unitFree(unsigned unit) const {
        return units_.freeAt(unit) <= sim_.now() &&
               (static_cast<arch::Unit>(unit) != arch::Unit::ldst || !loadStore_->full());
    }
    inline WarpMask waitingForUnits() const;
    void copyDone(Slot&, std::uint64_t group);
    bool groupsDone(const Slot&) const;
    static bool bulkGroupsDone(const Slot& s) {
        return (s.waitsForReads ? s.bulkReads : s.bulkWrites).atMost(s.waitGroups);
    }
    void goOnAfterBulk(std::uint32_t slot);
    Stall stallOf(int scheduler) const;
    /// Ready warps that the policy lets issue.
    WarpMask offered() const {
        const WarpMask allowed = ready_ & policy_->allowed();
        if (!policy_->heldFromMemory()) return allowed;
        return allowed & ~(policy_->heldFromMemory() & needs_[static_cast<int>(arch::Unit::ldst)]);
    }
    [[gnu::always_inline]] inline void sleep();

    Simulation sim_;
    CloseLook* const closeLook_;
    SmPort port_;
    std::uint32_t portNumber_, id_;
    PendingEffects effects_;
    std::unique_ptr<WarpScheduler> policy_;
    std::unique_ptr<LoadStore> loadStore_;
    BulkCopyUnit bulkCopies_;
    InstructionCache instructions_;
    const unsigned lineShift_;       ///< of places of code
    const std::uint32_t startLine_;  ///< of a warp that starts

    // One bit per slot.
    WarpMask occupied_ = 0;
    WarpMask ready_ = 0;
    WarpMask needs_[arch::kUnits] = {};  ///< by the unit of the next instruction
    WarpMask waitingLoad_ = 0, waitingBarrier_ = 0, waitingFetch_ = 0;
    WarpMask waitingPhase_ = 0;  ///< of those at loads
    // Of those at barriers, those that wait for something else than their block.
    WarpMask waitingCluster_ = 0, waitingRegisters_ = 0, waitingEarlier_ = 0;
    std::vector<WarpMask> own_;  ///< by scheduler
    std::size_t turn_ = 0;       ///< the scheduler that is asked first
    WarpMask ring_[kRing] = {};
    std::uint64_t ringUsed_[kRing / 64] = {};
    Cycles nextInRing() const;

    std::vector<Slot> slots_;
    std::vector<Resident> residents_;
    std::vector<LoadInfo> loads_;  ///< by LoadStore's handle
    FunctionalUnits units_;
    SharedMemoryPort sharedMemory_;
    bool contended_[arch::kUnits] = {};  ///< there are fewer of them than schedulers
    std::uint32_t residentBlocks_ = 0;
    std::uint32_t sharedBytes_;  ///< that blocks can have while there are any
    std::uint32_t freeRegisters_, freeShared_, freeWarps_;
    std::uint64_t nextAge_ = 0;
    std::uint64_t localBase_;
    unsigned issueWidth_;
    Cycles guardLatency_;
    WarpMask starving_ = 0;   ///< go first
    Cycles nextLook_ = 0;     ///< for them
    Cycles barrierFree_ = 0;  ///< when the next warp can arrive at a barrier
    bool watching_ = false;   ///< warps are compared with their snapshots; see ProgressWatch

    bool runnable_ = false;  ///< in this cycle
    Cycles lastTick_ = 0;
    std::vector<Stall> sleepCause_;  ///< by scheduler
    Cycles occupiedSince_ = 0;       ///< if any slot is
    std::uint32_t stalled_ = 0;      ///< the launch that bears the cycles without an issue
    StoresUnderWay stores_;
    std::vector<LaunchNotice> notices_;
};

}  // namespace bulkhead::sim
