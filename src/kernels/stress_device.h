#pragma once

// What aggressors and victims share on the device: accesses that pass L1 by, and places on SMs.

namespace stress {

using Address = unsigned long long;

/// What one block says of itself.
struct BlockLog {
    unsigned sm;
    unsigned claimed;         // 1: it had a place and worked
    Address startNs, endNs;   // the GPU's global timer
    Address cycles;           // of its SM's clock, working
    Address accesses, bytes;  // by all of its warps
};

/// How hard an aggressor works.
struct Dials {
    unsigned dutyPercent;  // of the time
    unsigned burst;        // accesses between two looks at the stop flag
    unsigned burstNs;      // that a burst should take at least
};

/// Which SMs may be used, how many blocks each takes, and how many have been taken.
struct Places {
    unsigned wanted;         // blocks in all
    unsigned perSm;          // blocks of one SM
    unsigned taken;          // starts at 0
    unsigned count;          // SMs
    unsigned perSmTaken[1];  // [count], then [count] flags of those that may be used
};

__device__ inline Address loadL2(Address a) {
    Address value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(a) : "memory");
    return value;
}

__device__ inline unsigned loadL2(const unsigned* a) {
    unsigned value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(a) : "memory");
    return value;
}

__device__ inline unsigned smId() {
    unsigned id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

__device__ inline Address nowNs() {
    Address ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

__device__ inline Address nowCycles() {
    return static_cast<Address>(clock64());
}

/// Takes a place for this block. More blocks are launched than work: those on other SMs, or too many on
/// one, keep their room until every place is taken, so that the rest must go where it is wanted, and then leave.
__device__ inline bool claimPlace(Places* places, BlockLog* log) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) {
        const unsigned sm = smId();
        const unsigned* allowed = places->perSmTaken + places->count;
        mine = 0;
        if (sm < places->count && loadL2(allowed + sm) != 0 && atomicAdd(places->perSmTaken + sm, 1u) < places->perSm)
            mine = atomicAdd(&places->taken, 1u) < places->wanted ? 1 : 0;
        log->sm = sm;
        log->claimed = mine;
        log->startNs = nowNs();
        log->endNs = 0;
        if (mine == 0)
            while (loadL2(&places->taken) < places->wanted) {
            }
    }
    __syncthreads();
    return mine != 0;
}

}  // namespace stress
