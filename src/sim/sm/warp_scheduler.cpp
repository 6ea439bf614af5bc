#include "sim/sm/warp_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace bulkhead::sim {
namespace {

using Acts = SchedulerPolicy::Acts;

constexpr SchedulerPolicy kWarpSchedulers[] = {
    {"lrr", "loose round robin", makeLrr},
    {"gto", "greedy then oldest", makeGto},
    {"ccws", "cache-conscious: fewer warps load while locality is being lost (MICRO 2012)", makeCcws, false,
     Acts::onL1},
    {"best-swl", "only the N oldest warps run (MICRO 2012)", makeBestSwl, true},
    {"statpcal", "N warps fill L1D, the others bypass it while bandwidth is idle (HPCA 2015)", makeStatPcal, true,
     Acts::onL1},
    {"ciao-t", "CIAO: interfering warps are throttled", makeCiaoT, false, Acts::onL1},
    {"ciao-p", "CIAO: loads of interfering warps go to unused shared memory", makeCiaoP, false, Acts::onL1AndShared},
    {"ciao-c", "CIAO: first to unused shared memory, then throttled", makeCiaoC, false, Acts::onL1AndShared},
    {"ciao-a", "CIAO, adaptive: both memories as one cache, and as many warps as run fastest", makeCiaoA, false,
     Acts::onL1AndShared},
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

std::string whyIneffective(const arch::DeviceProfile& profile, std::string_view scheduler) {
    const std::string_view name = scheduler.substr(0, scheduler.find(':'));
    const auto policy = std::ranges::find(kWarpSchedulers, name, &SchedulerPolicy::name);
    if (policy == std::end(kWarpSchedulers) || policy->acts == Acts::onWarps) return {};
    if (!profile.l1.cachesGlobal)
        return fmt::format("{}: L1D of {} does not cache global loads, so there is nothing that it could do for them",
                           name, profile.name);
    if (policy->acts == Acts::onL1AndShared && profile.sm.carveouts.size() > 1 && profile.sm.carveout < 0)
        return fmt::format(
            "{}: L1D of {} has all memory that blocks do not take, so hardly any shared memory is unused"
            " (--set sm.carveout=BYTES takes it from L1D)",
            name, profile.name);
    return {};
}

}  // namespace bulkhead::sim
