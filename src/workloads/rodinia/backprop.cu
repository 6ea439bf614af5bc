#include <cuda_runtime.h>

#include "workloads/rodinia/tile.h"

using bulkhead::workloads::kTile;

// Weights lie unit by unit, `hidden + 1` to an input unit; unit 0 and column 0 belong to the bias.

/// Multiplies the weights of 16 input units with the units and adds them up for each hidden unit: a partial sum a
/// block. What the sums left in the tile goes back over the weights, as in the original.
extern "C" __global__ void backpropForward(const float* input, float* weights, float* partialSums, int hidden) {
    __shared__ float units[kTile];
    __shared__ float tile[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int unit = kTile * blockIdx.y + y + 1;
    const int at = unit * (hidden + 1) + x + 1;

    if (x == 0) units[y] = input[unit];
    __syncthreads();
    tile[y][x] = weights[at];
    __syncthreads();
    tile[y][x] *= units[y];
    __syncthreads();
    for (int stride = 1; stride < kTile; stride *= 2) {
        if (y % (2 * stride) == 0) tile[y][x] += tile[y + stride][x];
        __syncthreads();
    }
    weights[at] = tile[y][x];
    if (x == 0) partialSums[blockIdx.y * hidden + y] = tile[x][y];
}

/// Moves the weights between input and hidden units against the error.
extern "C" __global__ void backpropAdjust(const float* deltas, const float* input, float* weights, float* changes,
                                          int hidden, float rate, float momentum) {
    const int column = threadIdx.x + 1;
    const int unit = kTile * blockIdx.y + threadIdx.y + 1;
    const int at = unit * (hidden + 1) + column;
    const float change = rate * deltas[column] * input[unit] + momentum * changes[at];
    weights[at] += change;
    changes[at] = change;
    if (unit == 1) {
        const float biasChange = rate * deltas[column] + momentum * changes[column];
        weights[column] += biasChange;
        changes[column] = biasChange;
    }
}
