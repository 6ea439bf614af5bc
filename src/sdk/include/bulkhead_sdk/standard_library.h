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

BULKHEAD_DEVICE __attribute__((noreturn)) void __assert_fail(const char* message, const char* file, unsigned int line,
                                                             const char* function) {
    __assertfail(message, file, line, function, sizeof(char));
}
