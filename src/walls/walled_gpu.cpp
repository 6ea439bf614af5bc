#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/random.h"
#include "dissect/map_file.h"
#include "gpu/real_driver.h"
#include "ptx/persistent_blocks.h"
#include "walls/block_source.h"
#include "walls/context_registry.h"
#include "walls/green_place.h"
#include "walls/page_pool.h"
#include "walls/sight.h"
#include "walls/slice_sight.h"
#include "walls/slice_space.h"
#include "walls/survey.h"

namespace bulkhead::walls {

struct WalledGpuState {
    gpu::Gpu& gpu;
    WalledGpuOptions options;
    std::optional<Survey> survey;
    std::optional<Sight> sight;  ///< where there was no survey
    L2Topology topology;
    std::unique_ptr<PagePool> pool;
    unsigned colors = 0;
    SideRow row;                             ///< of the pool, for sides
    std::vector<BlockSource::Block> spare;   ///< blocks of a kind that had no place yet
    std::vector<dissect::PageLabel> labels;  ///< of the pool's blocks, for slices
    std::vector<dissect::L2Region> regionOfSlice;
    std::vector<Bytes> bytesOf;  ///< that the pool has of each color
    std::map<std::vector<unsigned>, std::weak_ptr<ColorSpace>> spaces;
    std::set<unsigned> usedColors;  ///< that some tenant has had
    std::optional<GreenGroups> groups;

    std::optional<SliceSight> sliceSight;  ///< that slices were found with, and can look again
    dissect::ResidueHash hash;             ///< where colors are slices

    WalledGpuState(gpu::Gpu& g, const WalledGpuOptions& o) : gpu(g), options(o) {
        if (o.survey != nullptr) survey = *o.survey;
        options.survey = nullptr;
    }
    ~WalledGpuState() {
        for (const BlockSource::Block& block : spare) gpu.api().cuMemRelease(block.handle);
    }
};

namespace {

/// Pages of both kinds in turn, so that the kind of a page is a bit of its address, which joins the mask.
void arrangeBySide(WalledGpuState& walled) {
    const dissect::Mask inPage = walled.sight->sideMask(walled.pool->base());
    const std::vector<bool> sides = walled.sight->sidesOfPages(walled.pool->base(), walled.pool->pages(), inPage);
    const SeenBlocks seen = seeBlocks(inPage, sides, 1).value();
    walled.row = seen.row;
    std::vector<std::size_t> kinds[2], order;
    for (std::size_t page = 0; page < seen.kinds.size(); ++page) kinds[seen.kinds[page]].push_back(page);
    if (walled.row.alternates()) {
        const std::size_t pairs = std::min(kinds[0].size(), kinds[1].size());
        if (pairs == 0) throw Error("all {} pages of memory walls are of one kind: take more", sides.size());
        for (std::size_t place = 0; place < 2 * pairs; ++place)
            order.push_back(kinds[walled.row.kindAt(place)][place / 2]);
        walled.pool->arrange(order);
    }
    walled.pool->clear();
}

/// Takes more of what is kept elsewhere, for a row in whose places blocks of these kinds belong. Returns how large
/// the pool is then.
template <class KindAt>
Bytes grow(WalledGpuState& walled, Bytes bytes, const KindAt& kindAt) {
    PagePool& pool = *walled.pool;
    const std::size_t first = pool.blocks();
    const std::size_t turn = walled.survey->turn();
    const Bytes room = pool.reserved() - pool.bytes(), turnBytes = turn * pool.blockBytes();
    const std::size_t count = turn * ((std::min(bytes, room) + turnBytes - 1) / turnBytes);
    std::vector<std::size_t> missing(walled.survey->kinds(), 0);
    for (std::size_t i = 0; i < count; ++i) ++missing.at(kindAt(first + i));
    std::vector<std::vector<BlockSource::Block>> ofKind(missing.size());
    for (const BlockSource::Block& block : walled.spare) ofKind.at(walled.survey->kindOf(block.label)).push_back(block);
    for (std::size_t kind = 0; kind < missing.size(); ++kind)
        missing[kind] -= std::min(missing[kind], ofKind[kind].size());
    for (const BlockSource::Block& block : walled.options.blocks->take(missing)) {
        walled.spare.push_back(block);
        ofKind.at(walled.survey->kindOf(block.label)).push_back(block);
    }
    std::vector<BlockSource::Block> placed;
    for (std::size_t i = 0; i < count; ++i) {
        auto& blocks = ofKind[kindAt(first + i)];
        if (blocks.empty()) break;
        placed.push_back(blocks.back());
        blocks.pop_back();
    }
    placed.resize(placed.size() / turn * turn);
    std::vector<PagePool::Handle> handles(placed.size());
    std::transform(placed.begin(), placed.end(), handles.begin(),
                   [](const BlockSource::Block& block) { return block.handle; });
    std::erase_if(walled.spare, [taken = std::set(handles.begin(), handles.end())](const BlockSource::Block& block) {
        return taken.contains(block.handle);
    });
    pool.append(handles);
    for (const BlockSource::Block& block : placed) walled.labels.push_back(block.label);
    return pool.bytes();
}

/// By timing.
void labelSlices(WalledGpuState& walled) {
    if (walled.options.map == nullptr)
        throw Error("colors by slice need a map that dissect found without physical addresses");
    SliceSight& sight = walled.sliceSight.emplace(walled.gpu, *walled.sight, *walled.options.map, walled.pool->base(),
                                                  walled.pool->bytes());
    walled.hash = sight.map().hash;
    std::vector<std::size_t> known;
    const auto labels = sight.labels();
    for (std::size_t page = 0; page < labels.size(); ++page)
        if (labels[page]) {
            known.push_back(page);
            walled.labels.push_back(*labels[page]);
        }
    if (known.size() < labels.size()) walled.pool->arrange(known);
    walled.pool->clear();
    walled.bytesOf = SliceSpace::bytesOfSlices(walled.hash, walled.labels);
    walled.regionOfSlice = sight.regions();
}

void findSlices(WalledGpuState& walled) {
    if (walled.options.blocks) {
        walled.hash = walled.survey->slices->hash;
        walled.regionOfSlice = walled.survey->slices->regionOfSlice;
    } else {
        labelSlices(walled);
    }
    walled.colors = walled.hash.slices();
}

void takePool(WalledGpuState& walled) {
    if (walled.options.blocks) {
        walled.row = walled.survey->row;
        const Bytes each = walled.row.blockBytes(), most = walled.options.blocks->bytes();
        const Bytes reach = walled.options.coloring == Coloring::slices
                                ? SliceLayout::reachOfAny(walled.survey->slices->hash, each, most)
                                : SideSpace::reservedBytes(most);
        walled.pool = std::make_unique<PagePool>(walled.gpu, PagePool::Blocks{each, reach});
        return;
    }
    const Bytes bytes = walled.options.memory / PagePool::kPageBytes * PagePool::kPageBytes;
    if (bytes < 2 * PagePool::kPageBytes)
        throw Error("memory walls need 4 MB of memory and more, not {} bytes", walled.options.memory);
    walled.pool = std::make_unique<PagePool>(walled.gpu, bytes, SideSpace::reservedBytes(bytes));
}

/// Null where blocks are to place themselves.
std::shared_ptr<GreenPlace> placeFor(WalledGpuState& walled, const SmSet& sms) {
    if (sms.empty() || walled.options.placement == BlockPlacement::blocks) return nullptr;
    if (!walled.groups) {
        if (walled.survey) {
            walled.groups.emplace(walled.gpu, walled.topology, walled.survey->regionOfGroup);
        } else {
            walled.groups.emplace(walled.gpu, walled.topology, walled.sight->sides(), walled.sight->regions());
        }
    }
    auto place = walled.groups->place(sms);
    // Who is told by a survey where groups are is told nothing of single SMs.
    const bool needed =
        walled.options.placement == BlockPlacement::driver || (walled.survey && !walled.survey->regionOfGroup.empty());
    if (!place && needed) throw Error("the driver of {} has no green context of exactly these SMs", walled.gpu.name());
    return place;
}

}  // namespace

unsigned L2Topology::sides() const {
    return static_cast<unsigned>(std::set(sideOf.begin(), sideOf.end()).size());
}

WalledGpu::WalledGpu(gpu::Gpu& gpu, const WalledGpuOptions& options)
    : state_(std::make_shared<WalledGpuState>(gpu, options)) {
    WalledGpuState& walled = *state_;
    const bool translated = options.coloring == Coloring::sides || options.coloring == Coloring::slices;
    if (options.coloring == Coloring::pages) {
        if (!gpu.capabilities().choosesPages)
            throw Error("{} does not let pages be chosen: color by sides or slices", gpu.name());
        walled.colors = gpu.profile()->map.colors(kColoredPage);
    }
    if (translated && walled.options.blocks &&
        (!walled.survey || walled.survey->slices.has_value() != (options.coloring == Coloring::slices)))
        throw Error("blocks that are kept elsewhere need a survey for such walls");
    if (translated) takePool(walled);
    // Pages of this process's own have to be looked at all the same.
    if (!walled.survey || (translated && !walled.options.blocks)) walled.sight.emplace(gpu);
    walled.topology = walled.survey ? walled.survey->topology : walled.sight->topology();
    if (options.coloring == Coloring::sides) {
        if (walled.topology.sides() < 2)
            throw Error("the L2 of {} has one side: it cannot be colored by sides", gpu.name());
        if (!walled.options.blocks) arrangeBySide(walled);
        walled.colors = 2;
    }
    if (options.coloring == Coloring::slices) findSlices(walled);
}

const L2Topology& WalledGpu::topology() const {
    return state_->topology;
}
unsigned WalledGpu::smsTogether() const {
    if (!state_->survey || state_->survey->regionOfGroup.empty()) return 1;
    return state_->topology.sms() / static_cast<unsigned>(state_->survey->regionOfGroup.size());
}
Coloring WalledGpu::coloring() const {
    return state_->options.coloring;
}
unsigned WalledGpu::colors() const {
    return state_->colors;
}

unsigned WalledGpu::sideOf(unsigned color) const {
    if (coloring() == Coloring::sides) return color;
    return coloring() == Coloring::slices ? state_->regionOfSlice.at(color).side : 0;
}

dissect::L2Region WalledGpu::regionOf(unsigned color) const {
    if (coloring() == Coloring::slices) return state_->regionOfSlice.at(color);
    return {static_cast<std::uint8_t>(sideOf(color)), 0};
}

bool WalledGpu::colorsNamed() const {
    return coloring() != Coloring::slices || !state_->sliceSight || state_->sliceSight->map().named;
}

Bytes WalledGpu::memoryOf(const std::vector<unsigned>& colors) const {
    const WalledGpuState& walled = *state_;
    if (walled.colors == 0) return walled.gpu.info().memoryBytes;
    const Bytes all = walled.options.blocks ? walled.options.blocks->bytes()
                      : walled.pool         ? walled.pool->bytes()
                                            : walled.gpu.info().memoryBytes;
    const Bytes equal = all / walled.colors;
    Bytes sum = 0;
    for (const unsigned color : colors) sum += walled.bytesOf.empty() ? equal : walled.bytesOf.at(color);
    return sum;
}

PartitionContext WalledGpu::enclose(const Walls& walls) {
    WalledGpuState& walled = *state_;
    const auto count = static_cast<std::size_t>(walled.topology.sms());
    if (!walls.sms.empty() &&
        (walls.sms.size() != count || std::find(walls.sms.begin(), walls.sms.end(), true) == walls.sms.end()))
        throw Error("compute walls need a choice out of {} SMs, at least one of them", count);
    if (count > ptx::PersistentQueue::kMaxSms)
        throw Error("compute walls support at most {} SMs", ptx::PersistentQueue::kMaxSms);
    std::vector<unsigned> colors = walls.colors;
    std::sort(colors.begin(), colors.end());
    if (std::adjacent_find(colors.begin(), colors.end()) != colors.end() ||
        (!colors.empty() && colors.back() >= walled.colors))
        throw Error("memory walls need different colors below {}", walled.colors);
    Walls granted = walls;
    granted.colors = colors;
    // All colors together are no wall.
    if (colors.size() == walled.colors) granted.colors = colors = {};
    std::shared_ptr<ColorSpace> space;
    if (!colors.empty() && walled.pool) {
        space = spaceOf(colors);
        if (granted.memory == 0) granted.memory = space->bytes() - space->promised;
        if (granted.memory == 0 || granted.memory > space->bytes() - space->promised)
            throw Error("{} bytes of memory asked for, {} bytes of the colors are left", granted.memory,
                        space->bytes() - space->promised);
    }
    WalledContext::Options options;
    options.walls = granted;
    options.coloring = walled.options.coloring;
    options.oversubscription = walled.options.oversubscription;
    options.place = placeFor(walled, granted.sms);
    options.space = std::move(space);
    options.ground = state_;
    walled.gpu.context().makeCurrent();
    const driver::DriverApi& api = walled.gpu.api();
    gpu::check(api, api.cuCtxGetCurrent(&options.real), "cannot tell the current context");
    gpu::check(api, api.cuCtxGetDevice(&options.device), "cannot tell the current GPU");
    try {
        auto context = std::make_shared<WalledContext>(api, std::move(options));
        ContextRegistry::instance().add(context);
        return {context, walled.gpu.adoptContext(walledDriver(), context->handle(), lastError)};
    } catch (const Failure& failure) {
        throw Error("cannot put up walls: {} (CUDA error {})", failure.why, static_cast<int>(failure.code));
    }
}

std::shared_ptr<ColorSpace> WalledGpu::spaceOf(const std::vector<unsigned>& colors) {
    WalledGpuState& walled = *state_;
    for (auto it = walled.spaces.begin(); it != walled.spaces.end();) {
        const auto space = it->second.lock();
        if (space && it->first == colors) return space;
        std::vector<unsigned> common;
        std::set_intersection(colors.begin(), colors.end(), it->first.begin(), it->first.end(),
                              std::back_inserter(common));
        if (space && !common.empty()) throw Error("color {} is in use together with others", common.front());
        it = space ? std::next(it) : walled.spaces.erase(it);
    }
    const bool used = std::any_of(colors.begin(), colors.end(), [&](unsigned c) { return walled.usedColors.count(c); });
    ColorSpace::Pool pool{walled.pool->base(), walled.pool->bytes(), used};
    if (walled.options.blocks) {
        // Others had them before.
        pool.used = true;
        pool.most = walled.options.blocks->bytes();
    }
    std::shared_ptr<ColorSpace> space;
    if (walled.options.coloring == Coloring::sides) {
        if (walled.options.blocks)
            pool.grow = [&walled](Bytes bytes) {
                return grow(walled, bytes, [&](std::size_t place) { return walled.row.kindAt(place); });
            };
        space = std::make_shared<SideSpace>(walled.gpu, pool, walled.row.mask, colors.front());
    } else if (walled.options.blocks) {
        const SliceLayout layout(walled.hash, walled.survey->slices->inBlock, walled.survey->slices->inverted, colors,
                                 pool.most);
        pool.grow = [&walled, layout](Bytes bytes) {
            return grow(walled, bytes, [&](std::size_t place) { return layout.kindAt(place); });
        };
        space = std::make_shared<SliceSpace>(walled.gpu, pool, layout, walled.labels);
    } else {
        space = std::make_shared<SliceSpace>(walled.gpu, *walled.pool, used,
                                             SliceLayout(walled.hash, walled.labels, colors));
    }
    walled.usedColors.insert(colors.begin(), colors.end());
    walled.spaces[colors] = space;
    return space;
}

std::size_t WalledGpu::countWrongColors(const PartitionContext& tenant, const gpu::Buffer& buffer, std::size_t samples,
                                        std::uint64_t seed) {
    WalledGpuState& walled = *state_;
    const std::vector<unsigned>& colors = tenant.walls().colors;
    const std::vector<std::uint64_t> addresses = tenant.sampleSectors(buffer, samples, seed);
    const auto wrong = [&](unsigned color) { return std::find(colors.begin(), colors.end(), color) == colors.end(); };
    if (walled.options.coloring == Coloring::pages) {
        std::size_t count = 0;
        for (const std::uint64_t address : addresses) count += wrong(tenant.colorOf(address)) ? 1 : 0;
        return count;
    }
    if (!walled.sight || !walled.sight->sides())
        throw Error("colors of a GPU with one L2 side cannot be timed, nor those that a survey tells");
    const std::vector<std::uint8_t> sides = walled.sight->sidesOf(addresses);
    if (walled.options.coloring == Coloring::sides)
        return static_cast<std::size_t>(std::count_if(sides.begin(), sides.end(), wrong));
    std::vector<dissect::Target> targets;
    for (std::size_t i = 0; i < samples; ++i) targets.push_back({addresses[i], sides[i]});
    const auto slices = walled.sliceSight->slicesOf(targets);
    return static_cast<std::size_t>(
        std::count_if(slices.begin(), slices.end(), [&](const auto& slice) { return !slice || wrong(*slice); }));
}

const Walls& PartitionContext::walls() const {
    return walled_->walls();
}
BlockPlacement PartitionContext::placement() const {
    return walled_->placedByDriver() ? BlockPlacement::driver : BlockPlacement::blocks;
}
driver::CUcontext PartitionContext::placeOfDriver() const {
    return walled_->placedByDriver() ? walled_->place()->context() : nullptr;
}
driver::CUdeviceptr PartitionContext::realAddress(driver::CUdeviceptr address) const {
    return walled_->realAddress(address);
}
std::vector<driver::CUdeviceptr> PartitionContext::sampleSectors(const gpu::Buffer& buffer, std::size_t samples,
                                                                 std::uint64_t seed) const {
    const std::uint64_t first = (buffer.address() + kSector - 1) / kSector,
                        end = (buffer.address() + buffer.bytes()) / kSector;
    if (end <= first) throw Error("{} bytes are too few to sample", buffer.bytes());
    Random random(seed);
    std::vector<driver::CUdeviceptr> addresses;
    for (std::size_t i = 0; i < samples; ++i)
        addresses.push_back(realAddress((first + random.below(end - first)) * kSector));
    return addresses;
}
unsigned PartitionContext::colorOf(driver::CUdeviceptr address) const {
    return walled_->colorOf(address);
}
std::pair<SideColor, Bytes> PartitionContext::sideColor(driver::CUdeviceptr address) const {
    const auto* space = dynamic_cast<const SideSpace*>(walled_->space());
    if (space == nullptr || !space->contains(address)) throw Error("an address that no parity translates");
    return {space->color(), address - space->window()};
}
std::pair<SliceColor, Bytes> PartitionContext::sliceColor(driver::CUdeviceptr address) const {
    const auto* space = dynamic_cast<const SliceSpace*>(walled_->space());
    if (space == nullptr || !space->contains(address)) throw Error("an address that is not translated by slices");
    return {space->color(), address - space->window()};
}
Bytes PartitionContext::memoryUsed() const {
    return walled_->memoryUsed();
}
SmSet PartitionContext::smsUsed() const {
    return walled_->smsUsed();
}
unsigned PartitionContext::strayBlocks() const {
    return walled_->strayBlocks();
}

}  // namespace bulkhead::walls
