#include "compare/comparison.h"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <optional>

#include "arch/device_profile.h"
#include "base/phrases.h"
#include "base/statistics.h"
#include "compare/carveouts.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::compare {
namespace {

/// CIAO's, and those of inference.
constexpr std::array<const char*, 5> kClasses = {"LWS", "SWS", "CI", "compute", "memory"};

std::string classOf(const std::string& workload) {
    return std::string(workloads::find(workload).workloadClass());
}

arch::DeviceProfile profileOf(const RunSpec& spec) {
    arch::DeviceProfile profile = arch::findProfile(spec.gpu);
    arch::applySettings(profile, spec.settings);
    return profile;
}

/// What was preferred; empty where it was not, or cannot be.
Value carveoutOf(const RunSpec& spec) {
    const arch::DeviceProfile profile = profileOf(spec);
    return profile.sm.carveouts.empty() || profile.sm.carveout < 0 ? Value() : Value(profile.sm.carveout);
}

}  // namespace

Comparison compare(RunBatch& batch, const Plan& plan) {
    Comparison c;
    c.plan = plan;
    for (const std::string& workload : plan.workloads)
        for (const Variant& variant : plan.variants) {
            RunSpec spec = plan.common;
            spec.workload = workloads::find(workload).name;
            spec.scheduler = variant.scheduler;
            spec.settings.insert(spec.settings.end(), variant.settings.begin(), variant.settings.end());
            c.specs.push_back(spec);
        }
    c.specs = withWarpLimits(batch, std::move(c.specs));
    if (plan.bestCarveout) c.specs = withBestCarveouts(batch, std::move(c.specs));
    c.outcomes = batch.run(c.specs);
    return c;
}

Value Comparison::gain(std::size_t workload, std::size_t variant) const {
    const Outcome &base = at(workload, 0), &one = at(workload, variant);
    if (!base.ok() || !one.ok() || base.measurement.ipc() <= 0) return {};
    return one.measurement.ipc() / base.measurement.ipc();
}

Value Comparison::meanGain(const std::string& workloadClass, std::size_t variant) const {
    std::vector<double> gains;
    for (std::size_t w = 0; w < plan.workloads.size(); ++w) {
        if (!workloadClass.empty() && classOf(plan.workloads[w]) != workloadClass) continue;
        const Value value = gain(w, variant);
        if (!std::holds_alternative<double>(value)) return {};
        gains.push_back(std::get<double>(value));
    }
    if (gains.empty()) return {};
    return geometricMean(gains);
}

std::vector<std::string> Comparison::failures() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        if (!outcomes[i].ok())
            lines.push_back(specs[i].workload + " under " + specs[i].scheduler + ": " + outcomes[i].failure);
    return lines;
}

std::vector<std::string> Comparison::notes() const {
    std::vector<std::string> lines;
    for (const RunSpec& spec : specs)
        if (const std::string why = sim::whyIneffective(profileOf(spec), spec.scheduler);
            !why.empty() && std::find(lines.begin(), lines.end(), why) == lines.end())
            lines.push_back(why);
    return lines;
}

std::vector<std::string> ciaoWorkloads(const std::vector<std::string>& classes) {
    std::vector<std::string> names;
    for (const char* wanted : kClasses) {
        if (!classes.empty() && std::find(classes.begin(), classes.end(), wanted) == classes.end()) continue;
        for (const workloads::Workload& w : workloads::all())
            if (w.ciao && w.workloadClass() == wanted) names.emplace_back(w.name);
    }
    return names;
}

namespace {

/// The variant that gains most over the first one, and where it gains and loses most.
void answerGains(Result& r, const Comparison& c) {
    const std::string& baseline = c.plan.variants.front().label;
    const std::size_t workloads = c.plan.workloads.size();
    r.question =
        workloads == 1
            ? fmt::format("Which scheduler runs {} fastest on {}?", c.plan.workloads.front(), c.plan.common.gpu)
            : fmt::format("Which scheduler is fastest on {}, over {} workloads?", c.plan.common.gpu, workloads);
    r.reading = fmt::format("Instructions per cycle over those of {}: above 1 is faster than {}.", baseline, baseline);
    std::optional<std::size_t> best;
    for (std::size_t v = 1; v < c.plan.variants.size(); ++v) {
        const Value gain = c.meanGain("", v);
        const auto* const its = std::get_if<double>(&gain);
        if (!its) continue;
        const Value most = best ? c.meanGain("", *best) : Value();
        if (!best || *its > std::get<double>(most)) best = v;
    }
    if (c.plan.variants.size() < 2) {
        r.answer = fmt::format("Only {} was run: there is nothing to compare it with.", baseline);
        return;
    }
    if (!best) {
        r.answer = "No scheduler has run all workloads, so that none can be told.";
        return;
    }
    const double gain = std::get<double>(c.meanGain("", *best));
    const std::string& name = c.plan.variants[*best].label;
    const std::string others =
        c.plan.variants.size() > 2 ? fmt::format(", the best of {} others", c.plan.variants.size() - 1) : std::string();
    r.answer = gain > 1 ? fmt::format("{}{} has {} times the IPC of {}", name, others, brief(gain), baseline)
                        : fmt::format("{}: {}{} has {} times its IPC", baseline, name, others, brief(gain));
    if (workloads == 1) {
        r.answer += ".";
        return;
    }
    std::size_t faster = 0, most = 0;
    for (std::size_t w = 0; w < workloads; ++w) {
        const Value own = c.gain(w, *best), top = c.gain(most, *best);
        if (std::get<double>(own) > 1) ++faster;
        if (std::get<double>(own) > std::get<double>(top)) most = w;
    }
    r.answer += fmt::format(" (geometric mean), and is faster on {} of {}; most on {}, by a factor of {}.", faster,
                            counted(workloads, "workload"), c.plan.workloads[most],
                            brief(std::get<double>(c.gain(most, *best))));
    if (c.plan.common.warpInstructions > 0)
        r.caveats = {fmt::format("Each run ended after {} warp instructions.", c.plan.common.warpInstructions)};
}

/// How much of what loads ask for the SMs have themselves, over all runs.
void answerRuns(Result& r, const Comparison& c) {
    struct Found {
        double rate;
        std::string run;
    };
    std::optional<Found> least, most;
    std::size_t done = 0;
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
            if (!c.at(w, v).ok()) continue;
            ++done;
            const Found one{c.at(w, v).measurement.hitRate(),
                            c.plan.workloads[w] + " under " + c.plan.variants[v].label};
            if (!least || one.rate < least->rate) least = one;
            if (!most || one.rate > most->rate) most = one;
        }
    if (!most) {
        r.answer = "No run has ended: the last column says why.";
        return;
    }
    r.answer = fmt::format("{} ended. SMs had {} % of the lines that loads asked for in {}", counted(done, "run"),
                           brief(100 * most->rate), most->run);
    r.answer +=
        done == 1 ? "." : fmt::format(", the most, and {} % in {}, the least.", brief(100 * least->rate), least->run);
    r.reading = "hit rate is of L1D and of shared memory that serves as a cache.";
}

}  // namespace

Result gainTable(const Comparison& c) {
    Result r;
    r.title = "IPC relative to " + c.plan.variants.front().label;
    r.columns = {{"workload", ""}, {"class", ""}};
    for (const Variant& variant : c.plan.variants) r.columns.push_back({variant.label, ""});
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w) {
        std::vector<Value> row = {c.plan.workloads[w], classOf(c.plan.workloads[w])};
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) row.push_back(c.gain(w, v));
        r.add(std::move(row));
    }
    const auto addMean = [&](const std::string& label, const std::string& workloadClass) {
        std::vector<Value> row = {std::string("geometric mean"), label};
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) row.push_back(c.meanGain(workloadClass, v));
        r.add(std::move(row));
    };
    for (const char* workloadClass : kClasses)
        for (const std::string& workload : c.plan.workloads)
            if (classOf(workload) == workloadClass) {
                addMean(workloadClass, workloadClass);
                break;
            }
    addMean("all", "");
    Chart chart{Chart::Kind::bar, r.title, "workload", {}, {}, {}, r.title, false, false};
    for (std::size_t v = 1; v < c.plan.variants.size(); ++v) chart.y.push_back(c.plan.variants[v].label);
    if (!chart.y.empty()) r.charts.push_back(std::move(chart));
    answerGains(r, c);
    return r;
}

Result runTable(const Comparison& c) {
    Result r;
    r.title = "runs";
    r.question = "What did each run do?";
    r.columns = {{"workload", ""},
                 {"class", ""},
                 {"variant", ""},
                 {"scheduler", ""},
                 {"IPC", ""},
                 {"gain", ""},
                 {"cycles", ""},
                 {"warp instructions", ""},
                 {"limited", ""},
                 {"hit rate", ""},
                 {"L2 hit rate", ""},
                 {"DRAM", "bytes/cycle"},
                 {"resident warps", ""},
                 {"active warps", ""},
                 {"isolated warps", ""},
                 {"shared cache used", "bytes"},
                 {"carve-out", "bytes"},
                 {"simulated in", "s"},
                 {"note", ""},
                 {"failure", ""}};
    r.setDetails({"class", "warp instructions", "limited", "resident warps", "active warps", "isolated warps",
                  "shared cache used", "carve-out", "simulated in"});
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
            const Outcome& outcome = c.at(w, v);
            std::vector<Value> row = {c.plan.workloads[w], classOf(c.plan.workloads[w]), c.plan.variants[v].label,
                                      c.spec(w, v).scheduler};
            if (outcome.ok()) {
                const RunMeasurement& f = outcome.measurement;
                const auto cycles = static_cast<double>(f.cycles);
                row.insert(row.end(), {f.ipc(), c.gain(w, v), static_cast<std::int64_t>(f.cycles),
                                       static_cast<std::int64_t>(f.counters.warpInstructions), f.limited, f.hitRate(),
                                       sim::ratio(f.counters.l2Hits, f.counters.l2Misses),
                                       static_cast<double>(f.counters.bytesDram) / std::max(cycles, 1.0),
                                       f.residentWarps, f.activeWarps, f.isolatedWarps, f.sharedCacheUsed,
                                       carveoutOf(c.spec(w, v)), f.wallSeconds});
            }
            row.resize(r.columns.size() - 2);
            const std::string note = sim::whyIneffective(profileOf(c.spec(w, v)), c.spec(w, v).scheduler);
            row.emplace_back(note.empty() ? Value() : Value(note));
            row.emplace_back(outcome.ok() ? Value() : Value(outcome.failure));
            r.add(std::move(row));
        }
    answerRuns(r, c);
    r.charts.push_back({Chart::Kind::bar, "IPC", "workload", {"IPC"}, {"variant"}, {}, "", false, false});
    r.charts.push_back({Chart::Kind::bar,
                        "hit rate of L1D and the shared-memory cache",
                        "workload",
                        {"hit rate"},
                        {"variant"},
                        {},
                        "",
                        false,
                        false});
    return r;
}

Result stallTable(const Comparison& c) {
    Result r;
    r.title = "what schedulers do";
    r.columns = {{"run", ""}, {"workload", ""}, {"variant", ""}, {"issued", "%"}};
    r.setDetails({"workload", "variant"});
    Chart chart{Chart::Kind::stack,
                "Cycles of warp schedulers: an instruction issued, or why not",
                "run",
                {"issued"},
                {},
                {},
                "% of scheduler cycles",
                false,
                false};
    for (const std::string_view stall : sim::kStallNames) {
        r.columns.push_back({std::string(stall), "%"});
        chart.y.emplace_back(stall);
    }
    std::optional<std::pair<double, std::string>> most;  // lost to memory, and in which run
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
            if (!c.at(w, v).ok()) continue;
            const sim::Counters& counters = c.at(w, v).measurement.counters;
            const std::uint64_t slots =
                std::accumulate(counters.stalls.begin(), counters.stalls.end(), counters.warpInstructions);
            if (slots == 0) continue;
            const auto percent = [&](std::uint64_t n) {
                return 100 * static_cast<double>(n) / static_cast<double>(slots);
            };
            const std::string run = c.plan.workloads.size() == 1
                                        ? c.plan.variants[v].label
                                        : c.plan.workloads[w] + ", " + c.plan.variants[v].label;
            std::vector<Value> row = {run, c.plan.workloads[w], c.plan.variants[v].label,
                                      percent(counters.warpInstructions)};
            for (const std::uint64_t stalled : counters.stalls) row.emplace_back(percent(stalled));
            r.add(std::move(row));
            const double memory = percent(counters.stalls[static_cast<std::size_t>(sim::Stall::memory)]);
            if (!most || memory > most->first) most = {memory, run};
        }
    if (!r.rows.empty()) r.charts.push_back(std::move(chart));
    r.question = "What do the warp schedulers wait for?";
    if (most)
        r.answer = fmt::format("Most for memory in {}: {} % of all cycles of its schedulers.", most->second,
                               brief(most->first));
    r.reading =
        "Each bar is all cycles of the warp schedulers: issued is work, memory waits for loads, throttled is a warp "
        "that the scheduler held back, idle is an SM without warps.";
    return r;
}

Result counterTable(const Comparison& c) {
    Result r;
    r.title = "counters";
    r.question = "What was counted in each run?";
    r.columns = {{"workload", ""}, {"variant", ""}, {"scheduler", ""}, {"cycles", ""}};
    sim::Counters().each([&](std::string_view name, std::uint64_t) { r.columns.push_back({std::string(name), ""}); });
    for (const std::string_view stall : sim::kStallNames)
        r.columns.push_back({"stalled: " + std::string(stall), "scheduler cycles"});
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
            if (!c.at(w, v).ok()) continue;
            const RunMeasurement& f = c.at(w, v).measurement;
            std::vector<Value> row = {c.plan.workloads[w], c.plan.variants[v].label, c.spec(w, v).scheduler,
                                      static_cast<std::int64_t>(f.cycles)};
            sim::Counters counters = f.counters;
            counters.each(
                [&](std::string_view, std::uint64_t value) { row.emplace_back(static_cast<std::int64_t>(value)); });
            for (const std::uint64_t stalled : counters.stalls) row.emplace_back(static_cast<std::int64_t>(stalled));
            r.add(std::move(row));
        }
    r.answer = fmt::format("{} of {}, for whoever wants more than rates.", counted(r.columns.size() - 3, "counter"),
                           counted(r.rows.size(), "run"));
    return r;
}

}  // namespace bulkhead::compare
