#include "workloads/mars/mapreduce.cuh"

using namespace bulkhead::workloads::mars;

/// One iteration: a point goes to the nearest centre, a centre goes to the mean of its points. All in integers, as in
/// Mars.
struct Kmeans {
    template <class Emit>
    static __device__ void map(const char* key, const char* value, Emit& emit) {
        const PointKey& point = *reinterpret_cast<const PointKey*>(key);
        const PointValue& shared = *reinterpret_cast<const PointValue*>(value);
        const int dimensions = point.dimensions, clusters = point.clusters;
        const int* const place = shared.points + point.point * dimensions;
        const int before = point.clusterOf[point.point];

        int nearest = before;
        int least = squaredDistance(place, shared.centres + before * dimensions, dimensions);
        for (int i = 0; i < clusters; ++i) {
            const int distance = squaredDistance(place, shared.centres + i * dimensions, dimensions);
            if (distance < least) {
                least = distance;
                nearest = i;
            }
        }
        if (nearest != before) {
            point.clusterOf[point.point] = nearest;
            // Any number of threads say the same, which a volatile store may.
            *static_cast<volatile int*>(shared.changed) = 1;
        }
        emit(key, sizeof(PointKey), value, sizeof(PointValue));
    }

    template <class Emit>
    static __device__ void mapCount(const char*, const char*, Emit& emit) {
        emit(nullptr, sizeof(PointKey), nullptr, sizeof(PointValue));
    }

    static __device__ int compare(const char* a, int, const char* b, int) {
        return compareNumbers(clusterOf(a), clusterOf(b));
    }

    template <class Emit>
    static __device__ void reduceCount(const Group&, Emit& emit) {
        emit(nullptr, sizeof(int), nullptr, sizeof(int));
    }

    /// Adds the points up where the centre lies in global memory.
    template <class Emit>
    static __device__ void reduce(const Group& group, Emit& emit) {
        const PointValue& shared = *reinterpret_cast<const PointValue*>(group.value(0));
        const int cluster = clusterOf(group.key(0));
        const int dimensions = reinterpret_cast<const PointKey*>(group.key(0))->dimensions;
        int* const centre = shared.centres + cluster * dimensions;
        for (int i = 0; i < dimensions; ++i) centre[i] = 0;
        for (int member = 0; member < group.size(); ++member) {
            const PointKey& point = *reinterpret_cast<const PointKey*>(group.key(member));
            const int* const place = shared.points + point.point * dimensions;
            for (int i = 0; i < dimensions; ++i) centre[i] += place[i];
        }
        for (int i = 0; i < dimensions; ++i) centre[i] /= group.size();
        const int members = group.size();
        emit(&cluster, sizeof cluster, &members, sizeof members);
    }

  private:
    static __device__ int clusterOf(const char* key) {
        const PointKey& point = *reinterpret_cast<const PointKey*>(key);
        return point.clusterOf[point.point];
    }

    static __device__ int squaredDistance(const int* a, const int* b, int dimensions) {
        int sum = 0;
        for (int i = 0; i < dimensions; ++i) {
            const int difference = a[i] - b[i];
            sum += difference * difference;
        }
        return sum;
    }
};

MARS_MAP(Kmeans, )
MARS_GROUP(Kmeans, )
MARS_REDUCE(Kmeans, )

/// Makes the first points the centres.
extern "C" __global__ void firstCentres(const int* points, int* centres, int components) {
    const int task = taskIndex();
    if (task < components) centres[task] = points[task];
}
