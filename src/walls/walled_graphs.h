#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/units.h"
#include "driver/driver_api.h"

namespace bulkhead::walls {

class WalledContext;

/// Graphs of a tenant are graphs of the driver behind it. A capture there sees what the tenant's calls do inside the
/// walls, and a node that the program adds itself is what its call would have done, captured. Where that takes more
/// than one node, as for copies, it is a child graph. Calls throw Failure.
class WalledGraphs {
  public:
    explicit WalledGraphs(WalledContext& walled) : walled_(walled) {}

    // Captures that are under way.
    void begin(driver::CUstream, driver::CUstreamCaptureMode);
    void beginInto(driver::CUstream, driver::CUgraph, const driver::CUgraphNode* dependencies,
                   const driver::CUgraphEdgeData*, std::size_t count, driver::CUstreamCaptureMode);
    driver::CUgraph end(driver::CUstream);
    /// Forgets a stream that is destroyed.
    void leave(driver::CUstream);
    bool areCapturing() const { return !origins_.empty(); }
    bool isCaptured(driver::CUstream) const;
    /// Where blocks place themselves, kernels of a capture run one after the other.
    void takeTurn(driver::CUstream);

    /// Device memory for a call that is captured, for as long as there is a graph with it.
    driver::CUdeviceptr memoryFor(driver::CUstream, Bytes);

    // What nodes do that the driver behind has no such node for.
    /// Its arguments are kept here.
    struct KernelCall {
        driver::CUDA_KERNEL_NODE_PARAMS settings = {};
        std::shared_ptr<std::vector<std::uint64_t>> values;
        std::vector<void*> arguments;
    };
    using Call = std::variant<KernelCall, driver::CUDA_MEMCPY3D, driver::CUDA_MEMSET_NODE_PARAMS>;
    /// With a copy of its arguments.
    KernelCall kernelCall(driver::CUDA_KERNEL_NODE_PARAMS) const;

    struct Before {
        const driver::CUgraphNode* nodes = nullptr;
        const driver::CUgraphEdgeData* data = nullptr;
        std::size_t count = 0;
    };
    driver::CUgraphNode add(driver::CUgraph, const Before&, Call);
    void set(driver::CUgraphNode, Call);
    void setIn(driver::CUgraphExec, driver::CUgraphNode, const Call&);
    /// Null for a node that is one of the driver behind as well.
    const Call* callOf(driver::CUgraphNode) const;
    void launch(driver::CUgraphExec, driver::CUstream real);

    void forget(driver::CUgraph);
    void forget(driver::CUgraphNode);
    /// All of it. Nothing of it runs any more.
    void clear();

  private:
    /// Memory of graphs. What ends with a graph is freed later: the driver lets nobody call it while it tells of that.
    struct Memory;
    struct Recorded {
        driver::CUgraph graph = nullptr;
        Call call;
    };
    void perform(const Call&, driver::CUstream) const;
    driver::CUstream recorder();
    driver::CUgraph capture(const Call&);
    driver::CUgraphNode captureInto(driver::CUgraph, const Before&, const Call&);
    void setLaunch(driver::CUgraphExec, driver::CUgraphNode, const KernelCall&) const;
    bool isOne(const Call&) const;
    void freeEnded();

    WalledContext& walled_;
    std::set<driver::CUstream> origins_;
    std::map<std::uint64_t, driver::CUstream> lastLaunch_;  ///< of captures, by their number
    driver::CUstream recorder_ = nullptr;                   ///< in which nodes are captured
    std::map<driver::CUgraphNode, Recorded> recorded_;
    std::map<driver::CUgraph, driver::CUgraphNode> lastRecorded_;  ///< where blocks place themselves
    std::shared_ptr<Memory> memory_;
};

}  // namespace bulkhead::walls
