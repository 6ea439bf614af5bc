#include "corun/protocol.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace bulkhead::corun {
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
    visit("sms", run.sms);
}

template <class Visit>
void visitFields(auto& report, Visit visit) requires requires {
    report.accesses;
}
{
    visit("sms", report.sms);
    visit("start_ns", report.startNs);
    visit("end_ns", report.endNs);
    visit("accesses", report.accesses);
    visit("bytes", report.bytes);
    visit("host_s", report.hostSeconds);
}

json written(const auto& what) {
    json j;
    visitFields(what, [&](const char* name, const auto& value) { j[name] = value; });
    return j;
}

template <class What>
What readFields(JsonObject& o) {
    What what;
    visitFields(what, [&](const char* name, auto& value) { value = o.get<std::decay_t<decltype(value)>>(name); });
    return what;
}

}  // namespace

json toJson(const ActorRun& run) {
    json j = written(run);
    sim::Counters counters = run.counters;
    counters.each([&](std::string_view name, std::uint64_t value) { j["counters"][std::string(name)] = value; });
    return j;
}

ActorRun runFromJson(const json& j, const std::string& where) {
    JsonObject o(j, where);
    auto run = readFields<ActorRun>(o);
    JsonObject counters(o.at("counters"), where + ": counters");
    run.counters.each(
        [&](std::string_view name, std::uint64_t& value) { value = counters.get<std::uint64_t>(std::string(name)); });
    return run;
}

json toJson(const ActorReport& report) {
    return written(report);
}

ActorReport reportFromJson(const json& j, const std::string& where) {
    JsonObject o(j, where);
    return readFields<ActorReport>(o);
}

}  // namespace bulkhead::corun
