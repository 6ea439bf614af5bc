#include "compare/laboratory.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/json.h"
#include "compare/workers.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::compare {
namespace {

/// The same run under Best-SWL with some limit, unobserved: what profiling does.
RunSpec profiling(RunSpec spec, int limit) {
    spec.scheduler = "best-swl:" + std::to_string(limit);
    spec.observe = false;
    return spec;
}

std::vector<int> limitsFor(const RunSpec& spec) {
    arch::DeviceProfile profile = arch::findProfile(spec.gpu);
    arch::applySettings(profile, spec.settings);
    return warpLimits(profile.maxWarps(), static_cast<int>(profile.sm.schedulers));
}

}  // namespace

Laboratory::Laboratory(Store store, unsigned jobs, std::function<void(const Progress&)> progress)
    : store_(std::move(store)), jobs_(jobs), progress_(std::move(progress)) {}

std::vector<Outcome> Laboratory::run(const std::vector<RunSpec>& specs) {
    std::vector<Outcome> outcomes(specs.size());
    std::map<std::filesystem::path, std::vector<std::size_t>> wanted;  // the same run may be asked for twice
    std::vector<std::filesystem::path> missing;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (const auto kept = store_.find(specs[i])) {
            outcomes[i].figures = *kept;
            continue;
        }
        const std::filesystem::path file = store_.fileOf(specs[i]);
        if (wanted[file].empty()) missing.push_back(file);
        wanted[file].push_back(i);
    }

    const auto specOf = [&](std::size_t n) -> const RunSpec& { return specs[wanted[missing[n]].front()]; };
    const auto begin = std::chrono::steady_clock::now();
    std::size_t done = 0;
    inProcesses(
        missing.size(), jobs_, [&](std::size_t n) { return jsonText(execute(specOf(n)).toJson()); },
        [&](std::size_t n, const WorkResult& result) {
            ++done;
            Outcome outcome;
            outcome.failure = result.why;
            if (outcome.ok()) {
                outcome.figures = RunFigures::fromJson(parseJson(result.found, "a run"), "a run");
                store_.keep(specOf(n), outcome.figures);
            }
            for (std::size_t i : wanted[missing[n]]) outcomes[i] = outcome;
            if (!progress_) return;
            const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            const double left = elapsed / static_cast<double>(done) * static_cast<double>(missing.size() - done);
            progress_({done, missing.size(), left, specOf(n).workload + " " + specOf(n).scheduler});
        });
    simulated_ += missing.size();
    return outcomes;
}

bool lacksWarpLimit(const std::string& scheduler) {
    for (const sim::SchedulerPolicy& policy : sim::schedulerPolicies())
        if (policy.name == scheduler) return policy.needsLimit;
    return false;
}

std::vector<int> warpLimits(int warps, int schedulers) {
    std::vector<int> limits;
    for (int each : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64})
        if (each * schedulers < warps) limits.push_back(each * schedulers);
    limits.push_back(warps);
    return limits;
}

std::vector<RunSpec> withWarpLimits(Laboratory& laboratory, std::vector<RunSpec> specs) {
    std::vector<RunSpec> batch;
    for (const RunSpec& spec : specs)
        if (lacksWarpLimit(spec.scheduler))
            for (int limit : limitsFor(spec)) batch.push_back(profiling(spec, limit));
    const std::vector<Outcome> outcomes = laboratory.run(batch);

    std::size_t next = 0;
    for (RunSpec& spec : specs) {
        if (!lacksWarpLimit(spec.scheduler)) continue;
        int best = 0;
        double most = -1;
        for (int limit : limitsFor(spec)) {
            const Outcome& outcome = outcomes[next++];
            // Of equals the largest: a limit that does not help is none.
            if (!outcome.ok() || outcome.figures.ipc() < most) continue;
            most = outcome.figures.ipc();
            best = limit;
        }
        if (best == 0) throw Error("{}: no limit of warps lets it run: {}", spec.workload, outcomes[next - 1].failure);
        spec.scheduler += ":" + std::to_string(best);
    }
    return specs;
}

void expectScheduler(const std::string& name) {
    if (!lacksWarpLimit(name)) sim::findScheduler(name);
}

}  // namespace bulkhead::compare
