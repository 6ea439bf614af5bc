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

extern "C" __global__ void nothing() {}

/// Lets time pass in a stream, as a host does that is busy with something else.
extern "C" __global__ void pause(unsigned long long nanoseconds) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}
