#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/run_batch.h"
#include "reproduce/interference.h"

namespace bulkhead::reproduce {

/// A figure of "Towards Demystifying Cache Interference on NVIDIA GPUs" as a run: on a simulated GPU, which finds the
/// same each time.
struct FigureSpec {
    static constexpr std::string_view kKind = "figure";
    std::string figure;  ///< its name
    InterferenceOptions options;

    /// With the profile's content, so that a changed profile is another run.
    nlohmann::ordered_json toJson() const;
    /// From what describe() says. Throws Error.
    static FigureSpec fromJson(const nlohmann::json&, const std::string& where);
};
/// All of it for another process, which finds the profile itself.
nlohmann::ordered_json describe(const FigureSpec&);
std::string nameOf(const FigureSpec&);
std::string labelOf(const FigureSpec&);

struct FigureMeasurement {
    std::vector<Result> results;

    nlohmann::ordered_json toJson() const;
    static FigureMeasurement fromJson(const nlohmann::json&, const std::string& where);
};

FigureMeasurement execute(const FigureSpec&);

using FigureStore = experiment::StoreOf<FigureSpec, FigureMeasurement>;
using FigureBatch = experiment::RunBatch<FigureSpec, FigureMeasurement>;

}  // namespace bulkhead::reproduce
