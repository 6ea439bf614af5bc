#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bulkhead {

/// " (did you mean X?)" with the candidate that is closest to a mistyped word, or nothing if none is close.
std::string didYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace bulkhead
