#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

// Ends the program with the place and the reason when a call of the runtime fails.
#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        const cudaError_t error_ = (call);                                                                  \
        if (error_ != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            std::exit(1);                                                                                   \
        }                                                                                                   \
    } while (0)

// One line for people, and the exit code.
inline int verdict(const char* name, bool right) {
    std::printf("%s: %s\n", name, right ? "passed" : "FAILED");
    return right ? 0 : 1;
}
