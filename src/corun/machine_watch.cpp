#include "corun/machine_watch.h"

#include <algorithm>

namespace bulkhead::corun {
namespace {

constexpr std::size_t kMostMoments = 8192;

std::uint64_t requestsIn(const sim::Counters& c) {
    return c.l2Hits + c.l2Misses + c.l2Merges;
}

}  // namespace

std::uint64_t MachineWatch::requestsOf(std::uint32_t launch) const {
    const auto ended = requestsOfEnded_.find(launch);
    return ended == requestsOfEnded_.end() ? requestsIn(counters_->launch(launch).counters) : ended->second;
}

void MachineWatch::sample(Cycles now, const sim::Counters&, std::span<const std::uint32_t>) {
    if (!counters_) return;
    Moment moment{static_cast<std::uint64_t>(counters_->seconds(now) * 1e9), {}};
    for (const auto& [launch, sms] : sms_) moment.requests[launch] = requestsOf(launch);
    for (const auto& [what, count] : recent_) {
        const auto [slice, owner, evictor] = what;
        evictions_.push_back({moment.ns, slice, owner, evictor, count});
    }
    recent_.clear();
    moments_.push_back(std::move(moment));
    if (moments_.size() == kMostMoments) thin();
}

/// A long run has as many moments as a short one, further apart.
void MachineWatch::thin() {
    std::vector<Moment> half;
    for (std::size_t i = 1; i < moments_.size(); i += 2) half.push_back(std::move(moments_[i]));
    moments_ = std::move(half);
    interval_ *= 2;
}

void MachineWatch::l2Eviction(Cycles, std::uint32_t slice, std::uint64_t, std::uint32_t owner, std::uint32_t evictor) {
    if (interval_ > 0) ++recent_[{slice, owner, evictor}];
}

void MachineWatch::blockStarted(Cycles, std::uint32_t sm, std::uint32_t, std::uint32_t launch, std::uint64_t) {
    sms_[launch].insert(sm);
}

void MachineWatch::launchEnded(Cycles, std::uint32_t launch) {
    if (!counters_) return;
    ended_.push_back(counters_->launch(launch));
    requestsOfEnded_[launch] = requestsIn(ended_.back().counters);
}

std::set<unsigned> MachineWatch::sms(std::uint32_t launch) const {
    const auto found = sms_.find(launch);
    return found == sms_.end() ? std::set<unsigned>() : found->second;
}

std::optional<ActorRun> runOfLaunches(const std::vector<gpu::Launch>& launches, const gpu::LaunchCounters& counters,
                                      const MachineWatch& watch) {
    if (launches.empty()) return std::nullopt;
    Cycles first = launches.front().started, last = 0;
    std::set<unsigned> sms;
    ActorRun run;
    for (const gpu::Launch& launch : launches) {
        first = std::min(first, launch.started);
        last = std::max(last, launch.ended);
        run.counters += launch.counters;
        sms.merge(watch.sms(launch.id));
    }
    const auto ns = [&](Cycles at) { return static_cast<std::uint64_t>(counters.seconds(at) * 1e9); };
    run.sms.assign(sms.begin(), sms.end());
    run.seconds = counters.seconds(last - first);
    run.cycles = last - first;
    run.startNs = ns(first);
    run.endNs = ns(last);
    return run;
}

}  // namespace bulkhead::corun
