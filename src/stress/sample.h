#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "corun/causes.h"
#include "corun/encounter.h"
#include "corun/pair_spec.h"
#include "experiment/run_batch.h"

namespace bulkhead::stress {

/// One sample of a cell as a run, on a GPU that is opened for it: of simulated GPUs, which find the same each time.
struct SampleSpec {
    static constexpr std::string_view kKind = "sample";
    corun::PairSpec pair;
    bool explain = false;  ///< finds the causes too, and how the two met

    /// With the content of profile and map, and of a program that is the victim. What such a program reads is not
    /// known.
    nlohmann::ordered_json toJson() const;
    /// From what describe() says. Throws Error.
    static SampleSpec fromJson(const nlohmann::json&, const std::string& where);
};
/// All of it for another process, which reads profile, map and program itself.
nlohmann::ordered_json describe(const SampleSpec&);
std::string nameOf(const SampleSpec&);
std::string labelOf(const SampleSpec&);

struct SampleMeasurement {
    corun::Pairing pairing;
    std::optional<corun::Causes> causes;             ///< where they were looked for and found
    std::optional<corun::Encounter> encounter = {};  ///< likewise

    nlohmann::ordered_json toJson() const;
    static SampleMeasurement fromJson(const nlohmann::json&, const std::string& where);
};

/// One pair. Throws Error.
SampleMeasurement measureSample(corun::CoRun&);
/// With its causes, if the spec says so and the GPU is a simulated one.
SampleMeasurement execute(const SampleSpec&);
/// Finds causes of the only pair of a measurement, which may be long ago, and how the two met.
void explain(const SampleSpec&, SampleMeasurement&);

using SampleStore = experiment::StoreOf<SampleSpec, SampleMeasurement>;
using SampleBatch = experiment::RunBatch<SampleSpec, SampleMeasurement>;

}  // namespace bulkhead::stress
