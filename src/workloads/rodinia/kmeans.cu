#include <cuda_runtime.h>

#include "workloads/rodinia/kmeans.h"

using namespace bulkhead::workloads::kmeans;

/// Assigns each point to its nearest centre, and counts the points of each block that moved.
extern "C" __global__ void kmeansAssign(const float* features, int points, int width, int clusters, int* membership,
                                        int* moved, Centres centres) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    bool changed = false;
    if (point < points) {
        int nearest = 0;
        float least = 3.402823466e+38f;
        for (int c = 0; c < clusters; ++c) {
            float distance = 0;
#pragma unroll 1
            for (int f = 0; f < width; ++f) {
                const float difference = features[point * width + f] - centres.at[c * width + f];
                distance += difference * difference;
            }
            if (distance < least) {
                least = distance;
                nearest = c;
            }
        }
        changed = membership[point] != nearest;
        membership[point] = nearest;
    }
    const int count = __syncthreads_count(changed);
    if (threadIdx.x == 0) moved[blockIdx.x] = count;
}
