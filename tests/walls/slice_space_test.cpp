// Memory of any set of slices on a simulated H200. Labels of pages come from the profile
// here, so that the space is checked apart from how labels are found.

#include "walls/slice_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "arch/device_profile.h"
#include "base/random.h"
#include "by_device.h"
#include "span_kernels.ptx.h"
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
        if (!parity(index.bits[i] & page)) continue;
        if ((index.bits[i] & kOffset) != 0) {
            label.flips |= 1u << i;
        } else {
            label.addend = static_cast<std::uint32_t>((label.addend + weight) % index.modulus);
        }
    }
    if (parity(group.bits.at(0) & page)) label.groupFlips = 1;
    return label;
}

struct Fixture {
    gpu::Gpu gpu = gpu::Gpu::open("sim:h200");
    PagePool pool{gpu, 8_MiB, 8_MiB};
    const arch::AddressMap& map = gpu.profile()->map;

    std::vector<dissect::PageLabel> labels() {
        std::vector<dissect::PageLabel> labels;
        for (std::size_t page = 0; page < pool.pages(); ++page)
            labels.push_back(labelOf(map, gpu.context().physicalAddress(pool.base() + page * PagePool::kPageBytes)));
        return labels;
    }
    std::unique_ptr<SliceSpace> space(const std::vector<unsigned>& slices) {
        return std::make_unique<SliceSpace>(gpu, pool, false, SliceLayout(hashOf(map), labels(), slices));
    }
};

TEST(SliceSpaces, UnitsAreAsLargeAsTheHashAllows) {
    Fixture f;
    EXPECT_EQ(SliceLayout::unitShift(hashOf(f.map)), 8u) << "bit 8 is the lowest that any parity takes";
}

/// What an access costs there depends on it.
TEST(SliceSpaces, BlocksOfAnH200NeedTwoTablesOfBytes) {
    Fixture f;
    std::vector<dissect::PageLabel> inBlock;
    for (std::uint64_t page = 0; page < 16; ++page) inBlock.push_back(labelOf(f.map, page * PagePool::kPageBytes));
    std::vector<unsigned> quarter(23);
    std::iota(quarter.begin(), quarter.end(), 47u);
    dissect::PageLabel any;
    for (std::uint64_t page = 0; page < 1 << 16; ++page)
        any = invertedByEither(any, labelOf(f.map, page * PagePool::kPageBytes));
    const SliceLayout layout(hashOf(f.map), inBlock, any, quarter, 128_GiB);
    const SliceColor color = layout.color(32_GiB);
    // Parities of an index have bits 10 to 16 of an address, and bits from 17 on are the index's own.
    EXPECT_EQ(color.pieceBytes, 17u);
    EXPECT_EQ(color.ownBytes, 1023u);
    ASSERT_EQ(color.parts, 2u);
    EXPECT_EQ(color.part[0].bits, 8u);
    EXPECT_EQ(color.part[1].bits, 8u);
    EXPECT_LT(*std::max_element(layout.offsets().begin(), layout.offsets().end()), 256u);
    EXPECT_LT(layout.inversionBits(), 256u);
    EXPECT_TRUE(layout.staysInPiece());
    EXPECT_TRUE(layout.list().empty());
}

TEST(SliceSpaces, EveryByteIsOnItsSlices) {
    Fixture f;
    const std::vector<unsigned> wanted = {3, 17, 46, 47, 60};
    const auto space = f.space(wanted);
    std::set<unsigned> met;
    std::set<driver::CUdeviceptr> real;
    for (Bytes offset = 0; offset < space->bytes(); offset += 128) {
        const driver::CUdeviceptr address = space->window() + offset;
        const unsigned slice = f.map.locate(f.gpu.context().physicalAddress(space->realAddress(address))).slice;
        ASSERT_EQ(slice, space->colorOf(address)) << offset;
        met.insert(slice);
        real.insert(space->realAddress(address));
    }
    EXPECT_EQ(met, std::set<unsigned>(wanted.begin(), wanted.end()));
    EXPECT_EQ(real.size(), space->bytes() / 128) << "no two addresses have the same bytes";
}

/// Pages of an H200 one after the other, of which nothing but labels is needed here.
std::vector<dissect::PageLabel> labelsOf(const dissect::ResidueHash& hash, Bytes bytes, std::uint32_t flips) {
    std::vector<dissect::PageLabel> labels;
    for (std::uint32_t page = 0; page < bytes / PagePool::kPageBytes; ++page)
        labels.push_back(
            {page & 1, page * 37 & flips, static_cast<std::uint32_t>((page << hash.parities.size()) % 47)});
    return labels;
}

struct Case {
    std::vector<unsigned> slices;
    Bytes pool;
    Bytes constantBytes;       ///< that device code may use
    std::uint32_t flips = 63;  ///< parities that pages may invert

    std::string name() const {
        return fmt::format("slices{}of{}MiBwith{}KiBofConstants", fmt::join(slices, "and"), pool >> 20,
                           constantBytes >> 10);
    }
    friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name(); }
};

class SliceTranslations : public testing::TestWithParam<Case> {
  protected:
    static constexpr driver::CUdeviceptr kPool = 0x7f00'0020'0000;
    gpu::Gpu gpu_ = gpu::Gpu::open("sim:h200");
    dissect::ResidueHash hash_ = hashOf(gpu_.profile()->map);
    SliceLayout layout_{hash_, labelsOf(hash_, GetParam().pool, GetParam().flips), GetParam().slices};
    SliceSpace space_{gpu_, {kPool, GetParam().pool, false}, layout_};
};

TEST_P(SliceTranslations, DeviceAndHostAgree) {
    Random random(1);
    std::vector<std::uint64_t> offsets;
    while (offsets.size() < 300) {
        const std::uint64_t offset = random.below(2 * space_.bytes());
        if (space_.heap.contains(offset)) offsets.push_back(offset);
    }
    for (const bool looksFirst : {false, true}) {
        const auto real = byDevice(gpu_, space_, offsets, looksFirst, GetParam().constantBytes);
        for (std::size_t i = 0; i < offsets.size(); ++i)
            ASSERT_EQ(real[i], space_.realAddress(space_.window() + offsets[i])) << offsets[i];
    }
}

TEST_P(SliceTranslations, NoOffsetLeadsToAnotherSlice) {
    Random random(2);
    const Bytes window = space_.translation(0).bytes;
    std::vector<std::uint64_t> offsets;
    // A window of 4 GB is told by its upper half alone, which is not looked at again.
    for (int i = 0; i < 300; ++i)
        offsets.push_back(window == ptx::AccessTranslation::kAlignment ? random.below(window) : random.next());
    const auto labels = labelsOf(hash_, GetParam().pool, GetParam().flips);
    unsigned mapped = 0;
    for (const std::uint64_t real : byDevice(gpu_, space_, offsets, false, GetParam().constantBytes)) {
        ASSERT_LT(real - kPool, layout_.reachOf(window));
        const Bytes offset = (real - kPool) % PagePool::kPageBytes, place = (real - kPool) / PagePool::kPageBytes;
        if (place >= layout_.places().size() || !layout_.places()[place]) continue;  // where nothing is mapped
        ++mapped;
        const dissect::PageLabel& label = labels[*layout_.places()[place]];
        const unsigned slice = hash_.residue(offset, label) + 47 * hash_.group(offset, label);
        const std::vector<unsigned>& own = GetParam().slices;
        ASSERT_TRUE(std::find(own.begin(), own.end(), slice) != own.end()) << slice;
    }
    EXPECT_TRUE(mapped > 0 || space_.bytes() < window / 16);
}

const std::vector<unsigned> kRun = {53, 54, 55, 56, 57, 58, 59}, kRoundTheEnd = {0, 1, 2, 45, 46},
                            kList = {3, 17, 46, 47, 60};
INSTANTIATE_TEST_SUITE_P(Sets, SliceTranslations,
                         testing::Values(Case{kRun, 64_MiB, 64_KiB}, Case{kRun, 64_MiB, 0},
                                         Case{kRoundTheEnd, 512_MiB, 17_KiB},
                                         Case{kRun, 128_MiB, 64_KiB, 1023},  // also those that tell pieces apart
                                         Case{kList, 64_MiB, 64_KiB}, Case{kList, 64_MiB, 0},
                                         Case{{12}, 64_MiB, 64_KiB},
                                         Case{kRun, 100_GiB, 64_KiB},  // more than 4 GB of these slices
                                         Case{kList, 100_GiB, 0}),
                         [](const auto& info) { return info.param.name(); });

TEST(SliceSpaces, ViewsReachTheSameBytes) {
    Fixture f;
    constexpr unsigned kCount = 20'000, kPiece = 64;  // of 4 bytes: a unit
    gpu::Context& context = f.gpu.context();
    gpu::Kernel kernel = context.load(kSpanKernelsPtx).kernel("addOnSlices");
    for (const std::vector<unsigned>& slices : {kRun, kRoundTheEnd, kList}) {
        const auto space = f.space(slices);
        const auto in = space->heap.allocate(kCount * 4), out = space->heap.allocate(kCount * 4);
        std::vector<std::uint32_t> content(kCount + kPiece), sums(kCount + kPiece);
        for (unsigned i = 0; i < kCount; ++i) content[i] = i * i;
        for (unsigned i = 0; i < kCount; i += kPiece)
            f.gpu.api().cuMemcpyHtoD(space->realAddress(space->window() + in->offset + 4 * i), &content[i], 4 * kPiece);
        auto total = context.array(std::vector<std::uint32_t>(1, 0));
        using View = ColoredSpan<unsigned, SliceColor>;
        gpu::Stream stream = context.createStream();
        kernel.launch(stream, {(kCount + 255) / 256}, {256}, 0, View(space->color(), out->offset, kCount),
                      View(space->color(), in->offset, kCount), total);
        stream.synchronize();
        for (unsigned i = 0; i < kCount; i += kPiece)
            f.gpu.api().cuMemcpyDtoH(&sums[i], space->realAddress(space->window() + out->offset + 4 * i), 4 * kPiece);
        for (unsigned i = 0; i < kCount; ++i) ASSERT_EQ(sums[i], content[i] + content[kCount - 1 - i]) << i;
        EXPECT_EQ(total.download()[0], std::accumulate(content.begin(), content.begin() + kCount, 0u));
    }
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
