#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "evaluation/evaluation.h"
#include "reproduce/fgpu_memory.h"

namespace bulkhead::reproduce {

/// What the figures of the Fractional GPUs paper are made with.
struct FgpuOptions {
    evaluation::SeriesSpec common;  ///< size, seed and samples
    std::shared_ptr<experiment::Executor> executor;
    std::vector<std::string> applications = evaluation::EvaluationSpec().applications;
    std::shared_ptr<MemoryStudy> memory;
};

/// One table or figure of the paper, made again: ours, and the paper's numbers beside it where its text has them.
struct FgpuFigure {
    std::string_view name;  ///< "table3", "9a"
    std::string_view title;
    std::vector<Result> (*make)(const evaluation::SeriesStore&, const FgpuOptions&);
};

/// In the order of the paper.
const std::vector<FgpuFigure>& fgpuFigures();

}  // namespace bulkhead::reproduce
