#include "evaluation/samples.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace bulkhead::evaluation {
namespace {

constexpr double kStartSeconds = 60;

}  // namespace

void Neighbourhood::start() {
    for (corun::Actor* actor : actors) actor->start(kStartSeconds);
}

void Neighbourhood::stop() {
    for (corun::Actor* actor : actors) actor->stop();
}

std::uint64_t Neighbourhood::completed() const {
    std::uint64_t runs = 0;
    for (corun::Actor* actor : actors) runs += actor->completed();
    return runs;
}

double secondsOf(corun::Actor& application, const corun::Rounds& rounds) {
    const std::optional<corun::ActorRun> run = application.run(rounds);
    if (!run) throw Error("the application did not end within its time limit");
    return run->seconds;
}

unsigned runsOfABatch(corun::Actor& application, double batchSeconds) {
    constexpr unsigned kMostRuns = 200;
    constexpr unsigned kWarmUps = 5;  // an idle card clocks down
    secondsOf(application, {});
    const double seconds = secondsOf(application, {});
    const auto runs = static_cast<unsigned>(std::clamp(std::ceil(batchSeconds / seconds), 1.0, double{kMostRuns}));
    for (unsigned i = 0; i < kWarmUps; ++i) secondsOf(application, {runs, {}});
    return runs;
}

SeriesMeasurement takeSamples(corun::Actor& application, std::vector<Neighbourhood>& neighbours,
                              const std::function<corun::Place()>& place, const Sampling& sampling) {
    SeriesMeasurement measurement;
    measurement.seconds.resize(neighbours.size());
    measurement.neighbourRuns.resize(neighbours.size());
    for (unsigned sample = 0; sample < sampling.samples; ++sample)
        for (std::size_t i = 0; i < neighbours.size(); ++i) {
            Neighbourhood& n = neighbours[i];
            n.start();
            if (sampling.warmUp) secondsOf(application, {});
            const std::uint64_t before = n.completed();
            measurement.seconds[i].push_back(secondsOf(application, {sampling.runs, n.actors, sampling.delaySeconds}));
            measurement.neighbourRuns[i] += n.completed() - before;
            const bool last = sample + 1 == sampling.samples && i + 1 == neighbours.size();
            if (!last || !sampling.leaveLast) n.stop();
            application.check();
            measurement.place = place();
        }
    return measurement;
}

}  // namespace bulkhead::evaluation
