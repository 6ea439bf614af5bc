#include "sim/sm/warp_scheduler.h"

#include "base/error.h"

namespace bulkhead::sim {
namespace {

constexpr SchedulerPolicy kPolicies[] = {
    {"lrr", "loose round robin", makeLrr},
    {"gto", "greedy then oldest", makeGto},
};

}  // namespace

std::span<const SchedulerPolicy> schedulerPolicies() {
    return kPolicies;
}

const SchedulerPolicy& findScheduler(std::string_view name) {
    std::string known;
    for (const SchedulerPolicy& policy : kPolicies) {
        if (policy.name == name) return policy;
        if (!known.empty()) known += ", ";
        known += policy.name;
    }
    throw Error("unknown scheduler '{}': choose one of {}", name, known);
}

}  // namespace bulkhead::sim
