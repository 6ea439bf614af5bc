#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "experiment/executor.h"
#include "experiment/result_folder.h"

namespace bulkhead::experiment {

/// What became of a run.
template <class Measurement>
struct Outcome {
    Measurement measurement;
    std::string failure;  ///< why there is no measurement
    bool ok() const { return failure.empty(); }
};

/// Does runs, each once: from the store where it has them, otherwise by an executor, kept as they end. What a store
/// asks of its types; in addition `Measurement execute(const Spec&)`, labelOf(Spec) for progress, and for processes
/// elsewhere describe(Spec) and kKind.
template <class Spec, class Measurement>
class RunBatch {
  public:
    using Store = StoreOf<Spec, Measurement>;

    RunBatch(Store store, std::shared_ptr<Executor> executor)
        : store_(std::move(store)), executor_(std::move(executor)) {}

    /// In the order of the specifications. `oneAtATime`: on one machine they would disturb each other.
    std::vector<Outcome<Measurement>> run(const std::vector<Spec>& specs, bool oneAtATime = false) {
        std::vector<Outcome<Measurement>> outcomes(specs.size());
        run(specs, outcomes, oneAtATime);
        return outcomes;
    }
    /// Into outcomes of that number, which hold what has ended also where this does not return: Interrupted.
    void run(const std::vector<Spec>& specs, std::vector<Outcome<Measurement>>& outcomes, bool oneAtATime = false) {
        std::map<std::filesystem::path, std::vector<std::size_t>> wanted;  // the same run may be asked for twice
        std::vector<std::filesystem::path> missing;
        for (std::size_t i = 0; i < specs.size(); ++i) {
            if (const auto kept = store_.find(specs[i])) {
                outcomes[i] = {*kept, ""};
                continue;
            }
            outcomes[i].failure = "it was not done";
            const std::filesystem::path file = store_.fileOf(specs[i]);
            if (wanted[file].empty()) missing.push_back(file);
            wanted[file].push_back(i);
        }
        const auto specOf = [&](std::size_t n) -> const Spec& { return specs[wanted[missing[n]].front()]; };
        const auto record = [&](std::size_t n, const Outcome<Measurement>& outcome) {
            for (std::size_t i : wanted[missing[n]]) outcomes[i] = outcome;
        };
        RunList runs;
        runs.count = missing.size();
        runs.oneAtATime = oneAtATime;
        runs.label = [&](std::size_t n) { return labelOf(specOf(n)); };
        runs.execute = [&](std::size_t n) { return jsonText(execute(specOf(n)).toJson()); };
        runs.describe = [&](std::size_t n) {
            return RunDescription{std::string(Spec::kKind), missing[n].filename().string(), describe(specOf(n))};
        };
        runs.recall = [&](std::size_t n) {
            const std::optional<Measurement> kept = store_.find(specOf(n));
            if (kept) record(n, {*kept, ""});
            return kept.has_value();
        };
        runs.finish = [&](std::size_t n, const WorkResult& result) {
            const Outcome<Measurement> outcome = outcomeOf(result);
            if (outcome.ok()) store_.keep(specOf(n), outcome.measurement);
            record(n, outcome);
        };
        if (runs.count > 0) executor_->execute(runs);
        executed_ += missing.size();
    }
    Outcome<Measurement> run(const Spec& spec) { return run(std::vector<Spec>{spec}).front(); }

    std::size_t executed() const { return executed_; }  ///< runs that the store did not have

  private:
    static Outcome<Measurement> outcomeOf(const WorkResult& result) {
        if (!result.why.empty()) return {{}, result.why};
        return {Measurement::fromJson(parseJson(result.found, "a run"), "a run"), ""};
    }

    Store store_;
    std::shared_ptr<Executor> executor_;
    std::size_t executed_ = 0;
};

}  // namespace bulkhead::experiment
