// Memory of any set of slices, through a table of units, on a simulated H200. Labels of pages come from the profile
// here, so that the space is checked apart from how labels are found.

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "arch/device_profile.h"
#include "driver/simulator_api.h"
#include "sim/gpu.h"
#include "walls/color_space.h"
#include "walls/page_pool.h"

namespace bulkhead::walls {
namespace {

constexpr dissect::Mask kOffset = PagePool::kPageBytes - 1;

/// The profile's slice hash within a page: parities with the weights of an index, then groups.
dissect::ResidueHash hashOf(const arch::AddressMap& map) {
    const arch::Digit &index = map.roles().slice.at(0), &group = map.roles().slice.at(1);
    dissect::ResidueHash hash;
    hash.window = kOffset;
    hash.modulus = static_cast<std::uint32_t>(index.modulus);
    std::uint32_t weight = 1;
    for (const std::uint64_t mask : index.bits) {
        if ((mask & kOffset) != 0) hash.parities.push_back({mask & kOffset, weight});
        weight = weight * 2 % hash.modulus;
    }
    for (const std::uint64_t mask : group.bits) hash.groups.push_back(mask & kOffset);
    return hash;
}

dissect::PageLabel labelOf(const arch::AddressMap& map, std::uint64_t page) {
    const arch::Digit &index = map.roles().slice.at(0), &group = map.roles().slice.at(1);
    dissect::PageLabel label;
    std::uint64_t weight = 1;
    for (std::size_t i = 0; i < index.bits.size(); ++i, weight = weight * 2 % index.modulus) {
        if (!dissect::parity(index.bits[i] & page)) continue;
        if ((index.bits[i] & kOffset) != 0) {
            label.flips |= 1u << i;
        } else {
            label.addend = static_cast<std::uint32_t>((label.addend + weight) % index.modulus);
        }
    }
    if (dissect::parity(group.bits.at(0) & page)) label.groupFlips = 1;
    return label;
}

struct Fixture {
    gpu::Gpu gpu = gpu::Gpu::open("sim:h200");
    PagePool pool{gpu, 8_MiB, 8_MiB};
    const arch::AddressMap& map = gpu.simulator()->profile().map;

    std::uint64_t physical(driver::CUdeviceptr address) {
        std::uint64_t at = 0;
        gpu.context().makeCurrent();
        if (driver::simulator().physicalAddress(&at, address) != driver::CUDA_SUCCESS) throw Error("no memory");
        return at;
    }
    std::vector<dissect::PageLabel> labels() {
        std::vector<dissect::PageLabel> labels;
        for (std::size_t page = 0; page < pool.pages(); ++page)
            labels.push_back(labelOf(map, physical(pool.base() + page * PagePool::kPageBytes)));
        return labels;
    }
    std::unique_ptr<SliceSpace> space(const std::vector<unsigned>& slices) {
        const ColorSpace::Pool from{pool.base(), pool.bytes(), false};
        return std::make_unique<SliceSpace>(gpu, from, hashOf(map), labels(), slices);
    }
};

TEST(SliceSpaces, UnitsAreAsLargeAsTheHashAllows) {
    Fixture f;
    EXPECT_EQ(SliceLayout::unitShift(hashOf(f.map)), 8u) << "bit 8 is the lowest that any parity takes";
}

TEST(SliceSpaces, EveryByteIsOnItsSlices) {
    Fixture f;
    const std::vector<unsigned> wanted = {3, 17, 46, 47, 60};
    const auto space = f.space(wanted);
    std::set<unsigned> met;
    std::set<driver::CUdeviceptr> real;
    for (Bytes offset = 0; offset < space->bytes(); offset += 128) {
        const driver::CUdeviceptr address = space->window() + offset;
        const unsigned slice = f.map.locate(f.physical(space->realAddress(address))).slice;
        ASSERT_EQ(slice, space->colorOf(address)) << offset;
        met.insert(slice);
        real.insert(space->realAddress(address));
    }
    EXPECT_EQ(met, std::set<unsigned>(wanted.begin(), wanted.end()));
    EXPECT_EQ(real.size(), space->bytes() / 128) << "no two addresses have the same bytes";
}

TEST(SliceSpaces, AllSlicesTogetherAreAllOfThePool) {
    Fixture f;
    std::vector<unsigned> all(f.map.slices());
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(f.space(all)->bytes(), f.pool.bytes());
}

TEST(SliceSpaces, EachSliceHasAsMuchMemoryAsASpaceOfItAlone) {
    Fixture f;
    const std::vector<Bytes> bytes = SliceSpace::bytesOfSlices(hashOf(f.map), f.labels());
    ASSERT_EQ(bytes.size(), f.map.slices());
    for (const unsigned slice : {0u, 31u, 46u, 47u, 93u}) EXPECT_EQ(bytes[slice], f.space({slice})->bytes()) << slice;
    EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), Bytes{0}), f.pool.bytes());
}

}  // namespace
}  // namespace bulkhead::walls
