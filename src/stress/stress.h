#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "corun/causes.h"
#include "corun/encounter.h"
#include "corun/pair_spec.h"
#include "stress/sample.h"
#include "stress/search.h"

namespace bulkhead::stress {

/// Victims beside aggressors, in ways of sharing: one cell of the interference matrix for each combination.
struct Options {
    corun::PairSpec pair;  ///< what all of them have in common
    std::vector<std::string> victims = {"random"};
    std::vector<corun::AggressorSpec> aggressors;
    std::vector<std::string> sharing = {"streams"};
    unsigned samples = 30;
    unsigned explained = 1;     ///< of them, whose causes are found: each takes up to 11 further pairs
    unsigned searchBudget = 0;  ///< aggressors that are tried in search of the worst; 0: those given are measured
    double exceedance = 1e-6;   ///< of the probabilistic bound
    double secondsPerCell = 0;  ///< no further samples after that long, by the wall clock; 0: no limit
};

struct Cell {
    corun::PairSpec pair;
    corun::Pairing pairing;
    corun::Causes causes;  ///< of the samples that were explained, summed; of a simulated GPU
    unsigned explained = 0;
    std::optional<corun::Encounter> encounter = {};  ///< of the first sample that was explained, of a simulated GPU
    std::string refusal;                             ///< why there could be no pair at all
};

struct Outcome {
    std::vector<Cell> cells;
    std::vector<Search> searches = {};
    /// The matrix first; what was found, where something was searched for; of simulated GPUs, the causes; worst-case
    /// bounds; what the numbers depend on.
    std::vector<Result> results(const Options&) const;
    /// The bounds by themselves.
    Result bounds(const Options&) const;
    /// Of simulated GPUs, how victims and aggressors met.
    std::vector<Result> encounters(const Options&) const;
    /// What stands behind the bounds, and times with their intervals.
    std::vector<Result> statistics(const Options&) const;
    /// Every sample: one Result for each victim and way of sharing.
    std::vector<Result> samples() const;
};

/// The matrix for a terminal: columns without a value are details too.
Result briefMatrix(const Result& matrix);

/// Told what is measured, and the fraction of all samples that is there: before a cell begins, and after each sample.
using Listener = std::function<void(const std::string&, double)>;

/// Into an outcome that holds what was measured also where this does not return: Interrupted.
void stress(const Options&, Outcome&, const Listener& = {});
/// The same of a simulated GPU, each sample a run of the batch.
void stress(const Options&, Outcome&, SampleBatch&);
/// For each victim and way of sharing, searches for the worst aggressor, by one pair each, and measures that one in
/// full, with other seeds. Runs of a simulated GPU are the batch's.
void search(const Options&, Outcome&, SampleBatch&, const Listener& = {});
Cell measureCell(const corun::PairSpec&, const Options&);

}  // namespace bulkhead::stress
