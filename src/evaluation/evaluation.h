#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluation/series.h"
#include "experiment/run_batch.h"

namespace bulkhead::evaluation {

using SeriesStore = experiment::StoreOf<SeriesSpec, SeriesMeasurement>;

/// What is to be evaluated on one GPU.
struct EvaluationSpec {
    SeriesSpec common;  ///< GPU, settings, map, size, seed and samples
    std::vector<Method> methods = {Method("cp"), Method("cmp")};
    std::vector<unsigned> partitions = {2};
    std::vector<std::string> applications = {"MM", "SN", "VA", "SP", "FWT", "CFD"};
    std::vector<std::string> neighbours = {"MM", "FWT", "VA"};  ///< beside those, nobody
};

/// Mean seconds of an application's run, by method, partitions, application and neighbour; "" is an idle one. An
/// application alone on the whole GPU has method none and one partition.
class Evaluation {
  public:
    struct Key {
        Method method;
        unsigned partitions;
        std::string application, neighbour;
        auto operator<=>(const Key&) const = default;
    };

    void add(const SeriesSpec&, const SeriesMeasurement&);
    void fail(const SeriesSpec&, const std::string& why);

    std::optional<double> seconds(const Key&) const;
    /// As the paper has it: how many times `partitions` times the baseline a run takes.
    std::optional<double> normalized(const Key&) const;
    /// (Max over neighbours / idle - 1) * 100.
    std::optional<double> variation(Method, unsigned partitions, const std::string& application) const;
    /// The same of each sample on its own; empty where some neighbour has fewer.
    std::vector<double> variations(Method, unsigned partitions, const std::string& application) const;
    /// Of each sample, the average over applications.
    std::vector<double> averageVariations(Method, unsigned partitions,
                                          const std::vector<std::string>& applications) const;

    const std::vector<std::string>& failures() const { return failures_; }
    const std::map<Key, std::vector<double>>& samples() const { return samples_; }

    /// Variation of each application under each method, with average and maximum.
    Result variationTable(const EvaluationSpec&) const;
    /// How much variation differs from sample to sample.
    Result spreadTable(const EvaluationSpec&) const;
    /// Every runtime, normalized as in Figures 9 to 11.
    Result runtimeTable() const;
    /// What walls cost an application that is alone: the same SMs and colors, with and without.
    Result overheadTable(const EvaluationSpec&) const;

  private:
    std::map<Key, std::vector<double>> samples_;
    std::map<Key, std::uint64_t> neighbourRuns_;
    std::map<Key, corun::Place> places_;
    std::vector<std::string> failures_;
};

/// Has done what the store does not have, and keeps it as it ends. A real GPU takes one at a time.
Evaluation evaluate(const EvaluationSpec&, const SeriesStore&, const std::shared_ptr<experiment::Executor>&);

}  // namespace bulkhead::evaluation
