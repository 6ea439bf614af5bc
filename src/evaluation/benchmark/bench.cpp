#include "evaluation/benchmark/bench.h"

#include "base/statistics.h"
#include "gpu/capabilities.h"

namespace bulkhead::evaluation::benchmark {
namespace {

constexpr unsigned kSamples = 3;  // of each time on a real GPU

Neighbourhood neighboursIn(corun::CoRun& coRun, unsigned partitions) {
    Neighbourhood neighbours;
    for (unsigned i = 1; i < partitions; ++i) neighbours.actors.push_back(&coRun.actor(i));
    return neighbours;
}

/// A loop learns from a run how far to be ahead.
void run(const Neighbourhood& neighbours) {
    for (corun::Actor* actor : neighbours.actors)
        for (int round = 0; round < 2; ++round) actor->run();
}

}  // namespace

double median(const std::vector<double>& samples) {
    return percentile(samples, 50);
}

std::string kindOf(const std::string& application) {
    if (application == "latency") return "latency-bound";
    if (application == "stream") return "bandwidth-bound";
    if (application == "compute") return "compute-bound";
    return application;
}

std::vector<std::vector<double>> Bench::sample(const std::string& name, corun::CoRun& coRun,
                                               std::vector<Neighbourhood> neighbours) {
    const gpu::Capabilities can = gpu::capabilitiesOf(spec_.gpu);
    corun::Actor& application = coRun.actor(0);
    const unsigned samples = can.deterministic ? 1 : kSamples;
    if (!runs_.contains(name))
        runs_[name] = can.deterministic ? 1 : runsOfABatch(application, spec_.seconds / (2 * samples));
    if (!can.deterministic) secondsOf(application, {runs_[name], {}});  // an idle card clocks down
    const SeriesMeasurement measured = takeSamples(application, neighbours, [&] { return coRun.place(0); },
                                                   {samples, runs_[name], can.runsByItself, can.costly, 0});
    if (measured.place.strayBlocks > 0)
        throw Error("{} blocks of a tenant ran outside of its walls", measured.place.strayBlocks);
    return measured.seconds;
}

std::vector<double> Bench::alone(const std::string& application) {
    const auto known = alone_.find(application);
    if (known != alone_.end() && gpu::capabilitiesOf(spec_.gpu).deterministic) return known->second;
    return alone_[application] = sample(application, tenants_.be(application, ""), {Neighbourhood()}).front();
}

std::pair<std::vector<double>, std::vector<double>> Bench::beside(const std::string& application,
                                                                  const std::string& neighbour) {
    if (gpu::capabilitiesOf(spec_.gpu).deterministic) {
        // Both begin with cold caches.
        const std::vector<double> undisturbed = alone(application);
        corun::CoRun& together = tenants_.be(application, neighbour);
        return {undisturbed, sample(application, together, {neighboursIn(together, tenants_.partitions())}).front()};
    }
    corun::CoRun& coRun = tenants_.be(application, neighbour);
    const Neighbourhood busy = neighboursIn(coRun, tenants_.partitions());
    run(busy);
    const std::vector<std::vector<double>> seconds = sample(application, coRun, {Neighbourhood(), busy});
    return {seconds[0], seconds[1]};
}

}  // namespace bulkhead::evaluation::benchmark
