#pragma once

#include <cstddef>
#include <vector>

#include "base/random.h"
#include "workloads/workload.h"

// What the host code of many workloads needs.

namespace bulkhead::workloads {

/// That many numbers, uniform from low to high.
std::vector<float> uniformFloats(Random&, std::size_t count, float low = 0.0f, float high = 1.0f);

/// Blocks of `block` threads that `threads` threads need.
constexpr unsigned blocksFor(std::size_t threads, unsigned block) {
    return static_cast<unsigned>((threads + block - 1) / block);
}

/// The one of four that is meant for this size.
template <class T>
T forSize(Size size, T test, T standard, T paper, T large) {
    switch (size) {
        case Size::test:
            return test;
        case Size::standard:
            return standard;
        case Size::paper:
            return paper;
        default:
            return large;
    }
}
template <class T>
T forSize(Size size, T test, T standard, T paper) {
    return forSize(size, test, standard, paper, paper);
}

template <class... Arrays>
std::size_t bytesOf(const Arrays&... arrays) {
    return (arrays.buffer().bytes() + ...);
}

}  // namespace bulkhead::workloads
