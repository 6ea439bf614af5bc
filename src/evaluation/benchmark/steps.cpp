#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "evaluation/benchmark/benchmark.h"
#include "gpu/known_profile.h"

namespace bulkhead::evaluation::benchmark {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// A number or a word.
ordered_json toJson(const Finding& finding) {
    ordered_json j = {
        {"measure", finding.measure}, {"what", finding.what}, {"unit", finding.unit}, {"detail", finding.detail}};
    if (const auto* number = std::get_if<double>(&finding.value)) j["number"] = *number;
    if (const auto* text = std::get_if<std::string>(&finding.value)) j["text"] = *text;
    return j;
}

Finding findingFromJson(const json& j, const std::string& where) {
    JsonObject o(j, where);
    Finding finding{o.get<std::size_t>("measure"),
                    o.get<std::string>("what"),
                    o.get<std::string>("unit"),
                    {},
                    o.get<bool>("detail")};
    if (o.find("number")) finding.value = o.get<double>("number");
    if (o.find("text")) finding.value = o.get<std::string>("text");
    return finding;
}

}  // namespace

std::string nameOf(const StepSpec& step) {
    return fmt::format("benchmark-{}-{}", step.way, step.measure);
}

ordered_json StepSpec::toJson() const {
    ordered_json j = {{"way", way},
                      {"measure", measure},
                      {"gpu", common.gpu},
                      {"settings", common.settings},
                      {"partitions", common.partitions},
                      {"victims", common.victims},
                      {"neighbours", common.neighbours},
                      {"seconds", common.seconds},
                      {"seed", common.seed}};
    if (!common.map.empty()) j["map"] = readJson(common.map);
    if (const auto profile = gpu::knownProfile(common.gpu, common.settings)) j["profile"] = profile->toJson();
    return j;
}

ordered_json StepFindings::toJson() const {
    ordered_json all = ordered_json::array();
    for (const Finding& finding : findings) all.push_back(benchmark::toJson(finding));
    std::vector<std::string> victims;
    std::vector<double> seconds;
    for (const auto& [victim, taken] : whole.seconds) {
        victims.push_back(victim);
        seconds.push_back(taken);
    }
    return {{"findings", all}, {"victims", victims}, {"seconds", seconds}, {"memory", whole.memory}};
}

StepFindings StepFindings::fromJson(const json& j, const std::string& where) {
    JsonObject o(j, where);
    StepFindings found;
    for (const json& finding : o.at("findings")) found.findings.push_back(findingFromJson(finding, where));
    const auto victims = o.get<std::vector<std::string>>("victims");
    const auto seconds = o.get<std::vector<double>>("seconds");
    if (victims.size() != seconds.size()) throw Error("{}: there are not as many times as victims", where);
    for (std::size_t i = 0; i < victims.size(); ++i) found.whole.seconds[victims[i]] = seconds[i];
    found.whole.memory = o.get<Bytes>("memory");
    return found;
}

}  // namespace bulkhead::evaluation::benchmark
