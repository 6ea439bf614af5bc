#pragma once

// What the programs here have in common: arrays that both sides see, and a count of what differed.

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

inline int differences = 0;

inline void expect(bool holds, const char* format, ...) {
    if (holds || ++differences > 20) return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

inline int finished() {
    const cudaError_t error = cudaDeviceSynchronize();
    expect(error == cudaSuccess, "%s", cudaGetErrorString(error));
    if (differences == 0) printf("passed\n");
    return differences == 0 ? 0 : 1;
}

template <class T>
T* shared(std::size_t count) {
    T* place = nullptr;
    if (cudaMallocManaged(&place, count * sizeof(T)) != cudaSuccess) {
        printf("no memory\n");
        exit(1);
    }
    memset(place, 0, count * sizeof(T));
    return place;
}

inline void synchronize() {
    const cudaError_t error = cudaDeviceSynchronize();
    expect(error == cudaSuccess, "%s", cudaGetErrorString(error));
}

/// Numbers that repeat (xorshift64*, Vigna 2016).
struct Random {
    std::uint64_t state = 0x9e3779b97f4a7c15u;
    std::uint64_t next() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return state * 0x2545f4914f6cdd1du;
    }
};

template <class To, class From>
To bitsAs(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
