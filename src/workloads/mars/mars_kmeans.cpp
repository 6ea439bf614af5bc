#include <limits>

#include "mars_kmeans.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/mars/layouts.h"
#include "workloads/mars/mapreduce.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace mars {
namespace {

constexpr int kDimensions = 3, kClusters = 24;  // as in Mars

/// Points, and where their clusters are after some iterations.
struct Clustering {
    std::vector<int> points, centres, clusterOf;

    explicit Clustering(std::vector<int> all)
        : points(std::move(all)),
          centres(points.begin(), points.begin() + kClusters * kDimensions),
          clusterOf(points.size() / kDimensions, 0) {}

    /// Whether a point went to another cluster.
    bool iterate() {
        bool changed = false;
        for (std::size_t p = 0; p < clusterOf.size(); ++p) {
            const int before = clusterOf[p];
            for (int c = 0; c < kClusters; ++c)
                if (distance(p, c) < distance(p, clusterOf[p])) clusterOf[p] = c;
            changed |= clusterOf[p] != before;
        }
        moveCentres();
        return changed;
    }

  private:
    int distance(std::size_t point, int cluster) const {
        int sum = 0;
        for (std::size_t i = 0; i < kDimensions; ++i) {
            const int difference =
                points[point * kDimensions + i] - centres[static_cast<std::size_t>(cluster) * kDimensions + i];
            sum += difference * difference;
        }
        return sum;
    }

    void moveCentres() {
        std::vector<int> sums(centres.size()), members(kClusters);
        for (std::size_t p = 0; p < clusterOf.size(); ++p) {
            const auto c = static_cast<std::size_t>(clusterOf[p]);
            ++members[c];
            for (std::size_t i = 0; i < kDimensions; ++i) sums[c * kDimensions + i] += points[p * kDimensions + i];
        }
        for (std::size_t c = 0; c < kClusters; ++c)
            for (std::size_t i = 0; members[c] > 0 && i < kDimensions; ++i)
                centres[c * kDimensions + i] = sums[c * kDimensions + i] / members[c];
    }
};

class Kmeans final : public Instance {
  public:
    Kmeans(gpu::Context& context, Size size, std::uint64_t seed)
        : iterations_(forSize(size, 2, 3, std::numeric_limits<int>::max())), job_(context, kMarsKmeansPtx) {
        Random random(seed);
        const int points = forSize(size, 1000, 14336, 14336);
        hostPoints_.resize(static_cast<std::size_t>(points) * kDimensions);
        for (int& component : hostPoints_) component = static_cast<int>(random.below(100));

        points_ = context.array(hostPoints_);
        clusterOf_ = context.array<int>(static_cast<std::size_t>(points));
        centres_ = context.array<int>(kClusters * kDimensions);
        changed_ = context.array<int>(1);
        firstCentres_ = context.load(kMarsKmeansPtx).kernel("firstCentres");
        RecordBuilder input;
        for (int i = 0; i < points; ++i)
            input.add(PointKey{clusterOf_.address(), i, kDimensions, kClusters},
                      PointValue{points_.address(), centres_.address(), changed_.address()});
        input_ = input.upload(context);
    }

    void run(gpu::Stream& stream) override {
        constexpr int kComponents = kClusters * kDimensions;
        clusterOf_.buffer().fill(0, stream);
        firstCentres_.launch(stream, {1}, {kComponents}, 0, points_, centres_, kComponents);
        bool changed = true;
        for (int i = 0; i < iterations_ && changed; ++i) {
            changed_.buffer().fill(0, stream);
            const Groups& clusters = job_.group(stream, job_.map(stream, input_), SortIn::globalMemory);
            job_.reduce(stream, clusters);
            stream.synchronize();
            changed = changed_.download()[0] != 0;
        }
    }

    void check() override {
        Clustering reference(hostPoints_);
        bool changed = true;
        for (int i = 0; i < iterations_ && changed; ++i) changed = reference.iterate();
        expectEqual("cluster of point", reference.clusterOf, clusterOf_.take());
        expectEqual("component of a centre", reference.centres, centres_.take());
        std::vector<int> members(kClusters), counted(kClusters);
        for (const int cluster : reference.clusterOf) ++members[static_cast<std::size_t>(cluster)];
        const HostRecords sizes(job_.reduced());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const int cluster = sizes.keyAs<int>(i);
            if (cluster < 0 || cluster >= kClusters) throw Error("no cluster {}", cluster);
            counted[static_cast<std::size_t>(cluster)] += sizes.valueAs<int>(i);
        }
        job_.forget();
        expectEqual("members of cluster", members, counted);
    }

    std::size_t footprint() const override {
        return bytesOf(points_, clusterOf_, centres_, changed_) + input_.bytes() + job_.bytes();
    }

  private:
    int iterations_;  ///< at most; it ends when no point changes its cluster
    std::vector<int> hostPoints_;
    gpu::Array<int> points_, clusterOf_, centres_, changed_;
    gpu::Kernel firstCentres_;
    Records input_;
    MapReduce job_;
};

}  // namespace
}  // namespace mars

std::unique_ptr<Instance> createMarsKmeans(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<mars::Kmeans>(context, size, seed);
}

}  // namespace bulkhead::workloads
