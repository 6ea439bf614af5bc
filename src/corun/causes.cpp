#include "corun/causes.h"

#include <cmath>
#include <numeric>

namespace bulkhead::corun {
namespace {

using sim::Resource;
using sim::ResourceSet;

// A queue fills because of what lies behind it, so it comes after that. What lines of a cache cost depends on whether
// what their misses wait for comes before or after them.
constexpr std::array kLinesFirst = {Resource::l1,    Resource::l2,    Resource::bus,
                                    Resource::banks, Resource::ports, Resource::sms};
constexpr std::array kLinesLast = {Resource::banks, Resource::bus, Resource::ports,
                                   Resource::l2,    Resource::l1,  Resource::sms};
static_assert(kLinesFirst.size() == sim::kResources && kLinesLast.size() == sim::kResources);

bool contains(const ResourceSet& set, Resource r) {
    return set[static_cast<std::size_t>(r)];
}

}  // namespace

double Causes::total() const {
    return std::accumulate(byResource.begin(), byResource.end(), room + timeSlicing);
}

Causes& Causes::operator+=(const Causes& other) {
    for (std::size_t i = 0; i < byResource.size(); ++i) byResource[i] += other.byResource[i];
    room += other.room;
    timeSlicing += other.timeSlicing;
    return *this;
}

std::optional<Peeled> peel(double alone, double together, ResourceSet resources, const TimeTogether& time) {
    const std::optional<double> apart = time(resources);
    if (!apart) return std::nullopt;
    Peeled peeled;
    peeled.rest = *apart - alone;
    // Most often it is time slicing alone, which takes longest to measure.
    if (std::abs(together - *apart) < kWorthExplaining * alone) {
        peeled.rest = together - alone;
        return peeled;
    }
    for (const auto& order : {kLinesFirst, kLinesLast}) {
        ResourceSet separate;
        double before = together;
        for (const Resource r : order) {
            if (!contains(resources, r)) continue;
            const auto index = static_cast<std::size_t>(r);
            separate.set(index);
            const std::optional<double> now = separate == resources ? apart : time(separate);
            if (!now) return std::nullopt;
            peeled.byResource[index] += (before - *now) / 2;
            before = *now;
        }
    }
    return peeled;
}

std::optional<Causes> explainPair(const CoRunSpec& spec, const Pair& pair) {
    const double alone = pair.alone.seconds, together = pair.together.seconds;
    // Only kernels can be given resources of their own: copies are told apart from nobody's.
    if (pair.aggressor.sms.empty()) return std::nullopt;
    if (together - alone < kWorthExplaining * alone) return std::nullopt;
    const ResourceSet already = sim::resourcesOf(spec.separate);
    ResourceSet resources = ~already;
    const bool timeSliced = findSharing(spec.sharing.way).timeSliced;
    // Those who do not meet on an SM have nothing of it in common.
    if (timeSliced || (!pair.together.sms.empty() && disjoint(pair.together.sms, pair.aggressor.sms))) {
        resources.reset(static_cast<std::size_t>(Resource::l1));
        resources.reset(static_cast<std::size_t>(Resource::sms));
    }
    const auto measured = [&](const ResourceSet& separate) -> std::optional<double> {
        CoRunSpec other = spec;
        other.separate = sim::namesOf(separate | already);
        const std::unique_ptr<CoRun> coRun = makeCoRun(other);
        const Pairing pairing = measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), 1);
        return pairing.pairs.empty() ? std::nullopt : std::optional(pairing.pairs.front().together.seconds);
    };
    const std::optional<Peeled> peeled = peel(alone, together, resources, measured);
    if (!peeled) return std::nullopt;
    Causes causes;
    causes.byResource = peeled->byResource;
    // Contexts that take turns have an SM's room to themselves; others are always on the GPU.
    (timeSliced ? causes.timeSlicing : causes.room) = peeled->rest;
    return causes;
}

}  // namespace bulkhead::corun
