#pragma once

#include <cstdint>
#include <vector>

#include "corun/rings.h"
#include "gpu/gpu.h"

namespace bulkhead::corun {

/// Times of single accesses, in cycles: a ring followed twice in a row.
struct Passes {
    std::vector<double> cold, warm;
};

/// Times every access, each of `warps` warps in its own part of the ring (4.1, 4.2.1). What a ring does not divide into
/// is left out.
Passes timePasses(gpu::Context&, const Ring&, unsigned warps);

/// What separates hits from misses: faster than the cold pass, which has none, is a hit. One in a hundred thousand of
/// its accesses may be faster still, of lines that were not flushed.
double hitThreshold(const Passes&);

/// Share of a ring's lines that the cache holds: hits of the second pass.
double hitShare(const std::vector<double>& times, double threshold);

}  // namespace bulkhead::corun
