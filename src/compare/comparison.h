#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compare/warp_limits.h"

namespace bulkhead::compare {

/// One column of a comparison: a scheduler, on a GPU that differs in some parameters.
struct Variant {
    std::string label;
    std::string scheduler;
    std::vector<std::string> settings = {};
};

struct Plan {
    std::vector<std::string> workloads;
    std::vector<Variant> variants;  ///< the first one is what the others are measured against
    RunSpec common;                 ///< what all runs have alike
    bool bestCarveout = false;      ///< each run has the carve-out that suits it best
};

/// The runs of a plan, workload by workload.
struct Comparison {
    Plan plan;
    std::vector<RunSpec> specs;
    std::vector<Outcome> outcomes;

    const Outcome& at(std::size_t workload, std::size_t variant) const {
        return outcomes[workload * plan.variants.size() + variant];
    }
    const RunSpec& spec(std::size_t workload, std::size_t variant) const {
        return specs[workload * plan.variants.size() + variant];
    }
    /// IPC over the first variant's; empty where one of the two failed.
    Value gain(std::size_t workload, std::size_t variant) const;
    /// The geometric mean of that, over the workloads of a class ("LWS", "SWS", "CI"; empty: all). Empty if there are
    /// none or one of them failed.
    Value meanGain(const std::string& workloadClass, std::size_t variant) const;
    std::vector<std::string> failures() const;  ///< one line each
    std::vector<std::string> notes() const;     ///< schedulers that cannot do there what they are for, likewise
};

/// Every workload under every variant. Schedulers that need a number of warps get it by profiling.
Comparison compare(RunBatch&, const Plan&);

/// The workloads of the CIAO paper's Table II that are in these classes (empty: all), in its order.
std::vector<std::string> ciaoWorkloads(const std::vector<std::string>& classes = {});

// Of a comparison:
/// IPC of each workload over the first variant's, then the geometric means of the classes and of all.
Result gainTable(const Comparison&);
/// A row for each run, with what explains it.
Result runTable(const Comparison&);
/// A row for each run: what its warp schedulers did in their cycles.
Result stallTable(const Comparison&);
/// A row for each run, with all that was counted.
Result counterTable(const Comparison&);

}  // namespace bulkhead::compare
