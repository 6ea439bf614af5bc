// Device code of dissect: accesses timed one by one, pairs in flight together, chains of atomics, and contention
// between many SMs.
#include <cuda_runtime.h>

namespace {

using Address = unsigned long long;

constexpr unsigned kStaged = 512;  // addresses held in shared memory, so that reading them disturbs no cache

__device__ Address loadL2(Address a) {
    Address value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(a) : "memory");
    return value;
}

__device__ Address loadL1(Address a) {
    Address value;
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(value) : "l"(a) : "memory");
    return value;
}

/// Four lanes write a whole sector: one written in part would have to be fetched before it could be read.
__device__ void store(Address a) {
    asm volatile("st.global.u64 [%0], %1;" ::"l"(a + threadIdx.x * 8), "l"(0ull) : "memory");
}

__device__ unsigned sm() {
    unsigned id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

__device__ unsigned clockNow() {
    unsigned cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}

/// A store of the value to shared memory cannot issue before the value is there, nor the next clock before the store.
__device__ void await(volatile Address* sink, Address value) {
    *sink = value;
}

}  // namespace

/// Each access waits for the one before it. The low bits of an address say how: 0 = a load past L1, 1 = a load through
/// L1, 2 = a store, which is made and not timed.
extern "C" __global__ void timeAccesses(const Address* list, unsigned count, unsigned* times) {
    __shared__ Address staged[kStaged];
    __shared__ unsigned cycles[kStaged];
    __shared__ volatile Address sink;
    for (unsigned first = 0; first < count; first += kStaged) {
        const unsigned n = count - first < kStaged ? count - first : kStaged;
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
            staged[i] = loadL2(reinterpret_cast<Address>(list + first + i));
        __syncthreads();
        if (threadIdx.x < 4)
            for (unsigned i = 0; i < n; ++i) {
                const Address at = staged[i] & ~7ull;
                const unsigned how = static_cast<unsigned>(staged[i] & 7);
                const unsigned start = clockNow();
                if (how == 2) {
                    store(at);
                    __threadfence();
                } else if (how == 1) {
                    await(&sink, loadL1(at));
                } else {
                    await(&sink, loadL2(at));
                }
                cycles[i] = clockNow() - start;
            }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x) times[first + i] = cycles[i];
        __syncthreads();
    }
}

/// Algorithm 1's IsGpuRowEvicted, for many pairs: both loads are in flight together.
extern "C" __global__ void timePairs(const Address* pairs, unsigned count, unsigned* times) {
    __shared__ Address staged[kStaged];
    __shared__ unsigned cycles[kStaged / 2];
    __shared__ volatile Address sink;
    for (unsigned first = 0; first < count; first += kStaged / 2) {
        const unsigned n = count - first < kStaged / 2 ? count - first : kStaged / 2;
        for (unsigned i = threadIdx.x; i < 2 * n; i += blockDim.x)
            staged[i] = loadL2(reinterpret_cast<Address>(pairs + 2 * first + i));
        __syncthreads();
        if (threadIdx.x == 0)
            for (unsigned i = 0; i < n; ++i) {
                const Address a = staged[2 * i], b = staged[2 * i + 1];
                const unsigned start = clockNow();
                const Address x = loadL2(a);
                const Address y = loadL2(b);
                await(&sink, x + y);
                cycles[i] = clockNow() - start;
            }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x) times[first + i] = cycles[i];
        __syncthreads();
    }
}

/// The same with the second load `delay` cycles after the first, and it alone timed.
extern "C" __global__ void timeDelayed(const Address* pairs, unsigned count, unsigned delay, unsigned* times) {
    __shared__ Address staged[kStaged];
    __shared__ volatile Address sink;
    for (unsigned first = 0; first < count; first += kStaged / 2) {
        const unsigned n = count - first < kStaged / 2 ? count - first : kStaged / 2;
        for (unsigned i = threadIdx.x; i < 2 * n; i += blockDim.x)
            staged[i] = loadL2(reinterpret_cast<Address>(pairs + 2 * first + i));
        __syncthreads();
        if (threadIdx.x == 0)
            for (unsigned i = 0; i < n; ++i) {
                const Address a = staged[2 * i], b = staged[2 * i + 1];
                const unsigned begin = clockNow();
                const Address x = loadL2(a);
                while (clockNow() - begin < delay) {
                }
                const unsigned start = clockNow();
                await(&sink, loadL2(b));
                times[first + i] = clockNow() - start;
                await(&sink, x);
            }
        __syncthreads();
    }
}

/// Follows pointers and says how long it took.
extern "C" __global__ void chase(Address start, unsigned steps, unsigned throughL1, Address* result) {
    __shared__ volatile Address sink;
    Address p = start;
    const long long begin = clock64();
    if (throughL1 != 0) {
        for (unsigned i = 0; i < steps; ++i) p = loadL1(p);
    } else {
        for (unsigned i = 0; i < steps; ++i) p = loadL2(p);
    }
    await(&sink, p);
    result[0] = static_cast<Address>(clock64() - begin);
    result[1] = p;
}

/// Follows pointers past L1D, for counters: a profiler finds it by its name.
extern "C" __global__ void countedChase(Address start, unsigned steps, Address* result) {
    __shared__ volatile Address sink;
    Address p = start;
    const long long begin = clock64();
    for (unsigned i = 0; i < steps; ++i) p = loadL2(p);
    await(&sink, p);
    result[0] = static_cast<Address>(clock64() - begin);
}

/// Makes a ring of pointers through a list of addresses.
extern "C" __global__ void writeRing(const Address* list, unsigned count) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        *reinterpret_cast<Address*>(list[i]) = list[i + 1 < count ? i + 1 : 0];
}

/// Reads memory at equal distances, as fast as it can. The sum is asked for, or an assembler leaves the loads out.
extern "C" __global__ void touch(Address base, Address bytes, unsigned step, Address* sum) {
    const Address stride = static_cast<Address>(gridDim.x) * blockDim.x * step;
    Address mine = 0;
    for (Address o = (static_cast<Address>(blockIdx.x) * blockDim.x + threadIdx.x) * step; o < bytes; o += stride)
        mine += loadL2(base + o);
    if (mine == ~0ull) *sum = mine;
}

/// Loads the primary line, then the lines of a list, then times the primary line, sector by sector. Lists that fit
/// `staged`, the dynamic shared memory, pass through no cache in between.
extern "C" __global__ void timeAfterLines(const Address* list, unsigned count, unsigned capacity, Address primary,
                                          unsigned sectors, unsigned sectorBytes, unsigned* times) {
    extern __shared__ Address lines[];
    __shared__ volatile Address sink;
    for (unsigned first = 0; first < count; first += capacity) {
        const unsigned n = count - first < capacity ? count - first : capacity;
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
            lines[i] = loadL2(reinterpret_cast<Address>(list + first + i));
        __syncthreads();
        if (first == 0 && threadIdx.x == 0)
            for (unsigned s = 0; s < sectors; ++s) await(&sink, loadL2(primary + s * sectorBytes));
        __syncthreads();
        Address sum = 0;
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += loadL2(lines[i]);
        await(&sink, sum);
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    for (unsigned s = 0; s < sectors; ++s) {
        const unsigned start = clockNow();
        await(&sink, loadL2(primary + s * sectorBytes));
        times[s] = clockNow() - start;
    }
}

/// Loads the primary line and those of a list together, `rounds` times, then the list alone as often, and times the
/// primary line: whatever chooses the line that goes, it is gone if they do not fit a set, and there if they do.
extern "C" __global__ void timeAfterRounds(const Address* list, unsigned count, unsigned rounds, Address primary,
                                           unsigned sectors, unsigned sectorBytes, unsigned* times) {
    extern __shared__ Address lines[];
    __shared__ volatile Address sink;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) lines[i] = loadL2(reinterpret_cast<Address>(list + i));
    for (unsigned round = 0; round < 2 * rounds; ++round) {
        __syncthreads();
        if (round < rounds && threadIdx.x == 0)
            for (unsigned s = 0; s < sectors; ++s) await(&sink, loadL2(primary + s * sectorBytes));
        __syncthreads();
        Address sum = 0;
        for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += loadL2(lines[i]);
        await(&sink, sum);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned s = 0; s < sectors; ++s) {
        const unsigned start = clockNow();
        await(&sink, loadL2(primary + s * sectorBytes));
        times[s] = clockNow() - start;
    }
}

/// Chains of dependent atomics, which execute at the home slice. One thread of the SM `only` works on all
/// addresses, or, if that is ~0, every block on its share. `elected` is zero at first.
extern "C" __global__ void timeAtomics(const Address* list, unsigned count, unsigned repeats, unsigned only,
                                       unsigned* elected, unsigned* times, unsigned* where) {
    __shared__ volatile Address sink;
    const unsigned here = sm();
    unsigned first = 0, last = count;
    if (only != ~0u) {
        if (here != only || atomicAdd(elected, 1u) != 0) return;
    } else {
        const unsigned share = (count + gridDim.x - 1) / gridDim.x;
        first = blockIdx.x * share;
        last = first + share < count ? first + share : count;
    }
    for (unsigned i = first; i < last; ++i) {
        unsigned* const word = reinterpret_cast<unsigned*>(loadL2(reinterpret_cast<Address>(list + i)));
        atomicExch(word, 0u);
        unsigned v = atomicExch(word, 0u);  // 0, but only the hardware knows
        await(&sink, v);
        const unsigned start = clockNow();
        for (unsigned k = 0; k < repeats; ++k) v = atomicExch(word + v, 0u);
        await(&sink, v);
        times[i] = (clockNow() - start) / repeats;
        where[i] = here;
    }
}

namespace {

/// Where the clocks of all SMs agree, blocks leave it together, `lead` cycles after the last one's arrival;
/// otherwise (0) each as soon as it sees that all have arrived.
struct GridBarrier {
    unsigned* arrived;
    volatile unsigned* release;
    unsigned members;
    unsigned lead;
    unsigned goal;
    unsigned left;  ///< when they left it last

    __device__ void wait() {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            goal += members;
            const bool last = atomicAdd(arrived, 1u) + 1 == goal;
            if (lead != 0) {
                leaveTogether(last);
            } else {
                while (*reinterpret_cast<volatile unsigned*>(arrived) < goal) {
                }
            }
            __threadfence();
        }
        __syncthreads();
    }

    __device__ void leaveTogether(bool last) {
        if (last) *release = (clockNow() + lead) | 1u;
        unsigned when = left;
        while (when == left) when = *release;
        while (static_cast<int>(clockNow() - when) < 0) {
        }
        left = when;
    }
};

}  // namespace

/// The warps of the chosen SMs add to the addresses of a test in turn, all at once: it takes longer the
/// more of them are served by one slice. A test is `slots` addresses. `state` is zero at first: blocks that have
/// started, blocks elected, arrivals at the barrier, when to leave it, and a word for each SM.
extern "C" __global__ void timeContention(const Address* tests, unsigned count, unsigned slots, unsigned repeats,
                                          const unsigned char* chosen, unsigned members, unsigned lanes, unsigned lead,
                                          unsigned* state, unsigned* times) {
    // Volatile, or the compiler takes what one thread stores for what that thread alone will read.
    __shared__ volatile unsigned rank, present;
    __shared__ volatile Address sink;
    if (threadIdx.x == 0) {
        const unsigned here = sm();
        rank = ~0u;
        if (chosen[here] != 0 && atomicAdd(state + 4 + here, 1u) == 0) rank = atomicAdd(state + 1, 1u);
        __threadfence();
        atomicAdd(state, 1u);
        // Who takes part must know how many do; nobody else waits.
        while (rank < members && *reinterpret_cast<volatile unsigned*>(state) < gridDim.x) {
        }
        __threadfence();
        present = *reinterpret_cast<volatile unsigned*>(state + 1);
    }
    __syncthreads();
    const unsigned taking = present < members ? present : members;
    if (rank >= taking) return;
    GridBarrier barrier = {state + 2, state + 3, taking, lead, 0, 0};
    // Every block presses all addresses, and since schedulers may let one warp finish before the next, blocks begin
    // with different ones.
    const unsigned slot = ((threadIdx.x >> 5) + rank) % slots;
    for (unsigned i = 0; i < count; ++i) {
        const Address at = loadL2(reinterpret_cast<Address>(tests + slots * i + slot)) + (threadIdx.x & 7) * 4;
        if (rank == 0) await(&sink, loadL2(at & ~7ull));  // a line that is not in L2 would be slow for another reason
        barrier.wait();
        const unsigned start = clockNow();
        for (unsigned k = 0; k < repeats && (threadIdx.x & 31) < lanes; ++k)
            // Four at a time, so that the loop does not slow them.
            asm volatile(
                "red.global.add.u32 [%0], %1;\n\t"
                "red.global.add.u32 [%0], %1;\n\t"
                "red.global.add.u32 [%0], %1;\n\t"
                "red.global.add.u32 [%0], %1;" ::"l"(at),
                "r"(0)
                : "memory");
        __threadfence();
        __syncthreads();
        // Each by its own clock; the mean, since who comes first is served first.
        if (threadIdx.x == 0) atomicAdd(times + i, (clockNow() - start) / taking);
    }
}

/// Figure 8: a primary thread alone on SM 0, and others elsewhere, each chasing its own ring of pointers.
/// `state` is zero at first: a flag for the primary, a ticket for the others, and arrivals.
extern "C" __global__ void timeInterference(const Address* starts, unsigned threads, unsigned steps, unsigned* state,
                                            Address* cycles) {
    unsigned rank;
    if (sm() == 0) {
        if (atomicAdd(state, 1u) != 0) return;
        rank = 0;
    } else {
        rank = 1 + atomicAdd(state + 1, 1u);
        if (rank >= threads) return;
    }
    Address p = loadL2(reinterpret_cast<Address>(starts + rank));
    atomicAdd(state + 2, 1u);
    while (*reinterpret_cast<volatile unsigned*>(state + 2) < threads) {
    }
    if (rank != 0) {
        // Until the primary has ended: it looks rarely, so as not to disturb what it causes.
        do {
            for (unsigned i = 0; i < 8; ++i) p = loadL2(p);
        } while (*reinterpret_cast<volatile unsigned*>(state + 3) == 0);
        if (p == ~0ull) cycles[1] = p;  // never, but an assembler would leave loads out whose values nobody asks for
        return;
    }
    for (unsigned i = 0; i < steps / 4; ++i) p = loadL2(p);  // others have begun by then
    const long long begin = clock64();
    for (unsigned i = 0; i < steps; ++i) p = loadL2(p);
    cycles[1] = p;
    cycles[0] = static_cast<Address>(clock64() - begin);
    *reinterpret_cast<volatile unsigned*>(state + 3) = 1;
}

/// For each test, many loads that miss are under way when one more is made and timed: `count` lines, one for each
/// thread but those of the last warp, then the address to time.
extern "C" __global__ void timeBehind(const Address* tests, unsigned testCount, unsigned count, unsigned* times) {
    __shared__ volatile Address sink;
    const bool behind = threadIdx.x + 32 == blockDim.x;
    const bool before = threadIdx.x < count;
    for (unsigned i = 0; i < testCount; ++i) {
        const Address* const test = tests + i * (count + 1ull);
        const Address at =
            before || behind ? loadL2(reinterpret_cast<Address>(test + (behind ? count : threadIdx.x))) : 0;
        await(&sink, at);
        __syncthreads();
        if (before) await(&sink, loadL2(at));
        if (behind) {
            // An SM sends one line a cycle or so.
            const unsigned begin = clockNow();
            while (clockNow() - begin < 16 + count) {
            }
            const unsigned start = clockNow();
            await(&sink, loadL2(at));
            times[i] = clockNow() - start;
        }
        __syncthreads();
    }
}
