#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/launch_row.h"

namespace bulkhead::metrics {

/// The rows of what `ncu --csv --page raw` printed, in order: one list for each run of it that the text holds. What
/// stands before a header and between rows (==PROF== and what the program printed) is passed over; units of the second
/// row are obeyed. Throws Error, which begins with `where` and names the line: there is no header, a row has another
/// number of fields, or something that is compared is no number.
std::vector<std::vector<LaunchRow>> readNcuCsv(std::string_view text, const std::string& where);

/// The same launches as one list of rows that know what all of the runs counted: the n-th launch of a kernel in one run
/// is its n-th in every other. Where two counted the same, the first is right.
std::vector<LaunchRow> mergeRuns(const std::vector<std::vector<LaunchRow>>& runs);

/// Rows in the form of that page: a header, a row of units, and a row for each launch, every field quoted. Metrics
/// that no row has get no column.
std::string ncuCsv(const std::vector<LaunchRow>& rows);

}  // namespace bulkhead::metrics
