#include "hidden_maps.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <numeric>

#include "arch/device_profile.h"
#include "base/error.h"
#include "dissect/dissect.h"
#include "dissect/page_labels.h"
#include "dissect/slice_map.h"
#include "gpu/page_colors.h"
#include "perturbed.h"
#include "subspaces.h"
#include "temporary_directory.h"

namespace bulkhead::dissect {
namespace {

constexpr double kPerturbed = 0.02;

/// Seeds of two maps of each kind by default. All fifty take minutes: set BULKHEAD_ALL_MAPS to try them.
std::vector<std::uint64_t> seeds() {
    std::vector<std::uint64_t> list(std::getenv("BULKHEAD_ALL_MAPS") != nullptr ? 25 : 2);
    std::iota(list.begin(), list.end(), std::uint64_t{1});
    return list;
}

class HiddenMaps : public testing::TestWithParam<std::uint64_t> {
  protected:
    TemporaryDirectory directory_;
};
INSTANTIATE_TEST_SUITE_P(Random, HiddenMaps, testing::ValuesIn(seeds()));

gpu::Gpu scattered(const std::string& name, const std::string& pageBytes) {
    gpu::SimulationOptions simulation;
    simulation.settings = {"memory.placement=scattered", "memory.pageBytes=" + pageBytes};
    return gpu::Gpu::open(name, simulation);
}

TEST_P(HiddenMaps, AnXorHashIsFoundExactlyWithScatteredPagesAndPerturbedTimings) {
    const std::string name = writeXorMap((directory_ / "xor.json").string(), GetParam());
    gpu::Gpu gpu = scattered(name, "64K");
    Options options;
    options.seed = GetParam();
    options.figures = false;
    options.filter = perturbed(kPerturbed, GetParam());
    Listener silent;
    const Dissection d = dissect(gpu, options, silent);
    ASSERT_TRUE(d.file);
    const arch::AddressMap::Roles &found = d.file->map.roles(), hidden = arch::findProfile(name).map.roles();
    EXPECT_EQ(spanOf(found.slice), spanOf(hidden.slice));
    EXPECT_EQ(sum(spanOf(found.slice), spanOf(found.set)), sum(spanOf(hidden.slice), spanOf(hidden.set)));
    EXPECT_EQ(sum(spanOf(found.slice), spanOf(found.bank)), sum(spanOf(hidden.slice), spanOf(hidden.bank)));
}

/// Counts addresses whose slice has another name than the first address of the same true slice, or a name that another
/// true slice has.
class Names {
  public:
    void add(std::uint32_t found, std::uint32_t hidden) {
        if (byFound_.emplace(found, hidden).first->second != hidden ||
            byHidden_.emplace(hidden, found).first->second != found)
            ++wrong_;
    }
    int wrong() const { return wrong_; }

  private:
    std::map<std::uint32_t, std::uint32_t> byFound_, byHidden_;
    int wrong_ = 0;
};

std::uint32_t hiddenSlice(const arch::AddressMap& map, std::uint64_t address) {
    return map.locate(gpu::physicalAddress(address)).slice;
}

/// Keeps what stayed undecided, to tell why a map was not found.
class Undecided final : public Listener {
  public:
    void found(const Finding& f) override {
        if (std::holds_alternative<std::monostate>(f.value)) why_ += f.name + ": " + f.evidence + "\n";
    }
    const std::string& why() const { return why_; }

  private:
    std::string why_;
};

/// As on a real GPU: without physical addresses, from labels of pages. Returns the addresses that are named wrongly.
int wrongByPageLabels(gpu::Gpu& gpu, const arch::AddressMap& hidden, std::uint64_t seed) {
    constexpr std::size_t kPages = 8;
    Probe probe(gpu, perturbed(kPerturbed, seed));
    MemoryView memory(gpu, 512_MiB);
    memory.forgetPhysical();
    SliceMapOptions options = SliceMapOptions::forGpu(gpu);
    options.seed = seed;
    Undecided listener;
    SliceProbe slices(probe, memory, options, listener);
    const std::optional<SliceMap> map = findSliceMap(slices);
    EXPECT_TRUE(map) << listener.why();
    if (!map) return -1;
    const auto labels = labelFirstPages(slices, map->hash, kPages);
    const ResidueHash& form = map->hash;
    EXPECT_EQ(form.slices(), hidden.slices());
    const std::vector<std::uint64_t> first = {memory.base() + kPageBytes};
    if (!labels[1]) return -1;
    EXPECT_EQ(form.group(0, *labels[1]) & 1, slices.sidesOfPages(first)[0]);
    Names names;
    Random random(seed);
    for (int i = 0; i < 3000; ++i) {
        const std::size_t page = random.below(kPages);
        const std::uint64_t offset = random.below(kPageBytes);
        if (!labels[page]) return -1;
        names.add(form.residue(offset, *labels[page]) + form.modulus * form.group(offset, *labels[page]),
                  hiddenSlice(hidden, memory.base() + page * kPageBytes + offset));
    }
    return names.wrong();
}

/// Where physical addresses are known: a map of all of them.
int wrongByPhysicalAddress(gpu::Gpu& gpu, const arch::AddressMap& hidden, std::uint64_t seed) {
    Probe probe(gpu, perturbed(kPerturbed, seed));
    const MemoryView memory(gpu, ~Bytes{0});
    SliceMapOptions options = SliceMapOptions::forGpu(gpu);
    options.seed = seed;
    Undecided listener;
    SliceProbe slices(probe, memory, options, listener);
    const std::optional<SliceMap> map = findSliceMap(slices);
    EXPECT_TRUE(map) << listener.why();
    if (!map) return -1;
    arch::AddressMap::Roles roles;
    roles.slice = map->digits.slice;
    const arch::AddressMap found(std::move(roles));
    EXPECT_EQ(found.slices(), hidden.slices());
    Names names;
    Random random(seed);
    for (int i = 0; i < 3000; ++i) {
        const arch::PhysicalAddress at = memory.random(random, 4);
        names.add(found.locate(at).slice, hidden.locate(at).slice);
    }
    return names.wrong();
}

TEST_P(HiddenMaps, AResidueHashIsFoundExactlyWithScatteredPagesAndPerturbedTimings) {
    constexpr std::uint32_t kModuli[] = {3, 5, 40, 47};
    const std::uint64_t seed = GetParam();
    const std::string name =
        writeResidueMap((directory_ / "residue.json").string(), kModuli[(seed - 1) % std::size(kModuli)], seed);
    const arch::AddressMap hidden = arch::findProfile(name).map;
    gpu::Gpu gpu = scattered(name, "2M");
    const bool byLabels = (seed - 1) / std::size(kModuli) % 2 == (seed - 1) % 2;
    EXPECT_EQ(byLabels ? wrongByPageLabels(gpu, hidden, seed) : wrongByPhysicalAddress(gpu, hidden, seed), 0);
}

/// Sets and banks of lines that share a slice; numbers of slices, sets and banks mean nothing but equality.
TEST_P(HiddenMaps, SetsAndBanksOfAResidueHashAreFoundExactlyWherePhysicalAddressesAreKnown) {
    constexpr std::uint32_t kModuli[] = {3, 5, 40, 47};
    const std::uint64_t seed = GetParam() + 100;
    const std::string name =
        writeResidueMap((directory_ / "residue.json").string(), kModuli[(GetParam() - 1) % std::size(kModuli)], seed);
    gpu::Gpu gpu = scattered(name, "2M");
    Options options;
    options.seed = seed;
    options.figures = false;
    options.filter = perturbed(kPerturbed, seed);
    Undecided listener;
    const Dissection d = dissect(gpu, options, listener);
    ASSERT_TRUE(d.file) << listener.why();
    const arch::AddressMap &found = d.file->map, hidden = arch::findProfile(name).map;
    EXPECT_EQ(found.setsPerSlice(), hidden.setsPerSlice()) << listener.why();
    EXPECT_EQ(found.banksPerChannel(), hidden.banksPerChannel()) << listener.why();
    Names sets, banks;
    const MemoryView memory(gpu, 1_GiB);
    Random random(seed);
    for (int i = 0; i < 20'000; ++i) {
        const arch::PhysicalAddress at = memory.random(random, 128);
        const auto f = found.locate(at), h = hidden.locate(at);
        sets.add(f.slice * found.setsPerSlice() + f.set, h.slice * hidden.setsPerSlice() + h.set);
        banks.add(f.slice * found.banksPerChannel() + f.bank, h.slice * hidden.banksPerChannel() + h.bank);
    }
    EXPECT_EQ(sets.wrong(), 0) << listener.why();
    EXPECT_EQ(banks.wrong(), 0) << listener.why();
}

}  // namespace
}  // namespace bulkhead::dissect
