#include "metrics/unit.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bulkhead::metrics {
namespace {

/// What has prefixes. Others are whole words, as "register" is, that may begin with the letter of one.
constexpr std::array<std::string_view, 12> kPrefixed = {"byte", "B",     "bit",  "second", "s",       "hz",
                                                        "Hz",   "cycle", "inst", "sector", "request", "warp"};
constexpr std::array<std::pair<char, double>, 8> kPrefixes = {
    {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'K', 1e3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}}};

double factorOfPart(std::string_view unit) {
    for (const auto& [letter, factor] : kPrefixes)
        if (!unit.empty() && unit.front() == letter &&
            std::find(kPrefixed.begin(), kPrefixed.end(), unit.substr(1)) != kPrefixed.end())
            return factor;
    return 1;
}

}  // namespace

double factorOf(std::string_view unit) {
    const std::size_t slash = unit.find('/');
    const double above = factorOfPart(unit.substr(0, slash));
    return slash == std::string_view::npos ? above : above / factorOfPart(unit.substr(slash + 1));
}

}  // namespace bulkhead::metrics
