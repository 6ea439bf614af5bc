#include "stress/arena.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "dissect/map_file.h"
#include "victims.ptx.h"

namespace bulkhead::stress {
namespace {

constexpr unsigned kGreenStep = 8;  // what the hardware's shares of multiprocessors are multiples of

std::vector<unsigned> range(unsigned first, unsigned last) {
    std::vector<unsigned> all(last - first);
    std::iota(all.begin(), all.end(), first);
    return all;
}

bool isWalk(const std::string& victim) {
    return victim == "random" || victim == "sequential" || victim == "latency";
}

/// Multiprocessors that blocks of a context land on.
std::vector<unsigned> sharesOf(gpu::Context& context, unsigned all) {
    const auto count = static_cast<unsigned>(context.info().multiprocessors);
    PlacedKernel kernel(context, all, context.load(kVictimsPtx).kernel("walk"), {count * 8, 32, {}});
    gpu::Array<std::uint32_t> result = context.array<std::uint32_t>(2);
    gpu::Stream stream = context.createStream();
    kernel.launch(stream, std::tuple(std::uint64_t{0}, std::uint64_t{0}, 0u), result);
    stream.synchronize();
    return multiprocessorsOf(kernel.logs());
}

class LocalArena final : public Arena {
  public:
    explicit LocalArena(ArenaSpec spec) : gpu_(open(spec, watch_)) {
        const CacheShape shape = CacheShape::of(gpu_);
        completeLayouts(spec, shape);
        gpu::Context victim = gpu_.context(), aggressor = gpu_.context();
        switch (spec.placement) {
            case Placement::streams:
                break;
            case Placement::processes:
            case Placement::mps:
                victim = gpu_.createContext(spec.placement == Placement::mps);
                aggressor = gpu_.createContext(spec.placement == Placement::mps);
                break;
            case Placement::green:
                makeGreen(spec, shape, victim, aggressor);
                break;
        }
        victim_ = makeVictim(gpu_, victim, shape, spec.victim);
        aggressor_ = std::make_unique<Aggressor>(aggressor, shape, spec.aggressor, memoryMapper(gpu_, spec.map),
                                                 victim_->lines());
    }
    Victim& victim() override { return *victim_; }
    Assault& aggressor() override { return *aggressor_; }
    std::optional<Causes> explain(const Pair& pair) override {
        if (!gpu_.simulator()) return std::nullopt;
        return explainPair(*gpu_.simulator(), watch_, pair);
    }

  private:
    static gpu::Gpu open(const ArenaSpec& spec, SwitchWatch& watch) {
        gpu::SimulationOptions options;
        options.settings = spec.settings;
        if (spec.gpu.starts_with("sim:")) options.settings.push_back("memory.seed=" + std::to_string(spec.seed));
        options.observer = &watch;
        return gpu::Gpu::open(spec.gpu, options);
    }
    /// The victim has a share of its own; the aggressor's blocks take places outside of it.
    void makeGreen(ArenaSpec& spec, const CacheShape& shape, gpu::Context& victim, gpu::Context& aggressor) {
        const auto share = static_cast<unsigned>(std::max<std::size_t>(spec.victim.layout.multiprocessors.size(), 1));
        victim = gpu_.createGreenContext(share);
        const unsigned most = shape.multiprocessors;
        aggressor = gpu_.createGreenContext(most > kGreenStep ? most - most % kGreenStep : most);
        const std::vector<unsigned> taken = sharesOf(victim, most);
        spec.victim.layout.multiprocessors.clear();
        if (spec.shareMultiprocessors) return;
        std::vector<unsigned> others = sharesOf(aggressor, most);
        std::erase_if(others, [&](unsigned sm) { return std::find(taken.begin(), taken.end(), sm) != taken.end(); });
        if (others.empty()) throw Error("green contexts: the victim's share leaves no multiprocessor to the aggressor");
        AggressorSpec& a = spec.aggressor;
        const auto before = static_cast<unsigned>(a.layout.multiprocessors.size());
        if (before) a.layout.blocks = std::max(1u, a.layout.blocks * static_cast<unsigned>(others.size()) / before);
        a.layout.multiprocessors = others;
    }

    SwitchWatch watch_;
    gpu::Gpu gpu_;
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

MapMemory memoryMapper(gpu::Gpu& gpu, const std::string& mapFile) {
    if (const sim::Gpu* machine = gpu.simulator())
        return mapSimulatedMemory(mapFile.empty() ? machine->profile().map : dissect::readMapFile(mapFile).map);
    if (!mapFile.empty()) return mapByTiming(gpu, mapFile);
    return {};
}

void completeLayouts(ArenaSpec& spec, const CacheShape& shape) {
    const unsigned all = shape.multiprocessors;
    VictimSpec& victim = spec.victim;
    AggressorSpec& aggressor = spec.aggressor;
    // Time slices are exclusive: nobody shares a multiprocessor with another context.
    const bool apart = !spec.shareMultiprocessors && all > 1 && spec.placement != Placement::processes;
    const unsigned ofVictim = isWalk(victim.name) ? 1 : std::max(1u, all / 2);
    if (victim.layout.blocks == 0) {
        victim.layout.blocks = isWalk(victim.name) ? 1 : ofVictim;
        victim.layout.warps = isWalk(victim.name) ? 1 : 32;
    }
    if (victim.layout.multiprocessors.empty() && apart) victim.layout.multiprocessors = range(0, ofVictim);
    if (aggressor.layout.multiprocessors.empty() && apart) aggressor.layout.multiprocessors = range(ofVictim, all);
    if (aggressor.layout.blocks == 0) {
        if (aggressor.layout.warps == 0) aggressor.layout.warps = isSweep(aggressor.kind) ? 16 : 32;
        // What fills a multiprocessor, by threads or by registers; where it is shared, half is left to the victim.
        const unsigned full = isSweep(aggressor.kind) ? 48 : 64;
        const unsigned share = apart || spec.placement == Placement::processes ? full : full / 2;
        const auto chosen = static_cast<unsigned>(aggressor.layout.multiprocessors.size());
        aggressor.layout.blocks = (chosen ? chosen : all) * std::max(1u, share / aggressor.layout.warps);
    }
}

std::unique_ptr<Arena> makeLocalArena(const ArenaSpec& spec) {
    return std::make_unique<LocalArena>(spec);
}

}  // namespace bulkhead::stress
