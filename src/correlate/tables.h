#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "correlate/causes.h"
#include "correlate/kernel_pair.h"

namespace bulkhead::correlate {

enum class Order : std::uint8_t { worstFirst, byWorkload };

/// Everything of each kernel, a row each, with a scatter plot of cycles.
Result kernelTable(const Correlation&, const Peaks&, Order);
/// What fits a terminal of it.
Result briefTable(const Correlation&, const Peaks&, Order);
/// A figure a row.
Result summaryTable(const Correlation&);
/// Errors by suite, each beside the error of all other suites.
Result suiteTable(const Correlation&);
/// Errors by what bounds a kernel.
Result classTable(const Correlation&, const Peaks&);
/// The kernels with the largest errors and their likely causes.
Result worstTable(const Correlation&, const Peaks&, std::size_t most = 20);
/// Kernels that only one side ran. No rows: there are none.
Result unmatchedTable(const Correlation&);

}  // namespace bulkhead::correlate
