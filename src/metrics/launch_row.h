#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace bulkhead::metrics {

/// What was counted of one launch of a kernel, under Nsight Compute's names of metrics: a row of its raw page.
struct LaunchRow {
    std::string process;      ///< the program's name
    std::string kernel;       ///< as it was written, often with its parameters
    std::string grid, block;  ///< "(64, 1, 1)"
    /// Without prefixes of units: bytes, seconds, hertz; percentages stay such.
    std::map<std::string, double, std::less<>> values;

    std::optional<double> value(std::string_view metric) const {
        const auto at = values.find(metric);
        return at == values.end() ? std::nullopt : std::optional(at->second);
    }
};

}  // namespace bulkhead::metrics
