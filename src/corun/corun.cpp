#include "corun/corun.h"

#include <algorithm>
#include <cstdlib>

#include "arch/device_profile.h"
#include "base/error.h"
#include "corun/aggressor.h"
#include "corun/memory_probe.h"
#include "dissect/map_file.h"

namespace bulkhead::corun {
namespace {

/// A GPU's own, or one that was dissected.
arch::AddressMap mapOf(const gpu::Gpu& gpu, const std::string& file) {
    return file.empty() ? gpu.profile()->map : dissect::readMapFile(file).map;
}

class LocalCoRun final : public CoRun {
  public:
    LocalCoRun(const CoRunSpec& spec, std::optional<std::size_t> only)
        : gpu_(openGpu(spec, watch_)), spec_(spec), shape_(CacheGeometry::of(gpu_)), actors_(spec.actors.size()) {
        if (spec.followed && gpu_.capabilities().launchCounters) watch_.setCounters(gpu_.launchCounters());
        const CoRunSpec complete = completed();
        SharingSite site{gpu_, spec_.sharing, spec_.map, {}, 0};
        if (only) site.only = spec_.actors[*only].partition;
        if (const VictimSpec* victim = find<VictimSpec>(complete))
            site.firstSms = static_cast<unsigned>(std::max<std::size_t>(victim->layout.sms.size(), 1));
        sharing_ = findSharing(spec_.sharing.way).make(site);
        for (std::size_t i = 0; i < actors_.size(); ++i)
            if (!only || *only == i) actors_[i] = make(complete.actors[i]);
    }

    /// Actors may still have runs under way, which nobody asks about any more.
    ~LocalCoRun() override { gpu_.discardWork(); }

    Actor& actor(std::size_t i) override { return *actors_.at(i); }
    void replace(std::size_t i, const ActorSpec& actor) override {
        actors_.at(i).reset();
        spec_.actors.at(i) = actor;
        actors_[i] = make(completed().actors[i]);
    }
    Place place(std::size_t i) override { return sharing_->placeOf(spec_.actors.at(i).partition); }
    TakenMemory takeMemory(std::size_t i) override {
        return takeAllMemory(sharing_->contextOf(spec_.actors.at(i).partition));
    }
    const arch::DeviceProfile* profile() override { return gpu_.profile(); }
    const MachineWatch* watch() override { return spec_.followed ? &watch_ : nullptr; }

  private:
    std::unique_ptr<Actor> make(const ActorSpec& actor) {
        const bool watched = spec_.watched && gpu_.capabilities().launchCounters;
        const Stage stage{gpu_, sharing_->contextOf(actor.partition), shape_, watched ? &watch_ : nullptr};
        if (const auto* victim = std::get_if<VictimSpec>(&actor.what)) return makeVictim(stage, withPlaces(*victim));
        if (const auto* application = std::get_if<ApplicationSpec>(&actor.what))
            return makeApplication(stage, *application);
        const AggressorSpec aggressor = withPlaces(std::get<AggressorSpec>(actor.what));
        if (const auto make = findAggressor(aggressor.kind).makeActor) return make(stage, aggressor);
        return std::make_unique<Aggressor>(stage.context, shape_, aggressor, memoryMapper(gpu_, spec_.map),
                                           victimLines(aggressor));
    }
    /// Where the driver keeps contexts apart, it says where blocks land.
    template <class Spec>
    Spec withPlaces(Spec spec) const {
        if (findSharing(spec_.sharing.way).confines) spec.layout.sms.clear();
        return spec;
    }
    /// Timing tells of the aggressor's own pages only.
    Whereabouts victimLines(const AggressorSpec& aggressor) {
        if (!gpu_.capabilities().physicalAddresses || !findAggressor(aggressor.kind).aimsAtVictim) return {};
        for (std::size_t i = 0; i < actors_.size(); ++i) {
            if (!actors_[i] || !std::holds_alternative<VictimSpec>(spec_.actors[i].what)) continue;
            gpu::Context context = sharing_->contextOf(spec_.actors[i].partition);
            return locate(context, mapOf(gpu_, spec_.map), actors_[i]->lines());
        }
        return {};
    }
    CoRunSpec completed() const {
        CoRunSpec complete = spec_;
        completeLayouts(complete, shape_);
        return complete;
    }

    MachineWatch watch_;
    gpu::Gpu gpu_;
    CoRunSpec spec_;
    CacheGeometry shape_;
    std::unique_ptr<Sharing> sharing_;
    std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace

gpu::Gpu openGpu(const CoRunSpec& spec, MachineWatch& watch, bool concurrentContexts) {
    gpu::SimulationOptions options;
    options.settings = spec.settings;
    options.scheduler = spec.scheduler;
    options.concurrentContexts = concurrentContexts;
    options.separate = sim::resourcesOf(spec.separate);
    if (spec.followed) watch.follow();
    if (spec.watched || spec.followed) options.observer = &watch;
    return gpu::Gpu::open(spec.gpu, options);
}

MapMemory memoryMapper(gpu::Gpu& gpu, const std::string& mapFile) {
    if (gpu.capabilities().physicalAddresses) return mapByPhysicalAddress(mapOf(gpu, mapFile));
    if (!mapFile.empty()) return mapByTiming(gpu, mapFile);
    return {};
}

void loadModulesEagerly() {
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

std::unique_ptr<CoRun> makeLocalCoRun(const CoRunSpec& spec, std::optional<std::size_t> only) {
    return std::make_unique<LocalCoRun>(spec, only);
}

std::unique_ptr<CoRun> makeCoRun(const CoRunSpec& spec) {
    const VictimSpec* const victim = find<VictimSpec>(spec);
    const bool program = victim && isProgram(victim->name);
    if (!gpu::capabilitiesOf(spec.gpu).sharedByProcesses)
        return program ? makeSimulatedProgram(spec) : makeLocalCoRun(spec);
    const bool apart = findSharing(spec.sharing.way).separateProcesses || spec.sharing.processes;
    return apart && spec.sharing.partitions > 1 ? makeRemoteCoRun(spec) : makeLocalCoRun(spec);
}

}  // namespace bulkhead::corun
