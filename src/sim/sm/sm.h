#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/exec/warp.h"
#include "sim/mem/crossbar.h"
#include "sim/sim_context.h"
#include "sim/sm/load_store.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

/// What a block takes from an SM.
struct BlockNeeds {
    std::uint32_t warps = 0, registers = 0, shared = 0;
};

/// What an SM tells the GPU it belongs to.
class SmOwner {
  public:
    virtual void smRunnable(std::uint32_t sm) = 0;
    virtual void blockFinished(std::uint32_t sm, std::uint32_t launch) = 0;
    virtual void launchFailed(std::uint32_t launch, const LaunchError&) = 0;
    virtual void storesDrained(std::uint32_t launch) = 0;

  protected:
    ~SmOwner() = default;
};

/// A streaming multiprocessor: warps, schedulers, scoreboard, pipelines, LD/ST.
///
/// Nothing is polled. A warp's next instruction is examined once, when the one before it has issued: either it can
/// issue (its bit in `ready_` is set), or the cycle is known at which it can (its bit waits in a ring of future
/// cycles), or it waits for something that will announce itself (a load, a barrier). A cycle is then a few operations
/// on bit masks, and an SM with no bit set sleeps.
class Sm final : public Requester {
  public:
    /// `port`: its number on the crossbar; `id`: its own.
    Sm(SimContext&, Crossbar&, SmOwner&, std::uint32_t port, std::uint32_t id, const SchedulerChoice&);

    bool fits(const BlockNeeds&) const;
    bool empty() const { return residentBlocks_ == 0; }
    /// `name`: what %smid says to the block.
    void startBlock(const LaunchContext&, std::uint32_t launch, const BlockNeeds&, Dim3 index, std::uint64_t number,
                    std::uint32_t name);
    /// Ends every block of a launch at once.
    void abandon(std::uint32_t launch);

    void tick();
    /// Another context takes the GPU: what was in flight inside the SM is done by the time this one comes back.
    void freeze();

    void wake() { owner_.smRunnable(port_); }
    void beginLaunch(std::int64_t l1Bytes);

    // From the memory side.
    void receive(RequestId id) override { loadStore_.receive(id); }
    void requestPortFreed() override { loadStore_.requestPortFreed(); }
    void stored(std::uint32_t slot, std::uint32_t launch, Cycles doneAt) override;

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
    std::uint64_t localBase(std::uint32_t slot) const { return localBase_ + slot * kLocalStride; }

    std::uint32_t activeWarps() const;  ///< resident, and not held back by the policy
    std::uint32_t residentWarps() const;
    SmSample sample() const;
    const LoadStore& loadStore() const { return loadStore_; }
    const WarpScheduler& policy() const { return *policy_; }
    /// Of all warps that have had this slot.
    const WarpCounters& warpCounters(std::uint32_t slot) const { return slots_[slot].counters; }
    /// What a barrier of this launch waits for in vain; empty if no warp of it waits at one.
    std::string explainStuck(std::uint32_t launch) const;
    /// Notes the state of every warp, and from then on (while SimContext::watching) whether it comes back to it.
    void snapshotWarps();
    bool allWarpsLoop() const;
    std::string explainLoop(std::uint32_t launch) const;
    std::optional<std::uint32_t> anyLaunch() const;  ///< of a resident block

  private:
    static constexpr std::uint32_t kRing = 512;  ///< cycles ahead that a warp may be woken without an event
    static constexpr std::uint64_t kLocalStride = std::uint64_t{1} << 24;

    enum class Wait : std::uint8_t { none, dependency, load, barrier, fence, async };

    struct Resident {
        std::optional<Block> block;
        std::uint32_t launch = 0;
        BlockNeeds needs;
        std::uint64_t number = 0;
        std::uint32_t warpsLeft = 0;
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
        Cycles storesDoneAt = 0;
        Cycles readyAt = 0;
        Wait wait = Wait::none;
        std::uint8_t unit = 0;  ///< of the next instruction
        std::uint32_t waitGroups = 0;
        std::uint32_t openCopies = 0;  ///< cp.async not yet committed
        std::uint64_t firstGroup = 0;
        std::vector<std::uint32_t> groupCopies;  ///< committed groups: copies under way, oldest first
        Warp::Snapshot snapshot;
        bool loops = false;  ///< has come back to the snapshot
        bool moved = false;  ///< has executed something since it was taken
        WarpCounters counters;
    };
    struct LoadInfo {
        std::uint32_t slot = 0, generation = 0;
        std::uint64_t group = 0;
        bool async = false;
        std::uint8_t count = 0;
        std::uint16_t registers[8] = {};
    };

    void issue(std::uint32_t slot);
    void issueMemory(std::uint32_t slot, const Instr&);
    void noteIssue(std::uint32_t slot, unsigned lanes) {
        if (policy_->countsInstructions()) policy_->issued(slot, lanes);
    }
    void release(const Resident&, std::uint64_t warps, Cycles notBefore);
    void finishWarp(std::uint32_t slot);
    void vacate(std::uint32_t slot);
    void removeBlock(std::uint32_t resident);
    void refresh(std::uint32_t slot, Cycles notBefore);
    void makeReadyAt(std::uint32_t slot, Cycles when);
    bool unitFree(unsigned unit) const;
    Cycles unitFreeAt(unsigned unit) const;
    void occupy(unsigned unit, Cycles cycles);
    void copyDone(Slot&, std::uint64_t group);
    bool groupsDone(const Slot&) const;
    Stall stallOf(int scheduler) const;
    /// Ready warps that the policy lets issue.
    WarpMask offered() const {
        const WarpMask allowed = ready_ & policy_->allowed();
        if (!policy_->heldFromMemory()) return allowed;
        return allowed & ~(policy_->heldFromMemory() & needs_[static_cast<int>(arch::Unit::ldst)]);
    }
    std::string place(const Slot&, std::int32_t line, unsigned lane) const;
    void sleep();

    SimContext& sim_;
    SmOwner& owner_;
    std::uint32_t port_, id_;
    std::unique_ptr<WarpScheduler> policy_;
    LoadStore loadStore_;

    // One bit per slot.
    WarpMask occupied_ = 0;
    WarpMask ready_ = 0;
    WarpMask needs_[arch::kUnits] = {};  ///< by the unit of the next instruction
    WarpMask waitingLoad_ = 0, waitingBarrier_ = 0;
    std::vector<WarpMask> own_;  ///< by scheduler
    std::size_t turn_ = 0;       ///< the scheduler that is asked first
    WarpMask ring_[kRing] = {};
    std::uint64_t ringUsed_[kRing / 64] = {};
    Cycles nextInRing() const;

    std::vector<Slot> slots_;
    std::vector<Resident> residents_;
    std::vector<LoadInfo> loads_;  ///< by LoadStore's handle
    std::vector<Cycles> unitBusy_[arch::kUnits];
    bool contended_[arch::kUnits] = {};  ///< there are fewer of them than schedulers
    std::uint32_t residentBlocks_ = 0;
    std::uint32_t freeRegisters_, freeShared_, freeWarps_;
    std::uint64_t nextAge_ = 0;
    std::uint64_t localBase_;
    int issueWidth_;

    Cycles lastTick_ = 0;
    std::vector<Stall> sleepCause_;  ///< by scheduler
    Counters* stalls_;               ///< of the launch that bears the cycles without an issue
};

}  // namespace bulkhead::sim
