#include "cli/slurm_task.h"

#include <cstdlib>

#include "base/environment.h"
#include "cli/batch_options.h"
#include "compare/store.h"
#include "correlate/twin_run.h"
#include "evaluation/evaluation.h"
#include "experiment/slurm/task.h"
#include "reproduce/figure_run.h"
#include "sim/host_threads.h"
#include "stress/sample.h"

namespace bulkhead::cli {

int doSlurmTask(const std::string& submission, const std::string& task) {
    using experiment::slurm::runKind;
    // As many as the task has asked for processors.
    sim::offerHostThreads(static_cast<unsigned>(std::atoi(environment("SLURM_CPUS_PER_TASK", "1").c_str())));
    const std::string program = thisProgram();
    const auto bytes = [&] { return program; };
    return experiment::slurm::doTask(
        experiment::slurm::Submission(submission), static_cast<unsigned>(std::strtoul(task.c_str(), nullptr, 10)),
        program,
        {runKind<compare::RunSpec, compare::RunMeasurement>(compare::simulatorSources),
         runKind<correlate::TwinSpec, correlate::TwinMeasurement>(compare::simulatorSources),
         runKind<evaluation::SeriesSpec, evaluation::SeriesMeasurement>(bytes),
         runKind<reproduce::FigureSpec, reproduce::FigureMeasurement>(bytes),
         runKind<stress::SampleSpec, stress::SampleMeasurement>(bytes)});
}

}  // namespace bulkhead::cli
