#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace bulkhead::reproduce {

/// Where and how thoroughly the experiments of "Towards Demystifying Cache Interference on NVIDIA GPUs" are made again.
struct InterferenceOptions {
    std::string gpu = "sim:tx2";
    std::vector<std::string> settings;
    unsigned samples = 3;
    std::uint64_t accesses = 0;  ///< of the applications; 0: the paper's 131 072
    std::uint64_t seed = 1;
    std::function<void(const std::string&)> listener;
};

struct InterferenceFigure {
    std::string_view name;  ///< "table1", "figure1"
    std::string_view title;
    std::vector<Result> (*make)(const InterferenceOptions&);
};

/// In the order of the paper; last, what its future work asks for: eviction guided by a map.
const std::vector<InterferenceFigure>& interferenceFigures();

std::vector<Result> accessTimes(const InterferenceOptions&);     ///< Table 1
std::vector<Result> warmHits(const InterferenceOptions&);        ///< Figure 1
std::vector<Result> multiProcess(const InterferenceOptions&);    ///< Table 2
std::vector<Result> singleProcess(const InterferenceOptions&);   ///< Table 3
std::vector<Result> guidedCoverage(const InterferenceOptions&);  ///< 4.2.2

}  // namespace bulkhead::reproduce
