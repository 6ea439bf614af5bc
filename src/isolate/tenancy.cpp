#include "isolate/tenancy.h"

#include "arch/device_profile.h"
#include "base/error.h"
#include "dissect/map_file.h"
#include "sim/gpu.h"

namespace bulkhead::isolate {
namespace {

constexpr Bytes kColorPage = 4_KiB;  // the smallest page that GPUs have (IV-F)
// Divided among the colors. Finding the color of a page takes microseconds for sides, milliseconds for slices, and long
// on a simulated GPU.
constexpr Bytes kMemoryOfSides = 8192_MiB, kMemoryOfSlices = 4096_MiB;
constexpr Bytes kSimulatedMemory = 256_MiB;

}  // namespace

GpuIdentity identityOf(gpu::Gpu& gpu) {
    return gpu.simulator() ? GpuIdentity{gpu.name(), false} : GpuIdentity{gpu.uuid(), true};
}

walls::Coloring coloringFor(gpu::Gpu& gpu, std::size_t partitions, const std::string& mapFile) {
    if (const sim::Gpu* machine = gpu.simulator())
        if (mapFile.empty() || machine->profile().map.colors(kColorPage) >= partitions) return walls::Coloring::pages;
    if (partitions <= 2) return walls::Coloring::sides;
    if (mapFile.empty())
        throw Error("{}: memory walls between {} partitions need a map of its slices: --map FILE of bulkhead dissect",
                    gpu.name(), partitions);
    return walls::Coloring::slices;
}

walls::Placement usualPlacement(gpu::Gpu& gpu) {
    return gpu.simulator() ? walls::Placement::blocks : walls::Placement::automatic;
}

walls::Site makeSite(gpu::Gpu& gpu, walls::Coloring coloring, const std::string& mapFile) {
    return makeSite(gpu, coloring, mapFile, usualPlacement(gpu));
}

walls::Site makeSite(gpu::Gpu& gpu, walls::Coloring coloring, const std::string& mapFile, walls::Placement placement) {
    walls::SiteOptions options;
    options.placement = placement;
    // Simulated GPUs give every multiprocessor its turn, whoever has left.
    if (gpu.simulator()) options.rows = 1;
    options.coloring = coloring;
    options.memory = gpu.simulator()                       ? kSimulatedMemory
                     : coloring == walls::Coloring::slices ? kMemoryOfSlices
                                                           : kMemoryOfSides;
    dissect::MapFile map;
    if (coloring == walls::Coloring::slices) {
        map = dissect::readMapFile(mapFile);
        options.map = &map;
    }
    return {gpu, options};
}

namespace {

[[noreturn]] void refuseUnnamedColors() {
    throw Error(
        "the map does not tell slices apart by their distance from multiprocessors, so that processes could not "
        "agree on them: make it anew with bulkhead dissect, while nothing else runs");
}

void expectMapOf(gpu::Gpu& gpu, const dissect::MapFile& map, const std::string& file) {
    const std::string advice = fmt::format("make one with bulkhead dissect --gpu {} --out FILE", gpu.name());
    if (map.gpu != gpu.info().name)
        throw Error("{}: a map of {}, and {} is {}: {}", file, map.gpu, gpu.name(), gpu.info().name, advice);
    if (!map.uuid.empty() && map.uuid != gpu.uuid())
        throw Error("{}: a map of another {} ({}) than {}: {}", file, map.gpu, map.uuid, gpu.name(), advice);
}

}  // namespace

void expectColorsNamed(const walls::Site& site) {
    if (!site.colorsNamed()) refuseUnnamedColors();
}

Topology topologyOf(gpu::Gpu& gpu, const walls::Site& site) {
    Topology t;
    t.gpu = gpu.name();
    t.quarterOfMultiprocessor = site.topology().quarterOf;
    if (site.coloring() == walls::Coloring::none) {
        // Memory is everybody's, and nothing limits how many share it.
        t.quarterOfColor = t.quarterOfMultiprocessor;
        return t;
    }
    // A color of both halves has to do with the multiprocessors of both.
    if (site.coloring() == walls::Coloring::sides)
        for (std::uint8_t& quarter : t.quarterOfMultiprocessor) quarter &= 2;
    for (unsigned color = 0; color < site.colors(); ++color) {
        t.quarterOfColor.push_back(static_cast<std::uint8_t>(site.quarterOf(color)));
        t.memoryBytes += site.memoryOf({color});
    }
    if (const sim::Gpu* machine = gpu.simulator()) t.slicesPerColor = machine->profile().map.slices() / site.colors();
    return t;
}

walls::Walls wallsOf(const Share& share, const walls::Site& site) {
    walls::Walls walls;
    walls.sms.assign(site.topology().multiprocessors(), false);
    for (const unsigned sm : share.multiprocessors) walls.sms.at(sm) = true;
    if (site.coloring() == walls::Coloring::none) return walls;
    walls.colors = share.colors;
    walls.memory = site.memoryOf(share.colors);
    return walls;
}

DividedGpu divide(gpu::Gpu& gpu, const std::vector<Partition>& partitions, const std::string& mapFile) {
    const walls::Coloring coloring = coloringFor(gpu, partitions.size(), mapFile);
    if (!mapFile.empty()) {
        const dissect::MapFile map = dissect::readMapFile(mapFile);
        expectMapOf(gpu, map, mapFile);
        if (coloring == walls::Coloring::slices && !map.latencies) refuseUnnamedColors();  // before it takes its time
    }
    walls::Site site = makeSite(gpu, coloring, mapFile);
    expectColorsNamed(site);
    Plan plan = makePlan(topologyOf(gpu, site), partitions);
    return {std::move(site), std::move(plan)};
}

Plan planFor(gpu::Gpu& gpu, const std::vector<Partition>& partitions, const std::string& mapFile) {
    return divide(gpu, partitions, mapFile).plan;
}

}  // namespace bulkhead::isolate
