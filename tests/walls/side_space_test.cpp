// The arithmetic of sides: what device code is given does the same as the host, and both keep to the side.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "base/random.h"
#include "by_device.h"

namespace bulkhead::walls {
namespace {

constexpr driver::CUdeviceptr kPool = 0x7f00'0020'0000;

struct Case {
    dissect::Mask mask;
    Bytes pool;

    std::string name() const { return fmt::format("mask{:x}of{}MiB", mask, pool >> 20); }
    friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name(); }
};

class SideSpaces : public testing::TestWithParam<Case> {};

TEST_P(SideSpaces, DeviceAndHostAgreeAndKeepToTheSide) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    const auto [mask, bytes] = GetParam();
    const Bytes chunk = Bytes{1} << std::countr_zero(mask);
    for (unsigned side = 0; side < 2; ++side) {
        SideSpace space(gpu, {kPool, bytes, false}, mask, side);
        ASSERT_EQ(space.bytes(), bytes / 2);
        Random random(side + 1);
        std::vector<std::uint64_t> offsets;
        for (int i = 0; i < 500; ++i) offsets.push_back(random.below(space.bytes()));
        const auto checked = byDevice(gpu, space, offsets, true), taken = byDevice(gpu, space, offsets, false);
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            const std::uint64_t real = space.realAddress(space.window() + offsets[i]);
            ASSERT_EQ(checked[i], real) << offsets[i];
            ASSERT_EQ(taken[i], real) << offsets[i];
            ASSERT_LT(real - kPool, bytes);
            ASSERT_EQ(std::popcount((real - kPool) & mask) & 1, static_cast<int>(side)) << offsets[i];
            ASSERT_EQ(real % chunk, offsets[i] % chunk) << "bytes of a chunk stay together";
        }
        // No two chunks have the same place.
        std::set<std::uint64_t> places;
        const std::uint64_t chunks = std::min<Bytes>(space.bytes(), 16_MiB) / chunk;
        for (std::uint64_t i = 0; i < chunks; ++i) places.insert(space.realAddress(space.window() + i * chunk));
        EXPECT_EQ(places.size(), chunks);
    }
}

TEST_P(SideSpaces, NoOffsetLeadsToTheOtherSide) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    const auto [mask, bytes] = GetParam();
    SideSpace space(gpu, {kPool, bytes, false}, mask, 1);
    Random random(7);
    std::vector<std::uint64_t> offsets;
    const Bytes window = space.translation(0).bytes;
    for (int i = 0; i < 500; ++i) offsets.push_back(i % 2 == 0 ? random.next() : random.below(4 * window) - window);
    const auto real = byDevice(gpu, space, offsets, false);
    int met = 0;
    for (std::size_t i = 0; i < real.size(); ++i) {
        const bool reserved = real[i] - kPool < SideSpace::reservedBytes(bytes);
        if (offsets[i] < window) {
            EXPECT_TRUE(reserved) << offsets[i];
        }
        if (!reserved) continue;
        ++met;
        EXPECT_EQ(std::popcount((real[i] - kPool) & mask) & 1, 1) << offsets[i];
    }
    EXPECT_GT(met, 20);
}

INSTANTIATE_TEST_SUITE_P(Masks, SideSpaces,
                         testing::Values(Case{0x2AB000, 64_MiB},    // an H200's, with the bit of the page
                                         Case{0x2AB000, 8_GiB},     // all of a window of 4 GB
                                         Case{0x2AB000, 20_GiB},    // several times 4 GB
                                         Case{0x288000, 64_MiB},    // the second bit is not beside the first
                                         Case{0x3000, 64_MiB},      // two bits
                                         Case{0x29'1100, 64_MiB}),  // three distances
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace bulkhead::walls
