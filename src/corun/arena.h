#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corun/aggressor.h"
#include "corun/causes.h"
#include "corun/machine_watch.h"
#include "corun/pairing.h"
#include "corun/victim.h"

namespace bulkhead::corun {

/// How victim and aggressor share the GPU.
enum class Placement : std::uint8_t {
    streams,    ///< two streams of one process
    processes,  ///< two processes, which take turns
    mps,        ///< two processes side by side, under the Multi-Process Service
    green,      ///< two green contexts of one process
};
const std::vector<Placement>& placements();
std::string_view placementName(Placement);
/// Throws Error that lists them.
Placement parsePlacement(std::string_view);

struct ArenaSpec {
    std::string gpu = "sim:tx2";
    std::vector<std::string> settings;  ///< of a simulated GPU
    std::string map;                    ///< file of bulkhead dissect; empty: of a simulated GPU, its own
    Placement placement = Placement::streams;
    bool shareMultiprocessors = false;  ///< victim and aggressor may meet on one
    VictimSpec victim;
    AggressorSpec aggressor;
    std::uint64_t seed = 1;  ///< of a simulated GPU: where pages lie, and the phase of the aggressor
};

/// A victim and an aggressor on a GPU, ready to be measured.
class Arena {
  public:
    virtual ~Arena() = default;
    virtual Victim& victim() = 0;
    virtual Assault& aggressor() = 0;
    /// Another aggressor beside the same victim. After an Error there is none.
    virtual void setAggressor(const AggressorSpec&) = 0;
    /// Why a pair's run together took longer; nothing on a real GPU.
    virtual std::optional<Causes> explain(const Pair&) { return std::nullopt; }
};

/// In this process: every placement of a simulated GPU, streams and green contexts of a real one.
std::unique_ptr<Arena> makeLocalArena(const ArenaSpec&);
/// The same, in processes of their own where a real GPU needs them.
std::unique_ptr<Arena> makeArena(const ArenaSpec&);

/// With a simulated GPU's pages as the seed says, and the watch told of what happens there.
gpu::Gpu openGpu(const ArenaSpec&, MachineWatch&);

/// What aims aggressors on a GPU: its own map, or one of a file of bulkhead dissect. Empty where there is none.
MapMemory memoryMapper(gpu::Gpu&, const std::string& mapFile);

/// Before a real GPU is opened: device code that is loaded when it is first used would wait for the end of an aggressor
/// that is running.
void loadModulesEagerly();

/// Fills in what a spec leaves open: layouts for this GPU and placement.
void completeLayouts(ArenaSpec&, const CacheShape&);

}  // namespace bulkhead::corun
