#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "sim/exec/overruns.h"
#include "sim/exec/program.h"
#include "sim/mem/address_space.h"

namespace bulkhead::sim {

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
    bool operator==(const Dim3&) const = default;
};

/// %ctaid of a block, given its number.
inline Dim3 blockIndex(std::uint64_t block, const Dim3& grid) {
    return {static_cast<std::uint32_t>(block % grid.x), static_cast<std::uint32_t>(block / grid.x % grid.y),
            static_cast<std::uint32_t>(block / grid.x / grid.y)};
}

// The generic address space: windows for what is private to a block or a thread; all else is global memory.
constexpr std::uint64_t kSharedWindow = 0x0000'0100'0000'0000;
constexpr std::uint64_t kLocalWindow = 0x0000'0200'0000'0000;
constexpr std::uint64_t kParamWindow = 0x0000'0300'0000'0000;  ///< kernel parameters
constexpr std::uint64_t kWindowBytes = 0x0000'0000'1000'0000;
/// Functions have addresses too (for indirect calls and function pointers): base + code index * 16.
constexpr std::uint64_t kCodeWindow = 0x0000'0400'0000'0000;

enum class AccessKind : std::uint8_t { load, store, atomic, reduction, asyncCopy };

/// How the lanes of an access lie, where execution found out on its way. Only ever a hint that saves work.
enum class AccessPattern : std::uint8_t {
    scattered,    ///< nothing known
    consecutive,  ///< all 32 lanes active, address[i] = address[0] + i * bytes
    uniform,      ///< every active lane has the same address
};

/// What one memory instruction touched in one state space, for the timing model. Data have already moved.
struct Access {
    ptx::Space space;  ///< global, shared, local, constant or param; never generic
    AccessKind kind;
    CacheOp cacheOp;
    std::uint8_t bytes;  ///< per lane, all vector elements together
    AccessPattern pattern;
    bool combines;    ///< atomics: lanes at one address can be made one operation before it is sent
    bool addsFloats;  ///< atomics
    bool texture;     ///< goes by way of the texture unit, which takes longer
    bool remote;      ///< shared: of other blocks of the cluster; addresses are those of .shared::cluster
    LaneMask lanes;
    /// Global, constant: virtual address. Shared: offset in the block's shared memory. Local: offset in the
    /// thread's local memory. Param: offset in the kernel's parameter block. Lanes that are not active repeat the
    /// address of the first active one.
    alignas(64) std::uint64_t address[kLanes];
};

/// A launch that went wrong on the device: the program can go on, the launch is over.
class LaunchError : public Error {
  public:
    enum class Cause : std::uint8_t {
        illegalAddress,
        misalignedAddress,
        illegalInstruction,
        trap,
        assertion,
        deadlock,
        noProgress,
        stackOverflow,
        outOfResources,
        timeout,
    };
    LaunchError(Cause cause, const std::string& message) : Error(message), cause(cause) {}
    Cause cause;
    std::uint64_t address = 0;
};

/// What all warps of a launch share.
struct LaunchContext {
    const Program* program = nullptr;
    const Code* code = nullptr;
    Dim3 grid, block;
    Dim3 cluster;                  ///< blocks of one, in each direction
    bool explicitCluster = false;  ///< clusters were asked for
    std::uint32_t dynamicShared = 0;
    std::vector<std::uint8_t> params;  ///< the kernel's parameter block
    std::uint64_t gridId = 0;
    std::uint64_t gridWorkspace = 0;              ///< of a cooperative launch: what its blocks synchronise by
    AddressSpace* memory = nullptr;               ///< global and constant memory of the launch's context
    std::function<void(std::string_view)> print;  ///< device printf, whole strings
    Overruns* overruns = nullptr;                 ///< null: reads outside of allocations are errors
    double nsPerCycle = 1;                        ///< %globaltimer
    bool followsRunning = false;  ///< launches that it depends on have not ended; changes between windows
    std::uint32_t smCount = 0;
    std::uint32_t warpsPerSm = 0;  ///< %nwarpid
};

class BulkCopies;
class Cluster;
class PendingEffects;
class Warp;

/// What the warps of a block share.
class Block {
  public:
    /// `now` and `effects` are its SM's. `cluster`: the one it has a rank in, or null if it is alone.
    Block(const LaunchContext&, Dim3 index, std::uint32_t smId, const Cycles* now, PendingEffects*,
          Cluster* cluster = nullptr, std::uint32_t rank = 0);
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    const LaunchContext* launch;
    Dim3 index;  ///< ctaid
    std::uint32_t smId;
    const Cycles* now;  ///< %clock
    PendingEffects* effects;
    Cluster* cluster;
    std::uint32_t rank;              ///< in it
    bool letDependents = false;      ///< has let launches start that depend on this one
    BulkCopies* copies = nullptr;    ///< its SM's; null: bulk copies take effect at once
    std::uint32_t warps;             ///< in the block
    std::uint32_t liveWarps;         ///< not yet finished
    std::span<std::uint8_t> shared;  ///< static + dynamic

    /// A warp that arrives counts as 32 threads, also when some of its lanes have exited or never existed.
    struct Barrier {
        std::uint32_t arrivedThreads = 0;
        std::uint32_t expectedThreads = 0;  ///< as given by the instruction; 0 = all warps that have not finished
        std::uint64_t waiting = 0;          ///< bit per warp of the block
        std::uint32_t votes = 0;            ///< bar.red: lanes whose predicate was true
        std::uint32_t voters = 0;           ///< bar.red: lanes that voted
    };
    Barrier barriers[16];
    std::vector<Warp*> members;  ///< by index; a warp stays where it is from start() until it has finished

    /// If enough threads have arrived, hands the votes to the waiting warps, resets the barrier and returns the warps
    /// it frees (by index in the block); else 0.
    std::uint64_t complete(Barrier&);

  private:
    std::vector<std::uint8_t> own_;  ///< shared memory of a block that is alone
};

/// What a step did beyond moving data, for the timing model.
enum class StepKind : std::uint8_t {
    compute,      ///< result after the class's latency
    memory,       ///< see Warp::accesses
    changePhase,  ///< the same, and a phase of an mbarrier object of the block may be over
    awaitPhase,   ///< the same, and the warp may wait for Step::groups nanoseconds, see Warp::tryAgain
    control,      ///< pc changed; nothing written
    barrierWait,  ///< the warp now waits at a barrier
    barrierPass,  ///< the warp arrived and need not wait; Step::released may hold others to wake
    clusterWait,  ///< the warp now waits for others of its cluster, see Warp::waitsForCluster
    fence,        ///< wait until the warp's outstanding accesses are done
    asyncCommit,
    asyncWait,  ///< wait until at most Step::groups commit groups are outstanding
    bulkCommit,
    bulkWait,  ///< likewise, of bulk copies; Step::released: until their sources have been read
    matrixCommit,
    matrixWait,     ///< wait until at most Step::groups groups of products are under way
    sleep,          ///< for Step::groups nanoseconds
    setRegisters,   ///< to Step::groups a thread; Step::released: more than it has, else fewer
    letDependents,  ///< the block's first griddepcontrol.launch_dependents
    awaitEarlier,   ///< wait until LaunchContext::followsRunning is false
    finished,       ///< the last lane exited; Step::released may hold warps its exit freed from a barrier
};
/// Small enough to be returned in registers.
struct Step {
    StepKind kind;
    std::uint8_t lanes = 0;  ///< how many lanes executed, for the thread-instruction count
    std::uint32_t groups = 0;
    std::uint64_t released = 0;  ///< warps of the block (by index in it) that a completed barrier frees
};
static_assert(sizeof(Step) == 16);

/// The functional state of a warp: registers, reconvergence stack, call frames, local memory. Executes one
/// instruction at a time; knows nothing of time.
class Warp {
  public:
    Warp() = default;

    /// Makes this the warp `indexInBlock` of the block, at the kernel's first instruction. Storage is reused.
    void start(Block&, std::uint32_t indexInBlock, std::uint32_t hardwareSlot);

    bool finished() const { return live_ == 0; }
    const Instr& next() const { return code_->instrs[pc_]; }  ///< valid unless finished
    LaneMask active() const { return active_; }
    std::uint32_t pc() const { return pc_; }
    const Code& code() const { return *code_; }
    Block& block() const { return *block_; }
    std::uint32_t indexInBlock() const { return index_; }

    /// Executes next(). Throws LaunchError naming kernel, PTX line, block, thread and address.
    Step step() {
        const Instr& i = next();
        if (i.kind != Kind::compute) return stepBeyondRegisters(i);
        const LaneMask mask = guarded(i);
        if (mask) i.run(i, *this, mask);
        advance();
        return {StepKind::compute, countOf(mask)};
    }

    /// Whether it waits at its cluster's barrier, whose phase is not over.
    bool waitsForCluster() const { return clusterWaiting_ && !clusterPassed(clusterWaiting_); }

    /// Looks again whether the phases are over that its last step waits for.
    bool tryAgain();

    /// Of the last memory step; empty when no lane was active. A generic access may touch several spaces.
    std::span<const Access> accesses() const { return {fetchesTexels_ ? texels_.data() : accesses_, accessCount_}; }

    /// Everything that decides what the warp does next, except the memory it shares with others. A warp that comes
    /// back to the same state at the same place, while nobody else changes memory, is going round in circles.
    struct Snapshot {
        std::uint32_t pc = 0;
        LaneMask active = 0;
        std::vector<std::uint8_t> bytes;
    };
    void snapshot(Snapshot&) const;
    bool matches(const Snapshot&) const;
    /// Whether an atomic has changed shared memory since this was last asked: a failed compare-and-swap has not.
    bool takeChange() { return std::exchange(changedMemory_, false); }
    void noteChange() { changedMemory_ = true; }
    /// Whether the last memory step loads something at the end of the window only.
    bool loadIsDeferred() const { return loadIsDeferred_; }
    void deferLoad() { loadIsDeferred_ = true; }
    PendingEffects& effects() const { return *block_->effects; }

    // For handlers.
    std::uint8_t* at(Slot s) { return s.offset >= 0 ? frame_ + s.offset : constants_ + ~s.offset; }
    template <class T>
    T* lanes(Slot s) {
        return reinterpret_cast<T*>(at(s));
    }
    LaneMask& predicate(Slot s) { return *reinterpret_cast<LaneMask*>(at(s)); }
    Access& beginAccess(ptx::Space space, AccessKind kind, CacheOp cacheOp, unsigned bytes, LaneMask lanes) {
        Access& a = accesses_[accessCount_++];
        a.space = space;
        a.kind = kind;
        a.cacheOp = cacheOp;
        a.bytes = static_cast<std::uint8_t>(bytes);
        a.pattern = AccessPattern::scattered;
        a.combines = a.addsFloats = a.texture = a.remote = false;
        a.lanes = lanes;
        return a;
    }
    /// Texture fetches touch up to 16 texels a lane: one access for each, `count` of them in use, all global loads of
    /// `bytes` a lane. Who fills them sets lanes and addresses.
    static constexpr unsigned kMaxTexels = 16;
    std::span<Access> beginTexels(unsigned count, unsigned bytes);
    Access& lastAccess() { return accesses_[accessCount_ - 1]; }
    void dropAccess() { --accessCount_; }

    /// For tests of handlers: a register frame and a constant pool of the test's own; no block, no code.
    void bindForTest(std::uint8_t* frame, std::uint8_t* constants) {
        frame_ = frame;
        constants_ = constants;
    }

    const LaunchContext& launch() const { return *launch_; }
    LaneMask live() const { return live_; }
    std::uint32_t hardwareSlot() const { return slot_; }
    const std::uint32_t* tid(int dimension) const { return tid_[dimension]; }
    /// Which mapping this instruction found last time.
    std::uint32_t& mappingHint() { return mappingHints_[pc_ % kMappingHints]; }

    /// A thread's local memory lies in pieces of 16 bytes, those of the 32 lanes side by side, so that a warp's
    /// stack grows by appending and lanes at one offset are near each other. No access crosses a piece: none is wider
    /// than 16 bytes and all are aligned.
    std::uint8_t* local(unsigned lane, std::uint64_t offset) {
        return local_.data() + ((offset >> 4) << 9) + (lane << 4) + (offset & 15);
    }
    std::uint32_t localBase() const { return localBase_; }  ///< where the current function's variables begin
    std::uint32_t localEnd() const { return localEnd_; }    ///< first byte no thread of the warp may touch
    /// Makes the current function's stack reach as far as the lane needs whose alloca has taken most.
    void fitStack();
    /// The current function's parameter area of one lane: its formals and the .param variables of its calls.
    std::uint8_t* callParams(unsigned lane) {
        return params_.data() + paramBase_ + std::size_t{lane} * code_->paramBytes;
    }

    /// What to say of a warp that waits at a barrier in vain, with so many warps of its block.
    std::string explainBarrier(std::uint32_t waiting) const;
    /// Likewise, of one that goes round in circles.
    std::string explainLoop(std::string_view why) const;

    /// Ends the launch: names kernel, PTX line, instruction, block and thread of the lane.
    [[noreturn]] void fail(LaunchError::Cause, const Instr&, unsigned lane, const std::string& what) const;
    /// How often a block's warp has begun here: what is still to come for one before it finds other registers.
    std::uint32_t starts() const { return starts_; }
    /// A read outside of allocations that goes on.
    void noteOverrun(const Instr&, const std::string& note) const;
    [[noreturn]] void failAddress(LaunchError::Cause, const Instr&, unsigned lane, std::uint64_t address,
                                  const std::string& note = {}) const;

  private:
    friend class Block;
    static constexpr std::uint32_t kNever = ~std::uint32_t{0};  ///< a pc that is never reached
    static constexpr std::uint32_t kSetAside = 1u << 31;        ///< from here on, a pc stands for a call set aside
    static constexpr bool isSetAside(std::uint32_t pc) { return pc >= kSetAside && pc != kNever; }
    static constexpr std::uint32_t kMappingHints = 8;

    /// Lanes that wait for their turn or for others to join them. The running ones are pc_, reconverge_, active_.
    struct Entry {
        std::uint32_t pc, reconverge;
        LaneMask mask;
    };
    /// A function that waits for the one it called.
    struct Caller {
        const Code* code;
        const CallSite* site;
        std::uint32_t frameBase, paramBase, localBase, localEnd, stackBase;
        Entry resume;
        LaneMask called;
    };
    /// Lanes that came to a barrier before others of their warp, from which they have parted.
    struct EarlyLanes {
        const Instr* at;
        const Block::Barrier* barrier;  ///< null: the cluster's
        LaneMask lanes;
        bool released = false;
        std::uint32_t votes = 0, voters = 0;  ///< when released
    };
    /// A call whose lanes wait at a barrier while those that were not called go on.
    struct Call {
        std::vector<Caller> callers;  ///< from the function on whose lanes go on
        std::vector<Entry> stack;
        Caller current;  ///< the function that was executed last
        Entry running;
        std::vector<std::uint8_t> registers, params;
    };

    /// Mostly all, and not every host has an instruction for the rest.
    static std::uint8_t countOf(LaneMask mask) {
        return static_cast<std::uint8_t>(mask == kAllLanes ? kLanes : std::popcount(mask));
    }
    /// The active lanes that the instruction's guard lets execute it.
    LaneMask guarded(const Instr& i) const {
        if (i.guard < 0) return active_;
        LaneMask guard;
        std::memcpy(&guard, frame_ + i.guard, sizeof guard);
        return active_ & (i.guardNegated ? ~guard : guard);
    }
    Step stepBeyondRegisters(const Instr&);
    void access(const Instr&, LaneMask);
    Step awaitPhase(const Instr&, LaneMask);
    void advance() {
        if (++pc_ == reconverge_) [[unlikely]]
            popEntry();
    }
    void jump(std::uint32_t target) {
        pc_ = target;
        if (pc_ == reconverge_) [[unlikely]]
            popEntry();
    }
    void popEntry();
    void returnTo(const Caller&);
    void leave(LaneMask returning);
    void exitLanes(LaneMask exiting);
    Step branch(const Instr&, LaneMask taken);
    Step branchIndexed(const Instr&, LaneMask);
    Step call(const Instr&, LaneMask);
    Step callIndirect(const Instr&, LaneMask);
    void callBuiltin(const Instr&, const CallSite&, LaneMask);
    void enter(const Instr&, const Code&, const CallSite&, LaneMask);
    Step sleep(const Instr&, LaneMask);
    Step barrier(const Instr&, LaneMask);
    Step barrierOfSome(const Instr&, Block::Barrier&, LaneMask);
    Step arrive(const Instr&, Block::Barrier&, LaneMask);
    void vote(const Instr&, Block::Barrier&, LaneMask) const;
    void learn(const Block::Barrier&);
    void takeVotes(const Instr&, LaneMask, std::uint32_t votes, std::uint32_t voters);
    Step clusterArrive(LaneMask);
    Step clusterWait(const Instr&, LaneMask);
    bool clusterPassed(LaneMask) const;
    void tellCluster(LaneMask, bool exits);
    bool giveTurn();
    bool waitsForTurn(const Entry&, const Code&) const;
    Entry setCallAside(std::size_t depth);
    void resumeCall(const Entry&);
    Step finish(unsigned lanes);
    void growLocal(std::uint32_t end);
    std::string place(std::int32_t line, unsigned lane) const;
    std::string placeOf(const Instr&) const;

    std::uint8_t* frame_ = nullptr;      ///< registers of the current function
    std::uint8_t* constants_ = nullptr;  ///< the program's constant pool (never written)
    const Code* code_ = nullptr;
    std::uint32_t pc_ = 0;
    LaneMask active_ = 0, live_ = 0;
    std::uint32_t reconverge_ = kNever;
    bool changedMemory_ = false, loadIsDeferred_ = false;
    Block* block_ = nullptr;
    const LaunchContext* launch_ = nullptr;
    std::uint32_t index_ = 0, slot_ = 0, starts_ = 0;
    std::uint32_t frameBase_ = 0, paramBase_ = 0, localBase_ = 0, localEnd_ = 0;
    std::uint32_t stackBase_ = 0;  ///< entries of stack_ below this belong to callers
    std::vector<Entry> stack_;
    std::vector<Caller> callers_;
    AlignedBytes registers_, params_, local_;    ///< grow, never shrink
    std::uint32_t frameEnd_ = 0, paramEnd_ = 0;  ///< what of them is in use
    std::uint32_t localTouched_ = 0;             ///< bytes per thread that may not be zero
    const Instr* tried_ = nullptr;               ///< mbarrier.try_wait whose phases are not over
    LaneMask triedLanes_ = 0;
    const Instr* waitingAt_ = nullptr;  ///< the bar.red whose result is to come
    LaneMask waitingLanes_ = 0;
    LaneMask clusterParity_ = 0;   ///< of the phase in which a lane last arrived at the cluster's barrier
    LaneMask clusterWaiting_ = 0;  ///< lanes that wait there
    std::vector<EarlyLanes> early_;
    std::map<std::uint32_t, Call> setAside_;  ///< Entry::pc of those that wait for them: kSetAside + key
    std::uint32_t mappingHints_[kMappingHints] = {};
    std::uint32_t accessCount_ = 0;
    bool fetchesTexels_ = false;
    std::vector<Access> texels_;  ///< made by the first texture fetch
    alignas(64) std::uint32_t tid_[3][kLanes] = {};
    Access accesses_[5];
};

}  // namespace bulkhead::sim
