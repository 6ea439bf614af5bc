// Rodinia's nearest neighbour: the distance of every hurricane record from a place, on the GPU; the nearest few, on the
// host.
#include <algorithm>
#include <cmath>

#include "nn.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr std::size_t kNearest = 10;
constexpr float kLatitude = 30, kLongitude = 90;

struct Record {
    float latitude, longitude;
};

std::vector<Record> randomRecords(std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<Record> records(count);
    for (Record& r : records) {
        r.latitude = static_cast<float>(7 + 56 * random.uniform());
        r.longitude = static_cast<float>(360 * random.uniform());
    }
    return records;
}

/// The smallest distances, ascending.
std::vector<float> nearest(std::vector<float> distances) {
    const auto end = distances.begin() + static_cast<std::ptrdiff_t>(std::min(kNearest, distances.size()));
    std::partial_sort(distances.begin(), end, distances.end());
    distances.erase(end, distances.end());
    return distances;
}

class NearestNeighbour : public Instance {
  public:
    NearestNeighbour(gpu::Context& context, std::size_t count, std::uint64_t seed)
        : hostRecords_(randomRecords(count, seed)),
          records_(context.array(hostRecords_)),
          distances_(context.array<float>(count)),
          kernel_(context.load(kNnPtx).kernel("nnDistances")) {}

    void run(gpu::Stream& stream) override {
        const int count = static_cast<int>(hostRecords_.size());
        kernel_.launch(stream, {blocksFor(hostRecords_.size(), kThreads)}, {kThreads}, 0, records_, distances_, count,
                       kLatitude, kLongitude);
    }

    void check() override {
        std::vector<float> expected;
        expected.reserve(hostRecords_.size());
        for (const Record& r : hostRecords_)
            expected.push_back(
                static_cast<float>(std::hypot(double{kLatitude} - r.latitude, double{kLongitude} - r.longitude)));
        const std::vector<float> distances = distances_.take();
        expectNear("distance", expected, distances, 1e-6, 0);
        expectNear("nearest", nearest(expected), nearest(distances), 1e-6, 0);
    }

    std::size_t footprint() const override { return bytesOf(records_, distances_); }

  private:
    static constexpr unsigned kThreads = 256;

    std::vector<Record> hostRecords_;
    gpu::Array<Record> records_;
    gpu::Array<float> distances_;
    gpu::Kernel kernel_;
};

}  // namespace

std::unique_ptr<Instance> createNn(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<NearestNeighbour>(context, forSize<std::size_t>(size, 8000, 1 << 20, 42764), seed);
}

}  // namespace bulkhead::workloads
