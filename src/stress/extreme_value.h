#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stress/iid_tests.h"
#include "stress/tail_fit.h"

namespace bulkhead::stress {

/// Of all that a bound says: it is too low at most so often.
constexpr double kConfidence = 0.95;

/// What is fitted to the samples above one threshold.
struct TailFit {
    std::size_t count = 0;  ///< samples above it
    double threshold = 0;
    double share = 0;      ///< of runs that exceed it, at most
    double variation = 0;  ///< coefficient of variation of the excesses: 1 of an exponential tail
    GeneralizedPareto pareto;
    double pValue = 0;            ///< of the Pareto fit
    double estimate = 0;          ///< of the time asked for: the greater of an exponential tail's and a Pareto one's
    std::optional<double> limit;  ///< the greater of their upper confidence limits

    bool fits() const;
};

/// What is fitted to the greatest of each so many samples.
struct BlockFit {
    std::size_t block = 0, count = 0;
    Gumbel gumbel;
    double distance = 0;  ///< Anderson and Darling's; kGumbelCritical
    double estimate = 0;
    std::optional<double> limit;

    bool fits() const { return distance <= kGumbelCritical; }
};

/// A bound on the time of one run, or why there is none.
struct WorstCase {
    std::optional<double> value;  ///< exceeded by a run with the probability asked for, or less: with kConfidence
    std::string method;           ///< that the value is by
    std::string refusal;          ///< empty where there is a value
    double unseen = 0;            ///< runs of a kind that no sample shows may be this share of all, with kConfidence
    std::vector<IidTest> tests;
    std::vector<TailFit> tails;  ///< by their number of samples, from the most
    std::vector<BlockFit> blocks;
};

/// From samples in the order in which they were taken, and the number of runs that gave none: they count as longer than
/// any bound. After the practice of measurement-based probabilistic timing analysis: docs/bounds.md.
WorstCase boundWorstCase(std::span<const double> samples, std::size_t lost, double probability);

/// How often runs take longer than a time.
struct Exceedance {
    double probability = 0;
    std::optional<double> estimate;  ///< the time, likeliest
    double bound = 0;                ///< the time at most, with kConfidence
};

/// The share of samples that take at least so long. Not each of them where there are many.
std::vector<Exceedance> measuredExceedance(std::span<const double> samples);

/// From the whole of the samples down to the probability of a worst case; empty where there is no bound.
std::vector<Exceedance> exceedanceCurve(std::span<const double> samples, std::size_t lost, const WorstCase&,
                                        double probability);

}  // namespace bulkhead::stress
