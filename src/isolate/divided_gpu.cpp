#include "isolate/divided_gpu.h"

#include "arch/device_profile.h"
#include "base/error.h"
#include "dissect/map_file.h"
#include "gpu/gpu_name.h"
#include "gpu/real_driver.h"
#include "walls/slice_sight.h"

namespace bulkhead::isolate {
namespace {

// Divided among the colors. Finding the color of a page takes microseconds for sides, milliseconds for slices, and long
// where every access is costly.
constexpr Bytes kMemoryOfSides = 8192_MiB, kMemoryOfSlices = 4096_MiB;
constexpr Bytes kCostlyMemory = 256_MiB;
constexpr std::size_t kSides = 2;

dissect::MapFile readMapOf(gpu::Gpu& gpu, const std::string& file) {
    dissect::MapFile map = dissect::readMapFile(file);
    const std::string advice = fmt::format("make one with bulkhead dissect --gpu {} --out FILE", gpu.name());
    if (map.gpu != gpu.info().name)
        throw Error("{}: is a map of {}, but {} is {}: {}", file, map.gpu, gpu.name(), gpu.info().name, advice);
    if (!map.uuid.empty() && map.uuid != gpu.uuid())
        throw Error("{}: is a map of another {} ({}) than {}: {}", file, map.gpu, map.uuid, gpu.name(), advice);
    return map;
}

walls::BlockPlacement usualPlacement(gpu::Gpu& gpu) {
    return gpu.capabilities().dispatchesInTurn ? walls::BlockPlacement::blocks : walls::BlockPlacement::automatic;
}

}  // namespace

GpuIdentity identityOf(gpu::Gpu& gpu) {
    return identityOf(gpu.name());
}

GpuIdentity identityOf(const std::string& gpu) {
    if (!gpu::capabilitiesOf(gpu).sharedByProcesses) return {gpu, false};
    return {gpu::uuidOf(gpu::realDriver(), gpu::realDevice(gpu::GpuName::parse(gpu).ordinal)), true};
}

bool needsKeeper(const std::string& gpu) {
    const gpu::Capabilities can = gpu::capabilitiesOf(gpu);
    return can.sharedByProcesses && !can.choosesPages;
}

namespace {

Bytes reserveFor(const std::vector<Partition>& partitions) {
    constexpr Bytes kDrivers = 2_GiB, kPrograms = 1_GiB;
    Bytes sum = kDrivers;
    for (const Partition& partition : partitions) sum += partition.tenants * kPrograms;
    return sum;
}

}  // namespace

std::shared_ptr<KeptGpu> keepFor(const std::vector<Partition>& partitions, gpu::Gpu& gpu, const LeaseBook& book,
                                 const std::string& mapFile, const std::vector<std::string>& command) {
    std::optional<dissect::MapFile> map;
    if (coloringFor(gpu, partitions.size(), mapFile) == walls::Coloring::slices) map = readMapOf(gpu, mapFile);
    auto kept = KeptGpu::start(gpu, book, command);
    kept->look(reserveFor(partitions), map ? &*map : nullptr);
    return kept;
}

walls::Coloring coloringFor(gpu::Gpu& gpu, std::size_t partitions, const std::string& mapFile) {
    if (gpu.capabilities().choosesPages &&
        (mapFile.empty() || gpu.profile()->map.colors(walls::kColoredPage) >= partitions))
        return walls::Coloring::pages;
    if (partitions <= kSides) return walls::Coloring::sides;
    if (mapFile.empty())
        throw Error(
            "{}: memory walls between {} partitions need its address map: write one with bulkhead dissect --out FILE "
            "and give it by --map FILE",
            gpu.name(), partitions);
    return walls::Coloring::slices;
}

std::optional<walls::BlockPlacement> parsePlacement(std::string_view name) {
    if (name == "usual") return std::nullopt;
    if (name == "blocks") return walls::BlockPlacement::blocks;
    if (name == "driver") return walls::BlockPlacement::driver;
    throw Error("unknown placement {}: choose usual, blocks or driver", name);
}

walls::WalledGpu makeWalledGpu(gpu::Gpu& gpu, walls::Coloring coloring, const std::string& mapFile,
                               std::optional<walls::BlockPlacement> placement, const std::shared_ptr<KeptGpu>& kept,
                               const walls::Survey* survey) {
    walls::WalledGpuOptions options;
    options.placement = placement.value_or(usualPlacement(gpu));
    if (gpu.capabilities().dispatchesInTurn) options.oversubscription = 1;
    options.coloring = coloring;
    options.memory = gpu.capabilities().costly             ? kCostlyMemory
                     : coloring == walls::Coloring::slices ? kMemoryOfSlices
                                                           : kMemoryOfSides;
    std::optional<dissect::MapFile> map;
    if (!mapFile.empty()) map = readMapOf(gpu, mapFile);
    if (map) options.map = &*map;
    options.survey = survey;
    if (kept && coloring != walls::Coloring::none) {
        if (!kept->survey()) throw Error("nobody has looked at {} yet: set its partitions again", gpu.name());
        options.survey = &*kept->survey();
        options.blocks = kept;
    }
    return {gpu, options};
}

namespace {

[[noreturn]] void refuseUnnamedColors() {
    throw Error("{}", walls::kUnnamedSlices);
}

}  // namespace

void expectColorsNamed(const walls::WalledGpu& walled) {
    if (!walled.colorsNamed()) refuseUnnamedColors();
}

DivisibleGpu divisibleGpuOf(gpu::Gpu& gpu, const walls::WalledGpu& walled) {
    DivisibleGpu t;
    t.gpu = gpu.name();
    t.regionOfSm = walled.topology().regionOf;
    t.smsTogether = walled.smsTogether();
    if (walled.coloring() == walls::Coloring::none) {
        // Memory is everybody's, and nothing limits how many share it.
        t.regionOfColor = t.regionOfSm;
        return t;
    }
    // A color of both halves has to do with the SMs of both.
    if (walled.coloring() == walls::Coloring::sides)
        for (dissect::L2Region& region : t.regionOfSm) region.half = 0;
    for (unsigned color = 0; color < walled.colors(); ++color) {
        t.regionOfColor.push_back(walled.regionOf(color));
        t.memoryBytes += walled.memoryOf({color});
    }
    if (const arch::DeviceProfile* profile = gpu.profile()) t.slicesPerColor = profile->map.slices() / walled.colors();
    return t;
}

walls::Walls wallsOf(const Share& share, const walls::WalledGpu& walled) {
    walls::Walls walls;
    walls.sms.assign(walled.topology().sms(), false);
    for (const unsigned sm : share.sms) walls.sms.at(sm) = true;
    if (walled.coloring() == walls::Coloring::none) return walls;
    walls.colors = share.colors;
    walls.memory = walled.memoryOf(share.colors);
    return walls;
}

DividedGpu divide(gpu::Gpu& gpu, const std::vector<Partition>& partitions, const std::string& mapFile,
                  const std::shared_ptr<KeptGpu>& kept, const walls::Survey* survey) {
    const walls::Coloring coloring = coloringFor(gpu, partitions.size(), mapFile);
    if (coloring == walls::Coloring::slices && !kept && !readMapOf(gpu, mapFile).latencies)
        refuseUnnamedColors();  // before it takes its time
    walls::WalledGpu walled = makeWalledGpu(gpu, coloring, mapFile, std::nullopt, kept, survey);
    expectColorsNamed(walled);
    Plan plan = makePlan(divisibleGpuOf(gpu, walled), partitions);
    return {std::move(walled), std::move(plan)};
}

Plan planFor(gpu::Gpu& gpu, const std::vector<Partition>& partitions, const std::string& mapFile,
             const std::shared_ptr<KeptGpu>& kept) {
    return divide(gpu, partitions, mapFile, kept).plan;
}

}  // namespace bulkhead::isolate
