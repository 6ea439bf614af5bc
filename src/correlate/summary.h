#pragma once

#include <optional>
#include <span>

#include "correlate/kernel_pair.h"

namespace bulkhead::correlate {

/// Errors over some kernels. Nothing where no kernel has what it takes.
struct Errors {
    std::size_t kernels = 0;             ///< that have cycles on both sides
    std::optional<double> mean, median;  ///< of |ratio of cycles - 1|, percent
    std::optional<double> ratio;         ///< geometric mean, twin to hardware
    std::size_t within = 0;              ///< an error of at most 15 %
};

struct Summary {
    Errors all, ofLong;                        ///< longer than 20,000 cycles of hardware
    std::optional<double> logCorrelation;      ///< Pearson's, of the logarithms of cycles
    std::optional<double> l1Points, l2Points;  ///< mean difference of hit rates
    std::optional<double> instructions;        ///< mean |difference|, percent of hardware's
    std::optional<double> dram;                ///< the same of bytes, of kernels for which hardware moves over 1 MB
    std::size_t dramKernels = 0;
    std::optional<double> warps;  ///< mean |difference| of warps on an SM
};

Errors errorsOf(std::span<const KernelPair>);
Summary summaryOf(std::span<const KernelPair>);

}  // namespace bulkhead::correlate
