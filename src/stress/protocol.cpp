#include "stress/protocol.h"

#include <nlohmann/json.hpp>

namespace bulkhead::stress {

using nlohmann::json;

json toJson(const VictimRun& run) {
    return {{"seconds", run.seconds},
            {"cycles", run.cycles},
            {"start_ns", run.startNs},
            {"end_ns", run.endNs},
            {"sms", run.multiprocessors}};
}

VictimRun runFromJson(const json& j) {
    VictimRun run;
    j.at("seconds").get_to(run.seconds);
    j.at("cycles").get_to(run.cycles);
    j.at("start_ns").get_to(run.startNs);
    j.at("end_ns").get_to(run.endNs);
    j.at("sms").get_to(run.multiprocessors);
    return run;
}

json toJson(const AggressorReport& report) {
    return {{"sms", report.multiprocessors},
            {"start_ns", report.startNs},
            {"end_ns", report.endNs},
            {"accesses", report.accesses},
            {"bytes", report.bytes}};
}

AggressorReport reportFromJson(const json& j) {
    AggressorReport report;
    j.at("sms").get_to(report.multiprocessors);
    j.at("start_ns").get_to(report.startNs);
    j.at("end_ns").get_to(report.endNs);
    j.at("accesses").get_to(report.accesses);
    j.at("bytes").get_to(report.bytes);
    return report;
}

}  // namespace bulkhead::stress
