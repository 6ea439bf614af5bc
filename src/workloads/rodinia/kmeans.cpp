// Rodinia's k-means: the GPU assigns points to the nearest centre, the host moves the centres.
//
// The original turns the points round with a kernel and then reads them through textures, past L1D. CIAO's table has 85
// L1D accesses for a thousand instructions, which is a loop of a dozen instructions whose load takes a line for every
// thread: as other studies of L1D do, it has the points read in place, point by point, through L1D. So does this.
#include "workloads/rodinia/kmeans.h"

#include <algorithm>
#include <numeric>

#include "kmeans.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

using kmeans::Centres;
using kmeans::kClusters;
using kmeans::kFeatures;

constexpr int kPasses = 2;

/// Loose clouds that overlap, so that points go on moving for a while.
std::vector<float> clouds(std::size_t points, std::uint64_t seed) {
    Random random(seed);
    const std::vector<float> middles = uniformFloats(random, std::size_t{kClusters} * kFeatures);
    std::vector<float> features = uniformFloats(random, points * kFeatures);
    for (std::size_t p = 0; p < points; ++p) {
        const float* middle = &middles[random.below(kClusters) * kFeatures];
        for (std::size_t f = 0; f < kFeatures; ++f) features[p * kFeatures + f] += middle[f];
    }
    return features;
}

Centres firstPoints(const std::vector<float>& features) {
    Centres centres;
    std::copy_n(features.begin(), std::size_t{kClusters} * kFeatures, centres.at);
    return centres;
}

/// Each centre to the middle of its points; one without points stays.
Centres movedCentres(const std::vector<float>& features, const std::vector<int>& membership, const Centres& before) {
    std::vector<double> sums(std::size_t{kClusters} * kFeatures);
    std::vector<std::size_t> members(kClusters);
    for (std::size_t p = 0; p < membership.size(); ++p) {
        const auto cluster = static_cast<std::size_t>(membership[p]);
        ++members.at(cluster);
        for (std::size_t f = 0; f < kFeatures; ++f) sums[cluster * kFeatures + f] += features[p * kFeatures + f];
    }
    Centres centres = before;
    for (std::size_t i = 0; i < sums.size(); ++i)
        if (const std::size_t count = members[i / kFeatures])
            centres.at[i] = static_cast<float>(sums[i] / static_cast<double>(count));
    return centres;
}

double squaredDistance(const float* point, const float* centre) {
    double sum = 0;
    for (int f = 0; f < kFeatures; ++f) {
        const double difference = double{point[f]} - double{centre[f]};
        sum += difference * difference;
    }
    return sum;
}

class Kmeans : public Instance {
  public:
    Kmeans(gpu::Context& context, std::size_t points, std::uint64_t seed)
        : hostFeatures_(clouds(points, seed)),
          features_(context.array(hostFeatures_)),
          membership_(context.array<int>(points)),
          moved_(context.array<int>(blocksFor(points, kThreads))),
          assign_(context.load(kKmeansPtx).kernel("kmeansAssign")) {}

    void run(gpu::Stream& stream) override {
        passes_.clear();
        membership_.buffer().fill(0xFF, stream);
        Centres centres = firstPoints(hostFeatures_);
        for (int pass = 0; pass < kPasses; ++pass) {
            assign_.launch(stream, {blocksFor(membership_.size(), kThreads)}, {kThreads}, 0, features_,
                           static_cast<int>(membership_.size()), kFeatures, kClusters, membership_, moved_, centres);
            stream.synchronize();
            const std::vector<int> moved = moved_.download();
            passes_.push_back({centres, membership_.download(), std::accumulate(moved.begin(), moved.end(), 0L)});
            centres = movedCentres(hostFeatures_, passes_.back().membership, centres);
        }
    }

    void check() override {
        std::vector<int> before(membership_.size(), -1);
        for (const Pass& pass : passes_) {
            long moved = 0;
            for (std::size_t p = 0; p < before.size(); ++p) {
                checkNearest(p, pass);
                moved += pass.membership[p] != before[p];
            }
            if (moved != pass.moved) throw Error("{} points moved, the reference has {}", pass.moved, moved);
            before = pass.membership;
        }
        expectEqual("membership", before, membership_.take());
    }

    std::size_t footprint() const override { return bytesOf(features_, membership_, moved_); }

  private:
    static constexpr unsigned kThreads = 256;

    struct Pass {
        Centres centres;
        std::vector<int> membership;
        long moved;
    };

    /// Of two centres that are equally near but for rounding, either will do.
    void checkNearest(std::size_t point, const Pass& pass) const {
        const int got = pass.membership[point];
        if (got < 0 || got >= kClusters) throw Error("membership[{}] is {}", point, got);
        const float* features = &hostFeatures_[point * kFeatures];
        const double distance = squaredDistance(features, pass.centres.at + got * kFeatures);
        for (int c = 0; c < kClusters; ++c)
            if (squaredDistance(features, pass.centres.at + c * kFeatures) < distance * (1 - 1e-5))
                throw Error("membership[{}] is {}, the reference has {}", point, got, c);
    }

    std::vector<float> hostFeatures_;
    std::vector<Pass> passes_;
    gpu::Array<float> features_;
    gpu::Array<int> membership_, moved_;
    gpu::Kernel assign_;
};

}  // namespace

std::unique_ptr<Instance> createKmeans(gpu::Context& context, Size size, std::uint64_t seed) {
    constexpr std::size_t kPaperPoints = 101 * 1024 * 1024 / (kFeatures * sizeof(float));
    return std::make_unique<Kmeans>(context, forSize<std::size_t>(size, 400, 16384, kPaperPoints), seed);
}

}  // namespace bulkhead::workloads
