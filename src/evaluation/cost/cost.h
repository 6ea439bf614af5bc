#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace bulkhead::evaluation::cost {

/// What walls cost and what they keep out: of which walls, and how it is measured.
struct CostSpec {
    std::string gpu = "sim:gtx1080";
    std::vector<std::string> settings = {};   ///< of a simulated GPU
    std::string map = {};                     ///< file of bulkhead dissect, for walls between slices
    std::string coloring = "usual";           ///< what memory walls divide: usual, pages, sides or slices
    std::string placement = "usual";          ///< what places blocks: usual, blocks or driver
    unsigned partitions = 2;                  ///< of equal size
    unsigned megabytes = 0;                   ///< of an array of a memory-bound kernel; 0: what suits the GPU
    unsigned repeats = 0;                     ///< of a time; likewise
    std::vector<std::string> workloads = {};  ///< none: all
    std::string size = {};                    ///< of workloads; empty: what suits the GPU
    std::uint64_t seed = 1;                   ///< of workloads and of sampled addresses
    std::string ptx = {};                     ///< file with the kernels by another compiler; empty: as they were built
};

class Bench;

/// A row of the table of measurements.
struct Measurement {
    std::string_view name, question;
    Result (*measure)(Bench&);
    /// Throws Error for walls of which it cannot be measured; null: it always can.
    void (*expect)(const Bench&) = nullptr;
};
const std::vector<Measurement>& measurements();
/// Throws Error that suggests the nearest one.
const Measurement& findMeasurement(std::string_view name);

struct CostReport {
    std::vector<Result> results;
    std::vector<std::string> failures;  ///< a measurement that could not be made, or a wrong result; in one line each
};

/// Measures these by name, one after the other; if one fails, the others are measured all the same. Throws Error for
/// what this GPU, or no GPU, can be asked.
CostReport measureCost(const CostSpec&, const std::vector<std::string>& names);

// Each in the file of its name.
Result measureLaunches(Bench&);
Result measureBandwidth(Bench&);
void expectSides(const Bench&);
Result measureTranslation(Bench&);
Result measureViews(Bench&);
void expectNeighbours(const Bench&);
Result measureLatency(Bench&);
Result sampleColors(Bench&);
Result measureWorkloads(Bench&);

}  // namespace bulkhead::evaluation::cost
