// Kernels that walls are measured with: some that memory binds, one that waits for each access, and one that streams.
#include <cuda_runtime.h>

using Size = unsigned long long;

extern "C" __global__ void nothing(unsigned* counter) {
    if (counter != nullptr && threadIdx.x == 0 && blockIdx.x == 0) *counter = 1;
}

extern "C" __global__ void vectorAdd(float* c, const float* a, const float* b, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy(float* y, const float* x, float factor, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i];
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

extern "C" __global__ void chase(Size start, unsigned steps, Size* result) {
    Size at = start;
    for (unsigned i = 0; i < steps; ++i) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(at) : "l"(at) : "memory");
    *result = at;
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
