#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dissect/dissect.h"

namespace bulkhead::reproduce {

/// Figures 3, 4, 6 and 8 of the Fractional GPUs paper: how a GTX 1080 spreads addresses, and what threads must share to
/// slow each other down. One dissection serves all; it is done when the first figure is made.
class MemoryStudy {
  public:
    struct Counts {
        std::size_t trendPairs, pairs;  ///< of Figures 3 and 4
        bool allThreads;                ///< Figure 8 at each number of them
    };
    static Counts asInThePaper() { return {3000, 100'000, true}; }
    static Counts shortened() { return {60, 6000, false}; }

    MemoryStudy(const Counts&, std::vector<std::string> settings, std::uint64_t seed);

    std::vector<Result> figure3();
    std::vector<Result> figure4();
    std::vector<Result> figure6();
    std::vector<Result> figure8();

  private:
    const dissect::Dissection& dissection();
    /// Of those that the dissection drew. Throws Error.
    Result drawn(const std::string& title);

    Counts counts_;
    std::vector<std::string> settings_;
    std::uint64_t seed_;
    std::optional<dissect::Dissection> dissection_;
};

}  // namespace bulkhead::reproduce
