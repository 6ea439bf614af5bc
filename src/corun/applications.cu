#include <cuda_runtime.h>

// The classic pair: a thread that waits for each of its accesses, and many that want all the bandwidth there is.

__device__ unsigned loadPastL1(const unsigned* from) {
    unsigned value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

extern "C" __global__ void chase(const unsigned* next, unsigned steps, unsigned* last) {
    unsigned at = 0;
    for (unsigned i = 0; i < steps; ++i) at = loadPastL1(next + at);
    *last = at;
}

extern "C" __global__ void streamThrough(const uint4* in, uint4* out, unsigned count) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        uint4 value = in[i];
        value.x += 1;
        out[i] = value;
    }
}

__device__ uint4 loadPastL1(const uint4* from) {
    uint4 value;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(from)
                 : "memory");
    return value;
}

/// The same again and again, over memory that stays in L2.
extern "C" __global__ void streamWithin(const uint4* in, uint4* out, unsigned count, unsigned passes) {
    for (unsigned pass = 1; pass <= passes; ++pass)
        for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
            uint4 value = loadPastL1(in + i);
            value.x += pass;
            out[i] = value;
        }
}

/// Each thread adds up words from all over memory. `mask` is the number of words, less one: a power of two, less one.
extern "C" __global__ void gather(const unsigned* words, unsigned mask, unsigned each, unsigned* sums) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = thread, sum = 0;
    for (unsigned i = 0; i < each; ++i) {
        at = at * 1664525u + 1013904223u;
        sum += words[(at ^ at >> 15) & mask];
    }
    sums[thread] = sum;
}

/// Touches memory once, at its end.
extern "C" __global__ void compute(unsigned rounds, unsigned* numbers) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned number = thread;
    for (unsigned i = 0; i < rounds; ++i) number = number * 1664525u + 1013904223u;
    numbers[thread] = number;
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void countLaunch(unsigned* launches) {
    atomicAdd(launches, 1u);
}

extern "C" __global__ void writeTo(unsigned* address) {
    *address = 1;
}

/// Lets time pass in a stream, as a host does that is busy with something else.
extern "C" __global__ void pause(unsigned long long nanoseconds) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}
