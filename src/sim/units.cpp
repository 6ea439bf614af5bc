#include "sim/units.h"

#include <algorithm>
#include <utility>

namespace bulkhead::sim {

Units::Units(SimShared& shared, Observer* observer, unsigned threads)
    : shared_(shared), latency_(shared), observer_(observer), team_(std::min(threads, shared.config.sm.count)) {
    const std::uint32_t channels = shared.profile.map.channels();
    const std::uint32_t sms = shared.config.sm.count * shared.separation.copies(Resource::sms);
    if (observer)
        for (std::uint32_t i = 0; i < sms + channels; ++i)
            logs_.push_back(
                std::make_unique<ObserverLog>(i < shared.config.sm.count ? observer->closeLook(i) : nullptr));
    for (std::uint32_t c = 0; c < channels; ++c)
        partitions_.push_back(
            std::make_unique<MemoryPartition>(shared, latency_, observer ? logs_[sms + c].get() : nullptr, c));
}

Units::~Units() = default;

std::unique_ptr<SmGroup> Units::makeGroup(const SchedulerChoice& policy) {
    std::vector<ObserverLog*> logs;
    for (const auto& log : logs_) logs.push_back(log.get());
    auto group = std::make_unique<SmGroup>(shared_, latency_, logs, static_cast<std::uint32_t>(sms_.size()), policy);
    for (const auto& sm : group->sms()) sms_.push_back(sm.get());
    for (const auto& partition : partitions_) partition->port().addSms(static_cast<std::uint32_t>(group->sms().size()));
    return group;
}

Cycles Units::nextEvent(const SmGroup* group, bool issues) const {
    Cycles next = kNever;
    for (const auto& partition : partitions_) next = std::min(next, partition->sim().nextEvent());
    if (group)
        for (const auto& sm : group->sms()) next = std::min(next, sm->nextEvent(issues));
    return next;
}

/// Among threads, where it is worth it: a few SMs cost less than to wake them.
template <class Work>
void Units::share(std::size_t parts, const Work& work) {
    constexpr std::size_t kFew = 4;
    if (busySms_.size() < kFew)
        for (std::size_t part = 0; part < parts; ++part) work(part);
    else
        team_.run(parts, work);
}

void Units::advanceTo(Cycles end, SmGroup* group, bool issues) {
    // Those that have nothing to do are not worth a thread's attention.
    busySms_.clear();
    busyPartitions_.clear();
    if (group)
        for (const auto& sm : group->sms()) {
            if (sm->nextEvent(issues) < end)
                busySms_.push_back(sm.get());
            else
                sm->sim().advanceTo(end);
        }
    for (const auto& partition : partitions_) {
        if (partition->sim().nextEvent() < end)
            busyPartitions_.push_back(partition.get());
        else
            partition->sim().advanceTo(end);
    }
    const auto advance = [&](std::size_t unit) {
        if (unit < busySms_.size())
            busySms_[unit]->advanceTo(end, issues);
        else
            busyPartitions_[unit - busySms_.size()]->advanceTo(end);
    };
    share(busySms_.size() + busyPartitions_.size(), advance);
}

/// What SMs have stored, changed and printed.
void Units::showEffects(SmGroup& group) {
    std::vector<PendingEffects*> pending;
    for (const auto& sm : group.sms())
        if (!sm->effects().empty()) pending.push_back(&sm->effects());
    PendingEffects::show(pending);
    for (const auto& sm : group.sms()) sm->meetOthers();
}

/// Every unit takes what the others have sent to it, in the order of their numbers. What was sent to SMs of a group
/// that does not have the GPU waits.
void Units::deliver(SmGroup* group) {
    sendingSms_.clear();
    sendingPartitions_.clear();
    receivingSms_.clear();
    receivingPartitions_.clear();
    if (!group) return;
    isReceiving_.assign(partitions_.size() + sms_.size(), false);
    const auto receives = [&](std::size_t unit) { return std::exchange(isReceiving_[unit], std::uint8_t{true}); };
    for (const auto& sm : group->sms()) {
        std::vector<std::uint32_t>& receivers = sm->port().receivers();
        if (receivers.empty()) continue;
        sendingSms_.push_back(sm.get());
        for (const std::uint32_t partition : receivers)
            if (!receives(partition)) receivingPartitions_.push_back(partition);
        receivers.clear();
    }
    const std::uint32_t first = group->sms().front()->portNumber();
    for (const auto& partition : partitions_) {
        std::vector<std::uint32_t>& receivers = partition->port().receivers();
        if (receivers.empty()) continue;
        sendingPartitions_.push_back(partition.get());
        std::erase_if(receivers, [&](std::uint32_t sm) {
            if (sm - first >= group->sms().size()) return false;
            if (!receives(partitions_.size() + sm)) receivingSms_.push_back(sms_[sm]);
            return true;
        });
    }
    const auto toPartition = [&](std::uint32_t partition) {
        for (Sm* sm : sendingSms_) {
            std::vector<Message>& sent = sm->port().sentTo(partition);
            for (const Message& message : sent) partitions_[partition]->arrive(message);
            sent.clear();
        }
    };
    const auto toSm = [&](Sm& sm) {
        for (MemoryPartition* partition : sendingPartitions_) {
            SlicePort::Sent& sent = partition->port().sentTo(sm.portNumber());
            for (const Message& message : sent.messages) sm.port().arrive(message);
            sent.messages.clear();
            sm.port().credit(std::exchange(sent.served, 0));
        }
    };
    share(receivingPartitions_.size() + receivingSms_.size(), [&](std::size_t unit) {
        if (unit < receivingPartitions_.size())
            toPartition(receivingPartitions_[unit]);
        else
            toSm(*receivingSms_[unit - receivingPartitions_.size()]);
    });
}

void Units::exchange(SmGroup* group) {
    if (group) showEffects(*group);
    deliver(group);
    shared_.traffic = {};
    for (const auto& partition : partitions_) shared_.traffic += partition->sim().ownTraffic();
}

void Units::tellObserver() {
    if (!observer_) return;
    std::vector<ObserverLog*> logs;
    for (const auto& log : logs_) logs.push_back(log.get());
    ObserverLog::tell(*observer_, logs);
}

std::uint64_t Units::requests(const SmGroup* group) const {
    std::uint64_t live = 0;
    for (const auto& partition : partitions_) live += partition->sim().requests.live();
    if (group)
        for (const auto& sm : group->sms()) live += sm->sim().requests.live();
    return live;
}

std::uint64_t Units::effects(const SmGroup* group) const {
    std::uint64_t effects = 0;
    if (group)
        for (const auto& sm : group->sms()) effects += sm->sim().effects();
    return effects;
}

template <class Visit>
void Units::eachTally(Visit&& visit) const {
    for (const Sm* sm : sms_) visit(sm->sim().tally());
    for (const auto& partition : partitions_) visit(std::as_const(*partition).sim().tally());
}

Counters Units::counters(LaunchId id) const {
    Counters sum = counted_.at(id);
    eachTally([&](const LaunchTally& tally) {
        tally.each([&](LaunchId launch, const Counters& counters) {
            if (launch == id) sum += counters;
        });
    });
    return sum;
}

std::uint64_t Units::warpInstructions(LaunchId id) const {
    std::uint64_t sum = counted_.at(id).warpInstructions;
    eachTally([&](const LaunchTally& tally) {
        tally.each([&](LaunchId launch, const Counters& counters) {
            if (launch == id) sum += counters.warpInstructions;
        });
    });
    return sum;
}

Counters Units::totals() const {
    Counters sum = total_;
    eachTally(
        [&](const LaunchTally& tally) { tally.each([&](LaunchId, const Counters& counters) { sum += counters; }); });
    return sum;
}

void Units::gatherCounters() {
    const auto take = [&](LaunchTally& tally) {
        tally.take([&](LaunchId launch, const Counters& counters) {
            total_ += counters;
            // Of none, or of one that was forgotten, some traffic may still be under way.
            if (counted_.has(launch)) counted_[launch] += counters;
        });
    };
    for (Sm* sm : sms_) take(sm->sim().tally());
    for (const auto& partition : partitions_) take(partition->sim().tally());
}

void Units::count(LaunchId id, const Counters& counters) {
    total_ += counters;
    counted_[id] += counters;
}

void Units::setCounters(LaunchId id, const Counters& counters) {
    total_ += counters;
    total_ -= counted_[id];
    counted_[id] = counters;
}

void Units::sendCopied(RequestId id, Cycles when) {
    Request& request = shared_.requests[id];
    partitions_[request.goTo(shared_.profile.map, request.line)]->arrive({when, id});
}

void Units::keepCopiedInL2(const Transaction& t) {
    const arch::AddressMap::Location at = shared_.profile.map.locate(t.line);
    partitions_[at.channel]->slice(at.slice).keepCopied(at.set, t.line, t.complete);
}

void Units::setPersistingWays(std::uint32_t ways) {
    for (const auto& partition : partitions_) partition->forEachSlice([&](L2Slice& s) { s.setPersistingWays(ways); });
}
void Units::resetPersisting() {
    for (const auto& partition : partitions_) partition->forEachSlice([](L2Slice& s) { s.resetPersisting(); });
}

void Units::touchL2(const Transaction& t, AccessKind kind, LaunchId launch) {
    const arch::AddressMap::Location at = shared_.profile.map.locate(t.line);
    const RequestKind request = kind == AccessKind::store                                     ? RequestKind::write
                                : kind == AccessKind::atomic || kind == AccessKind::reduction ? RequestKind::atomic
                                                                                              : RequestKind::read;
    partitions_[at.channel]->slice(at.slice).touch(request, at.set, t.line, t.sectors, t.complete, launch,
                                                   shared_.windows.of(launch, t.line));
}

}  // namespace bulkhead::sim
