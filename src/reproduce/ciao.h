#pragma once

#include <string_view>
#include <vector>

#include "compare/comparison.h"
#include "reproduce/ciao_paper.h"

namespace bulkhead::reproduce {

/// One figure or table of the CIAO paper, made again: ours, and the paper's numbers beside it where its text has them.
struct CiaoFigure {
    std::string_view name;  ///< "8a", "table2", "overhead"
    std::string_view title;
    std::vector<Result> (*make)(compare::RunBatch&, const compare::RunSpec& common);
};

/// In the order of the paper.
const std::vector<CiaoFigure>& ciaoFigures();

using MakeFigure = std::vector<Result>(compare::RunBatch&, const compare::RunSpec& common);
// ciao_motivation.cpp
MakeFigure interferenceInBackprop, limitingInBackprop, interferenceInKmeans, spreadOfInterference;
// ciao_performance.cpp
MakeFigure performance, sharedMemoryUse, characteristics;
// ciao_over_time.cpp
MakeFigure awarenessOverTime, workingSetsOverTime;
// ciao_sensitivity.cpp
MakeFigure epochs, cutoffs, instructionUnits, cacheConfigurations, dramConfigurations;
// ciao_overhead.cpp
MakeFigure storageOverhead;

/// The sentences of the paper about a comparison, with ours beside each. Schedulers are meant by the variants' labels.
Result ratioTable(const std::string& title, const compare::Comparison&, const std::vector<PaperRatio>&);

/// A variant whose label is the scheduler.
std::vector<compare::Variant> schedulers(const std::vector<std::string>& names);

}  // namespace bulkhead::reproduce
