#include "sim/insight.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/extremes.h"
#include "base/phrases.h"

namespace bulkhead::sim {
namespace {

constexpr std::size_t kMostStretches = 512, kMostDecisions = 20'000, kMostLines = 2000;

double perWeight(double sum, double weight) {
    return weight > 0 ? sum / weight : 0;
}

}  // namespace

Insight::Insight(const arch::DeviceProfile& profile)
    : matrix_(profile), sms_(static_cast<std::uint32_t>(profile.sm.count)) {
    for (std::uint32_t sm = 0; sm < sms_; ++sm) looks_.push_back(std::make_unique<CloseLook>());
}

void Insight::l1Miss(Cycles now, std::uint32_t sm, std::uint64_t line, std::uint32_t warp) {
    matrix_.l1Miss(now, sm, line, warp);
}

void Insight::l1Eviction(Cycles now, std::uint32_t sm, std::uint64_t line, std::uint32_t owner, std::uint32_t evictor) {
    matrix_.l1Eviction(now, sm, line, owner, evictor);
}

void Insight::decided(Cycles when, std::uint32_t sm, const Decided& decided) {
    ++decided_;
    ++now_.decisions[static_cast<std::size_t>(decided.decision)];
    if (decisions_.size() < kMostDecisions) decisions_.push_back({when, sm, decided});
}

void Insight::sampleSm(Cycles when, std::uint32_t, const SmSample& sample) {
    if (sample.residentWarps == 0) return;
    const auto cycles = static_cast<double>(when - lastSample_);
    now_.weight += cycles;
    now_.resident += cycles * sample.residentWarps;
    now_.active += cycles * sample.activeWarps;
    now_.isolated += cycles * sample.isolatedWarps;
}

void Insight::sample(Cycles when, const Counters& total, std::span<const std::uint32_t>) {
    now_.end = when;
    now_.counted = total - last_;
    const std::uint64_t interference = matrix_.total();
    now_.interference = interference - lastInterference_;
    stretches_.push_back(now_);
    now_ = {};
    last_ = total;
    lastInterference_ = interference;
    lastSample_ = when;
    if (stretches_.size() < kMostStretches) return;
    // A long run has as many stretches as a short one, longer ones.
    std::vector<Stretch> half;
    for (std::size_t i = 0; i + 1 < stretches_.size(); i += 2) {
        half.push_back(stretches_[i]);
        half.back().append(stretches_[i + 1]);
    }
    stretches_ = std::move(half);
    interval_ *= 2;
}

void Insight::Stretch::append(const Stretch& o) {
    end = o.end;
    counted += o.counted;
    interference += o.interference;
    for (std::size_t i = 0; i < decisions.size(); ++i) decisions[i] += o.decisions[i];
    weight += o.weight;
    resident += o.resident;
    active += o.active;
    isolated += o.isolated;
}

Result Insight::overTime() const {
    Result r;
    r.title = "over time";
    r.columns = {{"until", "cycles"},    {"IPC", ""},
                 {"L1D hit rate", ""},   {"shared-memory cache hit rate", ""},
                 {"L2 hit rate", ""},    {"DRAM", "bytes/cycle"},
                 {"resident warps", ""}, {"active warps", ""},
                 {"isolated warps", ""}, {"interference", "VTA hits"}};
    for (const std::string_view stall : kStallNames) r.columns.push_back({fmt::format("stalled: {}", stall), "%"});
    for (const std::string_view decision : kDecisionNames) r.columns.push_back({std::string(decision), ""});
    Cycles begin = 0;
    for (const Stretch& s : stretches_) {
        const Counters& c = s.counted;
        const auto cycles = static_cast<double>(std::max<Cycles>(s.end - begin, 1));
        std::vector<Value> row = {static_cast<std::int64_t>(s.end), static_cast<double>(c.threadInstructions) / cycles,
                                  ratio(c.l1Hits, c.l1Misses),      ratio(c.sharedCacheHits, c.sharedCacheMisses),
                                  ratio(c.l2Hits, c.l2Misses),      static_cast<double>(c.bytesDram) / cycles,
                                  perWeight(s.resident, s.weight),  perWeight(s.active, s.weight),
                                  perWeight(s.isolated, s.weight),  static_cast<std::int64_t>(s.interference)};
        std::uint64_t slots = c.warpInstructions;
        for (const std::uint64_t stalled : c.stalls) slots += stalled;
        for (const std::uint64_t stalled : c.stalls)
            row.emplace_back(100 * perWeight(static_cast<double>(stalled), static_cast<double>(slots)));
        for (const std::uint64_t decisions : s.decisions) row.emplace_back(static_cast<std::int64_t>(decisions));
        r.add(std::move(row));
        begin = s.end;
    }
    const auto chart = [&](const std::string& title, std::vector<std::string> y, const std::string& yTitle) {
        r.charts.push_back({Chart::Kind::line, title, "until", std::move(y), {}, {}, yTitle, false, false});
    };
    chart("IPC", {"IPC"}, "");
    chart("hit rates", {"L1D hit rate", "shared-memory cache hit rate", "L2 hit rate"}, "hit rate");
    chart("warps of an SM", {"resident warps", "active warps", "isolated warps"}, "warps");
    std::vector<std::string> stalls;
    stalls.reserve(kStallNames.size());
    for (const std::string_view stall : kStallNames) stalls.push_back(fmt::format("stalled: {}", stall));
    chart("cycles of schedulers without an issue, by cause", stalls, "%");
    chart("interference", {"interference"}, "");
    r.question = "How did the run go over time?";
    if (const auto ipc = extremesOf(r, 1))
        r.answer =
            fmt::format("It had from {} to {} instructions per cycle, most in the stretch that ended at cycle {}.",
                        brief(ipc->least), brief(ipc->most), std::get<std::int64_t>(r.rows[ipc->mostRow][0]));
    r.reading = "Each row is a stretch of the run up to that cycle.";
    r.setDetails({"resident warps", "active warps", "isolated warps"});
    return r;
}

Result Insight::pairs() const {
    Result r;
    r.title = "interference by pair of warps, all SMs";
    r.columns = {{"interfered warp", ""}, {"interfering warp", ""}, {"VTA hits", ""}};
    for (std::uint32_t interfered = 0; interfered < matrix_.warps(); ++interfered)
        for (std::uint32_t interfering = 0; interfering < matrix_.warps(); ++interfering) {
            std::uint64_t hits = 0;
            for (std::uint32_t sm = 0; sm < sms_; ++sm) hits += matrix_.hits(sm, interfered, interfering);
            if (hits)
                r.add({static_cast<std::int64_t>(interfered), static_cast<std::int64_t>(interfering),
                       static_cast<std::int64_t>(hits)});
        }
    r.charts.push_back(
        {Chart::Kind::heatmap, r.title, "interfering warp", {"VTA hits"}, {"interfered warp"}, {}, "", false, false});
    r.question = "Which warps evict whose lines?";
    r.reading = "A VTA hit is a miss on a line that another warp had evicted.";
    r.answer = "None was seen to.";
    if (const auto most = extremesOf(r, 2))
        r.answer = fmt::format("Warp {} harms warp {} most, with {} hits in its victim tags.",
                               std::get<std::int64_t>(r.rows[most->mostRow][1]),
                               std::get<std::int64_t>(r.rows[most->mostRow][0]), brief(most->most));
    return r;
}

Result Insight::decisionTable() const {
    Result r;
    r.title = decided_ > decisions_.size()
                  ? fmt::format("decisions of the scheduler, the first {} of {}", decisions_.size(), decided_)
                  : "decisions of the scheduler";
    r.columns = {{"cycle", ""}, {"SM", ""}, {"decision", ""}, {"warp", ""}, {"for warp", ""}, {"limit", "warps"}};
    const auto unless = [](std::uint32_t none, std::uint32_t value) {
        return value == none ? Value() : Value(static_cast<std::int64_t>(value));
    };
    for (const auto& [when, sm, d] : decisions_)
        r.add({static_cast<std::int64_t>(when), static_cast<std::int64_t>(sm),
               std::string(kDecisionNames[static_cast<std::size_t>(d.decision)]), unless(kNobody, d.warp),
               unless(kNobody, d.interfered), unless(0, d.limit)});
    r.question = "What did the scheduler decide?";
    r.reading = "A decision without a warp is about all of the SM's. Without a limit all warps may run.";
    r.answer = decided_ == 0 ? "Nothing: it made no decision of this kind."
                             : fmt::format("{}.", counted(decided_, "decision"));
    return r;
}

Result Insight::histogram(const std::string& title, const std::string& of, const std::string& unit,
                          const CloseLook::Histogram& (CloseLook::*which)() const, std::uint64_t never) const {
    CloseLook::Histogram sum = {};
    std::uint64_t all = never;
    for (const auto& look : looks_)
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += ((*look).*which)()[i];
            all += ((*look).*which)()[i];
        }
    Result r;
    r.title = title;
    r.columns = {{"from", unit}, {"to", unit}, {of, ""}, {"share", "%"}, {"share up to here", "%"}};
    const std::size_t end =
        sum.size() - static_cast<std::size_t>(
                         std::find_if(sum.rbegin(), sum.rend(), [](std::uint64_t n) { return n != 0; }) - sum.rbegin());
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < end; ++i) {
        below += sum[i];
        const std::int64_t from = i == 0 ? 0 : std::int64_t{1} << (i - 1), to = (std::int64_t{1} << i) - 1;
        r.add({from, to, static_cast<std::int64_t>(sum[i]),
               100 * perWeight(static_cast<double>(sum[i]), static_cast<double>(all)),
               100 * perWeight(static_cast<double>(below), static_cast<double>(all))});
    }
    r.charts.push_back({Chart::Kind::line, title, "to", {"share up to here"}, {}, {}, "", true, false});
    r.question = fmt::format("How are {} distributed?", title.substr(0, title.find(" (")));
    for (const auto& row : r.rows)
        if (std::get<double>(row.back()) >= 50 && r.answer.empty())
            r.answer = fmt::format("Half of all are at most {} {}.", std::get<std::int64_t>(row[1]), unit);
    r.reading = "The curve is the share of all that are at most that large.";
    return r;
}

Result Insight::costTable() const {
    CloseLook::Costs sum;
    Cycles waited = 0;
    for (const auto& look : looks_)
        for (const auto& [place, cost] : look->costs()) {
            sum[place] += cost;
            waited += cost.waited;
        }
    std::vector<std::pair<std::pair<std::string, std::int32_t>, CloseLook::Cost>> order(sum.begin(), sum.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.waited > b.second.waited; });
    if (order.size() > kMostLines) order.resize(kMostLines);
    Result r;
    r.title = "cost by line of PTX";
    r.columns = {{"function", ""},
                 {"line", ""},
                 {"source", ""},
                 {"instruction", ""},
                 {"executions", "warps"},
                 {"threads", ""},
                 {"warps waited", "cycles"},
                 {"share", "%"}};
    for (const auto& [place, cost] : order)
        r.add({place.first, static_cast<std::int64_t>(place.second), cost.source.empty() ? Value() : Value(cost.source),
               cost.text, static_cast<std::int64_t>(cost.issues),
               static_cast<double>(cost.lanes) / static_cast<double>(cost.issues),
               static_cast<std::int64_t>(cost.waited),
               100 * perWeight(static_cast<double>(cost.waited), static_cast<double>(waited))});
    r.question = "Which instruction do warps wait for most?";
    if (!r.rows.empty())
        r.answer = fmt::format("Line {} of {}: {} % of all waiting.", std::get<std::int64_t>(r.rows[0][1]),
                               std::get<std::string>(r.rows[0][0]), brief(std::get<double>(r.rows[0].back())));
    r.setDetails({"source", "threads"});
    return r;
}

/// The same for lines of the program's source, where the PTX names them.
Result Insight::sourceTable() const {
    std::map<std::string, CloseLook::Cost> sum;
    Cycles waited = 0;
    for (const auto& look : looks_)
        for (const auto& [place, cost] : look->costs()) {
            waited += cost.waited;
            if (!cost.source.empty()) sum[cost.source] += cost;
        }
    std::vector<std::pair<std::string, CloseLook::Cost>> order(sum.begin(), sum.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.waited > b.second.waited; });
    Result r;
    r.title = "cost by line of source";
    r.columns = {{"source", ""}, {"executions", "warps"}, {"warps waited", "cycles"}, {"share", "%"}};
    for (const auto& [source, cost] : order)
        r.add({source, static_cast<std::int64_t>(cost.issues), static_cast<std::int64_t>(cost.waited),
               100 * perWeight(static_cast<double>(cost.waited), static_cast<double>(waited))});
    r.question = "Which line of the program do warps wait for most?";
    if (!r.rows.empty())
        r.answer = fmt::format("{}: {} % of all waiting.", std::get<std::string>(r.rows[0][0]),
                               brief(std::get<double>(r.rows[0].back())));
    return r;
}

std::vector<Result> Insight::results() const {
    std::uint64_t first = 0;
    for (const auto& look : looks_) first += look->firstUses();
    return {overTime(),
            pairs(),
            decisionTable(),
            histogram("reuse distances of lines that loads ask for (lines used for the first time: " +
                          std::to_string(first) + ")",
                      "uses", "lines", &CloseLook::distances, first),
            histogram("latencies of loads", "loads", "cycles", &CloseLook::latencies, 0),
            costTable(),
            sourceTable()};
}

}  // namespace bulkhead::sim
