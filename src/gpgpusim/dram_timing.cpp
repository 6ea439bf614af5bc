#include "gpgpusim/dram_timing.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/error.h"

namespace bulkhead::gpgpusim {
namespace {

/// In the order of the plain list; the last three belong to bank groups and may be left out.
constexpr std::array<std::string_view, 14> kNames = {"nbk", "CCD", "RRD",  "RCD", "RAS",    "RP",   "RC",
                                                     "CL",  "WL",  "CDLR", "WR",  "nbkgrp", "CCDL", "RTPL"};
constexpr std::size_t kNeeded = 11;
constexpr std::int64_t kMostCycles = 10'000;

using Timings = std::map<std::string_view, std::int64_t>;

Timings named(const Setting& s, const std::vector<std::string>& parts) {
    Timings found;
    for (const std::string& part : parts) {
        if (part.empty()) continue;  // a list may end with a colon
        const std::size_t equals = std::min(part.find('='), part.size());
        const auto* name = std::find(kNames.begin(), kNames.end(), std::string_view(part).substr(0, equals));
        if (equals == part.size() || name == kNames.end())
            refuse(s, fmt::format("{} is no timing such as RCD=12", part));
        found[*name] = integer(s, std::string_view(part).substr(equals + 1), 0, kMostCycles);
    }
    return found;
}

Timings plain(const Setting& s, const std::vector<std::string>& parts) {
    if (parts.size() < kNeeded || parts.size() > kNames.size())
        refuse(s, fmt::format("has {} timings, must have {} to {}", parts.size(), kNeeded, kNames.size()));
    Timings found;
    for (std::size_t i = 0; i < parts.size(); ++i) found[kNames[i]] = integer(s, parts[i], 0, kMostCycles);
    return found;
}

}  // namespace

DramTiming dramTiming(const Setting& s) {
    std::string text = only(s);
    std::replace(text.begin(), text.end(), ';', ':');
    const bool names = text.find('=') != std::string::npos;
    const Timings found = names ? named(s, split(text, ':')) : plain(s, split(text, ':'));
    const auto at = [&](std::string_view name) {
        const auto it = found.find(name);
        if (it == found.end() || it->second < 1) refuse(s, fmt::format("needs {}, of at least 1", name));
        return it->second;
    };
    return {at("nbk"), at("CCD"), at("RCD"), at("RAS"), at("RP"), at("CL"), at("WR")};
}

}  // namespace bulkhead::gpgpusim
