#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/launch_row.h"

namespace bulkhead::correlate {

/// A file of hardware counters.
struct CounterFile {
    std::filesystem::path path;
    std::optional<std::string> owner;  ///< the workload that it is of; nothing: of all that are compared
    std::vector<std::vector<metrics::LaunchRow>> runs;
};

/// The one of these names that is a word of the file's own, whatever its case: VA of ncu_va.csv and of VA_2.csv. Of
/// several the first word.
std::optional<std::string> ownerOf(const std::filesystem::path&, std::span<const std::string_view> names);

/// Files as they were named; a folder stands for the .csv files in it, by name. Throws Error where there are none.
std::vector<std::filesystem::path> listCounterFiles(std::span<const std::string> named);

/// Reads them all. Throws Error.
std::vector<CounterFile> readCounterFiles(std::span<const std::string> named, std::span<const std::string_view> names);

/// The most passes in which a metric of these launches was counted; a second one finds caches as the first left them.
double mostPasses(std::span<const std::vector<metrics::LaunchRow>> runs);

}  // namespace bulkhead::correlate
