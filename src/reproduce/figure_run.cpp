#include "reproduce/figure_run.h"

#include "base/error.h"
#include "base/json.h"
#include "gpu/known_profile.h"
#include "report/report.h"

namespace bulkhead::reproduce {

nlohmann::ordered_json describe(const FigureSpec& spec) {
    const InterferenceOptions& o = spec.options;
    return {{"name", spec.figure}, {"gpu", o.gpu},         {"settings", o.settings},
            {"seed", o.seed},      {"samples", o.samples}, {"accesses", o.accesses}};
}

nlohmann::ordered_json FigureSpec::toJson() const {
    nlohmann::ordered_json json = describe(*this);
    if (const auto profile = gpu::knownProfile(options.gpu, options.settings)) json["profile"] = profile->toJson();
    return json;
}

FigureSpec FigureSpec::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    FigureSpec spec;
    spec.figure = o.get<std::string>("name");
    spec.options.gpu = o.get<std::string>("gpu");
    spec.options.settings = o.get<std::vector<std::string>>("settings");
    spec.options.seed = o.get<std::uint64_t>("seed");
    spec.options.samples = o.get<unsigned>("samples");
    spec.options.accesses = o.get<std::uint64_t>("accesses");
    o.finish();
    return spec;
}

std::string nameOf(const FigureSpec&) {
    return "figure";
}

std::string labelOf(const FigureSpec& spec) {
    return spec.figure;
}

nlohmann::ordered_json FigureMeasurement::toJson() const {
    nlohmann::ordered_json json = {{"results", nlohmann::ordered_json::array()}};
    for (const Result& result : results) json["results"].push_back(report::json(result));
    return json;
}

FigureMeasurement FigureMeasurement::fromJson(const nlohmann::json& json, const std::string& where) {
    return {report::resultsIn(json, where)};
}

FigureMeasurement execute(const FigureSpec& spec) {
    for (const InterferenceFigure& figure : interferenceFigures())
        if (figure.name == spec.figure) return {figure.make(spec.options)};
    throw Error("unknown figure {}", spec.figure);
}

}  // namespace bulkhead::reproduce
