#include "workloads/samples/sorting_networks.h"

#include <algorithm>
#include <utility>

#include "sorting_networks.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/reference.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr unsigned kTileThreads = kSortTile / 2, kStepThreads = 256;
constexpr unsigned kDistinctKeys = 65536;  // fewer than elements at the sample's size: some keys are equal

std::vector<std::pair<unsigned, unsigned>> paired(const std::vector<unsigned>& keys,
                                                  const std::vector<unsigned>& values) {
    std::vector<std::pair<unsigned, unsigned>> out;
    for (std::size_t i = 0; i < keys.size(); ++i) out.emplace_back(keys[i], values[i]);
    return out;
}

class SortingNetworks final : public Instance {
  public:
    SortingNetworks(gpu::Context& context, Size size, std::uint64_t seed) {
        Random random(seed);
        const auto n = forSize<unsigned>(size, 1 << 13, 1 << 16, 1 << 20, 1 << 24);
        for (unsigned i = 0; i < n; ++i) {
            hostKeys_.push_back(static_cast<unsigned>(random.below(kDistinctKeys)));
            hostValues_.push_back(i);
        }
        const gpu::Module module = context.load(kSortingNetworksPtx);
        sortTiles_ = module.kernel("sortTiles");
        mergeStep_ = module.kernel("mergeStep");
        mergeTiles_ = module.kernel("mergeTiles");
        inputKeys_ = context.array(hostKeys_);
        inputValues_ = context.array(hostValues_);
        keys_ = context.array<unsigned>(n);
        values_ = context.array<unsigned>(n);
    }

    void run(gpu::Stream& stream) override {
        const auto n = static_cast<unsigned>(hostKeys_.size());
        const gpu::Dim3 tiles = {n / kSortTile};
        sortTiles_.launch(stream, tiles, {kTileThreads}, 0, keys_, values_, inputKeys_, inputValues_);
        for (unsigned size = 2 * kSortTile; size <= n; size *= 2) {
            for (unsigned stride = size / 2; stride >= kSortTile; stride /= 2)
                mergeStep_.launch(stream, {n / 2 / kStepThreads}, {kStepThreads}, 0, keys_, values_, size, stride);
            mergeTiles_.launch(stream, tiles, {kTileThreads}, 0, keys_, values_, size);
        }
    }

    void check() override {
        const auto& expected = reference_([&] {
            auto pairs = paired(hostKeys_, hostValues_);
            std::sort(pairs.begin(), pairs.end());
            return pairs;
        });
        const std::vector<unsigned> keys = keys_.take();
        for (std::size_t i = 0; i < expected.size(); ++i)
            if (keys[i] != expected[i].first)
                throw Error("key[{}] is {}, the reference has {}", i, keys[i], expected[i].first);
        // The network may put values of equal keys in any order.
        auto actual = paired(keys, values_.take());
        std::sort(actual.begin(), actual.end());
        for (std::size_t i = 0; i < expected.size(); ++i)
            if (actual[i] != expected[i])
                throw Error("value {} of key {} is missing among the results", expected[i].second, expected[i].first);
    }

    std::size_t footprint() const override { return bytesOf(inputKeys_, inputValues_, keys_, values_); }

  private:
    std::vector<unsigned> hostKeys_, hostValues_;
    gpu::Kernel sortTiles_, mergeStep_, mergeTiles_;
    gpu::Array<unsigned> inputKeys_, inputValues_, keys_, values_;
    Reference<std::vector<std::pair<unsigned, unsigned>>> reference_;
};

}  // namespace

std::unique_ptr<Instance> createSortingNetworks(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<SortingNetworks>(context, size, seed);
}

}  // namespace bulkhead::workloads
