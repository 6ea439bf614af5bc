#include "sim/sm/warp_scheduler.h"

#include <charconv>

#include "base/error.h"

namespace bulkhead::sim {
namespace {

constexpr SchedulerPolicy kWarpSchedulers[] = {
    {"lrr", "loose round robin", makeLrr},
    {"gto", "greedy then oldest", makeGto},
    {"ccws", "cache-conscious: fewer warps load while locality is being lost (MICRO 2012)", makeCcws},
    {"best-swl", "only the N oldest warps run (MICRO 2012)", makeBestSwl, true},
    {"statpcal", "N warps fill L1D, the others bypass it while bandwidth is idle (HPCA 2015)", makeStatPcal, true},
    {"ciao-t", "CIAO: interfering warps are throttled", makeCiaoT},
    {"ciao-p", "CIAO: loads of interfering warps go to unused shared memory", makeCiaoP},
    {"ciao-c", "CIAO: first to unused shared memory, then throttled", makeCiaoC},
};

std::string knownNames() {
    std::string known;
    for (const SchedulerPolicy& policy : kWarpSchedulers) {
        if (!known.empty()) known += ", ";
        known += policy.name;
        if (policy.needsLimit) known += ":N";
    }
    return known;
}

int parseLimit(std::string_view name, std::string_view text) {
    int limit = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (error != std::errc() || end != text.data() + text.size() || limit < 1 || limit > kMaxWarps)
        throw Error("scheduler '{}:{}': the number of warps must be from 1 to {}", name, text, kMaxWarps);
    return limit;
}

}  // namespace

std::span<const SchedulerPolicy> schedulerPolicies() {
    return kWarpSchedulers;
}

SchedulerChoice findScheduler(std::string_view full) {
    const std::size_t colon = full.find(':');
    const std::string_view name = full.substr(0, colon);
    for (const SchedulerPolicy& policy : kWarpSchedulers) {
        if (policy.name != name) continue;
        if (policy.needsLimit && colon == std::string_view::npos)
            throw Error("scheduler '{}' needs a number of warps, as in {}:4", name, name);
        if (!policy.needsLimit && colon != std::string_view::npos)
            throw Error("scheduler '{}' takes no number: write {}", full, name);
        return {&policy, policy.needsLimit ? parseLimit(name, full.substr(colon + 1)) : 0};
    }
    throw Error("unknown scheduler '{}': choose one of {}", full, knownNames());
}

}  // namespace bulkhead::sim
