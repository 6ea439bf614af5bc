#pragma once

#include <string>
#include <vector>

#include "metrics/launch_row.h"

namespace bulkhead::metrics {

/// What `--metrics ncu[:FILE]` asks for.
struct Output {
    bool wanted = false;
    std::string file;  ///< empty: standard output

    bool takesStandardOutput() const { return wanted && file.empty(); }
    /// As other options name it: "-" is standard output.
    std::string place() const { return takesStandardOutput() ? "-" : file; }
};

/// Empty text asks for nothing. Throws Error, which begins with `where`.
Output parseOutput(const std::string& text, const std::string& where);

/// In the form of `ncu --csv --page raw`.
void write(const Output&, const std::vector<LaunchRow>&);

}  // namespace bulkhead::metrics
