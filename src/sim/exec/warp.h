#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "sim/exec/program.h"
#include "sim/mem/address_space.h"

namespace bulkhead::sim {

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
    bool operator==(const Dim3&) const = default;
};

// The generic address space: windows for what is private to a block or a thread; all else is global memory.
constexpr std::uint64_t kSharedWindow = 0x0000'0100'0000'0000;
constexpr std::uint64_t kLocalWindow = 0x0000'0200'0000'0000;
constexpr std::uint64_t kParamWindow = 0x0000'0300'0000'0000;  ///< kernel parameters
constexpr std::uint64_t kWindowBytes = 0x0000'0000'1000'0000;
/// Functions have addresses too (for indirect calls and function pointers): base + code index * 16.
constexpr std::uint64_t kCodeWindow = 0x0000'0400'0000'0000;

enum class AccessKind : std::uint8_t { load, store, atomic, reduction, asyncCopy };

/// What one memory instruction touched in one state space, for the timing model. Data have already moved.
struct Access {
    ptx::Space space;  ///< global, shared, local, constant or param; never generic
    AccessKind kind;
    CacheOp cacheOp;
    std::uint8_t bytes;  ///< per lane, all vector elements together
    LaneMask lanes;
    /// Global, constant: virtual address. Shared: offset in the block's shared memory. Local: offset in the
    /// thread's local memory. Param: offset in the kernel's parameter block.
    std::uint64_t address[kLanes];
};

/// A launch that went wrong on the device: the program can go on, the launch is over.
class LaunchError : public Error {
  public:
    enum class Cause : std::uint8_t {
        illegalAddress, misalignedAddress, illegalInstruction, trap, assertion, deadlock, noProgress, stackOverflow,
        outOfResources, timeout,
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
    std::uint32_t dynamicShared = 0;
    std::vector<std::uint8_t> params;  ///< the kernel's parameter block
    std::uint64_t gridId = 0;
    AddressSpace* memory = nullptr;    ///< global and constant memory of the launch's context
    std::function<void(std::string_view)> print;  ///< device printf, whole strings
    const Cycles* now = nullptr;       ///< %clock, %clock64
    double nsPerCycle = 1;             ///< %globaltimer
    std::uint32_t smCount = 0;
};

/// What the warps of a block share.
class Block {
  public:
    Block(const LaunchContext&, Dim3 index, std::uint32_t smId);

    const LaunchContext* launch;
    Dim3 index;  ///< ctaid
    std::uint32_t smId;
    std::uint32_t warps;      ///< in the block
    std::uint32_t liveWarps;  ///< not yet finished
    std::vector<std::uint8_t> shared;  ///< static + dynamic

    struct Barrier {
        std::uint32_t arrivedThreads = 0, expectedThreads = 0;
        std::uint64_t waiting = 0;  ///< bit per warp of the block
        LaneMask unusedTail = 0;
        std::uint32_t votes = 0;    ///< bar.red
        std::uint32_t voters = 0;
    };
    Barrier barriers[16];
};

/// What a step did beyond moving data, for the timing model.
enum class StepKind : std::uint8_t {
    compute,      ///< result after the class's latency
    memory,       ///< see Warp::accesses
    control,      ///< pc changed; nothing written
    barrierWait,  ///< the warp now waits at a barrier
    barrierPass,  ///< the warp arrived and need not wait; Step::released may hold others to wake
    fence,        ///< wait until the warp's outstanding accesses are done
    asyncCommit,
    asyncWait,    ///< wait until at most Step::groups commit groups are outstanding
    finished,     ///< the last lane exited; Step::released may hold warps its exit freed from a barrier
};
struct Step {
    StepKind kind;
    std::uint64_t released = 0;  ///< warps of the block (by index in it) that a completed barrier frees
    std::uint32_t groups = 0;
    std::uint32_t lanes = 0;     ///< how many lanes executed, for the thread-instruction count
};

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
    Step step();

    /// Of the last memory step; empty when no lane was active. A generic access may touch several spaces.
    std::span<const Access> accesses() const { return {accesses_, accessCount_}; }

    // For handlers.
    std::uint8_t* at(Slot s) { return s.offset >= 0 ? frame_ + s.offset : constants_ + ~s.offset; }
    template <class T>
    T* lanes(Slot s) { return reinterpret_cast<T*>(at(s)); }
    LaneMask& predicate(Slot s) { return *reinterpret_cast<LaneMask*>(at(s)); }
    Access& beginAccess(ptx::Space, AccessKind, CacheOp, unsigned bytes, LaneMask);

  private:
    std::uint8_t* frame_ = nullptr;      ///< registers of the current function
    std::uint8_t* constants_ = nullptr;  ///< the program's constant pool (never written)
    const Code* code_ = nullptr;
    std::uint32_t pc_ = 0;
    LaneMask active_ = 0, live_ = 0;
    Block* block_ = nullptr;
    std::uint32_t index_ = 0, slot_ = 0;
    Access accesses_[4];
    std::uint32_t accessCount_ = 0;
    // Further members are the implementation's: reconvergence stack, call frames, parameter areas, local memory.
};

}  // namespace bulkhead::sim
