// Victims of stress: the paper's walks over an array, a stream of reads, and passes that are timed access by access.
#include <cuda_runtime.h>

#include "kernels/stress_device.h"

using namespace stress;

namespace {

constexpr unsigned kStaged = 8192;  // times of one pass, held in shared memory

}  // namespace

/// The applications of 4.3.1 and 4.3.2: visit the elements of an array one after the other, in order or in the order
/// of a list of byte offsets, and add them up. The next element of the list is fetched ahead. Values are below 2^31, so
/// that adding their highest bit to the next address changes nothing but makes each access wait for the one before it.
template <bool kRandom>
__device__ unsigned visit(Address data, const unsigned* offsets, unsigned steps) {
    unsigned sum = 0, next = kRandom ? loadL2(offsets) : 0;
    Address at = data + next;
    for (unsigned i = 1; i <= steps; ++i) {
        if (kRandom) next = loadL2(offsets + i);
        const unsigned value = loadL2(reinterpret_cast<const unsigned*>(at));
        at = (kRandom ? data + next : at + sizeof(unsigned)) + (value >> 31);
        sum += value;
    }
    return sum;
}

/// `offsets` (null: in order) has one element more than there are steps.
extern "C" __global__ void walk(Address data, const unsigned* offsets, unsigned steps, Places* places, BlockLog* logs,
                                unsigned* result) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    const Address begin = nowCycles();
    const unsigned sum = offsets ? visit<true>(data, offsets, steps) : visit<false>(data, offsets, steps);
    if (threadIdx.x == 0) {
        result[0] = sum;
        log->cycles = nowCycles() - begin;
        log->endNs = nowNs();
        log->accesses = steps;
        log->bytes = static_cast<Address>(steps) * sizeof(unsigned);
    }
}

/// Reads an array as fast as it can, `passes` times: 16 bytes a thread.
extern "C" __global__ void readAll(const uint4* data, Address elements, unsigned passes, Places* places, BlockLog* logs,
                                   unsigned* result) {
    BlockLog* log = logs + blockIdx.x;
    __shared__ unsigned rank;
    if (!claimPlace(places, log)) return;
    if (threadIdx.x == 0) rank = atomicAdd(result + 1, 1u);
    __syncthreads();
    const Address begin = nowCycles();
    const Address stride = static_cast<Address>(places->wanted) * blockDim.x;
    unsigned sum = 0;
    for (unsigned pass = 0; pass < passes; ++pass)
        for (Address i = static_cast<Address>(rank) * blockDim.x + threadIdx.x; i < elements; i += stride) {
            uint4 v;
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                         : "l"(data + i)
                         : "memory");
            sum += v.x + v.y + v.z + v.w;
        }
    atomicAdd(result, sum);
    __syncthreads();
    if (threadIdx.x == 0) {
        log->cycles = nowCycles() - begin;
        log->endNs = nowNs();
        log->accesses = elements / places->wanted * passes;
        log->bytes = log->accesses * sizeof(uint4);
    }
}

/// The kernels of 4.1 and 4.2.1: follows a ring of pointers twice in a row and times every access, each warp in its own
/// part. Times stay in shared memory until both passes are over, so that writing them disturbs no cache; only where
/// there is no room for so many are some written in between.
extern "C" __global__ void timePasses(const Address* starts, unsigned perWarp, unsigned* cold, unsigned* warm) {
    __shared__ unsigned times[kStaged];
    __shared__ volatile Address sink[32];
    const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32, room = kStaged / warps;
    unsigned* const mine = times + warp * room;
    const bool leads = threadIdx.x % 32 == 0, fits = 2 * perWarp <= room;
    for (unsigned pass = 0; pass < 2; ++pass) {
        unsigned* to = (pass == 0 ? cold : warm) + warp * perWarp;
        unsigned* const kept = mine + (fits ? pass * perWarp : 0);
        Address at = loadL2(reinterpret_cast<Address>(starts + warp));
        for (unsigned first = 0; leads && first < perWarp; first += room) {
            const unsigned n = perWarp - first < room ? perWarp - first : room;
            for (unsigned i = 0; i < n; ++i) {
                const Address begin = nowCycles();
                at = loadL2(at);
                sink[warp] = at;  // cannot issue before the value is there, nor the next clock before it
                kept[i] = static_cast<unsigned>(nowCycles() - begin);
            }
            for (unsigned i = 0; !fits && i < n; ++i) to[first + i] = kept[i];
        }
        __syncthreads();
    }
    for (unsigned i = 0; leads && fits && i < perWarp; ++i) {
        cold[warp * perWarp + i] = mine[i];
        warm[warp * perWarp + i] = mine[perWarp + i];
    }
}
