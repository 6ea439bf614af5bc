#include "walls/sight.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "dissect/slice_map.h"

namespace bulkhead::walls {
namespace {

constexpr Bytes kLine = 256;  ///< the least distance at which addresses may be on different sides
constexpr Bytes kChunkStride = 4096;
constexpr std::uint32_t kSamplesPerPage = 16;
constexpr int kAttempts = 5;
constexpr double kClearSides = 0.5;  // correlation of latencies; a quiet H200 has 0.94

std::vector<std::uint64_t> equallySpaced(std::uint64_t first, Bytes distance, std::size_t count) {
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = 0; i < count; ++i) addresses.push_back(first + i * distance);
    return addresses;
}

}  // namespace

Sight::Sight(gpu::Gpu& gpu)
    : gpu_(gpu),
      probe_(gpu),
      effort_(dissect::SliceMapOptions::forGpu(gpu).sides),
      chunks_(gpu.context().allocate(effort_.chunks * kChunkStride)) {
    for (int attempt = 0; !look(); ++attempt)
        if (attempt == kAttempts) refuseBusy("the L2 side of its SMs");
}

void Sight::refuseBusy(std::string_view what) const {
    throw Error("{} is too busy to measure {}: set up walls while no other program runs", gpu_.name(), what);
}

/// Finds sides and their halves. False if what it sees cannot be, as where others are at work.
bool Sight::look() {
    sides_ = dissect::findSides(probe_, chunks_.address(), kChunkStride, effort_);
    regions_.reset();
    topology_.sideOf.assign(probe_.sms(), 0);
    topology_.regionOf.assign(probe_.sms(), {});
    if (!sides_) return true;
    topology_.sideOf = sides_->ofSm;
    regions_ = dissect::findRegions(*sides_);
    for (std::size_t sm = 0; sm < topology_.sideOf.size(); ++sm)
        topology_.regionOf[sm] = regions_ ? regions_->ofSm[sm] : dissect::L2Region{topology_.sideOf[sm], 0};
    if (sides_->leastCorrelation < kClearSides) return false;
    // Two SMs make a TPC, which lies in one half: what noise made looks otherwise.
    const auto odd = [&](dissect::L2Region region) {
        return std::count(topology_.regionOf.begin(), topology_.regionOf.end(), region) % 2 != 0;
    };
    return gpu_.capabilities().deterministic ||
           std::none_of(dissect::kL2Regions.begin(), dissect::kL2Regions.end(), odd);
}

std::vector<std::uint8_t> Sight::sidesOf(const std::vector<std::uint64_t>& addresses) {
    return dissect::sidesOf(probe_, *sides_, addresses, effort_.repeats);
}

dissect::Mask Sight::sideMask(driver::CUdeviceptr page) {
    const std::size_t count = dissect::kPageBytes / kLine;
    const auto side = sidesOf(equallySpaced(page, kLine, count));
    std::vector<dissect::Labelled> lines;
    for (std::uint64_t i = 0; i < count; ++i) lines.push_back({i * kLine, side[i]});
    const auto fit =
        dissect::fitSide(lines, dissect::bitRange(static_cast<unsigned>(std::countr_zero(kLine)), dissect::kPageShift));
    if (!fit) throw Error("no parity of address bits tells the sides of this GPU's L2 apart");
    return fit->mask;
}

std::vector<bool> Sight::sidesOfPages(driver::CUdeviceptr first, std::size_t pages, dissect::Mask mask) {
    const Bytes stride = dissect::kPageBytes / kSamplesPerPage;
    const auto side = sidesOf(equallySpaced(first, stride, pages * kSamplesPerPage));
    std::vector<bool> found;
    std::size_t unclear = 0;
    for (std::size_t page = 0; page < pages; ++page) {
        unsigned odd = 0;
        for (std::uint32_t i = 0; i < kSamplesPerPage; ++i)
            if ((side[page * kSamplesPerPage + i] != 0) != parity(i * stride & mask)) ++odd;
        found.push_back(2 * odd > kSamplesPerPage);
        if (std::min(odd, kSamplesPerPage - odd) > kSamplesPerPage / 4) ++unclear;
    }
    if (unclear > pages / 100) refuseBusy("which side its memory is on");
    return found;
}

}  // namespace bulkhead::walls
