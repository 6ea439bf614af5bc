#pragma once

#include <stddef.h>

#include "device.h"

// What a program uses of the standard library in device code: printf (which the compiler turns into vprintf), memory
// and assert.

extern "C" __device__ int printf(const char*, ...);
extern "C" __device__ int vprintf(const char*, const char*);
extern "C" __device__ void* malloc(size_t);
extern "C" __device__ void free(void*);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char* message, const char* file,
                                                                  unsigned int line, const char* function,
                                                                  size_t characterSize);

// What the table of virtual functions of an abstract class holds.
extern "C" inline __device__ void __cxa_pure_virtual() {
    __builtin_trap();
}
extern "C" inline __device__ void __cxa_deleted_virtual() {
    __builtin_trap();
}

// The compiler writes these out as loops.
extern "C" {
BULKHEAD_DEVICE void* memcpy(void* to, const void* from, size_t bytes) {
    return __builtin_memcpy(to, from, bytes);
}
BULKHEAD_DEVICE void* memmove(void* to, const void* from, size_t bytes) {
    return __builtin_memmove(to, from, bytes);
}
BULKHEAD_DEVICE void* memset(void* to, int value, size_t bytes) {
    return __builtin_memset(to, value, bytes);
}
}

BULKHEAD_DEVICE __attribute__((noreturn)) void __assert_fail(const char* message, const char* file, unsigned int line,
                                                             const char* function) {
    __assertfail(message, file, line, function, sizeof(char));
}

BULKHEAD_DEVICE_LARGE int memcmp(const void* a, const void* b, size_t bytes) {
    const unsigned char* const x = (const unsigned char*)a;
    const unsigned char* const y = (const unsigned char*)b;
    for (size_t i = 0; i < bytes; ++i)
        if (x[i] != y[i]) return (int)x[i] - (int)y[i];
    return 0;
}
