#pragma once

#include "compare/run.h"
#include "experiment/run_batch.h"

namespace bulkhead::compare {

/// Runs of workloads. What determines one includes the profile's content.
using Store = experiment::StoreOf<RunSpec, RunMeasurement>;
using RunBatch = experiment::RunBatch<RunSpec, RunMeasurement>;
using Outcome = experiment::Outcome<RunMeasurement>;
std::string nameOf(const RunSpec&);
std::string labelOf(const RunSpec&);

/// What tells builds apart whose results may differ: a number that stands for the sources of the simulator and of the
/// workloads. Builds of the same sources find the same, on any machine.
std::string simulatorSources();

}  // namespace bulkhead::compare
