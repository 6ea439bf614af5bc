#include "stress/protocol.h"

#include <nlohmann/json.hpp>

namespace bulkhead::stress {
namespace {

using nlohmann::json;

/// Names of what processes tell each other; for reading and for writing.
template <class Visit>
void visitFields(auto& run, Visit visit) requires requires {
    run.seconds;
}
{
    visit("seconds", run.seconds);
    visit("cycles", run.cycles);
    visit("start_ns", run.startNs);
    visit("end_ns", run.endNs);
    visit("sms", run.multiprocessors);
    visit("away_cycles", run.awayCycles);
}

template <class Visit>
void visitFields(auto& report, Visit visit) requires requires {
    report.accesses;
}
{
    visit("sms", report.multiprocessors);
    visit("start_ns", report.startNs);
    visit("end_ns", report.endNs);
    visit("accesses", report.accesses);
    visit("bytes", report.bytes);
}

json written(const auto& what) {
    json j;
    visitFields(what, [&](const char* name, const auto& value) { j[name] = value; });
    return j;
}

template <class What>
What read(const json& j) {
    What what;
    visitFields(what, [&](const char* name, auto& value) { j.at(name).get_to(value); });
    return what;
}

}  // namespace

json toJson(const VictimRun& run) {
    json j = written(run);
    sim::Counters counters = run.counters;
    counters.each([&](std::string_view name, std::uint64_t value) { j["counters"][std::string(name)] = value; });
    return j;
}

VictimRun runFromJson(const json& j) {
    VictimRun run = read<VictimRun>(j);
    run.counters.each([&](std::string_view name, std::uint64_t& value) {
        value = j.at("counters").at(std::string(name)).get<std::uint64_t>();
    });
    return run;
}

json toJson(const AggressorReport& report) {
    return written(report);
}

AggressorReport reportFromJson(const json& j) {
    return read<AggressorReport>(j);
}

}  // namespace bulkhead::stress
