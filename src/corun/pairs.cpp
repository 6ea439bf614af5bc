#include "corun/pairs.h"

#include "base/error.h"
#include "corun/placed_kernel.h"

namespace bulkhead::corun {
namespace {

constexpr double kStartLimitSeconds = 10;

/// Whether the aggressor ran from before the victim's start until after its end. Where one of the two has no clock of
/// its own, the victim was put into its stream after the aggressor's start, and the aggressor stopped after its end.
bool overlapped(const ActorRun& victim, const ActorReport& aggressor) {
    return victim.endNs == 0 || aggressor.endNs == 0 ||
           (aggressor.startNs <= victim.startNs && aggressor.endNs >= victim.endNs);
}

/// One pair, into the pairing.
void measurePair(Actor& victim, Actor& aggressor, Pairing& pairing) {
    victim.prepare();
    const std::optional<ActorRun> alone = victim.run();
    if (alone) victim.check();
    if (!alone) {
        victim.settle();
        ++pairing.hung;
        pairing.why = "the victim's solo run did not end within its time limit";
        return;
    }
    victim.prepare();
    aggressor.start(kStartLimitSeconds);
    std::optional<ActorRun> together;
    ActorReport report;
    try {
        together = victim.run({.count = 1, .company = {&aggressor}});
        if (together) victim.check();
    } catch (...) {
        aggressor.stop();
        throw;
    }
    report = aggressor.stop();
    if (!together) {
        victim.settle();
        ++pairing.hung;
        pairing.why = "the victim's co-run did not end within its time limit";
    } else if (!overlapped(*together, report)) {
        ++pairing.apart;
        pairing.why = "the aggressor did not run during the whole co-run";
    } else {
        pairing.pairs.push_back({*alone, *together, report});
    }
}

}  // namespace

void Pairing::add(const Pairing& other) {
    pairs.insert(pairs.end(), other.pairs.begin(), other.pairs.end());
    failed += other.failed;
    hung += other.hung;
    apart += other.apart;
    if (!other.why.empty()) why = other.why;
}

std::vector<double> Pairing::alone() const {
    std::vector<double> seconds;
    for (const Pair& p : pairs) seconds.push_back(p.alone.seconds);
    return seconds;
}

std::vector<double> Pairing::together() const {
    std::vector<double> seconds;
    for (const Pair& p : pairs) seconds.push_back(p.together.seconds);
    return seconds;
}

std::optional<bool> Pairing::onDisjointSms() const {
    for (const Pair& p : pairs) {
        if (p.together.sms.empty()) return std::nullopt;
        if (!disjoint(p.together.sms, p.aggressor.sms)) return false;
    }
    return pairs.empty() ? std::nullopt : std::optional(true);
}

Pairing measurePairs(Actor& victim, Actor& aggressor, unsigned count) {
    Pairing pairing;
    for (unsigned i = 0; i < count; ++i) {
        try {
            measurePair(victim, aggressor, pairing);
        } catch (const Error& e) {
            // A failed kernel takes its context with it: no further run would tell anything.
            ++pairing.failed;
            pairing.why = e.what();
            break;
        }
    }
    return pairing;
}

}  // namespace bulkhead::corun
