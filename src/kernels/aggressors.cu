// Aggressors of stress. Each runs until its stop flag is set, and has dials: places on SMs, warps (the size
// of a block), lanes of a warp that access memory, a duty cycle, and a rate.
#include <cuda_runtime.h>

#include "kernels/stress_device.h"

using namespace stress;

namespace {

constexpr unsigned kTogether = 4;  // accesses of a thread that are under way at once; bursts are multiples of it

/// Says when to stop, and rests between bursts for as long as the dials ask. Counts in 32 bits, which wrap around: it
/// must leave registers to as many warps as an SM holds.
class Pace {
  public:
    /// Bursts of different warps are spread over the time that one should take.
    __device__ Pace(const unsigned* stop, const Dials& dials, unsigned warp, unsigned warps)
        : stop_(stop), dials_(dials), begun_(cycles()) {
        if (dials_.burstNs == 0) return;
        nextNs_ = ns() + static_cast<unsigned>(static_cast<Address>(dials_.burstNs) * warp / warps);
        waitUntilNext();
    }
    __device__ bool goOn() {
        if (dials_.dutyPercent < 100) {
            const unsigned rest = (cycles() - begun_) / dials_.dutyPercent * (100 - dials_.dutyPercent);
            const unsigned since = cycles();
            while (cycles() - since < rest) {
            }
            begun_ = cycles();
        }
        if (dials_.burstNs != 0) {
            nextNs_ += dials_.burstNs;
            waitUntilNext();
        }
        return loadL2(stop_) == 0;
    }

  private:
    static __device__ unsigned cycles() { return static_cast<unsigned>(nowCycles()); }
    static __device__ unsigned ns() { return static_cast<unsigned>(nowNs()); }
    __device__ void waitUntilNext() const {
        while (static_cast<int>(nextNs_ - ns()) > 0) {
        }
    }
    const unsigned* stop_;
    Dials dials_;
    unsigned begun_, nextNs_ = 0;
};

__device__ void finish(BlockLog* log, Address accesses, unsigned bytesEach) {
    atomicAdd(&log->accesses, accesses);
    atomicAdd(&log->bytes, accesses * bytesEach);
    __syncthreads();
    if (threadIdx.x == 0) log->endNs = nowNs();
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
extern "C" __global__ void compute(const unsigned* stop, Dials dials, Places* places, BlockLog* logs,
                                   unsigned* result) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    Pace pace(stop, dials, 0, 1);
    unsigned x = threadIdx.x + 1, round = 0;
    do {
        for (unsigned i = 0; i < 1024; ++i) x = 0xfffffffbu / (x | 1u) + ++round;
    } while (pace.goOn());
    if (x == 0) *result = x;
    finish(log, 0, 0);
}

/// Follows a ring of pointers. The first `lanes` lanes of every warp have starts of their own.
extern "C" __global__ void chaseRing(const Address* starts, unsigned startCount, unsigned lanes, unsigned bytesEach,
                                     const unsigned* stop, Dials dials, Places* places, BlockLog* logs,
                                     unsigned* ranks) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    const unsigned warps = blockDim.x / 32, warp = blockRank(ranks) * warps + threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    Address accesses = 0;
    if (lane < lanes) {
        Address p = starts[(warp * lanes + lane) % startCount];
        Pace pace(stop, dials, warp, places->wanted * warps);
        do {
            for (unsigned i = 0; i < dials.burst; ++i) p = loadL2(p);
            accesses += dials.burst;
        } while (pace.goOn());
        if (p == 0) accesses = 0;  // never: keeps the last loads
    }
    finish(log, accesses, bytesEach);
}

namespace {

/// The next part of a list, which is for whoever asks first: `kTogether` entries for each lane of a warp.
__device__ uint4 takeEntries(const uint4* list, unsigned parts, unsigned* ticket) {
    const unsigned lane = threadIdx.x % 32;
    unsigned part = lane == 0 ? atomicAdd(ticket, 1u) : 0;
    part = __shfl_sync(0xffffffffu, part, 0) % parts;
    uint4 entries;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(entries.x), "=r"(entries.y), "=r"(entries.z), "=r"(entries.w)
                 : "l"(list + part * 32 + lane)
                 : "memory");
    return entries;
}

}  // namespace

/// Visits the lines of a list, which holds their numbers from `base` on, in the list's order however fast each warp is:
/// all of them take the next part from one counter. `workers` (null: all) says which SMs do so, with
/// `blocks` blocks; blocks on others leave.
extern "C" __global__ void visitLines(Address base, unsigned lineBytes, const uint4* list, unsigned parts,
                                      const unsigned* workers, unsigned blocks, unsigned* ticket, unsigned bytesEach,
                                      const unsigned* stop, Dials dials, Places* places, BlockLog* logs,
                                      unsigned* ranks) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    if (workers && workers[smId()] == 0) {
        if (threadIdx.x == 0) log->claimed = 0;
        return;
    }
    const unsigned warps = blockDim.x / 32;
    const auto take = [&] { return takeEntries(list, parts, ticket); };
    const auto visit = [&](unsigned line) {
        return loadL2(reinterpret_cast<const unsigned*>(base + static_cast<Address>(line) * lineBytes));
    };
    Pace pace(stop, dials, blockRank(ranks) * warps + threadIdx.x / 32, blocks * warps);
    uint4 lines = take();
    Address accesses = 0;
    unsigned seen = 0;
    do {
        for (unsigned n = 0; n < dials.burst; n += kTogether) {
            const unsigned a = visit(lines.x), b = visit(lines.y), c = visit(lines.z), d = visit(lines.w);
            lines = take();  // while those come
            seen |= a | b | c | d;
        }
        accesses += dials.burst;
    } while (pace.goOn());
    if (accesses == 0) accesses = seen;  // never: keeps the loads
    finish(log, accesses, bytesEach);
}

/// How `sweep` touches memory.
enum SweepKind : unsigned { kRead = 0, kWrite = 1, kReadWrite = 2, kAtomic = 3, kReadL1 = 4 };

namespace {

template <SweepKind kind>
__device__ void touch(uint4* at, uint4& v) {
    if (kind == kRead || kind == kReadWrite)
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(at)
                     : "memory");
    if (kind == kReadL1)
        asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(at)
                     : "memory");
    if (kind == kAtomic) atomicAdd(&at->x, 1u);
}

/// What is read must be used: loads whose values nobody needs are left out when PTX becomes machine code.
template <SweepKind kind>
__device__ unsigned use(uint4* at, const uint4& v) {
    if (kind == kWrite || kind == kReadWrite)
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                     : "memory");
    return v.x | v.y | v.z | v.w;
}

template <SweepKind kind>
__device__ Address sweepMemory(uint4* data, Address elements, unsigned rank, unsigned blocks, unsigned burst,
                               Pace pace) {
    const Address stride = static_cast<Address>(blocks) * blockDim.x;
    Address i = static_cast<Address>(rank) * blockDim.x + threadIdx.x, accesses = 0;
    unsigned seen = 0;
    do {
#pragma unroll 1
        for (unsigned n = 0; n < burst; n += kTogether) {
            uint4* at[kTogether];
            uint4 v[kTogether] = {};
#pragma unroll
            for (unsigned k = 0; k < kTogether; ++k) {
                at[k] = data + i;
                touch<kind>(at[k], v[k]);
                i += stride;
                if (i >= elements) i -= elements;
            }
#pragma unroll
            for (unsigned k = 0; k < kTogether; ++k) seen |= use<kind>(at[k], v[k]);
        }
        accesses += burst;
    } while (pace.goOn());
    if ((kind == kRead || kind == kReadL1) && seen != 0) accesses = 0;  // never: memory that is only read holds zeros
    return accesses;
}

}  // namespace

/// Streams through memory, neighbouring threads together. `elements` must not be less than the threads of the grid, or
/// of a block where each goes through all of it.
extern "C" __global__ void sweep(uint4* data, Address elements, unsigned kind, unsigned bytesEach, const unsigned* stop,
                                 Dials dials, Places* places, BlockLog* logs, unsigned* ranks) {
    BlockLog* log = logs + blockIdx.x;
    if (!claimPlace(places, log)) return;
    const unsigned rank = blockRank(ranks), blocks = places->wanted;
    const unsigned warps = blockDim.x / 32;
    const Pace pace(stop, dials, rank * warps + threadIdx.x / 32, blocks * warps);
    Address accesses = 0;
    switch (kind) {
        case kRead:
            accesses = sweepMemory<kRead>(data, elements, rank, blocks, dials.burst, pace);
            break;
        case kWrite:
            accesses = sweepMemory<kWrite>(data, elements, rank, blocks, dials.burst, pace);
            break;
        case kReadL1:  // every block all of it, so that each SM has it in its L1
            accesses = sweepMemory<kReadL1>(data, elements, 0, 1, dials.burst, pace);
            break;
        case kReadWrite:
            accesses = sweepMemory<kReadWrite>(data, elements, rank, blocks, dials.burst, pace);
            break;
        default:
            accesses = sweepMemory<kAtomic>(data, elements, rank, blocks, dials.burst, pace);
            break;
    }
    finish(log, accesses, bytesEach);
}

/// Makes a ring of the addresses: each then holds the next one.
extern "C" __global__ void linkRing(const Address* order, unsigned count) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) *reinterpret_cast<Address*>(order[i]) = order[i + 1 < count ? i + 1 : 0];
}
