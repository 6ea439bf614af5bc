#include "stress/aggressor.h"

#include <algorithm>
#include <numeric>

#include "aggressors.ptx.h"
#include "base/error.h"
#include "base/random.h"
#include "base/suggest.h"
#include "experiment/interruption.h"
#include "sim/gpu.h"

namespace bulkhead::stress {
namespace {

constexpr unsigned kArrays = 8;  // of 4.2.1, each as large as the cache
constexpr unsigned kVectorBytes = 16;
constexpr unsigned kFlags = 2;        // stop, and a count of blocks
constexpr unsigned kPartLines = 128;  // of a list, that a warp takes at once
constexpr unsigned kShortBurst = 4;   // accesses between two looks at the flag, where the usual number is too many
constexpr double kLongestBurstNs = 1e9;
constexpr double kHotShare = 0.5;
constexpr unsigned kFills = 2;  // of every way: a round of fewer lines would find its own in the cache, and evict none

std::string kernelOf(AggressorKind kind) {
    if (kind == AggressorKind::compute) return "compute";
    if (isSweep(kind)) return "sweep";
    return describe(kind).needsMap ? "visitLines" : "chaseRing";
}

/// As the kernel `sweep` numbers them.
unsigned sweepKind(AggressorKind kind) {
    return static_cast<unsigned>(kind) - static_cast<unsigned>(AggressorKind::streamRead);
}

}  // namespace

const std::vector<AggressorName>& aggressors() {
    using K = AggressorKind;
    static const std::vector<AggressorName> all = {
        {K::compute, "compute", "computes and touches no memory", false},
        {K::evictSequential, "evict-sequential", "chases pointers through arrays as large as the cache, in order",
         false},
        {K::evictRandom, "evict-random", "the same in random order", false},
        {K::streamRead, "stream-read", "reads memory as fast as it can", false},
        {K::streamWrite, "stream-write", "writes memory as fast as it can", false},
        {K::streamReadWrite, "stream-read-write", "reads and writes every word", false},
        {K::streamAtomic, "stream-atomic", "adds to memory atomically", false},
        {K::setBySet, "set-by-set", "fills one cache set after the other", true},
        {K::rotatingSets, "rotating-sets", "one line of every set, then the next of every set", true},
        {K::mapGuided, "map-guided", "the fewest lines that fill every way of every set anew in each round", true},
        {K::slice, "slice", "lines of one L2 slice only", true},
        {K::bank, "bank", "lines of one DRAM bank only", true},
        {K::channel, "channel", "lines of one DRAM channel only", true},
        {K::hotSets, "hot-sets", "fills the sets that the victim uses most", true},
    };
    return all;
}

AggressorKind parseAggressor(std::string_view name) {
    std::vector<std::string> names;
    for (const AggressorName& a : aggressors()) {
        if (a.name == name) return a.kind;
        names.emplace_back(a.name);
    }
    throw Error("no aggressor {}{}; bulkhead stress --list shows them", name, didYouMean(name, names));
}

const AggressorName& describe(AggressorKind kind) {
    return *std::find_if(aggressors().begin(), aggressors().end(),
                         [&](const AggressorName& a) { return a.kind == kind; });
}

std::string nameOf(const AggressorSpec& spec) {
    return spec.name.empty() ? std::string(describe(spec.kind).name) : spec.name;
}

void validate(const AggressorSpec& spec) {
    if (spec.dutyPercent < 1 || spec.dutyPercent > 100)
        throw Error("a duty cycle of {} %: choose from 1 to 100", spec.dutyPercent);
    if (spec.gigabytesPerSecond < 0) throw Error("{} GB/s: a rate is not negative", spec.gigabytesPerSecond);
    if (spec.lanes < 1 || spec.lanes > 32) throw Error("{} lanes of a warp: choose from 1 to 32", spec.lanes);
    if (spec.layout.warps > 32) throw Error("{} warps of a block: choose from 1 to 32", spec.layout.warps);
    expectBytes(spec.bytes);
}

bool isSweep(AggressorKind kind) {
    return kind >= AggressorKind::streamRead && kind <= AggressorKind::streamAtomic;
}

unsigned usualWarps(AggressorKind kind) {
    if (describe(kind).needsMap) return 1;
    return isSweep(kind) ? 16 : 32;
}

CacheShape CacheShape::of(gpu::Gpu& gpu) {
    CacheShape shape;
    shape.bytes = gpu.info().l2Bytes;
    shape.multiprocessors = static_cast<unsigned>(gpu.info().multiprocessors);
    if (const sim::Gpu* machine = gpu.simulator()) {
        shape.lineBytes = static_cast<Bytes>(machine->profile().l2.lineBytes);
        shape.sectorBytes = static_cast<Bytes>(machine->profile().l2.sectorBytes);
    }
    return shape;
}

Aggressor::Aggressor(gpu::Context context, const CacheShape& shape, AggressorSpec spec, const MapMemory& mapMemory,
                     const Whereabouts& victimLines)
    : context_(std::move(context)),
      shape_(shape),
      spec_(std::move(spec)),
      stream_(context_.createStream()),
      control_(context_.createStream()),
      module_(context_.load(kAggressorsPtx)) {
    validate(spec_);
    if (spec_.bytes == 0) spec_.bytes = kArrays * shape_.bytes;
    completeLayout();
    kernel_ = std::make_unique<PlacedKernel>(context_, shape_.multiprocessors, module_.kernel(kernelOf(spec_.kind)),
                                             spec_.layout);
    flags_ = context_.allocate(kFlags * sizeof(std::uint32_t));
    prepareMemory(mapMemory, victimLines);
    dials();  // a rate that cannot be kept is refused before anything runs
}

void Aggressor::prepareMemory(const MapMemory& mapMemory, const Whereabouts& victimLines) {
    if (spec_.kind == AggressorKind::compute) return;
    if (describe(spec_.kind).needsMap) {
        if (!mapMemory)
            throw Error("aggressor {} needs a map of the GPU's addresses: --map FILE of bulkhead dissect",
                        describe(spec_.kind).name);
        mapped_ = mapMemory(context_, spec_.bytes);
        ring_ = aimedRing(victimLines);
    } else {
        // A sweep must have something for every thread.
        const Bytes least = Bytes{spec_.layout.blocks} * spec_.layout.warps * 32 * kVectorBytes;
        memory_ = context_.allocate(std::max(spec_.bytes, least));
        memory_.fill(0);
        context_.synchronize();
        if (isSweep(spec_.kind)) return;
        ring_ = naiveRing();
    }
    if (ring_.empty())
        throw Error("aggressor {}: no line of its memory is on target {}", describe(spec_.kind).name, spec_.target);
    if (mapped_) {
        listLines();
    } else {
        linkRing();
    }
}

Aggressor::~Aggressor() {
    try {
        if (running_) stop();
    } catch (const std::exception&) {
        // Its context is gone, and the aggressor with it.
    }
}

void Aggressor::completeLayout() {
    Layout& layout = spec_.layout;
    if (layout.warps == 0) layout.warps = usualWarps(spec_.kind);
    if (layout.blocks > 0) return;
    const gpu::Kernel kernel = module_.kernel(kernelOf(spec_.kind));
    const auto fit = static_cast<unsigned>(kernel.blocksPerMultiprocessor(layout.warps * 32));
    const auto chosen = static_cast<unsigned>(layout.multiprocessors.size());
    layout.blocks = chosen ? chosen : static_cast<unsigned>(context_.info().multiprocessors);
    // Where a map says what to evict one block is enough; the others fill their multiprocessors.
    if (!describe(spec_.kind).needsMap) layout.blocks *= std::max(1u, spec_.leavesRoom ? fit / 2 : fit);
}

Ring Aggressor::naiveRing() {
    Ring ring = sequentialRing(memory_.address(), memory_.bytes(), shape_.lineBytes);
    return spec_.kind == AggressorKind::evictSequential ? ring : shuffled(std::move(ring), spec_.seed);
}

Ring Aggressor::aimedRing(const Whereabouts& victimLines) const {
    const Bytes line = shape_.lineBytes;
    const arch::AddressMap& map = mapped_->map();
    // Where a map knows slices only, a slice counts as one set.
    const auto ways = static_cast<unsigned>(shape_.bytes / line / map.slices() / map.setsPerSlice());
    const auto cover = [&](Order order) { return coverCache(*mapped_, line, kFills * ways, order).ring; };
    const auto target = [&](Target t) { return shuffled(targetRing(*mapped_, line, t, spec_.target), spec_.seed); };
    switch (spec_.kind) {
        case AggressorKind::setBySet:
            return cover(Order::setBySet);
        case AggressorKind::rotatingSets:
            return cover(Order::rotating);
        case AggressorKind::slice:
            return target(Target::slice);
        case AggressorKind::bank:
            if (map.banksPerChannel() < 2) throw Error("aggressor bank: the map knows nothing of DRAM's banks");
            return target(Target::bank);
        case AggressorKind::channel:
            return target(Target::channel);
        case AggressorKind::hotSets:
            return coverHotSets(*mapped_, line, kFills * ways, victimLines, kHotShare).ring;
        default:
            return coverInRounds(*mapped_, line, ways, kFills, spec_.seed).ring;
    }
}

/// Naive rings are long: chains begin at equal distances.
void Aggressor::linkRing() {
    constexpr unsigned kThreads = 256;
    gpu::Array<std::uint64_t> order = context_.array(ring_);
    const auto count = static_cast<unsigned>(ring_.size());
    module_.kernel("linkRing").launch(stream_, {(count + kThreads - 1) / kThreads}, {kThreads}, 0, order, count);
    stream_.synchronize();
    const std::size_t first = Random(spec_.seed).below(count);
    std::vector<std::uint64_t> starts;
    for (std::size_t i = 0; i < chains(); ++i) starts.push_back(ring_[(first + i * count / chains()) % count]);
    starts_ = context_.array(starts);
}

/// Of lines that were chosen with a map the order matters: a list is visited by all warps together.
void Aggressor::listLines() {
    chooseSide();
    partsOfList_ = static_cast<std::uint32_t>((ring_.size() + kPartLines - 1) / kPartLines);
    std::vector<std::uint32_t> lines;
    const std::size_t first = Random(spec_.seed).below(ring_.size());
    for (std::size_t i = 0; i < std::size_t{partsOfList_} * kPartLines; ++i)
        lines.push_back(
            static_cast<std::uint32_t>((ring_[(first + i) % ring_.size()] - mapped_->base()) / shape_.lineBytes));
    list_ = context_.array(lines);
    ticket_ = context_.array(std::vector<std::uint32_t>(1, 0));
}

/// Map-guided eviction on a GPU with two sides: a line that is read from the other side fills a way on both, at home
/// and as a copy near the reader. So multiprocessors of one side, with lines at home on the other, evict both.
void Aggressor::chooseSide() {
    const std::vector<std::uint8_t> sides = mapped_->sidesOfMultiprocessors();
    if (spec_.kind != AggressorKind::mapGuided || sides.empty()) return;
    std::vector<unsigned> used = spec_.layout.multiprocessors;
    if (used.empty()) {
        used.resize(sides.size());
        std::iota(used.begin(), used.end(), 0u);
    }
    const auto onFirst =
        static_cast<std::size_t>(std::count_if(used.begin(), used.end(), [&](unsigned sm) { return sides[sm] == 0; }));
    const unsigned side = 2 * onFirst >= used.size() ? 0 : 1;
    const std::size_t working = side == 0 ? onFirst : used.size() - onFirst;
    Ring far = ring_;
    std::erase_if(far, [&](std::uint64_t address) { return mapped_->side(address) == side; });
    if (far.empty()) return;
    ring_ = std::move(far);
    workingShare_ = static_cast<double>(working) / static_cast<double>(used.size());
    std::vector<std::uint32_t> workers(sides.size());
    std::transform(sides.begin(), sides.end(), workers.begin(), [&](std::uint8_t s) { return s == side ? 1u : 0u; });
    workers_ = context_.array(workers);
}

unsigned Aggressor::workingBlocks() const {
    return std::max(1u, static_cast<unsigned>(workingShare_ * spec_.layout.blocks + 0.5));
}

std::size_t Aggressor::chains() const {
    return std::size_t{spec_.layout.blocks} * spec_.layout.warps * spec_.lanes;
}

/// What one access of a thread moves: of a ring, a sector; of a list, its entry too.
Bytes Aggressor::bytesEach() const {
    if (mapped_) return shape_.sectorBytes + sizeof(std::uint32_t);
    if (!isSweep(spec_.kind)) return shape_.sectorBytes;
    return spec_.kind == AggressorKind::streamReadWrite ? 2 * kVectorBytes : kVectorBytes;
}

Dials Aggressor::dials() const {
    Dials dials;
    dials.dutyPercent = spec_.dutyPercent;
    // Nothing comes back from a store or a reduction: only where a warp waits for the flag can others of its
    // multiprocessor go on.
    if (spec_.kind == AggressorKind::streamWrite || spec_.kind == AggressorKind::streamAtomic)
        dials.burst = kShortBurst;
    if (spec_.gigabytesPerSecond > 0 && spec_.kind != AggressorKind::compute) {
        dials.burst = kShortBurst;
        const unsigned lanes = kernelOf(spec_.kind) == "chaseRing" ? spec_.lanes : 32;
        const double burstBytes =
            static_cast<double>(Bytes{workingBlocks()} * spec_.layout.warps * lanes * dials.burst * bytesEach());
        const double ns = burstBytes / spec_.gigabytesPerSecond;
        if (ns > kLongestBurstNs)
            throw Error("{} GB/s are too few for {} blocks of {} warps", spec_.gigabytesPerSecond, spec_.layout.blocks,
                        spec_.layout.warps);
        dials.burstNs = static_cast<std::uint32_t>(ns);
    }
    return dials;
}

void Aggressor::launch() {
    const std::uint64_t stop = flags_.address(), ranks = stop + sizeof(std::uint32_t);
    flags_.fill(0, stream_);
    const auto each = static_cast<unsigned>(bytesEach());
    if (spec_.kind == AggressorKind::compute) {
        kernel_->launch(stream_, std::tuple(stop, dials()), ranks);
    } else if (isSweep(spec_.kind)) {
        const std::uint64_t elements = memory_.bytes() / kVectorBytes;
        kernel_->launch(stream_, std::tuple(memory_.address(), elements, sweepKind(spec_.kind), each, stop, dials()),
                        ranks);
    } else if (mapped_) {
        kernel_->launch(stream_,
                        std::tuple(mapped_->base(), static_cast<unsigned>(shape_.lineBytes), list_, partsOfList_,
                                   workers_, workingBlocks(), ticket_, each, stop, dials()),
                        ranks);
    } else {
        kernel_->launch(stream_, std::tuple(starts_, static_cast<unsigned>(chains()), spec_.lanes, each, stop, dials()),
                        ranks);
    }
}

void Aggressor::start(double limitSeconds) {
    launch();
    running_ = true;
    const Deadline deadline(context_, limitSeconds);
    while (!kernel_->placed()) {
        experiment::throwIfInterrupted();
        if (ended() || deadline.passed()) {
            stop();
            throw Error("aggressor {}: its {} blocks did not all get a place in {} s", describe(spec_.kind).name,
                        spec_.layout.blocks, limitSeconds);
        }
    }
}

AggressorReport Aggressor::stop() {
    // A copy, not a fill: a fill is a kernel, which an aggressor on every multiprocessor would not let run.
    const std::uint32_t one = 1;
    context_.makeCurrent();
    context_.api().cuMemcpyHtoDAsync(flags_.address(), &one, sizeof one, control_.handle());
    control_.synchronize();
    stream_.synchronize();
    running_ = false;
    AggressorReport report;
    const std::vector<BlockLog> logs = kernel_->logs();
    report.multiprocessors = multiprocessorsOf(logs);
    for (const BlockLog& log : logs) {
        report.startNs = std::max(report.startNs, log.startNs);
        report.endNs = report.endNs == 0 ? log.endNs : std::min(report.endNs, log.endNs);
        report.accesses += log.accesses;
        report.bytes += log.bytes;
    }
    return report;
}

}  // namespace bulkhead::stress
