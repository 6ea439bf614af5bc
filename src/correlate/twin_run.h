#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/run_batch.h"
#include "metrics/metric_table.h"
#include "workloads/workload.h"

namespace bulkhead::correlate {

/// A workload on the simulated twin, launch by launch.
struct TwinSpec {
    static constexpr std::string_view kKind = "launches";
    std::string workload;
    workloads::Size size = workloads::Size::standard;
    std::uint64_t seed = 1;
    std::string gpu = "sim:h200";
    std::vector<std::string> settings;
    std::string scheduler = "gto";

    /// With the profile's content, so that a changed profile is another run.
    nlohmann::ordered_json toJson() const;
    static TwinSpec fromJson(const nlohmann::json&, const std::string& where);
};
nlohmann::ordered_json describe(const TwinSpec&);
std::string nameOf(const TwinSpec&);
std::string labelOf(const TwinSpec&);

/// What every launch counted, in order. Counters and not metrics, so that another definition of a metric needs no
/// other run.
struct TwinMeasurement {
    std::vector<metrics::SimulatedLaunch> launches;
    double wallSeconds = 0;  ///< what it cost to simulate

    nlohmann::ordered_json toJson() const;
    static TwinMeasurement fromJson(const nlohmann::json&, const std::string& where);
};

/// Runs it here, and checks its result. Throws Error.
TwinMeasurement execute(const TwinSpec&);

using TwinStore = experiment::StoreOf<TwinSpec, TwinMeasurement>;
using TwinBatch = experiment::RunBatch<TwinSpec, TwinMeasurement>;

}  // namespace bulkhead::correlate
