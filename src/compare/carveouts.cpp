#include "compare/carveouts.h"

#include <fmt/format.h>

#include "arch/device_profile.h"

namespace bulkhead::compare {
namespace {

/// The run as it is, and with each carve-out, unobserved.
std::vector<RunSpec> candidates(RunSpec spec) {
    arch::DeviceProfile profile = arch::findProfile(spec.gpu);
    arch::applySettings(profile, spec.settings);
    spec.observe = spec.closely = false;
    std::vector<RunSpec> all = {spec};
    if (profile.sm.carveouts.size() < 2) return all;
    for (const std::int64_t bytes : profile.sm.carveouts) {
        all.push_back(spec);
        all.back().settings.push_back(fmt::format("sm.carveout={}", bytes));
    }
    return all;
}

}  // namespace

std::vector<RunSpec> withBestCarveouts(RunBatch& batch, std::vector<RunSpec> specs) {
    std::vector<RunSpec> tried;
    std::vector<std::size_t> ends;
    for (const RunSpec& spec : specs) {
        const std::vector<RunSpec> of = candidates(spec);
        if (of.size() > 1) tried.insert(tried.end(), of.begin(), of.end());
        ends.push_back(tried.size());
    }
    const std::vector<Outcome> outcomes = batch.run(tried);

    std::size_t next = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        double most = -1;
        for (; next < ends[i]; ++next) {
            if (!outcomes[next].ok() || outcomes[next].measurement.ipc() <= most) continue;
            most = outcomes[next].measurement.ipc();
            specs[i].settings = tried[next].settings;
        }
    }
    return specs;
}

}  // namespace bulkhead::compare
