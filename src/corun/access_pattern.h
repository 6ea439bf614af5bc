#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "corun/actor.h"
#include "corun/device_layout.h"
#include "corun/placed_kernel.h"
#include "corun/rings.h"
#include "gpu/gpu.h"

namespace bulkhead::corun {

/// What an aggressor does, and how hard.
struct AggressorSpec {
    std::string kind = "evict-random";  ///< a row of the table
    std::string name;                   ///< in matrices; empty: its kind's
    Layout layout = {0, 0, {}};         ///< no blocks: what fills its SMs
    unsigned sms = 0;                   ///< that it gets, where the layout names none; 0: all that the victim leaves
    bool leavesRoom = false;            ///< half of each SM, where it fills them
    unsigned lanes = 2;                 ///< of each warp, that follow a ring of pointers
    unsigned strideLines = 1;           ///< from one of its lines to the next, where it follows a ring of pointers
    unsigned dutyPercent = 100;         ///< of the time, that it works
    double gigabytesPerSecond = 0;      ///< that it moves at most; 0: as many as it can
    Bytes bytes = 0;                    ///< of memory; 0: eight times the cache, as in 4.2.1
    std::uint32_t target = 0;           ///< slice, bank or channel
    std::uint64_t seed = 1;
};

/// What the GPU looks like to an aggressor.
struct CacheGeometry {
    Bytes bytes = 0, lineBytes = 128, sectorBytes = 32;
    unsigned sms = 0;

    static CacheGeometry of(gpu::Gpu&);
};

struct Stage;

/// What an access pattern is made from. The spec's layout and bytes are complete.
struct PatternSite {
    gpu::Context& context;
    gpu::Module& module;  ///< kernels/aggressors.cu
    gpu::Stream& stream;
    const CacheGeometry& shape;
    const AggressorSpec& spec;
    const MapMemory& mapMemory;      ///< for those that aim with a map
    const Whereabouts& victimLines;  ///< where they are known
};

/// The accesses of an aggressor: the memory and the arguments of a kernel that runs until it is told to stop.
class AccessPattern {
  public:
    virtual ~AccessPattern() = default;
    /// `stop`: the address of a word, which ends the kernel once it is not 0. `ranks`: of one where its blocks count.
    virtual void launch(PlacedKernel&, const gpu::Stream&, std::uint64_t stop, std::uint64_t ranks, const Dials&) = 0;
    /// That one access of a thread moves; 0 where there are none.
    virtual Bytes bytesEach() const = 0;
    virtual unsigned lanes() const { return 32; }      ///< of a warp, that access memory
    virtual double workingShare() const { return 1; }  ///< of the blocks; the others only hold their places
    /// Whether nothing comes back that a warp would wait for.
    virtual bool sendsOnly() const { return false; }
    /// Lines that it visits one after the other, where it does.
    virtual const Ring& ring() const;
};

/// What a driver says of a context's GPU.
int attributeOf(gpu::Context&, driver::DeviceAttribute);

/// Of so many blocks, those of such a share; at least one.
unsigned workingBlocks(unsigned blocks, double share);

/// A row of the table of aggressors.
struct AggressorType {
    std::string_view name, description;
    const char* kernel;
    unsigned warps;  ///< of a block, that suit it
    bool needsMap;   ///< one block on each SM is enough then
    std::unique_ptr<AccessPattern> (*make)(const PatternSite&);
    std::uint64_t (*targets)(const arch::AddressMap&) = nullptr;  ///< how many there are to choose from
    bool aimsAtVictim = false;                                    ///< it has to know where the victim's lines are
    Bytes (*bytes)(gpu::Context&) = nullptr;                      ///< of memory, where that is not a matter of the L2
    /// One that launches no kernel, and has neither a pattern nor a place on SMs.
    std::unique_ptr<Actor> (*makeActor)(const Stage&, const AggressorSpec&) = nullptr;
};
/// All of them, in the order in which matrices show them.
const std::vector<AggressorType>& aggressors();
/// Throws Error that suggests the nearest one.
const AggressorType& findAggressor(std::string_view name);

}  // namespace bulkhead::corun
