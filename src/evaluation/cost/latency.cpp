#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/phrases.h"
#include "base/statistics.h"
#include "corun/actor_group.h"
#include "corun/aggressor.h"
#include "corun/corun.h"
#include "corun/pairs.h"
#include "evaluation/cost/bench.h"

namespace bulkhead::evaluation::cost {
namespace {

/// Follows an order through memory that stays in L2, and waits for every access.
std::unique_ptr<corun::Actor> makeLatencyVictim(Bench& bench, gpu::Context context, const corun::CacheGeometry& shape) {
    corun::VictimSpec spec;
    spec.name = "latency";
    spec.bytes = bench.effort().victimBytes;
    spec.accesses = bench.effort().accesses;
    spec.layout = {1, 1, {}};
    return corun::makeVictim({bench.gpu(), std::move(context), shape, nullptr}, spec);
}

/// In every partition but the first.
corun::ActorGroup makeAggressors(Bench& bench, std::vector<walls::PartitionContext>& tenants,
                                 const corun::CacheGeometry& shape, const char* kind) {
    corun::AggressorSpec spec;
    spec.kind = kind;
    corun::ActorGroup group;
    for (std::size_t t = 1; t < tenants.size(); ++t) {
        spec.bytes = std::min(bench.effort().aggressorBytes, bench.memoryOf(t) / 2);
        group.add(std::make_unique<corun::Aggressor>(tenants[t].context(), shape, spec, corun::MapMemory()));
    }
    return group;
}

corun::Pairing measure(Bench& bench, corun::Actor& victim, corun::Actor& aggressors) {
    if (bench.effort().warmUpPairs) corun::measurePairs(victim, aggressors, bench.effort().warmUpPairs);
    corun::Pairing pairing = corun::measurePairs(victim, aggressors, bench.effort().pairs);
    if (pairing.pairs.empty()) throw Error("latency: {}", pairing.why);
    return pairing;
}

/// Throws Error if a victim without aggressors was disturbed all the same, or the GPU has lowered its clock.
void expectQuiet(const corun::Pairing& pairing, double ratedMHz, double nsPerSecond) {
    std::vector<double> mhz;
    for (const corun::Pair& pair : pairing.pairs)
        mhz.push_back(1e-6 * static_cast<double>(pair.alone.cycles) / pair.alone.seconds);
    if (median(mhz) < 0.75 * ratedMHz)
        throw Error("latency: the GPU runs at {:.0f} of {:.0f} MHz, and latencies would mean nothing", median(mhz),
                    ratedMHz);
    const std::vector<double> alone = pairing.alone();
    const double low = percentile(alone, 25), high = percentile(alone, 75);
    if (high > 1.05 * low)
        throw Error("latency: the victim alone takes {:.1f} to {:.1f} ns an access: the GPU is not quiet",
                    nsPerSecond * low, nsPerSecond * high);
}

std::vector<Value> rowOf(Bench& bench, Around around, const char* kind, const corun::Pairing& pairing) {
    const double nsPerSecond = 1e9 / static_cast<double>(bench.effort().accesses);
    expectQuiet(pairing, bench.gpu().info().coreMHz, nsPerSecond);
    const double alone = median(pairing.alone()), together = median(pairing.together());
    std::vector<double> rates;
    for (const corun::Pair& pair : pairing.pairs) rates.push_back(1e-9 * pair.aggressor.bytesPerSecond());
    return {std::string(around == Around::both ? "compute and memory" : "compute"),
            std::string(kind),
            nsPerSecond * alone,
            nsPerSecond * together,
            100 * (together / alone - 1),
            median(rates)};
}

}  // namespace

void expectNeighbours(const Bench& bench) {
    if (bench.partitions() < 2) throw Error("latency: aggressors need a partition of their own: choose 2 or more");
}

Result measureLatency(Bench& bench) {
    constexpr std::size_t kSlower = 4;  // the column
    Result result;
    result.title = "A latency-bound victim beside tenants that stream";
    result.columns = {
        {"walls", ""},   {"aggressors", ""},          {"alone", "ns per access"}, {"beside them", "ns per access"},
        {"slower", "%"}, {"aggressors' rate", "GB/s"}};
    const corun::CacheGeometry shape = corun::CacheGeometry::of(bench.gpu());
    std::map<Around, double> worst;
    for (const Around around : {Around::compute, Around::both}) {
        std::vector<walls::PartitionContext> tenants = bench.encloseAll(around);
        const auto victim = makeLatencyVictim(bench, tenants.front().context(), shape);
        for (const char* kind : {"stream-read", "stream-read-write"}) {
            corun::ActorGroup aggressors = makeAggressors(bench, tenants, shape, kind);
            result.add(rowOf(bench, around, kind, measure(bench, *victim, aggressors)));
            const double slower = std::get<double>(result.rows.back()[kSlower]);
            const auto [most, fresh] = worst.emplace(around, slower);
            if (!fresh) most->second = std::max(most->second, slower);
        }
    }
    result.answer = fmt::format("At most {} % inside compute walls, and {} % inside compute and memory walls.",
                                brief(worst[Around::compute]), brief(worst[Around::both]));
    return result;
}

}  // namespace bulkhead::evaluation::cost
