#include "corun/arena.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "dissect/map_file.h"

namespace bulkhead::corun {
namespace {

std::vector<unsigned> range(unsigned first, unsigned last) {
    std::vector<unsigned> all(last - first);
    std::iota(all.begin(), all.end(), first);
    return all;
}

bool isWalk(const std::string& victim) {
    return victim == "random" || victim == "sequential" || victim == "latency";
}

/// Multiprocessors of an aggressor that names none: so many as it asks for, from `first` on. None: any.
std::vector<unsigned> ofAggressor(const ArenaSpec& spec, unsigned first, bool apart, unsigned all) {
    const unsigned count = spec.aggressor.multiprocessors;
    if (count == 0) return apart ? range(first, all) : std::vector<unsigned>();
    if (count > all - first) throw Error("{} multiprocessors for the aggressor: there are {}", count, all - first);
    return range(first, first + count);
}

/// A simulated GPU's own, or one that was dissected.
arch::AddressMap mapOf(const sim::Gpu& machine, const std::string& file) {
    return file.empty() ? machine.profile().map : dissect::readMapFile(file).map;
}

class LocalArena final : public Arena {
  public:
    explicit LocalArena(const ArenaSpec& spec)
        : gpu_(openGpu(spec, watch_)),
          spec_(spec),
          shape_(CacheShape::of(gpu_)),
          ofVictim_(gpu_.context()),
          ofAggressor_(gpu_.context()) {
        ArenaSpec complete = completed();
        switch (spec_.placement) {
            case Placement::streams:
                break;
            case Placement::processes:
            case Placement::mps:
                ofVictim_ = gpu_.createContext(spec_.placement == Placement::mps);
                ofAggressor_ = gpu_.createContext(spec_.placement == Placement::mps);
                break;
            case Placement::green:
                makeGreenPair(complete);
                break;
        }
        victim_ = makeVictim(gpu_, ofVictim_, shape_, complete.victim, gpu_.simulator() ? &watch_ : nullptr);
        setAggressor(spec_.aggressor);
    }
    Victim& victim() override { return *victim_; }
    Assault& aggressor() override { return *aggressor_; }
    void setAggressor(const AggressorSpec& aggressor) override {
        aggressor_.reset();
        spec_.aggressor = aggressor;
        ArenaSpec complete = completed();
        if (spec_.placement == Placement::green) complete.aggressor.layout.multiprocessors.clear();
        aggressor_ = std::make_unique<Aggressor>(ofAggressor_, shape_, complete.aggressor,
                                                 memoryMapper(gpu_, spec_.map), victimLines());
    }
    std::optional<Causes> explain(const Pair& pair) override {
        if (!gpu_.simulator()) return std::nullopt;
        return explainPair(gpu_.simulator()->profile(), pair);
    }

  private:
    /// Known of simulated GPUs: a real one's timing tells of the aggressor's own pages only.
    Whereabouts victimLines() {
        const sim::Gpu* machine = gpu_.simulator();
        if (!machine || spec_.aggressor.kind != "hot-sets") return {};
        return locateSimulated(ofVictim_, mapOf(*machine, spec_.map), victim_->lines());
    }
    ArenaSpec completed() const {
        ArenaSpec complete = spec_;
        completeLayouts(complete, shape_);
        return complete;
    }
    /// A share of the multiprocessors each, with none in common: where blocks land is the driver's doing then.
    void makeGreenPair(ArenaSpec& complete) {
        std::vector<unsigned>& chosen = complete.victim.layout.multiprocessors;
        std::tie(ofVictim_, ofAggressor_) =
            gpu_.createGreenPair(static_cast<unsigned>(std::max<std::size_t>(chosen.size(), 1)));
        chosen.clear();
    }

    MachineWatch watch_;
    gpu::Gpu gpu_;
    ArenaSpec spec_;
    CacheShape shape_;
    gpu::Context ofVictim_, ofAggressor_;
    std::unique_ptr<Victim> victim_;
    std::unique_ptr<Aggressor> aggressor_;
};

}  // namespace

const std::vector<Placement>& placements() {
    static const std::vector<Placement> all = {Placement::streams, Placement::processes, Placement::mps,
                                               Placement::green};
    return all;
}

std::string_view placementName(Placement placement) {
    switch (placement) {
        case Placement::streams:
            return "streams";
        case Placement::processes:
            return "processes";
        case Placement::mps:
            return "mps";
        default:
            return "green";
    }
}

Placement parsePlacement(std::string_view name) {
    for (const Placement placement : placements())
        if (placementName(placement) == name) return placement;
    throw Error("no placement {}: there are streams, processes, mps and green", name);
}

gpu::Gpu openGpu(const ArenaSpec& spec, MachineWatch& watch) {
    gpu::SimulationOptions options;
    options.settings = spec.settings;
    if (spec.gpu.starts_with("sim:")) options.settings.push_back("memory.seed=" + std::to_string(spec.seed));
    // A greedy scheduler never comes to a victim's block that has landed beside warps which never wait.
    options.scheduler = "lrr";
    options.observer = &watch;
    return gpu::Gpu::open(spec.gpu, options);
}

MapMemory memoryMapper(gpu::Gpu& gpu, const std::string& mapFile) {
    if (const sim::Gpu* machine = gpu.simulator()) return mapSimulatedMemory(mapOf(*machine, mapFile));
    if (!mapFile.empty()) return mapByTiming(gpu, mapFile);
    return {};
}

void loadModulesEagerly() {
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

void completeLayouts(ArenaSpec& spec, const CacheShape& shape) {
    const unsigned all = shape.multiprocessors;
    VictimSpec& victim = spec.victim;
    AggressorSpec& aggressor = spec.aggressor;
    if (spec.placement == Placement::green &&
        (aggressor.multiprocessors > 0 || !aggressor.layout.multiprocessors.empty()))
        throw Error("the driver says which multiprocessors a green context has: the aggressor cannot choose");
    // Time slices are exclusive: nobody shares a multiprocessor with another context.
    const bool apart = !spec.shareMultiprocessors && all > 1 && spec.placement != Placement::processes;
    const unsigned ofVictim = isWalk(victim.name) ? 1 : std::max(1u, all / 2);
    if (victim.layout.blocks == 0) {
        victim.layout.blocks = isWalk(victim.name) ? 1 : ofVictim;
        victim.layout.warps = isWalk(victim.name) ? 1 : 32;
    }
    if (victim.layout.multiprocessors.empty() && apart) victim.layout.multiprocessors = range(0, ofVictim);
    if (aggressor.layout.multiprocessors.empty())
        aggressor.layout.multiprocessors = ofAggressor(spec, apart ? ofVictim : 0, apart, all);
    if (aggressor.layout.warps == 0) aggressor.layout.warps = findAggressor(aggressor.kind).warps;
    aggressor.leavesRoom = !apart && spec.placement != Placement::processes;
}

std::unique_ptr<Arena> makeLocalArena(const ArenaSpec& spec) {
    return std::make_unique<LocalArena>(spec);
}

}  // namespace bulkhead::corun
