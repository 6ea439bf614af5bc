/* A process's place in a partition of a GPU: see docs/isolate.md. For C and C++. */
#ifndef BULKHEAD_H
#define BULKHEAD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a partition has of the GPU. */
struct bulkhead_place {
    char partition[65];
    unsigned sms, all_sms;
    unsigned colors, all_colors; /* parts of the memory system that share no slice */
    unsigned long long memory_bytes;
};

/*
 * Puts walls around this process: from now on its CUDA contexts, memory and kernels stay in the partition. Call it
 * before any CUDA call, at the beginning of main: where another driver library has been loaded, the program starts anew
 * with Bulkhead's in front of it. Ends with the process, however that ends.
 *
 * All calls return 0, or -1 with the reason in bulkhead_error().
 */
int bulkhead_join(const char* partition);

/* Gives the place back. CUDA calls fail from then on. */
int bulkhead_leave(void);

/* The place of this process; an error where it has none, or its lease is stale. */
int bulkhead_query(struct bulkhead_place*);

/* The partitions that processes can join, and what each has. Their plan is known once this process has joined one. */
int bulkhead_partitions(unsigned* count);
int bulkhead_partition(unsigned index, struct bulkhead_place*);

/* Sets the partitions: "A=50%,B=50%". Whoever is inside one keeps it. */
int bulkhead_set_partitions(const char* partitions);

/* The physical address of device memory; an error where the driver does not tell, as real ones do not. */
int bulkhead_physical_address(const void* device, unsigned long long* physical);

/* Why the last call of this thread failed. Never null. */
const char* bulkhead_error(void);

#ifdef __cplusplus
}
#endif
#endif
