#include "stress/stress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <set>
#include <span>
#include <utility>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/phrases.h"
#include "base/statistics.h"
#include "corun/aggressor.h"
#include "dissect/map_file.h"
#include "experiment/interruption.h"
#include "gpu/known_profile.h"
#include "stress/answers.h"
#include "stress/bound_tables.h"
#include "stress/encounters.h"
#include "stress/summary.h"
#include "stress/values.h"

namespace bulkhead::stress {
namespace {

constexpr std::size_t kMatrixColumns = 21, kSamplesColumn = 8;

/// Time that the victim lost for each byte that the aggressor moved meanwhile, in nanoseconds per MB.
Value harmPerByte(const corun::Pairing& pairing) {
    double lost = 0, moved = 0;
    for (const corun::Pair& p : pairing.pairs) {
        lost += p.together.seconds - p.alone.seconds;
        moved += p.aggressor.bytesPerSecond() * p.together.seconds;
    }
    return moved > 0 ? Value(lost * 1e9 / (moved * 1e-6)) : Value();
}

double aggressorRate(const corun::Pairing& pairing) {
    double sum = 0;
    for (const corun::Pair& p : pairing.pairs) sum += p.aggressor.bytesPerSecond();
    return sum / static_cast<double>(pairing.pairs.size());
}

Value sms(const corun::Pairing& pairing) {
    const std::optional<bool> apart = pairing.onDisjointSms();
    return apart ? Value(*apart ? "disjoint" : "shared") : Value();
}

/// What answers comes first.
std::vector<Value> cellRow(const Cell& cell, const WorstCase& worst) {
    std::vector<Value> row = {cell.pair.victim.name, cell.pair.sharing, corun::nameOf(cell.pair.aggressor)};
    if (cell.pairing.pairs.empty()) {
        row.resize(kMatrixColumns);
        row[kSamplesColumn] = whole(cell.pairing.pairs.size());
        row[kSamplesColumn + 1] = whole(cell.pairing.lost());
        row.back() = cell.refusal.empty() ? cell.pairing.why : cell.refusal;
        return row;
    }
    const std::vector<double> alone = cell.pairing.alone(), together = cell.pairing.together();
    const Summary a = summarize(alone), t = summarize(together);
    const Estimate s = slowdown(alone, together);
    const std::vector<Value> rest = {s.value,
                                     milliseconds(worst.value),
                                     a.mean.value * 1e3,
                                     t.mean.value * 1e3,
                                     aggressorRate(cell.pairing) * 1e-9,
                                     whole(cell.pairing.pairs.size()),
                                     whole(cell.pairing.lost()),
                                     sms(cell.pairing),
                                     100 * a.deviation.value / a.mean.value,
                                     t.minimum * 1e3,
                                     t.p95.value * 1e3,
                                     t.p99.value * 1e3,
                                     t.maximum * 1e3,
                                     t.deviation.value * 1e3,
                                     valueOf(s.interval.low),
                                     valueOf(s.interval.high),
                                     harmPerByte(cell.pairing),
                                     cell.pairing.why};
    row.insert(row.end(), rest.begin(), rest.end());
    return row;
}

Result matrix(const std::vector<Cell>& cells, const std::vector<WorstCase>& worst, const Options& options) {
    Result r;
    r.title = fmt::format("Interference on {}", options.pair.gpu);
    r.columns = {{"victim", ""},
                 {"sharing", ""},
                 {"aggressor", ""},
                 {"slowdown", "x"},
                 {fmt::format("bound at {:g}", options.exceedance), "ms"},
                 {"solo mean", "ms"},
                 {"mean", "ms"},
                 {"aggressor traffic", "GB/s"},
                 {"samples", ""},
                 {"lost", ""},
                 {"SMs", ""},
                 {"solo SD", "%"},
                 {"min", "ms"},
                 {"p95", "ms"},
                 {"p99", "ms"},
                 {"max", "ms"},
                 {"SD", "ms"},
                 {"slowdown low", "x"},
                 {"slowdown high", "x"},
                 {"harm", "ns/MB"},
                 {"note", ""}};
    r.setDetails({"samples", "lost", "SMs", "solo SD", "min", "p95", "p99", "max", "SD", "slowdown low",
                  "slowdown high", "harm"});
    if (options.sharing.size() == 1) r.setDetails({"sharing"});
    for (std::size_t i = 0; i < cells.size(); ++i) r.add(cellRow(cells[i], worst[i]));
    answerMatrix(r, cells, options);
    r.charts.push_back(
        {Chart::Kind::heatmap, "Slowdown", "aggressor", {"slowdown"}, {"victim", "sharing"}, {}, "", false, false});
    return r;
}

/// Two rows per cell, alone and together.
Result times(const std::vector<Cell>& cells) {
    Result r;
    r.title = "Run times with 95 % confidence intervals";
    r.columns = {{"victim", ""},  {"sharing", ""}, {"aggressor", ""}, {"run", ""},
                 {"samples", ""}, {"min", "ms"},   {"max", "ms"}};
    for (const char* name : {"mean", "median", "p95", "p99", "SD"})
        for (const char* which : {"", " low", " high"}) r.columns.push_back({std::string(name) + which, "ms"});
    r.setDetails({"samples", "min", "max", "median low", "median high", "p95", "p95 low", "p95 high", "p99", "p99 low",
                  "p99 high", "SD", "SD low", "SD high"});
    const auto add = [&](const Cell& cell, const char* run, const std::vector<double>& seconds) {
        const Summary s = summarize(seconds);
        std::vector<Value> row = {
            cell.pair.victim.name, cell.pair.sharing, corun::nameOf(cell.pair.aggressor), run, whole(s.count),
            s.minimum * 1e3,       s.maximum * 1e3};
        for (const Estimate& e : {s.mean, s.median, s.p95, s.p99, s.deviation})
            row.insert(row.end(), {e.value * 1e3, milliseconds(e.interval.low), milliseconds(e.interval.high)});
        r.add(std::move(row));
    };
    for (const Cell& cell : cells) {
        if (cell.pairing.pairs.empty()) continue;
        add(cell, "solo", cell.pairing.alone());
        add(cell, "co-run", cell.pairing.together());
    }
    answerTimes(r, cells);
    return r;
}

Result samples(const std::vector<Cell>& cells, const std::string& victim, const std::string& sharing) {
    Result r;
    r.title = fmt::format("Samples of {} (sharing: {})", victim, sharing);
    r.columns = {{"victim", ""},
                 {"sharing", ""},
                 {"aggressor", ""},
                 {"sample", ""},
                 {"solo", "ms"},
                 {"co-run", "ms"},
                 {"solo cycles", ""},
                 {"co-run cycles", ""},
                 {"aggressor traffic", "bytes"},
                 {"aggressor run time", "ms"}};
    std::vector<const Cell*> own;
    for (const Cell& cell : cells) {
        if (cell.pair.victim.name != victim || cell.pair.sharing != sharing) continue;
        own.push_back(&cell);
        for (std::size_t i = 0; i < cell.pairing.pairs.size(); ++i) {
            const corun::Pair& p = cell.pairing.pairs[i];
            r.add({cell.pair.victim.name, cell.pair.sharing, corun::nameOf(cell.pair.aggressor), whole(i),
                   p.alone.seconds * 1e3, p.together.seconds * 1e3, whole(p.alone.cycles), whole(p.together.cycles),
                   whole(p.aggressor.bytes), static_cast<double>(p.aggressor.endNs - p.aggressor.startNs) * 1e-6});
        }
    }
    r.charts.push_back({Chart::Kind::cdf,
                        fmt::format("Run time of {} beside each aggressor (sharing: {})", victim, sharing),
                        "",
                        {"co-run"},
                        {"aggressor"},
                        {},
                        "",
                        false,
                        false});
    r.charts.push_back({Chart::Kind::cdf,
                        fmt::format("Solo run time of {} (sharing: {})", victim, sharing),
                        "",
                        {"solo"},
                        {},
                        {},
                        "",
                        false,
                        false});
    answerSamples(r, own);
    return r;
}

/// In the order in which the causes are shown.
constexpr std::pair<const char*, sim::Resource> kCauses[] = {
    {"issue", sim::Resource::sms},        {"L1", sim::Resource::l1},
    {"L2 ports", sim::Resource::ports},   {"L2 lines", sim::Resource::l2},
    {"DRAM banks", sim::Resource::banks}, {"DRAM bus", sim::Resource::bus}};

Result causes(const std::vector<Cell>& cells) {
    Result r;
    r.title = "Causes of the slowdown";
    r.columns = {{"victim", ""}, {"sharing", ""}, {"aggressor", ""}, {"lost", "ms"}};
    for (const auto& [name, resource] : kCauses) r.columns.push_back({name, "%"});
    r.columns.insert(r.columns.end(), {{"room on SMs", "%"}, {"time slicing", "%"}});
    for (const Cell& cell : cells) {
        const corun::Causes& c = cell.causes;
        if (cell.explained == 0 || c.total() <= 0) continue;
        const double percent = 100 / c.total();
        std::vector<Value> row = {cell.pair.victim.name, cell.pair.sharing, corun::nameOf(cell.pair.aggressor),
                                  c.total() * 1e3 / cell.explained};
        for (const auto& [name, resource] : kCauses) row.emplace_back(c.of(resource) * percent);
        row.insert(row.end(), {c.room * percent, c.timeSlicing * percent});
        r.add(std::move(row));
    }
    answerCauses(r, cells);
    return r;
}

/// What the numbers depend on and names do not say. On a simulated GPU, with what its profile takes for granted.
Result conditions(const std::vector<Cell>& cells, const Options& options) {
    Result r;
    r.title = "Conditions";
    r.question = "What do the numbers depend on that names do not say?";
    r.columns = {{"of", ""}, {"what", ""}, {"value", ""}};
    std::set<std::string> said;
    const auto say = [&](const std::string& of, const char* what, const Value& value) {
        if (said.insert(of + what).second) r.add({of, what, value});
    };
    for (const Cell& cell : cells) {
        const std::string& victim = cell.pair.victim.name;
        if (victim == "random" || victim == "latency")
            say(victim, "order of accesses", "a list as long as the array, read ahead");
        if (cell.pair.aggressor.kind.starts_with("evict-"))
            say(corun::nameOf(cell.pair.aggressor), "lanes of a warp that chase pointers",
                std::int64_t{cell.pair.aggressor.lanes});
        const auto profile = gpu::knownProfile(options.pair.gpu, options.pair.settings);
        if (!profile || !corun::findSharing(cell.pair.sharing).timeSliced) continue;
        say(cell.pair.sharing, "time slice (us)", profile->sharing.quantumUs);
        say(cell.pair.sharing, "switch (us)", profile->sharing.switchUs);
    }
    if (!r.rows.empty())
        r.answer =
            fmt::format("{}: another choice of one may give other numbers.", counted(r.rows.size(), "condition"));
    return r;
}

void addExplanation(Cell& cell, const SampleMeasurement& sample) {
    if (sample.causes) {
        cell.causes += *sample.causes;
        ++cell.explained;
    }
    if (!cell.encounter) cell.encounter = sample.encounter;
}

void add(Cell& cell, const SampleMeasurement& sample) {
    addExplanation(cell, sample);
    cell.pairing.add(sample.pairing);
}

/// Whatever it is, it must not cost what was measured before it.
void addFailure(Cell& cell, const std::string& why) {
    if (cell.pairing.measured() == 0) {
        cell.refusal = why;
    } else {
        ++cell.pairing.failed;
        cell.pairing.why = why;
    }
}

/// What is deterministic repeats itself exactly: every sample has its own pages and phase, on a GPU opened anew.
SampleSpec sampleOf(const corun::PairSpec& pair, unsigned number, const Options& options) {
    SampleSpec own{pair, number < options.explained};
    own.pair.seed += number;
    own.pair.aggressor.seed += number;
    return own;
}

/// Told how many samples of a cell are there.
using SampleListener = std::function<void(unsigned)>;

void measureAnew(Cell& cell, const Options& options, const std::function<bool()>& late, const SampleListener& told) {
    // Causes come last: whoever ends this early has had the samples.
    std::vector<std::pair<SampleSpec, SampleMeasurement>> unexplained;
    for (unsigned i = 0; i < options.samples && !late(); ++i) {
        SampleSpec spec = sampleOf(cell.pair, i, options);
        const bool explain = std::exchange(spec.explain, false);
        const SampleMeasurement sample = execute(spec);
        add(cell, sample);
        told(i + 1);
        if (explain) unexplained.emplace_back(spec, sample);
    }
    for (auto& [spec, sample] : unexplained) {
        stress::explain(spec, sample);
        addExplanation(cell, sample);
    }
}

/// `coRun`: that of the cell before with the same victim and way of sharing, if there is one. It is kept for the next,
/// as starting processes, contexts and a daemon takes longer than most measurements.
void measureAgain(Cell& cell, const Options& options, std::unique_ptr<corun::CoRun>& coRun,
                  const std::function<bool()>& late, const SampleListener& told) {
    for (unsigned i = 0; i < options.samples && !late() && cell.pairing.failed == 0; ++i) {
        add(cell, measureSample(*coRun));
        told(i + 1);
    }
    if (cell.pairing.lost() > 0) coRun.reset();  // a kernel that failed takes its context with it
}

void measureInto(Cell& cell, const Options& options, std::unique_ptr<corun::CoRun>& coRun, const SampleListener& told) {
    auto begin = std::chrono::steady_clock::now();
    const auto late = [&] {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        return options.secondsPerCell > 0 && taken.count() > options.secondsPerCell && cell.pairing.measured() > 0;
    };
    try {
        if (gpu::capabilitiesOf(cell.pair.gpu).deterministic) {
            measureAnew(cell, options, late, told);
            return;
        }
        if (coRun) {
            coRun->replace(corun::kAggressor, actorOf(cell.pair.aggressor));
        } else {
            coRun = makeCoRun(coRunOf(cell.pair));
        }
        begin = std::chrono::steady_clock::now();
        measureAgain(cell, options, coRun, late, told);
    } catch (const std::exception& e) {
        coRun.reset();
        addFailure(cell, dynamic_cast<const std::bad_alloc*>(&e) ? "out of memory" : e.what());
    }
}

std::vector<corun::PairSpec> pairsOf(const Options& options) {
    std::vector<corun::PairSpec> pairs;
    for (const std::string& victim : options.victims)
        for (const std::string& sharing : options.sharing)
            for (const corun::AggressorSpec& aggressor : options.aggressors) {
                corun::PairSpec& spec = pairs.emplace_back(options.pair);
                spec.victim.name = victim;
                spec.sharing = sharing;
                spec.aggressor = aggressor;
            }
    return pairs;
}

/// What was measured until the first sample that failed, as if one had been taken after the other. Where not `all` have
/// ended, those that have.
Cell cellOf(const corun::PairSpec& pair, std::span<const experiment::Outcome<SampleMeasurement>> samples, bool all) {
    Cell cell;
    cell.pair = pair;
    for (const experiment::Outcome<SampleMeasurement>& sample : samples) {
        if (sample.ok()) {
            add(cell, sample.measurement);
        } else if (all) {
            addFailure(cell, sample.failure);
            break;
        }
    }
    return cell;
}

}  // namespace

Cell measureCell(const corun::PairSpec& spec, const Options& options) {
    Cell cell;
    cell.pair = spec;
    std::unique_ptr<corun::CoRun> coRun;
    measureInto(cell, options, coRun, [](unsigned) {});
    return cell;
}

std::vector<Result> Outcome::results(const Options& options) const {
    const std::vector<WorstCase> worst = worstCasesOf(cells, options.exceedance);
    std::vector<Result> all = {matrix(cells, worst, options)};
    if (!searches.empty()) all.push_back(found(searches));
    for (Result more : {causes(cells), stress::bounds(cells, worst, options.exceedance), conditions(cells, options)})
        if (!more.rows.empty()) all.push_back(std::move(more));
    return all;
}

Result Outcome::bounds(const Options& options) const {
    return stress::bounds(cells, worstCasesOf(cells, options.exceedance), options.exceedance);
}

Result briefMatrix(const Result& matrix) {
    Result brief = matrix;
    const auto isEmpty = [](const Value& v) { return v == Value() || v == Value(std::string()); };
    for (std::size_t c = 0; c < brief.columns.size(); ++c)
        if (std::all_of(brief.rows.begin(), brief.rows.end(),
                        [&](const std::vector<Value>& row) { return isEmpty(row[c]); }))
            brief.columns[c].detail = true;
    return brief;
}

std::vector<Result> Outcome::encounters(const Options& options) const {
    return stress::encounters(cells, options);
}

std::vector<Result> Outcome::statistics(const Options& options) const {
    const std::vector<WorstCase> worst = worstCasesOf(cells, options.exceedance);
    std::vector<Result> all = exceedances(cells, worst, options.exceedance);
    for (Result more : {fits(cells, worst), iidTests(cells, worst), times(cells)})
        if (!more.rows.empty()) all.push_back(std::move(more));
    if (!searches.empty()) all.push_back(tried(searches));
    return all;
}

std::vector<Result> Outcome::samples() const {
    std::vector<Result> all;
    std::set<std::pair<std::string, std::string>> done;
    for (const Cell& cell : cells) {
        if (!done.emplace(cell.pair.victim.name, cell.pair.sharing).second) continue;
        Result r = stress::samples(cells, cell.pair.victim.name, cell.pair.sharing);
        if (!r.rows.empty()) all.push_back(std::move(r));
    }
    return all;
}

void stress(const Options& options, Outcome& outcome, const Listener& listener) {
    const std::vector<corun::PairSpec> pairs = pairsOf(options);
    std::unique_ptr<corun::CoRun> coRun;
    for (const corun::PairSpec& pair : pairs) {
        const auto done = static_cast<double>(outcome.cells.size());
        const auto tell = [&](unsigned samples) {
            if (listener)
                listener(fmt::format("{} beside {} (sharing: {})", pair.victim.name, corun::nameOf(pair.aggressor),
                                     pair.sharing),
                         (done + static_cast<double>(samples) / options.samples) / static_cast<double>(pairs.size()));
        };
        tell(0);
        if (!outcome.cells.empty() && (outcome.cells.back().pair.victim.name != pair.victim.name ||
                                       outcome.cells.back().pair.sharing != pair.sharing))
            coRun.reset();
        outcome.cells.emplace_back().pair = pair;
        measureInto(outcome.cells.back(), options, coRun, tell);
    }
}

void stress(const Options& options, Outcome& outcome, SampleBatch& batch) {
    const std::vector<corun::PairSpec> pairs = pairsOf(options);
    std::vector<SampleSpec> specs;
    for (const corun::PairSpec& pair : pairs)
        for (unsigned i = 0; i < options.samples; ++i) specs.push_back(sampleOf(pair, i, options));
    std::vector<experiment::Outcome<SampleMeasurement>> samples(specs.size());
    const auto collect = [&](bool all) {
        for (std::size_t i = 0; i < pairs.size(); ++i)
            outcome.cells.push_back(
                cellOf(pairs[i], std::span(samples).subspan(i * options.samples, options.samples), all));
    };
    try {
        batch.run(specs, samples);
    } catch (const experiment::Interrupted&) {
        collect(false);
        throw;
    }
    collect(true);
}

namespace {

SearchSpace spaceOf(const corun::PairSpec& pair) {
    gpu::SimulationOptions simulation;
    simulation.settings = pair.settings;
    gpu::Gpu gpu = gpu::Gpu::open(pair.gpu, simulation);
    const corun::CacheGeometry shape = corun::CacheGeometry::of(gpu);
    corun::CoRunSpec coRun = coRunOf(pair);
    completeLayouts(coRun, shape);
    const auto& left = std::get<corun::AggressorSpec>(coRun.actors[corun::kAggressor].what).layout.sms;
    SearchSpace space;
    space.sms = left.empty() ? shape.sms : static_cast<unsigned>(left.size());
    space.choosesSms = !corun::findSharing(pair.sharing).confines;
    space.cacheBytes = shape.bytes;
    std::optional<arch::AddressMap> map;
    if (gpu.profile()) map = gpu.profile()->map;
    if (!pair.map.empty()) map = dissect::readMapFile(pair.map).map;
    space.targets = [map](const std::string& kind) -> std::uint64_t {
        const corun::AggressorType& type = corun::findAggressor(kind);
        return type.targets && map ? type.targets(*map) : 0;
    };
    return space;
}

std::optional<double> slowdownOf(const corun::Pairing& pairing) {
    if (pairing.pairs.empty()) return std::nullopt;
    return pairing.pairs.front().together.seconds / pairing.pairs.front().alone.seconds;
}

corun::PairSpec beside(const corun::PairSpec& pair, const corun::AggressorSpec& aggressor) {
    corun::PairSpec other = pair;
    other.aggressor = aggressor;
    return other;
}

/// Each a run of the batch.
std::vector<std::optional<double>> tryAtOnce(const corun::PairSpec& pair,
                                             const std::vector<corun::AggressorSpec>& aggressors, SampleBatch& batch) {
    std::vector<SampleSpec> specs;
    specs.reserve(aggressors.size());
    for (const corun::AggressorSpec& aggressor : aggressors) specs.push_back({beside(pair, aggressor), false});
    std::vector<std::optional<double>> slowdowns;
    for (const auto& sample : batch.run(specs))
        slowdowns.push_back(sample.ok() ? slowdownOf(sample.measurement.pairing) : std::nullopt);
    return slowdowns;
}

/// On a real GPU, one after the other.
std::vector<std::optional<double>> tryInTurn(const corun::PairSpec& pair,
                                             const std::vector<corun::AggressorSpec>& aggressors) {
    Options once;
    once.samples = 1;
    std::vector<std::optional<double>> slowdowns;
    std::unique_ptr<corun::CoRun> coRun;
    for (const corun::AggressorSpec& aggressor : aggressors) {
        Cell cell;
        cell.pair = beside(pair, aggressor);
        measureInto(cell, once, coRun, [](unsigned) {});
        slowdowns.push_back(slowdownOf(cell.pairing));
    }
    return slowdowns;
}

}  // namespace

void search(const Options& options, Outcome& outcome, SampleBatch& batch, const Listener& listener) {
    const bool simulated = gpu::capabilitiesOf(options.pair.gpu).deterministic;
    const double parts = static_cast<double>(options.victims.size() * options.sharing.size());
    for (const std::string& victim : options.victims)
        for (const std::string& sharing : options.sharing) {
            if (listener)
                listener(fmt::format("the worst neighbour of {} (sharing: {})", victim, sharing),
                         static_cast<double>(outcome.searches.size()) / parts);
            corun::PairSpec pair = options.pair;
            pair.victim.name = victim;
            pair.sharing = sharing;
            Search& own = outcome.searches.emplace_back(Search{victim, sharing, 0, {}});
            own.trials =
                searchWorst(options.aggressors, spaceOf(pair), options.searchBudget, pair.seed,
                            [&](const std::vector<corun::AggressorSpec>& aggressors) {
                                return simulated ? tryAtOnce(pair, aggressors, batch) : tryInTurn(pair, aggressors);
                            });
            own.given = std::min(options.aggressors.size(), own.trials.size());
            const Trial* const worst = worstOf(own.trials);
            if (!worst) continue;
            corun::PairSpec found = beside(pair, worst->aggressor);
            found.aggressor.name = knobsOf(worst->aggressor);
            // It was chosen for what it did with this seed.
            ++found.seed;
            ++found.aggressor.seed;
            outcome.cells.push_back(measureCell(found, options));
        }
}

}  // namespace bulkhead::stress
