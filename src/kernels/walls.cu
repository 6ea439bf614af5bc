// How the walled driver moves bytes: plain kernels, which get walls like any other, so that addresses inside are
// translated and the work stays on the SMs of its tenant. And how it sees which these are.

#include <cuda_runtime.h>

using Size = unsigned long long;

namespace {

/// Rows of `width` elements, all threads sharing them out.
template <class Body>
__device__ void forEachElement(Size width, Size height, Body body) {
    const Size threads = static_cast<Size>(gridDim.x) * blockDim.x;
    for (Size i = static_cast<Size>(blockIdx.x) * blockDim.x + threadIdx.x; i < width * height; i += threads) {
        const Size row = height == 1 ? 0 : i / width;
        body(row, i - row * width);
    }
}

template <class T>
__device__ void copyRows(char* to, Size toPitch, const char* from, Size fromPitch, Size width, Size height) {
    forEachElement(width, height, [&](Size row, Size i) {
        reinterpret_cast<T*>(to + row * toPitch)[i] = reinterpret_cast<const T*>(from + row * fromPitch)[i];
    });
}

template <class T>
__device__ void fillRows(char* to, Size pitch, T value, Size width, Size height) {
    forEachElement(width, height, [&](Size row, Size i) { reinterpret_cast<T*>(to + row * pitch)[i] = value; });
}

}  // namespace

// Widths are in elements, pitches in bytes.
extern "C" __global__ void copyRows16(char* to, Size toPitch, const char* from, Size fromPitch, Size width,
                                      Size height) {
    copyRows<uint4>(to, toPitch, from, fromPitch, width, height);
}
extern "C" __global__ void copyRows1(char* to, Size toPitch, const char* from, Size fromPitch, Size width,
                                     Size height) {
    copyRows<unsigned char>(to, toPitch, from, fromPitch, width, height);
}
extern "C" __global__ void fillRows16(char* to, Size pitch, unsigned value, Size width, Size height) {
    fillRows(to, pitch, make_uint4(value, value, value, value), width, height);
}
extern "C" __global__ void fillRows4(char* to, Size pitch, unsigned value, Size width, Size height) {
    fillRows(to, pitch, value, width, height);
}
extern "C" __global__ void fillRows2(char* to, Size pitch, unsigned value, Size width, Size height) {
    fillRows(to, pitch, static_cast<unsigned short>(value), width, height);
}
extern "C" __global__ void fillRows1(char* to, Size pitch, unsigned value, Size width, Size height) {
    fillRows(to, pitch, static_cast<unsigned char>(value), width, height);
}

/// Blocks stay for so many cycles, so that all SMs get some.
extern "C" __global__ void noteSms(unsigned* bits, long long cycles) {
    if (threadIdx.x != 0) return;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    atomicOr(bits + sm / 32, 1u << sm % 32);
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}
