#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/result_folder.h"
#include "experiment/slurm/submission.h"

namespace bulkhead::experiment::slurm {

/// How often a run is begun before it is given up: tasks are lost with their nodes, and end at their time limit.
inline constexpr unsigned kMostTries = 4;

/// A run that a description tells of, on the machine that is to do it.
struct PreparedRun {
    std::filesystem::path file;  ///< that holds its measurement, by what determines it here
    std::function<bool()> kept;
    std::function<void()> execute;  ///< and keep
};

/// A type of runs: by the name in descriptions.
struct RunKind {
    std::string_view name;
    std::function<PreparedRun(const std::filesystem::path& store, const nlohmann::json& spec)> prepare;
};

template <class Spec, class Measurement>
RunKind runKind(const std::function<std::string()>& program) {
    return {Spec::kKind, [program](const std::filesystem::path& folder, const nlohmann::json& json) -> PreparedRun {
                const StoreOf<Spec, Measurement> store(
                    folder, program(), [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
                const Spec spec = Spec::fromJson(json, "run");
                return {store.fileOf(spec), [=] { return store.find(spec).has_value(); },
                        [=] { store.keep(spec, execute(spec)); }};
            }};
}

/// On a node: the runs of one task, one after the other, each in a process of its own. What the store has is not done
/// again. `program`: what tells builds apart. Returns an exit code.
int doTask(const Submission&, unsigned task, const std::string& program, const std::vector<RunKind>&);

}  // namespace bulkhead::experiment::slurm
