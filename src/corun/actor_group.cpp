#include "corun/actor_group.h"

#include <algorithm>

namespace bulkhead::corun {

void ActorGroup::start(double limitSeconds) {
    std::size_t started = 0;
    try {
        for (; started < actors_.size(); ++started) actors_[started]->start(limitSeconds);
    } catch (...) {
        while (started > 0) actors_[--started]->stop();
        throw;
    }
}

ActorReport ActorGroup::stop() {
    ActorReport all;
    for (const auto& actor : actors_) {
        const ActorReport one = actor->stop();
        all.sms.insert(all.sms.end(), one.sms.begin(), one.sms.end());
        all.startNs = std::max(all.startNs, one.startNs);
        if (one.endNs) all.endNs = all.endNs == 0 ? one.endNs : std::min(all.endNs, one.endNs);
        all.hostSeconds = std::max(all.hostSeconds, one.hostSeconds);
        all.accesses += one.accesses;
        all.bytes += one.bytes;
    }
    std::sort(all.sms.begin(), all.sms.end());
    return all;
}

void ActorGroup::keepBusy() {
    for (const auto& actor : actors_) actor->keepBusy();
}

std::uint64_t ActorGroup::completed() {
    std::uint64_t runs = 0;
    for (const auto& actor : actors_) runs += actor->completed();
    return runs;
}

}  // namespace bulkhead::corun
