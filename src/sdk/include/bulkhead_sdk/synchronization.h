#pragma once

#include "device.h"

// Barriers of a block and a warp, fences, and what belongs to no other group. All are assembly with a memory clobber:
// of its own barriers and fences clang 14 believes that they leave a __shared__ variable of a kernel alone, and reads
// it before the barrier instead of after.

BULKHEAD_DEVICE void bulkheadSyncthreads() {
    asm volatile("bar.sync 0;" ::: "memory");
}
#define __syncthreads bulkheadSyncthreads

/// Barriers by number, of the whole block or of as many threads as say so.
BULKHEAD_DEVICE void __barrier_sync(unsigned int barrier) {
    asm volatile("barrier.sync %0;" ::"r"(barrier) : "memory");
}
BULKHEAD_DEVICE void __barrier_sync_count(unsigned int barrier, unsigned int threads) {
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

BULKHEAD_DEVICE int __syncthreads_count(int predicate) {
    int count;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }"
                 : "=r"(count)
                 : "r"(predicate)
                 : "memory");
    return count;
}
BULKHEAD_DEVICE int __syncthreads_and(int predicate) {
    int all;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.and.pred p, 0, p; selp.s32 %0, 1, 0, p; }"
                 : "=r"(all)
                 : "r"(predicate)
                 : "memory");
    return all;
}
BULKHEAD_DEVICE int __syncthreads_or(int predicate) {
    int any;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.or.pred p, 0, p; selp.s32 %0, 1, 0, p; }"
                 : "=r"(any)
                 : "r"(predicate)
                 : "memory");
    return any;
}
BULKHEAD_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) {
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}

BULKHEAD_DEVICE void __threadfence_block() {
    asm volatile("membar.cta;" ::: "memory");
}
BULKHEAD_DEVICE void __threadfence() {
    asm volatile("membar.gl;" ::: "memory");
}
BULKHEAD_DEVICE void __threadfence_system() {
    asm volatile("membar.sys;" ::: "memory");
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/// Launches that may begin before the one ahead of them in their stream has ended: wait for it, and let the next begin.
BULKHEAD_DEVICE void cudaGridDependencySynchronize() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
BULKHEAD_DEVICE void cudaTriggerProgrammaticLaunchCompletion() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#endif

BULKHEAD_DEVICE void __trap() {
    __builtin_trap();
}
BULKHEAD_DEVICE void __brkpt() {
    asm volatile("brkpt;");
}
BULKHEAD_DEVICE void __prof_trigger(int) {}

/// A device before sm_70 cannot sleep: there it returns at once, which the longest sleep of 0 allows.
BULKHEAD_DEVICE void __nanosleep(unsigned int nanoseconds) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds) : "memory");
#else
    (void)nanoseconds;
#endif
}

// The clobbers keep loads and stores on their side of the clock.
BULKHEAD_DEVICE long clock() {
    int cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}
BULKHEAD_DEVICE long long clock64() {
    long long cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}
BULKHEAD_DEVICE unsigned long long __globaltimer() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return nanoseconds;
}

BULKHEAD_DEVICE unsigned int __isGlobal(const void* p) {
    return __nvvm_isspacep_global(p);
}
BULKHEAD_DEVICE unsigned int __isShared(const void* p) {
    return __nvvm_isspacep_shared(p);
}
/// Shared memory of any block of the cluster; before sm_90 there are no clusters, so of this block.
BULKHEAD_DEVICE unsigned int __isClusterShared(const void* p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned int is;
    asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is) : "l"(p));
    return is;
#else
    return __isShared(p);
#endif
}
/// clang copies a kernel's parameter before it takes its address, so no address is one of a parameter.
BULKHEAD_DEVICE unsigned int __isGridConstant(const void*) {
    return 0;
}
BULKHEAD_DEVICE unsigned int __isConstant(const void* p) {
    return __nvvm_isspacep_const(p);
}
BULKHEAD_DEVICE unsigned int __isLocal(const void* p) {
    return __nvvm_isspacep_local(p);
}

// Addresses of a state space and generic ones.
#define BULKHEAD_CVTA(space, in)                                               \
    BULKHEAD_DEVICE unsigned long __cvta_generic_to_##space(const void* p) {   \
        unsigned long address;                                                 \
        asm("cvta.to." in ".u64 %0, %1;" : "=l"(address) : "l"(p));            \
        return address;                                                        \
    }                                                                          \
    BULKHEAD_DEVICE void* __cvta_##space##_to_generic(unsigned long address) { \
        void* p;                                                               \
        asm("cvta." in ".u64 %0, %1;" : "=l"(p) : "l"(address));               \
        return p;                                                              \
    }
BULKHEAD_CVTA(global, "global")
BULKHEAD_CVTA(shared, "shared")
BULKHEAD_CVTA(constant, "const")
BULKHEAD_CVTA(local, "local")
#undef BULKHEAD_CVTA

BULKHEAD_DEVICE void __assume(bool condition) {
    __builtin_assume(condition);
}
