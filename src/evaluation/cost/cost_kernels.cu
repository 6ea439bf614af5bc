// What the cost of walls is measured with: a kernel that does nothing, and some that memory binds.
#include <bulkhead/span.h>
#include <cuda_runtime.h>

using bulkhead::ColoredSpan;
using bulkhead::SliceColor;
using bulkhead::Span;
using Size = unsigned long long;

extern "C" __global__ void nothing(unsigned* counter) {
    if (counter != nullptr && threadIdx.x == 0 && blockIdx.x == 0) *counter = 1;
}

/// Which block of a plain array a block works on: every one, or those in chunks of one side of the L2. Such chunks, one
/// of each pair, are told by a parity of the pair's number.
struct EveryBlock {
    __device__ unsigned operator()() const { return blockIdx.x; }
};
struct BlocksOfSide {
    unsigned mask, side, chunkShift;  // of pairs of chunks of 2^chunkShift blocks
    __device__ unsigned operator()() const {
        const unsigned pair = blockIdx.x >> chunkShift, within = blockIdx.x & ((1u << chunkShift) - 1);
        return ((pair << 1 | ((__popc(pair & mask) ^ side) & 1)) << chunkShift) + within;
    }
};

namespace {

template <class Blocks>
__device__ void add(float* c, const float* a, const float* b, unsigned n, const Blocks& block) {
    const unsigned i = block() * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

template <class Blocks>
__device__ void addScaled(float* y, const float* x, float factor, unsigned n, const Blocks& block) {
    const unsigned i = block() * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i];
}

}  // namespace

extern "C" __global__ void vectorAdd(float* c, const float* a, const float* b, unsigned n) {
    add(c, a, b, n, EveryBlock());
}
extern "C" __global__ void vectorAddOfSide(float* c, const float* a, const float* b, unsigned n, BlocksOfSide blocks) {
    add(c, a, b, n, blocks);
}

extern "C" __global__ void saxpy(float* y, const float* x, float factor, unsigned n) {
    addScaled(y, x, factor, n, EveryBlock());
}
extern "C" __global__ void saxpyOfSide(float* y, const float* x, float factor, unsigned n, BlocksOfSide blocks) {
    addScaled(y, x, factor, n, blocks);
}

namespace {

template <class View>
__device__ void addViews(View c, View a, View b) {
    const Size i = static_cast<Size>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < c.size()) c[i] = a[i] + b[i];
}

}  // namespace

extern "C" __global__ void addPlain(Span<float> c, Span<float> a, Span<float> b) {
    addViews(c, a, b);
}
extern "C" __global__ void addOnSide(ColoredSpan<float> c, ColoredSpan<float> a, ColoredSpan<float> b) {
    addViews(c, a, b);
}
extern "C" __global__ void addOnSlices(ColoredSpan<float, SliceColor> c, ColoredSpan<float, SliceColor> a,
                                       ColoredSpan<float, SliceColor> b) {
    addViews(c, a, b);
}

/// Five points, rows of `width`; the rim is left alone.
extern "C" __global__ void stencil(float* to, const float* from, unsigned width, unsigned height) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x >= width - 1 || y >= height - 1) return;
    const unsigned i = y * width + x;
    to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
}
