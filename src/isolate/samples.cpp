#include "isolate/tenant.h"

namespace bulkhead::isolate {

void Neighbourhood::start() {
    for (auto& tenant : tenants) tenant->startLoop(secondsOfARun);
}

void Neighbourhood::stop() {
    for (auto& tenant : tenants) tenant->stopLoop();
}

std::uint64_t Neighbourhood::looped() const {
    std::uint64_t runs = 0;
    for (const auto& tenant : tenants) runs += tenant->looped();
    return runs;
}

SeriesFigures takeSamples(Tenant& application, std::vector<Neighbourhood>& neighbours, unsigned samples, unsigned runs,
                          bool simulated) {
    SeriesFigures figures;
    figures.seconds.resize(neighbours.size());
    figures.neighbourRuns.resize(neighbours.size());
    for (unsigned sample = 0; sample < samples; ++sample)
        for (std::size_t i = 0; i < neighbours.size(); ++i) {
            Neighbourhood& n = neighbours[i];
            n.start();
            if (!simulated) application.time(1);  // until all are under way
            const std::uint64_t before = n.looped();
            figures.seconds[i].push_back(application.time(runs, n.tenants));
            figures.neighbourRuns[i] += n.looped() - before;
            const bool last = sample + 1 == samples && i + 1 == neighbours.size();
            if (!simulated || !last) n.stop();
            application.check();
            figures.place = application.place();
        }
    return figures;
}

}  // namespace bulkhead::isolate
