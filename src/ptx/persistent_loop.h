#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bulkhead::ptx {

/// The loop that withPersistentBlocks puts a kernel's body into, as PTX.
///
/// The loop has a barrier of its own, which no code of the program uses. So it lets threads through only when all of
/// the block have left the body, and barriers of the body let them through only when all have come there: none can be
/// taken for another, whatever a kernel does. Threads of which some have left while others wait in the body for all
/// would wait for ever, and get no wrong result.
///
/// That is mended by standing in. CUDA does not wait for threads that have left; so these go on coming to the body's
/// barrier until the last has left, in place of themselves. All threads of a block come to every phase of it then,
/// and each counts them in a register. The last to leave, which a counter in shared memory tells, writes down the
/// number of its next phase before it comes there; whoever finds that number behind a phase knows that nobody is in
/// the body any more. Lanes of a warp that only some lanes take to a barrier have fewer in their registers where warps
/// come as one (simulated GPUs, GPUs before Volta), so a warp takes the highest count of its lanes.
struct PersistentLoop {
    std::string kernel;
    unsigned barrier = 0;
    struct StandIns {
        unsigned barrier = 0;      ///< that all barriers of the body become
        std::string_view sync;     ///< the instruction, one that lanes of a warp may come to by themselves if there is
        bool inFunctions = false;  ///< functions have barriers too, so the count is in memory
    };
    std::optional<StandIns> standIns;   ///< where threads may leave before others come to a barrier
    bool functionsAskForBlock = false;  ///< functions that are called read the block's index
    bool copiesAsynchronously = false;  ///< into shared memory, which the next block is to find quiet
    bool usesSlot = false;              ///< no shared memory is left; a word of the launch's slots takes its place

    std::string parameter(bool isOnly) const;
    std::string prologue() const;
    std::string epilogue() const;
    /// What a return becomes.
    std::string leave() const;
    /// What a barrier of the body becomes where threads stand in at it. The guard is the text before the instruction.
    std::string barrierOfBody(std::string_view guard) const;
    /// Shared memory that it takes.
    unsigned sharedBytes() const;
    bool sharesWithFunctions() const { return functionsAskForBlock || (standIns && standIns->inFunctions); }

  private:
    unsigned wordBytes() const;
    bool hasWayOut() const { return standIns || copiesAsynchronously; }
    std::string word(unsigned number) const;
    std::string_view space() const { return usesSlot ? "global" : "shared"; }
    std::string declarations() const;
    std::string isInside() const;
    std::string firstThread() const;
    std::string worker() const;
    std::string standInWorker() const;
    std::string outside() const;
    std::string inside() const;
    std::string clear() const;
    std::string storeIndex() const;
    std::string loadIndex(std::string_view reg) const;
    std::string nextIndex() const;
    std::string wayOut() const;
};

/// What functions that are not inlined share with the loop of whichever kernel called them.
struct LoopOfCaller {
    static constexpr unsigned kBytes = 32;
    /// At the head of a module, and at the head of each function that uses the others.
    static std::string_view declaration();
    static std::string_view registers();
    /// Puts a coordinate of the block's index or of the grid ("ctaid.x") into the register that blockIndex names.
    static std::string load(std::string_view sreg);
    static std::string barrier(std::string_view guard, const PersistentLoop::StandIns&);
};

/// The register that stands for "ctaid.x" and the like.
std::string blockIndexRegister(std::string_view sreg);

}  // namespace bulkhead::ptx
