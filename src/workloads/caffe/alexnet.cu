#include <cuda_runtime.h>

// The layers of a convolutional network as Caffe computes them: a convolution is im2col and a matrix product. Images
// lie channel by channel, matrices row by row.

/// Lays out, for each place of the output, the part of the image that the filters see there: a column of
/// channels x kernel x kernel values. A thread does one channel of one place.
extern "C" __global__ void alexnetIm2col(const float* image, float* columns, int threads, int height, int width,
                                         int kernel, int pad, int stride, int outHeight, int outWidth) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= threads) return;
    const int outX = i % outWidth, outY = i / outWidth % outHeight, channel = i / outWidth / outHeight;
    const int left = outX * stride - pad, top = outY * stride - pad;
    const int places = outHeight * outWidth;
    const float* const from = image + channel * height * width;
    float* to = columns + channel * kernel * kernel * places + outY * outWidth + outX;
    for (int y = top; y < top + kernel; ++y)
        for (int x = left; x < left + kernel; ++x) {
            *to = y >= 0 && x >= 0 && y < height && x < width ? from[y * width + x] : 0.0f;
            to += places;
        }
}

/// out = a b + bias, where a has `rows` rows of `depth`, b `columns` columns, and bias a value for each row. A block of
/// 8x8 threads computes 32x32 values, each thread 4x4.
extern "C" __global__ void alexnetGemm(const float* a, const float* b, const float* bias, float* out, int rows,
                                       int columns, int depth) {
    constexpr int kTile = 32, kDepth = 16, kThreads = 64, kEach = 4;
    // a's tile is transposed; the four words more keep its stores off each other's banks.
    alignas(16) __shared__ float tileA[kDepth][kTile + 4];
    alignas(16) __shared__ float tileB[kDepth][kTile];
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int firstRow = blockIdx.y * kTile, firstColumn = blockIdx.x * kTile;
    const int aDepth = thread % kDepth, aRow = thread / kDepth;
    const int bColumn = thread % kTile, bDepth = thread / kTile;

    float sums[kEach][kEach] = {};
    for (int start = 0; start < depth; start += kDepth) {
        for (int i = 0; i < kTile; i += kThreads / kDepth) {
            const int row = firstRow + aRow + i, k = start + aDepth;
            tileA[aDepth][aRow + i] = row < rows && k < depth ? a[row * depth + k] : 0.0f;
        }
        for (int i = 0; i < kDepth; i += kThreads / kTile) {
            const int k = start + bDepth + i, column = firstColumn + bColumn;
            tileB[bDepth + i][bColumn] = k < depth && column < columns ? b[k * columns + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            const float4 left = *reinterpret_cast<const float4*>(&tileA[k][threadIdx.y * kEach]);
            const float4 right = *reinterpret_cast<const float4*>(&tileB[k][threadIdx.x * kEach]);
            const float l[kEach] = {left.x, left.y, left.z, left.w}, r[kEach] = {right.x, right.y, right.z, right.w};
#pragma unroll
            for (int y = 0; y < kEach; ++y)
#pragma unroll
                for (int x = 0; x < kEach; ++x) sums[y][x] += l[y] * r[x];
        }
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < kEach; ++y)
#pragma unroll
        for (int x = 0; x < kEach; ++x) {
            const int row = firstRow + threadIdx.y * kEach + y, column = firstColumn + threadIdx.x * kEach + x;
            if (row < rows && column < columns) out[row * columns + column] = sums[y][x] + bias[row];
        }
}

/// out = a x + bias, a warp for each row.
extern "C" __global__ void alexnetGemv(const float* a, const float* x, const float* bias, float* out, int rows,
                                       int columns) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* const weights = a + static_cast<long long>(row) * columns;
    float sum = 0;
    for (int i = lane; i < columns; i += 32) sum += weights[i] * x[i];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
    if (lane == 0) out[row] = sum + bias[row];
}

extern "C" __global__ void alexnetRelu(float* values, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] > 0 ? values[i] : 0.0f;
}

/// One plus the scaled squares of `window` neighbouring channels, for each value. A thread goes through the channels of
/// one place with a running sum.
extern "C" __global__ void alexnetLrnScale(const float* in, float* scale, int places, int channels, int window,
                                           float alpha) {
    const int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= places) return;
    const int reach = window / 2;
    float sum = 0;
    for (int head = 0; head < channels + reach; ++head) {
        if (head < channels) {
            const float value = in[head * places + place];
            sum += value * value;
        }
        if (head >= window) {
            const float value = in[(head - window) * places + place];
            sum -= value * value;
        }
        if (head >= reach) scale[(head - reach) * places + place] = 1 + sum * (alpha / static_cast<float>(window));
    }
}

extern "C" __global__ void alexnetLrnOutput(const float* in, const float* scale, float* out, int count, float beta) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] * powf(scale[i], -beta);
}

/// The largest value of each window; windows at the far edges are cut off where the image ends.
extern "C" __global__ void alexnetMaxPool(const float* in, float* out, int count, int height, int width, int outHeight,
                                          int outWidth, int kernel, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int left = i % outWidth * stride, top = i / outWidth % outHeight * stride;
    const int right = min(left + kernel, width), bottom = min(top + kernel, height);
    const float* const channel = in + i / outWidth / outHeight * height * width;
    float largest = channel[top * width + left];
    for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x) largest = fmaxf(largest, channel[y * width + x]);
    out[i] = largest;
}

namespace {

constexpr int kSoftmaxThreads = 256;

template <class Combine>
__device__ float reduceBlock(float value, Combine combine) {
    __shared__ float parts[kSoftmaxThreads];
    const int thread = threadIdx.x;
    parts[thread] = value;
    __syncthreads();
    for (int half = kSoftmaxThreads / 2; half > 0; half /= 2) {
        if (thread < half) parts[thread] = combine(parts[thread], parts[thread + half]);
        __syncthreads();
    }
    const float result = parts[0];
    __syncthreads();
    return result;
}

}  // namespace

/// One block.
extern "C" __global__ void alexnetSoftmax(const float* in, float* out, int count) {
    float largest = in[0];
    for (int i = threadIdx.x; i < count; i += kSoftmaxThreads) largest = fmaxf(largest, in[i]);
    largest = reduceBlock(largest, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += kSoftmaxThreads) {
        out[i] = expf(in[i] - largest);
        sum += out[i];
    }
    sum = reduceBlock(sum, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < count; i += kSoftmaxThreads) out[i] /= sum;
}
