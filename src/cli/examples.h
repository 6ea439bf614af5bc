#pragma once

#include <string_view>
#include <vector>

namespace bulkhead::cli {

/// A command to try, for help and manual pages.
struct Example {
    const char* command;
    const char* what;
};

/// Of a verb; none where it has none.
const std::vector<Example>& examplesOf(std::string_view verb);

}  // namespace bulkhead::cli
