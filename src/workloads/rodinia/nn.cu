#include <cuda_runtime.h>

struct Record {
    float latitude, longitude;
};

/// The distance of each record from a place.
extern "C" __global__ void nnDistances(const Record* records, float* distances, int count, float latitude,
                                       float longitude) {
    const int i = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (i >= count) return;
    const float dx = latitude - records[i].latitude;
    const float dy = longitude - records[i].longitude;
    distances[i] = sqrtf(dx * dx + dy * dy);
}
