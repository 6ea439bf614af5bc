#include "correlate/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/phrases.h"
#include "correlate/summary.h"

namespace bulkhead::correlate {
namespace {

Value cell(const std::optional<double>& value) {
    return value ? Value(*value) : Value();
}

Value scaled(const std::optional<double>& value, double factor) {
    return value ? Value(*value * factor) : Value();
}

Value count(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

Value word(std::string_view text) {
    return text.empty() ? Value() : Value(std::string(text));
}

Value ratioOf(const std::optional<double>& hardware, const std::optional<double>& twin) {
    return hardware && twin && *hardware > 0 ? Value(*twin / *hardware) : Value();
}

Value percentError(const KernelPair& k) {
    return scaled(k.error(), 100);
}

std::string_view classNameOf(const KernelPair& k, const Peaks& peaks) {
    return kKernelClassNames[static_cast<std::size_t>(classOf(k, peaks))];
}

/// How far off, either way; kernels without a ratio come last.
double distance(const KernelPair& k) {
    return k.ratio() ? std::abs(std::log(*k.ratio())) : -1;
}

std::vector<std::size_t> ordered(const Correlation& c, Order order) {
    std::vector<std::size_t> places(c.kernels.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    if (order == Order::worstFirst)
        std::stable_sort(places.begin(), places.end(),
                         [&](std::size_t a, std::size_t b) { return distance(c.kernels[a]) > distance(c.kernels[b]); });
    return places;
}

Value causes(const KernelPair& k, const Peaks& peaks, double difference) {
    const std::vector<std::string> all = causesOf(k, peaks, difference);
    return all.empty() ? Value() : Value(fmt::format("{}", fmt::join(all, "; ")));
}

void addErrors(std::vector<Value>& row, const Errors& e) {
    row.insert(row.end(), {count(e.kernels), cell(e.mean), cell(e.median), cell(e.ratio), count(e.within)});
}

const std::vector<Result::Column> kErrorColumns = {
    {"kernels", ""}, {"mean error", "%"}, {"median error", "%"}, {"twin / hardware", ""}, {"within 15 %", ""}};

/// Which of the groups that the rows name has the greatest mean error, and which the least.
void answerGroups(Result& r) {
    constexpr std::size_t kMean = 2;
    const std::vector<Value>*most = nullptr, *least = nullptr;
    for (const auto& row : r.rows) {
        const auto* const error = std::get_if<double>(&row[kMean]);
        if (!error) continue;
        if (!most || *error > std::get<double>((*most)[kMean])) most = &row;
        if (!least || *error < std::get<double>((*least)[kMean])) least = &row;
    }
    if (!most) return;
    const auto name = [](const std::vector<Value>& row) { return std::get<std::string>(row.front()); };
    const auto percent = [](const std::vector<Value>& row) { return brief(std::get<double>(row[kMean])); };
    r.answer = most == least ? fmt::format("There is only {}, off by {} % on average.", name(*most), percent(*most))
                             : fmt::format("{} is off most, by {} % on average; {} least, by {} %.", name(*most),
                                           percent(*most), name(*least), percent(*least));
}

std::vector<Result::Column> withErrors(std::vector<Result::Column> columns) {
    columns.insert(columns.end(), kErrorColumns.begin(), kErrorColumns.end());
    return columns;
}

/// How many kernels lie in the band, and which is furthest from it.
void answerKernels(Result& r, const Correlation& c) {
    std::size_t compared = 0, within = 0;
    const KernelPair* worst = nullptr;
    for (const KernelPair& k : c.kernels) {
        if (!k.error()) continue;
        ++compared;
        within += *k.error() <= kWithin ? 1 : 0;
        if (worst == nullptr || *k.error() > *worst->error()) worst = &k;
    }
    if (worst == nullptr) return;
    r.answer = fmt::format("{} of {} are within {:.0f} % of the hardware's cycles; {} is furthest, by {} %.", within,
                           counted(compared, "kernel"), 100 * kWithin, worst->kernel, brief(100 * *worst->error()));
}

}  // namespace

Result kernelTable(const Correlation& c, const Peaks& peaks, Order order) {
    Result r;
    r.title = "Kernels on hardware and on its simulated twin";
    r.question = "What does each kernel do on either?";
    r.reading = "A point on the diagonal takes as many cycles on the twin as on the hardware; the band is 15 % wide.";
    r.columns = {{"suite", ""},
                 {"workload", ""},
                 {"kernel", ""},
                 {"class", ""},
                 {"launches", ""},
                 {"launches on hardware", ""},
                 {"launches on the twin", ""},
                 {"hardware cycles", ""},
                 {"twin cycles", ""},
                 {"twin / hardware", ""},
                 {"error", "%"},
                 {"cycles from time", ""},
                 {"hardware time", "us"},
                 {"twin time", "us"},
                 {"hardware instructions", ""},
                 {"twin instructions", ""},
                 {"hardware L1 hit rate", "%"},
                 {"twin L1 hit rate", "%"},
                 {"hardware L2 hit rate", "%"},
                 {"twin L2 hit rate", "%"},
                 {"hardware DRAM", "bytes"},
                 {"twin DRAM", "bytes"},
                 {"hardware warps", "per SM"},
                 {"twin warps", "per SM"},
                 {"hardware atomics", ""},
                 {"twin atomics", ""}};
    for (const std::string_view group : kStallGroupNames) {
        r.columns.push_back({fmt::format("hardware stalled: {}", group), "%"});
        r.columns.push_back({fmt::format("twin stalled: {}", group), "%"});
    }
    r.columns.push_back({"likely cause", ""});
    // What answers stands in front; the rest explains it.
    constexpr std::array<std::string_view, 9> kAnswer = {"suite",           "workload",        "kernel",
                                                         "class",           "hardware cycles", "twin cycles",
                                                         "twin / hardware", "error",           "likely cause"};
    for (Result::Column& column : r.columns)
        column.detail = std::find(kAnswer.begin(), kAnswer.end(), column.name) == kAnswer.end();
    const double difference = launchDifference(c.kernels);
    for (const std::size_t i : ordered(c, order)) {
        const KernelPair& k = c.kernels[i];
        const Side &h = k.hardware, &t = k.twin;
        std::vector<Value> row = {k.suite,
                                  k.workload,
                                  k.kernel,
                                  word(classNameOf(k, peaks)),
                                  count(h.launches),
                                  count(k.hardwareLaunches),
                                  count(k.twinLaunches),
                                  cell(h.cycles),
                                  cell(t.cycles),
                                  cell(k.ratio()),
                                  percentError(k),
                                  h.cyclesFromTime,
                                  scaled(h.seconds, 1e6),
                                  scaled(t.seconds, 1e6),
                                  cell(h.instructions),
                                  cell(t.instructions),
                                  cell(h.l1HitRate),
                                  cell(t.l1HitRate),
                                  cell(h.l2HitRate),
                                  cell(t.l2HitRate),
                                  cell(h.dramBytes),
                                  cell(t.dramBytes),
                                  cell(h.warps),
                                  cell(t.warps),
                                  cell(h.atomics),
                                  cell(t.atomics)};
        for (std::size_t group = 0; group < kStallGroups; ++group)
            for (const Side* side : {&h, &t}) row.push_back(side->stalls ? Value((*side->stalls)[group]) : Value());
        row.push_back(causes(k, peaks, difference));
        r.add(std::move(row));
    }
    r.charts.push_back({Chart::Kind::scatter,
                        "Cycles of each kernel, with a band of 15 %",
                        "hardware cycles",
                        {"twin cycles"},
                        {"class"},
                        {},
                        "",
                        true,
                        true,
                        "kernel",
                        kWithin});
    answerKernels(r, c);
    return r;
}

Result briefTable(const Correlation& c, const Peaks& peaks, Order order) {
    Result r;
    r.title = "Kernels, hardware (hw) and simulated twin (sim)";
    r.columns = {{"workload", ""}, {"kernel", ""},    {"n", ""},      {"cycles hw", ""},   {"sim", ""},
                 {"sim/hw", ""},   {"instr.", "x"},   {"L1 hw", "%"}, {"sim", "%"},        {"L2 hw", "%"},
                 {"sim", "%"},     {"DRAM hw", "MB"}, {"sim", "MB"},  {"likely cause", ""}};
    const double difference = launchDifference(c.kernels);
    for (const std::size_t i : ordered(c, order)) {
        const KernelPair& k = c.kernels[i];
        const Side &h = k.hardware, &t = k.twin;
        r.add({k.workload, k.kernel, count(h.launches), cell(h.cycles), cell(t.cycles), cell(k.ratio()),
               ratioOf(h.instructions, t.instructions), cell(h.l1HitRate), cell(t.l1HitRate), cell(h.l2HitRate),
               cell(t.l2HitRate), scaled(h.dramBytes, 1e-6), scaled(t.dramBytes, 1e-6), causes(k, peaks, difference)});
    }
    return r;
}

Result summaryTable(const Correlation& c) {
    const Summary s = summaryOf(c.kernels);
    Result r;
    r.title = "Summary";
    r.columns = {{"quantity", ""}, {"value", ""}, {"unit", ""}};
    const auto add = [&](const std::string& what, Value value, const char* unit) {
        if (!std::holds_alternative<std::monostate>(value)) r.add({what, std::move(value), std::string(unit)});
    };
    const auto addErrorsOf = [&](const std::string& which, const Errors& e) {
        add("kernels" + which, count(e.kernels), "");
        add("mean absolute error of cycles" + which, cell(e.mean), "%");
        add("median absolute error of cycles" + which, cell(e.median), "%");
        add("geometric mean of twin / hardware" + which, cell(e.ratio), "");
        add("kernels within 15 %" + which, count(e.within), "");
    };
    addErrorsOf("", s.all);
    addErrorsOf(", longer than 20,000 cycles", s.ofLong);
    add("correlation of the logarithms of cycles", cell(s.logCorrelation), "");
    add("mean difference of instructions", cell(s.instructions), "%");
    add("mean difference of L1 hit rates", cell(s.l1Points), "points");
    add("mean difference of L2 hit rates", cell(s.l2Points), "points");
    add("mean difference of DRAM bytes, hardware over 1 MB", cell(s.dram), "%");
    add("kernels with over 1 MB of DRAM traffic", count(s.dramKernels), "");
    add("mean difference of warps on an SM", cell(s.warps), "");
    add("kernels that one side alone ran", count(c.unmatched.size()), "");
    r.question = "How near is the simulated twin to the hardware?";
    r.reading = "An error is how far the twin's cycles are from the hardware's, over the hardware's.";
    if (s.all.kernels > 0 && s.all.mean && s.all.median)
        r.answer =
            fmt::format("Its cycles are off by {} % on average and by {} % at the median; {} of {} are within 15 %.",
                        brief(*s.all.mean), brief(*s.all.median), s.all.within, counted(s.all.kernels, "kernel"));
    else
        r.answer = "No kernel was timed on both sides.";
    if (!c.unmatched.empty())
        r.caveats.push_back(fmt::format("{} ran on one side alone.", counted(c.unmatched.size(), "kernel")));
    return r;
}

Result suiteTable(const Correlation& c) {
    std::vector<std::string> suites;
    for (const KernelPair& k : c.kernels)
        if (std::find(suites.begin(), suites.end(), k.suite) == suites.end()) suites.push_back(k.suite);
    Result r;
    r.title = "Errors by suite";
    r.question = "Does the error depend on the suite?";
    r.columns = withErrors({{"suite", ""}});
    r.columns.push_back({"mean error of the others", "%"});
    for (const std::string& suite : suites) {
        std::vector<KernelPair> of, others;
        for (const KernelPair& k : c.kernels) (k.suite == suite ? of : others).push_back(k);
        std::vector<Value> row = {suite};
        addErrors(row, errorsOf(of));
        row.push_back(cell(errorsOf(others).mean));
        r.add(std::move(row));
    }
    answerGroups(r);
    r.charts.push_back({Chart::Kind::bar, "Mean error by suite", "suite", {"mean error"}, {}, {}, "", false, false});
    return r;
}

Result classTable(const Correlation& c, const Peaks& peaks) {
    Result r;
    r.title = "Errors by class of kernel";
    r.question = "Does the error depend on what limits a kernel?";
    r.columns = withErrors({{"class", ""}});
    for (const std::string_view name : kKernelClassNames) {
        std::vector<KernelPair> of;
        for (const KernelPair& k : c.kernels)
            if (classNameOf(k, peaks) == name) of.push_back(k);
        if (of.empty()) continue;
        std::vector<Value> row = {std::string(name)};
        addErrors(row, errorsOf(of));
        r.add(std::move(row));
    }
    answerGroups(r);
    r.charts.push_back(
        {Chart::Kind::bar, "Mean error by class of kernel", "class", {"mean error"}, {}, {}, "", false, false});
    return r;
}

Result worstTable(const Correlation& c, const Peaks& peaks, std::size_t most) {
    Result r;
    r.title = "Worst offenders";
    r.question = "Which kernels does the twin get wrong, and why?";
    r.columns = {{"workload", ""},    {"kernel", ""},          {"class", ""},  {"hardware cycles", ""},
                 {"twin cycles", ""}, {"twin / hardware", ""}, {"error", "%"}, {"likely cause", ""}};
    const double difference = launchDifference(c.kernels);
    for (const std::size_t i : ordered(c, Order::worstFirst)) {
        const KernelPair& k = c.kernels[i];
        if (r.rows.size() == most || !k.error() || *k.error() <= kWithin) break;
        r.add({k.workload, k.kernel, word(classNameOf(k, peaks)), cell(k.hardware.cycles), cell(k.twin.cycles),
               cell(k.ratio()), percentError(k), causes(k, peaks, difference)});
    }
    if (r.rows.empty()) {
        r.answer = "None is off by more than 15 %.";
    } else {
        const KernelPair& k = c.kernels[ordered(c, Order::worstFirst).front()];
        r.answer = fmt::format("{} of {} is furthest off, by {} %.", k.kernel, k.workload, brief(100 * *k.error()));
    }
    return r;
}

Result unmatchedTable(const Correlation& c) {
    Result r;
    r.title = "Kernels without a partner";
    r.question = "Which kernels ran on one side alone?";
    r.answer = c.unmatched.empty() ? "None."
                                   : fmt::format("{}: they are in no figure.", counted(c.unmatched.size(), "kernel"));
    r.columns = {{"workload", ""}, {"kernel", ""}, {"launches", ""}, {"missing", ""}};
    for (const Unmatched& one : c.unmatched)
        r.add({word(one.workload), one.kernel, count(one.launches),
               std::string(one.onHardware ? "on the twin" : "on hardware")});
    return r;
}

}  // namespace bulkhead::correlate
