#include "isolate/floor.h"

#include "base/error.h"
#include "driver/simulator_api.h"
#include "isolate/tenancy.h"

namespace bulkhead::isolate {
namespace {

gpu::Gpu open(const SeriesSpec& spec) {
    gpu::SimulationOptions options;
    options.settings = spec.settings;
    return gpu::Gpu::open(spec.gpu, options);
}

walls::Placement placementOf(const SeriesSpec& spec, gpu::Gpu& gpu) {
    if (spec.placement == "blocks") return walls::Placement::blocks;
    if (spec.placement == "driver") return walls::Placement::driver;
    return usualPlacement(gpu);
}

}  // namespace

Floor::Floor(const SeriesSpec& spec, std::optional<unsigned> only) : gpu_(open(spec)) {
    const bool simulated = gpu_.simulator() != nullptr;
    switch (spec.method) {
        case Method::none:
        case Method::mps:
            if (!simulated && !only && spec.method == Method::mps)
                throw Error("MPS divides a real GPU between processes, not in one");
            for (unsigned i = 0; i < spec.partitions; ++i) {
                const auto at = contexts_.emplace(i, simulated ? gpu_.createContext(true) : gpu_.context()).first;
                if (!simulated || spec.method == Method::none) continue;
                at->second.makeCurrent();
                driver::simulator().limitThreads(1.0 / spec.partitions);
            }
            break;
        case Method::green: {
            if (spec.partitions != 2) throw Error("green contexts: choose 2 partitions");
            auto [first, second] = gpu_.createGreenPair(static_cast<unsigned>(gpu_.info().multiprocessors) / 2);
            multiprocessors_ = static_cast<unsigned>(first.info().multiprocessors);
            contexts_ = {{0, first}, {1, second}};
            break;
        }
        case Method::cp:
        case Method::cmp:
            putUpWalls(spec, only);
            break;
    }
}

void Floor::putUpWalls(const SeriesSpec& spec, std::optional<unsigned> only) {
    const walls::Coloring coloring =
        spec.method == Method::cmp ? coloringFor(gpu_, spec.partitions, spec.map) : walls::Coloring::none;
    site_ = std::make_unique<walls::Site>(makeSite(gpu_, coloring, spec.map, placementOf(spec, gpu_)));
    if (only) expectColorsNamed(*site_);
    const Plan plan = makePlan(topologyOf(gpu_, *site_), equalPartitions(spec.partitions));
    for (unsigned i = 0; i < plan.shares.size(); ++i) {
        if (only && *only != i) continue;
        walls::Enclosure enclosure = site_->enclose(wallsOf(plan.shares[i], *site_));
        contexts_.emplace(i, enclosure.context());
        enclosures_.emplace(i, std::move(enclosure));
    }
    multiprocessors_ = static_cast<unsigned>(plan.shares.front().multiprocessors.size());
    if (spec.method == Method::cmp) colors_ = static_cast<unsigned>(plan.shares.front().colors.size());
}

gpu::Context Floor::place(unsigned partition) {
    return contexts_.at(partition);
}

std::string Floor::placement() const {
    if (enclosures_.empty()) return {};
    return enclosures_.begin()->second.placement() == walls::Placement::driver ? "driver" : "blocks";
}

unsigned Floor::strayBlocks(unsigned partition) const {
    return enclosures_.empty() ? 0 : enclosures_.at(partition).strayBlocks();
}

}  // namespace bulkhead::isolate
