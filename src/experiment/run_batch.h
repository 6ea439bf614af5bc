#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "experiment/process_pool.h"
#include "experiment/result_folder.h"

namespace bulkhead::experiment {

/// How far a batch has come.
struct Progress {
    std::size_t done = 0, of = 0;
    double secondsLeft = 0;
    std::string last;  ///< the run that ended
};
using ShowProgress = std::function<void(const Progress&)>;

/// What became of a run.
template <class Figures>
struct Outcome {
    Figures figures;
    std::string failure;  ///< why there are no figures
    bool ok() const { return failure.empty(); }
};

/// As inProcesses; says after each piece how far all have come. `label(i)` names a piece.
void inProcesses(std::size_t count, unsigned jobs, const std::function<std::string(std::size_t)>& work,
                 const std::function<void(std::size_t, const WorkResult&)>& ended,
                 const std::function<std::string(std::size_t)>& label, const ShowProgress&);

/// Does runs, each once: from the store where it has them, otherwise in processes of their own, kept as they end. What
/// a store asks of its types; in addition `Figures execute(const Spec&)`, and labelOf(Spec) for progress.
template <class Spec, class Figures>
class RunBatch {
  public:
    RunBatch(StoreOf<Spec, Figures> store, unsigned jobs, ShowProgress progress = {})
        : store_(std::move(store)), jobs_(jobs), progress_(std::move(progress)) {}

    /// In the order of the specifications.
    std::vector<Outcome<Figures>> run(const std::vector<Spec>& specs) {
        std::vector<Outcome<Figures>> outcomes(specs.size());
        std::map<std::filesystem::path, std::vector<std::size_t>> wanted;  // the same run may be asked for twice
        std::vector<std::filesystem::path> missing;
        for (std::size_t i = 0; i < specs.size(); ++i) {
            if (const auto kept = store_.find(specs[i])) {
                outcomes[i].figures = *kept;
                continue;
            }
            const std::filesystem::path file = store_.fileOf(specs[i]);
            if (wanted[file].empty()) missing.push_back(file);
            wanted[file].push_back(i);
        }
        const auto specOf = [&](std::size_t n) -> const Spec& { return specs[wanted[missing[n]].front()]; };
        inProcesses(
            missing.size(), jobs_, [&](std::size_t n) { return jsonText(execute(specOf(n)).toJson()); },
            [&](std::size_t n, const WorkResult& result) {
                const Outcome<Figures> outcome = outcomeOf(result);
                if (outcome.ok()) store_.keep(specOf(n), outcome.figures);
                for (std::size_t i : wanted[missing[n]]) outcomes[i] = outcome;
            },
            [&](std::size_t n) { return labelOf(specOf(n)); }, progress_);
        executed_ += missing.size();
        return outcomes;
    }
    Outcome<Figures> run(const Spec& spec) { return run(std::vector<Spec>{spec}).front(); }

    std::size_t executed() const { return executed_; }  ///< runs that the store did not have

  private:
    static Outcome<Figures> outcomeOf(const WorkResult& result) {
        if (!result.why.empty()) return {{}, result.why};
        return {Figures::fromJson(parseJson(result.found, "a run"), "a run"), ""};
    }

    StoreOf<Spec, Figures> store_;
    unsigned jobs_;
    ShowProgress progress_;
    std::size_t executed_ = 0;
};

}  // namespace bulkhead::experiment
