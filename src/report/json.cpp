#include "base/json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/schema.h"
#include "report/report.h"
#include "report/values.h"

namespace bulkhead::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<Chart::Kind, const char*>, 8> kKinds = {{{Chart::Kind::line, "line"},
                                                                        {Chart::Kind::bar, "bar"},
                                                                        {Chart::Kind::cdf, "cdf"},
                                                                        {Chart::Kind::histogram, "histogram"},
                                                                        {Chart::Kind::heatmap, "heatmap"},
                                                                        {Chart::Kind::scatter, "scatter"},
                                                                        {Chart::Kind::stack, "stack"},
                                                                        {Chart::Kind::floorplan, "floorplan"}}};

Json chartJson(const Chart& chart) {
    const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.first == chart.kind; });
    Json out = {{"kind", kind->second}, {"title", chart.title}, {"y", chart.y}};
    if (!chart.x.empty()) out["x"] = chart.x;
    if (!chart.series.empty()) out["series"] = chart.series;
    if (!chart.paper.empty()) out["paper"] = chart.paper;
    if (!chart.yTitle.empty()) out["y_title"] = chart.yTitle;
    if (chart.logX) out["log_x"] = true;
    if (chart.logY) out["log_y"] = true;
    if (!chart.label.empty()) out["label"] = chart.label;
    if (chart.band > 0) out["band"] = chart.band;
    for (const Chart::Mark& mark : chart.marks) out["marks"].push_back({{"name", mark.name}, {"x", mark.x}});
    return out;
}

/// Takes a result apart; every message begins with where the reader is.
class Reader {
  public:
    explicit Reader(std::string where) : where_(std::move(where)) {}

    Result result(const nlohmann::json& json) {
        if (!json.is_object() || !json.contains("columns") || !json.contains("rows"))
            throw Error("{}: not a result, which is an object with title, columns and rows", where_);
        Result r;
        r.title = text(json, "title");
        where_ += ": \"" + r.title + "\"";
        r.question = optionalText(json, "question");
        r.answer = optionalText(json, "answer");
        r.reading = optionalText(json, "reading");
        if (json.contains("caveats")) r.caveats = caveats(array(json, "caveats"));
        for (const auto& column : array(json, "columns"))
            r.columns.push_back(
                {text(column, "name"), optionalText(column, "unit"), column.value("detail", nlohmann::json()) == true});
        for (const auto& row : array(json, "rows")) r.add(cells(r, row));
        if (json.contains("provenance")) r.provenance = provenance(json["provenance"]);
        if (json.contains("charts"))
            for (const auto& c : array(json, "charts")) r.charts.push_back(chart(r, c));
        return r;
    }

  private:
    const nlohmann::json& array(const nlohmann::json& json, const char* key) const {
        if (!json[key].is_array()) throw Error("{}: {} is not an array", where_, key);
        return json[key];
    }

    std::string text(const nlohmann::json& json, const char* key) const {
        if (!json.is_object() || !json.contains(key) || !json[key].is_string())
            throw Error("{}: {} is missing or not a string", where_, key);
        return json[key];
    }

    std::string optionalText(const nlohmann::json& json, const char* key) const {
        return json.contains(key) ? text(json, key) : std::string();
    }

    std::vector<std::string> caveats(const nlohmann::json& list) const {
        std::vector<std::string> all;
        for (const auto& caveat : list) {
            if (!caveat.is_string()) throw Error("{}: a caveat is not a string", where_);
            all.push_back(caveat);
        }
        return all;
    }

    std::vector<Value> cells(const Result& r, const nlohmann::json& row) const {
        if (!row.is_object()) throw Error("{}: a row is not an object", where_);
        std::vector<Value> values;
        for (const auto& column : r.columns)
            values.push_back(row.contains(column.name) ? value(row[column.name]) : Value());
        return values;
    }

    Value value(const nlohmann::json& json) const {
        if (json.is_null()) return {};
        if (json.is_boolean()) return json.get<bool>();
        const bool large = json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX;
        if (json.is_number_integer() && !large) return json.get<std::int64_t>();
        if (json.is_number()) return json.get<double>();
        if (json.is_string()) return json.get<std::string>();
        throw Error("{}: a cell is an array or an object", where_);
    }

    Result::Provenance provenance(const nlohmann::json& json) const {
        Result::Provenance p{text(json, "command"), text(json, "gpu"), std::nullopt, text(json, "version"),
                             text(json, "date")};
        if (json.contains("seed") && json["seed"].is_number_integer()) p.seed = json["seed"].get<std::int64_t>();
        return p;
    }

    Chart chart(const Result& r, const nlohmann::json& json) const {
        Chart c;
        const std::string kind = text(json, "kind");
        const auto known = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return k.second == kind; });
        if (known == kKinds.end()) throw Error("{}: unknown kind of chart {}", where_, kind);
        c.kind = known->first;
        c.title = text(json, "title");
        if (json.contains("x")) c.x = column(r, json["x"]);
        c.y = columns(r, json, "y");
        c.series = columns(r, json, "series");
        c.paper = columns(r, json, "paper");
        if (json.contains("y_title")) c.yTitle = text(json, "y_title");
        c.logX = json.value("log_x", nlohmann::json()) == true;
        c.logY = json.value("log_y", nlohmann::json()) == true;
        if (json.contains("label")) c.label = column(r, json["label"]);
        if (json.contains("band")) c.band = band(json["band"]);
        if (json.contains("marks"))
            for (const auto& mark : array(json, "marks")) c.marks.push_back(this->mark(mark));
        return c;
    }

    Chart::Mark mark(const nlohmann::json& json) const {
        Chart::Mark m{text(json, "name"), 0};
        if (!json.contains("x")) throw Error("{}: mark \"{}\" has no x", where_, m.name);
        m.x = jsonAs<double>(json["x"], where_ + ": x of mark \"" + m.name + "\"");
        return m;
    }

    double band(const nlohmann::json& json) const {
        const auto share = jsonAs<double>(json, where_ + ": band");
        if (!(share >= 0 && share < 1)) throw Error("{}: band must be a share from 0 to 1", where_);
        return share;
    }

    std::vector<std::string> columns(const Result& r, const nlohmann::json& json, const char* key) const {
        std::vector<std::string> names;
        if (json.contains(key))
            for (const auto& name : array(json, key)) names.push_back(column(r, name));
        return names;
    }

    std::string column(const Result& r, const nlohmann::json& name) const {
        const auto named = [&](const Result::Column& c) {
            return name.is_string() && c.name == name.get_ref<const std::string&>();
        };
        if (std::none_of(r.columns.begin(), r.columns.end(), named))
            throw Error("{}: a chart uses column {}, which does not exist", where_, jsonQuoted(name));
        return name;
    }

    std::string where_;
};

}  // namespace

nlohmann::ordered_json fileJson(const Result& result) {
    nlohmann::ordered_json file = schemas::kResult.begin();
    file.update(json(result));
    return file;
}

nlohmann::ordered_json fileJson(std::span<const Result> results) {
    nlohmann::ordered_json file = schemas::kResult.begin();
    file["results"] = Json::array();
    for (const Result& result : results) file["results"].push_back(json(result));
    return file;
}

nlohmann::ordered_json json(const Result& result) {
    const auto& p = result.provenance;
    Json out = {{"title", result.title}};
    if (!result.question.empty()) out["question"] = result.question;
    if (!result.answer.empty()) out["answer"] = result.answer;
    if (!result.reading.empty()) out["reading"] = result.reading;
    if (!result.caveats.empty()) out["caveats"] = result.caveats;
    out["provenance"] = {{"command", p.command},
                         {"gpu", p.gpu},
                         {"seed", p.seed ? Json(*p.seed) : Json(nullptr)},
                         {"version", p.version},
                         {"date", p.date}};
    out["columns"] = Json::array();
    out["rows"] = Json::array();
    for (const auto& column : result.columns) {
        out["columns"].push_back({{"name", column.name}, {"unit", column.unit}});
        if (column.detail) out["columns"].back()["detail"] = true;
    }
    for (const auto& row : result.rows) {
        Json object = Json::object();
        for (std::size_t c = 0; c < result.columns.size(); ++c)
            object[result.columns[c].name] = std::visit(
                Overloaded{[](std::monostate) { return Json(nullptr); }, [](const auto& v) { return Json(v); }},
                row[c]);
        out["rows"].push_back(std::move(object));
    }
    for (const Chart& chart : result.charts) out["charts"].push_back(chartJson(chart));
    return out;
}

Result fromJson(const nlohmann::json& json, const std::string& where) {
    return Reader(where).result(json);
}

std::vector<Result> resultsIn(const nlohmann::json& json, const std::string& where) {
    const nlohmann::json* list = json.is_array() ? &json : nullptr;
    if (json.is_object()) {
        JsonObject file(json, where);
        // What dissect writes by --json is a map with figures.
        const nlohmann::json* figures = file.find("figures");
        (figures ? schemas::kMap : schemas::kResult).expectIn(file);
        const nlohmann::json* results = figures ? figures : file.find("results");
        if (results && results->is_array()) list = results;
    }
    if (!list) return {fromJson(json, where)};
    std::vector<Result> results;
    for (const auto& one : *list) results.push_back(fromJson(one, where));
    return results;
}

}  // namespace bulkhead::report
