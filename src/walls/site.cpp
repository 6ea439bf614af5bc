#include <algorithm>
#include <map>
#include <set>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/random.h"
#include "dissect/map_file.h"
#include "dissect/quarters.h"
#include "dissect/slice_map.h"
#include "gpu/real_driver.h"
#include "ptx/persistent_blocks.h"
#include "sim/gpu.h"
#include "walls/context_registry.h"
#include "walls/green_place.h"
#include "walls/page_pool.h"
#include "walls/slice_space.h"

namespace bulkhead::walls {

using dissect::Sides;

struct SiteState {
    gpu::Gpu& gpu;
    SiteOptions options;
    Topology topology;
    std::unique_ptr<PagePool> pool;
    unsigned colors = 0;
    dissect::Mask sideMask = 0;              ///< of an offset in the pool
    std::vector<dissect::PageLabel> labels;  ///< of the pool's pages, for slices
    std::vector<std::uint8_t> quarterOfSlice;
    std::vector<Bytes> bytesOf;  ///< that the pool has of each color
    std::map<std::vector<unsigned>, std::weak_ptr<ColorSpace>> spaces;
    std::set<unsigned> usedColors;  ///< that some tenant has had
    std::optional<GreenGroups> groups;

    // What it was all found with, which can look again.
    dissect::Probe probe;
    dissect::SideEffort effort;
    std::optional<gpu::Buffer> chunks;  ///< that the sides were found with
    std::optional<Sides> sides;
    std::optional<dissect::Quarters> quarters;
    dissect::Listener silent;
    std::optional<dissect::MemoryView> memory;
    std::optional<dissect::SliceMapper> mapper;

    SiteState(gpu::Gpu& g, const SiteOptions& o)
        : gpu(g), options(o), probe(g), effort(dissect::SliceMapOptions::forGpu(g).sides) {}
};

namespace {

constexpr Bytes kColoredPage = 4_KiB;
constexpr Bytes kSector = 32;  ///< that a reduction of eight lanes presses as a whole
constexpr Bytes kLine = 256;   ///< the least distance at which addresses may be on different sides
constexpr std::uint32_t kSamplesPerPage = 16;
constexpr int kAttempts = 5;
constexpr double kClearSides = 0.5;  // correlation of latencies; a quiet H200 has 0.94

[[noreturn]] void refuseBusy(const SiteState& site, std::string_view what) {
    throw Error("{} is too busy to tell {}: put up walls while others rest", site.gpu.name(), what);
}

std::vector<std::uint64_t> equallySpaced(std::uint64_t first, Bytes distance, std::size_t count) {
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = 0; i < count; ++i) addresses.push_back(first + i * distance);
    return addresses;
}

/// Which parity of the offset in a page tells the sides apart.
dissect::SideMask findSideMask(SiteState& site) {
    const std::size_t count = PagePool::kPageBytes / kLine;
    const auto side =
        dissect::sidesOf(site.probe, *site.sides, equallySpaced(site.pool->base(), kLine, count), site.effort.repeats);
    std::vector<dissect::Labelled> lines;
    for (std::uint64_t i = 0; i < count; ++i) lines.push_back({i * kLine, side[i]});
    const auto fit =
        dissect::fitSide(lines, dissect::bitRange(static_cast<unsigned>(std::countr_zero(kLine)), dissect::kPageShift));
    if (!fit) throw Error("no parity of address bits tells the sides of this GPU's L2 apart");
    return *fit;
}

/// Whether a page's sides are the other way round.
std::vector<bool> pageFlips(SiteState& site, dissect::Mask mask) {
    const PagePool& pool = *site.pool;
    const Bytes stride = PagePool::kPageBytes / kSamplesPerPage;
    const std::size_t count = pool.pages() * kSamplesPerPage;
    const auto side =
        dissect::sidesOf(site.probe, *site.sides, equallySpaced(pool.base(), stride, count), site.effort.repeats);
    std::vector<bool> flips;
    std::size_t unclear = 0;
    for (std::size_t page = 0; page < pool.pages(); ++page) {
        unsigned odd = 0;
        for (std::uint32_t i = 0; i < kSamplesPerPage; ++i)
            if ((side[page * kSamplesPerPage + i] != 0) != dissect::parity(i * stride & mask)) ++odd;
        flips.push_back(2 * odd > kSamplesPerPage);
        if (std::min(odd, kSamplesPerPage - odd) > kSamplesPerPage / 4) ++unclear;
    }
    if (unclear > pool.pages() / 100) refuseBusy(site, "which side its memory is on");
    return flips;
}

/// Pages of both kinds in turn, so that the kind of a page is a bit of its address, which joins the mask.
void arrangeBySide(SiteState& site) {
    const dissect::SideMask found = findSideMask(site);
    const std::vector<bool> flips = pageFlips(site, found.mask);
    std::vector<std::size_t> kinds[2], order;
    for (std::size_t page = 0; page < flips.size(); ++page) kinds[flips[page] ? 1 : 0].push_back(page);
    const std::size_t pairs = std::min(kinds[0].size(), kinds[1].size());
    if (pairs > 0) {
        for (std::size_t i = 0; i < pairs; ++i) order.insert(order.end(), {kinds[0][i], kinds[1][i]});
        site.sideMask = found.mask | PagePool::kPageBytes;
        site.pool->arrange(order);
    } else {
        if (!kinds[1].empty()) throw Error("all {} pages of memory walls are of one kind: take more", flips.size());
        site.sideMask = found.mask;
    }
    site.pool->clear();
}

/// The side is the first of the parities that make a group.
unsigned sideOfSlice(const SiteState& site, unsigned slice) {
    return site.topology.sides() > 1 ? slice / site.mapper->hash().modulus & 1 : 0;
}

void labelSlices(SiteState& site) {
    if (site.options.map == nullptr || !site.options.map->form)
        throw Error("colors by slice need a map that dissect found without physical addresses");
    site.memory.emplace(site.pool->base(), site.pool->bytes());
    dissect::SliceMapper& mapper =
        site.mapper.emplace(site.probe, *site.memory, dissect::SliceMapOptions::forGpu(site.gpu), site.silent);
    if (!mapper.adopt(*site.options.map)) throw Error("slices of {} cannot be told apart by timing", site.gpu.name());
    std::vector<std::size_t> known;
    const auto labels = mapper.labelPages(site.pool->pages());
    for (std::size_t page = 0; page < labels.size(); ++page)
        if (labels[page]) {
            known.push_back(page);
            site.labels.push_back(*labels[page]);
        }
    if (known.size() < labels.size()) site.pool->arrange(known);
    site.pool->clear();
    site.colors = mapper.hash().slices();
    site.bytesOf = SliceSpace::bytesOfSlices(mapper.hash(), site.labels);
}

/// Halves that slices are in, by timing.
void findHalvesOfSlices(SiteState& site) {
    if (site.quarters) {
        site.quarterOfSlice =
            dissect::quartersOfSlices(*site.quarters, *site.mapper->latencies(), site.mapper->hash().modulus);
        return;
    }
    for (unsigned slice = 0; slice < site.colors; ++slice)
        site.quarterOfSlice.push_back(static_cast<std::uint8_t>(2 * sideOfSlice(site, slice)));
}

/// Finds sides and their halves. False if what it sees cannot be, as where others are at work.
bool seesSides(SiteState& site, Bytes stride) {
    Topology& topology = site.topology;
    site.sides = dissect::findSides(site.probe, site.chunks->address(), stride, site.effort);
    topology.sideOf.assign(site.probe.multiprocessors(), 0);
    topology.quarterOf = topology.sideOf;
    if (!site.sides) return true;
    topology.sideOf = site.sides->ofMultiprocessor;
    site.quarters = dissect::findQuarters(*site.sides);
    for (std::size_t sm = 0; sm < topology.sideOf.size(); ++sm)
        topology.quarterOf[sm] =
            site.quarters ? site.quarters->ofMultiprocessor[sm] : static_cast<std::uint8_t>(2 * topology.sideOf[sm]);
    if (site.sides->leastCorrelation < kClearSides) return false;
    // Two multiprocessors make a TPC, which lies in one half. Simulated GPUs may have others.
    const auto odd = [&](unsigned quarter) {
        return std::count(topology.quarterOf.begin(), topology.quarterOf.end(), quarter) % 2 != 0;
    };
    return site.gpu.simulator() != nullptr || !(odd(0) || odd(1) || odd(2) || odd(3));
}

void takePool(SiteState& site) {
    const Bytes bytes = site.options.memory / PagePool::kPageBytes * PagePool::kPageBytes;
    if (bytes < 2 * PagePool::kPageBytes)
        throw Error("memory walls need 4 MB of memory and more, not {} bytes", site.options.memory);
    site.pool = std::make_unique<PagePool>(site.gpu, bytes, SideSpace::reservedBytes(bytes));
}

/// Null where blocks are to place themselves.
std::shared_ptr<GreenPlace> placeFor(SiteState& site, const SmSet& sms) {
    if (sms.empty() || site.options.placement == Placement::blocks) return nullptr;
    if (!site.groups) site.groups.emplace(site.gpu, site.topology, site.sides, site.quarters);
    auto place = site.groups->place(sms);
    if (!place && site.options.placement == Placement::driver)
        throw Error("the driver of {} has no green context of exactly these multiprocessors", site.gpu.name());
    return place;
}

}  // namespace

unsigned Topology::sides() const {
    return static_cast<unsigned>(std::set(sideOf.begin(), sideOf.end()).size());
}

Site::Site(gpu::Gpu& gpu, const SiteOptions& options) : state_(std::make_shared<SiteState>(gpu, options)) {
    SiteState& site = *state_;
    const bool translated = options.coloring == Coloring::sides || options.coloring == Coloring::slices;
    if (options.coloring == Coloring::pages) {
        if (gpu.simulator() == nullptr)
            throw Error("{} does not let pages be chosen: color by sides or slices", gpu.name());
        site.colors = gpu.simulator()->profile().map.colors(kColoredPage);
    }
    if (translated) takePool(site);
    constexpr Bytes kStride = 4096;
    site.chunks = gpu.context().allocate(site.effort.chunks * kStride);
    for (int attempt = 0; !seesSides(site, kStride); ++attempt)
        if (attempt == kAttempts) refuseBusy(site, "which side of the L2 its multiprocessors are on");
    if (options.coloring == Coloring::sides) {
        if (!site.sides) throw Error("the L2 of {} has one side: it cannot be colored by sides", gpu.name());
        arrangeBySide(site);
        site.colors = 2;
    }
    if (options.coloring == Coloring::slices) {
        labelSlices(site);
        findHalvesOfSlices(site);
    }
}

const Topology& Site::topology() const {
    return state_->topology;
}
Coloring Site::coloring() const {
    return state_->options.coloring;
}
unsigned Site::colors() const {
    return state_->colors;
}

unsigned Site::sideOf(unsigned color) const {
    if (coloring() == Coloring::sides) return color;
    return coloring() == Coloring::slices ? sideOfSlice(*state_, color) : 0;
}

unsigned Site::quarterOf(unsigned color) const {
    return coloring() == Coloring::slices ? state_->quarterOfSlice.at(color) : 2 * sideOf(color);
}

bool Site::colorsNamed() const {
    return coloring() != Coloring::slices || state_->mapper->named();
}

Bytes Site::memoryOf(const std::vector<unsigned>& colors) const {
    const SiteState& site = *state_;
    if (site.colors == 0) return site.gpu.info().memoryBytes;
    const Bytes equal = (site.pool ? site.pool->bytes() : site.gpu.info().memoryBytes) / site.colors;
    Bytes sum = 0;
    for (const unsigned color : colors) sum += site.bytesOf.empty() ? equal : site.bytesOf.at(color);
    return sum;
}

Enclosure Site::enclose(const Walls& walls) {
    SiteState& site = *state_;
    const auto count = static_cast<std::size_t>(site.topology.multiprocessors());
    if (!walls.sms.empty() &&
        (walls.sms.size() != count || std::find(walls.sms.begin(), walls.sms.end(), true) == walls.sms.end()))
        throw Error("compute walls need a choice of {} multiprocessors, and at least one of them", count);
    if (count > ptx::PersistentQueue::kMaxSms)
        throw Error("walls around more than {} multiprocessors", ptx::PersistentQueue::kMaxSms);
    std::vector<unsigned> colors = walls.colors;
    std::sort(colors.begin(), colors.end());
    if (std::adjacent_find(colors.begin(), colors.end()) != colors.end() ||
        (!colors.empty() && colors.back() >= site.colors))
        throw Error("memory walls need different colors below {}", site.colors);
    Walls granted = walls;
    granted.colors = colors;
    // All colors together are no wall.
    if (colors.size() == site.colors) granted.colors = colors = {};
    std::shared_ptr<ColorSpace> space;
    if (!colors.empty() && site.pool) {
        space = spaceOf(colors);
        if (granted.memory == 0) granted.memory = space->bytes() - space->promised;
        if (granted.memory == 0 || granted.memory > space->bytes() - space->promised)
            throw Error("{} bytes of memory asked for, {} bytes of the colors are left", granted.memory,
                        space->bytes() - space->promised);
    }
    std::shared_ptr<GreenPlace> place = placeFor(site, granted.sms);
    site.gpu.context().makeCurrent();
    const driver::DriverApi& api = site.gpu.api();
    driver::CUcontext primary = nullptr;
    driver::CUdevice device = 0;
    gpu::check(api, api.cuCtxGetCurrent(&primary), "cannot tell the current context");
    gpu::check(api, api.cuCtxGetDevice(&device), "cannot tell the current GPU");
    try {
        auto tenant = std::make_shared<Tenant>(api, primary, device, granted, site.options.coloring, site.options.rows,
                                               std::move(place), space, state_);
        ContextRegistry::instance().add(tenant);
        return {tenant, site.gpu.adoptContext(walledDriver(), tenant->handle(), lastError)};
    } catch (const Failure& failure) {
        throw Error("cannot put up walls: {} (CUDA error {})", failure.why, static_cast<int>(failure.code));
    }
}

std::shared_ptr<ColorSpace> Site::spaceOf(const std::vector<unsigned>& colors) {
    SiteState& site = *state_;
    for (auto it = site.spaces.begin(); it != site.spaces.end();) {
        const auto space = it->second.lock();
        if (space && it->first == colors) return space;
        std::vector<unsigned> common;
        std::set_intersection(colors.begin(), colors.end(), it->first.begin(), it->first.end(),
                              std::back_inserter(common));
        if (space && !common.empty()) throw Error("color {} is in use together with others", common.front());
        it = space ? std::next(it) : site.spaces.erase(it);
    }
    const bool used = std::any_of(colors.begin(), colors.end(), [&](unsigned c) { return site.usedColors.count(c); });
    const ColorSpace::Pool pool{site.pool->base(), site.pool->bytes(), used};
    std::shared_ptr<ColorSpace> space;
    if (site.options.coloring == Coloring::sides) {
        space = std::make_shared<SideSpace>(site.gpu, pool, site.sideMask, colors.front());
    } else {
        space = std::make_shared<SliceSpace>(site.gpu, pool, site.mapper->hash(), site.labels, colors);
    }
    site.usedColors.insert(colors.begin(), colors.end());
    site.spaces[colors] = space;
    return space;
}

std::size_t Site::countWrongColors(const Enclosure& enclosure, const gpu::Buffer& buffer, std::size_t samples,
                                   std::uint64_t seed) {
    SiteState& site = *state_;
    const std::vector<unsigned>& colors = enclosure.walls().colors;
    const std::vector<std::uint64_t> addresses = enclosure.sampleSectors(buffer, samples, seed);
    const auto wrong = [&](unsigned color) { return std::find(colors.begin(), colors.end(), color) == colors.end(); };
    if (site.options.coloring == Coloring::pages) {
        std::size_t count = 0;
        for (const std::uint64_t address : addresses) count += wrong(enclosure.colorOf(address)) ? 1 : 0;
        return count;
    }
    if (!site.sides) throw Error("colors of a GPU with one L2 side cannot be timed");
    const std::vector<std::uint8_t> sides = dissect::sidesOf(site.probe, *site.sides, addresses, site.effort.repeats);
    if (site.options.coloring == Coloring::sides)
        return static_cast<std::size_t>(std::count_if(sides.begin(), sides.end(), wrong));
    std::vector<dissect::Target> targets;
    for (std::size_t i = 0; i < samples; ++i) targets.push_back({addresses[i], sides[i]});
    const auto slices = site.mapper->labeller().identify(targets);
    return static_cast<std::size_t>(
        std::count_if(slices.begin(), slices.end(), [&](const auto& slice) { return !slice || wrong(*slice); }));
}

const Walls& Enclosure::walls() const {
    return tenant_->walls();
}
Placement Enclosure::placement() const {
    return tenant_->placedByDriver() ? Placement::driver : Placement::blocks;
}
driver::CUdeviceptr Enclosure::realAddress(driver::CUdeviceptr address) const {
    return tenant_->realAddress(address);
}
std::vector<driver::CUdeviceptr> Enclosure::sampleSectors(const gpu::Buffer& buffer, std::size_t samples,
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
unsigned Enclosure::colorOf(driver::CUdeviceptr address) const {
    return tenant_->colorOf(address);
}
std::pair<AnySideColor, Bytes> Enclosure::sideColor(driver::CUdeviceptr address) const {
    const auto* space = dynamic_cast<const SideSpace*>(tenant_->space());
    if (space == nullptr || !space->contains(address)) throw Error("an address that no parity translates");
    return {space->color(), address - space->window()};
}
std::pair<SliceColor, Bytes> Enclosure::sliceColor(driver::CUdeviceptr address) const {
    const auto* space = dynamic_cast<const SliceSpace*>(tenant_->space());
    if (space == nullptr || !space->contains(address)) throw Error("an address that is not translated by slices");
    return {space->color(), address - space->window()};
}
Bytes Enclosure::memoryUsed() const {
    return tenant_->memoryUsed();
}
SmSet Enclosure::multiprocessorsUsed() const {
    return tenant_->multiprocessorsUsed();
}
unsigned Enclosure::strayBlocks() const {
    return tenant_->strayBlocks();
}

}  // namespace bulkhead::walls
