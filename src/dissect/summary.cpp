#include "dissect/summary.h"

#include <fmt/format.h>

#include <optional>

namespace bulkhead::dissect {
namespace {

bool isUndecided(const Finding& f) {
    return std::holds_alternative<std::monostate>(f.value);
}

std::string valueText(const Value& value) {
    if (const auto* n = std::get_if<std::int64_t>(&value)) return std::to_string(*n);
    if (const auto* d = std::get_if<double>(&value)) return fmt::format("{:.4g}", *d);
    if (const auto* s = std::get_if<std::string>(&value)) return *s;
    if (const auto* b = std::get_if<bool>(&value)) return *b ? "yes" : "no";
    return "undecided";
}

std::string unitOf(const Finding& f) {
    return isUndecided(f) ? "" : f.unit;
}

}  // namespace

std::string valueAndUnit(const Finding& f) {
    const std::string unit = unitOf(f);
    return valueText(f.value) + (unit.empty() ? "" : " " + unit);
}

Result summaryOf(const std::string& gpu, const std::vector<Finding>& findings) {
    Result r;
    r.title = "Measurements of " + gpu;
    r.columns = {{"property", ""}, {"value", ""}, {"unit", ""}, {"confidence", ""}};
    std::size_t decided = 0;
    std::vector<std::string> undecided, shape;
    for (const Finding& f : findings) {
        r.add({f.name, valueText(f.value), unitOf(f), fmt::format("{:.3f}", f.confidence)});
        if (isUndecided(f)) {
            undecided.push_back(f.name);
            continue;
        }
        ++decided;
        if (f.name == "L2 slices" || f.name == "L2 sets" || f.name == "L2 ways" || f.name == "DRAM banks")
            shape.push_back(fmt::format("{} {}", valueText(f.value), f.name));
    }
    r.question = fmt::format("How does {} map addresses to its caches and memory?", gpu);
    r.answer = fmt::format("{} of {} properties were told by timing", decided, findings.size());
    r.answer += shape.empty() ? "." : fmt::format(": {}.", fmt::join(shape, ", "));
    r.reading = "confidence goes from 0, undecided, to 1.";
    if (!undecided.empty()) r.caveats.push_back(fmt::format("Undecided: {}.", fmt::join(undecided, ", ")));
    return r;
}

std::vector<Result> resultsOf(const MapFile& file) {
    std::vector<Result> results = {summaryOf(file.gpu, file.findings)};
    if (file.latencies)
        if (std::optional<Result> plan = latencyPlan(*file.latencies)) results.push_back(std::move(*plan));
    for (Result& r : results) r.provenance = file.provenance;
    return results;
}

}  // namespace bulkhead::dissect
