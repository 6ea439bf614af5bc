// Aggressors of stress. Each runs until its stop flag is set, and has dials: places on multiprocessors, warps (the size
// of a block), lanes of a warp that access memory, and a duty cycle.
#include <cuda_runtime.h>

#include "kernels/stress_device.h"

using namespace stress;

namespace {

constexpr unsigned kBurst = 64;  // accesses between two looks at the stop flag

/// Says when to stop, and rests between bursts for as long as the duty cycle asks.
class Pace {
  public:
    __device__ Pace(const unsigned* stop, unsigned dutyPercent)
        : stop_(stop), duty_(dutyPercent), begun_(nowCycles()) {}
    __device__ bool goOn() {
        if (duty_ < 100) {
            const Address worked = nowCycles() - begun_;
            const Address until = nowCycles() + worked * (100 - duty_) / duty_;
            while (nowCycles() < until) {
            }
            begun_ = nowCycles();
        }
        return loadL2(stop_) == 0;
    }

  private:
    const unsigned* stop_;
    unsigned duty_;
    Address begun_;
};

__device__ void finish(BlockLog* log, Address begin, Address accesses, unsigned bytesEach) {
    atomicAdd(&log->accesses, accesses);
    atomicAdd(&log->bytes, accesses * bytesEach);
    __syncthreads();
    if (threadIdx.x == 0) {
        log->cycles = nowCycles() - begin;
        log->endNs = nowNs();
    }
}

/// Threads of the whole aggressor that access memory are numbered from 0; blocks in the order in which they got places.
__device__ unsigned blockRank(unsigned* ranks) {
    __shared__ unsigned rank;
    if (threadIdx.x == 0) rank = atomicAdd(ranks, 1u);
    __syncthreads();
    return rank;
}

}  // namespace

/// Touches no memory, but for a look at the stop flag after every 1024 divisions.
extern "C" __global__ void compute(const unsigned* stop, unsigned dutyPercent, Places* places, BlockLog* logs,
                                   unsigned* result) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    const Address begin = nowCycles();
    Pace pace(stop, dutyPercent);
    unsigned x = threadIdx.x + 1, round = 0;
    do {
        for (unsigned i = 0; i < 1024; ++i) x = 0xfffffffbu / (x | 1u) + ++round;
    } while (pace.goOn());
    if (x == 0) *result = x;
    finish(log, begin, 0, 0);
}

/// Follows a ring of pointers. The first `lanes` lanes of every warp have starts of their own.
extern "C" __global__ void chaseRing(const Address* starts, unsigned startCount, unsigned lanes, unsigned bytesEach,
                                     const unsigned* stop, unsigned dutyPercent, Places* places, BlockLog* logs,
                                     unsigned* ranks) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    const unsigned warps = blockDim.x / 32, warp = blockRank(ranks) * warps + threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    const Address begin = nowCycles();
    Address accesses = 0;
    if (lane < lanes) {
        Address p = starts[(warp * lanes + lane) % startCount];
        Pace pace(stop, dutyPercent);
        do {
            for (unsigned i = 0; i < kBurst; ++i) p = loadL2(p);
            accesses += kBurst;
        } while (pace.goOn());
        if (p == 0) accesses = 0;  // never: keeps the last loads
    }
    finish(log, begin, accesses, bytesEach);
}

/// How `sweep` touches memory.
enum SweepKind : unsigned { kRead = 0, kWrite = 1, kReadWrite = 2, kAtomic = 3 };

namespace {

template <SweepKind kind>
__device__ Address sweepMemory(uint4* data, Address elements, unsigned rank, unsigned blocks, Pace pace) {
    const Address stride = static_cast<Address>(blocks) * blockDim.x;
    Address i = static_cast<Address>(rank) * blockDim.x + threadIdx.x, accesses = 0;
    do {
#pragma unroll 1
        for (unsigned n = 0; n < kBurst; ++n) {
            uint4 v = make_uint4(1, 2, 3, 4);
            uint4* at = data + i;
            if (kind == kRead || kind == kReadWrite)
                asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                             : "l"(at)
                             : "memory");
            if (kind == kWrite || kind == kReadWrite)
                asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z),
                             "r"(v.w)
                             : "memory");
            if (kind == kAtomic) atomicAdd(&at->x, 1u);
            i += stride;
            if (i >= elements) i -= elements;
        }
        accesses += kBurst;
    } while (pace.goOn());
    return accesses;
}

}  // namespace

/// Streams through memory, neighbouring threads together. `elements` must not be less than the threads of the grid.
extern "C" __global__ void sweep(uint4* data, Address elements, unsigned kind, unsigned bytesEach, const unsigned* stop,
                                 unsigned dutyPercent, Places* places, BlockLog* logs, unsigned* ranks) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    const unsigned rank = blockRank(ranks), blocks = places->wanted;
    const Address begin = nowCycles();
    const Pace pace(stop, dutyPercent);
    Address accesses = 0;
    switch (kind) {
        case kRead:
            accesses = sweepMemory<kRead>(data, elements, rank, blocks, pace);
            break;
        case kWrite:
            accesses = sweepMemory<kWrite>(data, elements, rank, blocks, pace);
            break;
        case kReadWrite:
            accesses = sweepMemory<kReadWrite>(data, elements, rank, blocks, pace);
            break;
        default:
            accesses = sweepMemory<kAtomic>(data, elements, rank, blocks, pace);
            break;
    }
    finish(log, begin, accesses, bytesEach);
}

/// Makes a ring of the addresses: each then holds the next one.
extern "C" __global__ void linkRing(const Address* order, unsigned count) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) *reinterpret_cast<Address*>(order[i]) = order[i + 1 == count ? 0 : i + 1];
}
