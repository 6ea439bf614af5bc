// Kernels that walls are measured with: some that memory binds, one that waits for each access, and one that streams.
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

/// A ring in an order that no prefetcher follows: line i points to line (i * step + 1) mod lines.
extern "C" __global__ void makeRing(Size* ring, unsigned lines, unsigned step, unsigned wordsPerLine) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
        ring[static_cast<Size>(i) * wordsPerLine] =
            reinterpret_cast<Size>(ring + (static_cast<Size>(i) * step + 1) % lines * wordsPerLine);
}

/// `result`: where it ended, nanoseconds, cycles.
extern "C" __global__ void chase(Size start, unsigned steps, Size* result) {
    Size at = start, begun, ended, first, last;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun)::"memory");
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(first)::"memory");
    for (unsigned i = 0; i < steps; ++i) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(at) : "l"(at) : "memory");
    result[0] = at;  // not before the last load has come
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(last)::"memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ended)::"memory");
    result[1] = ended - begun;
    result[2] = last - first;
}

/// Reads (or reads and writes) memory from end to end until the time is up.
extern "C" __global__ void streamFor(uint4* data, Size count, Size nanoseconds, unsigned writes, Size* passes) {
    Size begun, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    const Size threads = static_cast<Size>(gridDim.x) * blockDim.x;
    uint4 sum = make_uint4(0, 0, 0, 0);
    Size moved = 0;
    do {
        for (Size i = static_cast<Size>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
            const uint4 value = data[i];
            if (writes != 0) {
                data[i] = make_uint4(value.x + 1, value.y, value.z, value.w);
            } else {
                sum.x ^= value.x;
                sum.y ^= value.y;
            }
            if ((++moved & 255) == 0) {
                asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
                if (now - begun > nanoseconds) break;
            }
        }
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begun < nanoseconds);
    if (sum.x == 0x12345678 && sum.y == 0x9abcdef0) *passes = 1;
    if (threadIdx.x == 0) atomicAdd(passes, moved);
}
