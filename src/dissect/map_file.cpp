#include "dissect/map_file.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/schema.h"

namespace bulkhead::dissect {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json valueJson(const Value& value) {
    return std::visit(
        [](const auto& v) -> ordered_json {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
                return nullptr;
            else
                return v;
        },
        value);
}

}  // namespace

ordered_json formJson(const ResidueHash& form) {
    ordered_json j = {{"modulus", form.modulus}, {"groups", form.groups}};
    j["parities"] = ordered_json::array();
    for (const WeightedParity& p : form.parities) j["parities"].push_back({{"mask", p.mask}, {"weight", p.weight}});
    if (!form.table.empty()) j["table"] = form.table;
    j["agreement"] = form.agreement;
    return j;
}

ResidueHash formFromJson(const json& j, const std::string& where) {
    JsonObject o(j, where);
    ResidueHash form;
    form.modulus = o.get<std::uint32_t>("modulus");
    if (form.modulus == 0) throw Error("{}: modulus is 0", where);
    form.groups = o.get<std::vector<Mask>>("groups");
    const json& parities = o.at("parities");
    if (!parities.is_array()) throw Error("{}: parities must be a list", where);
    if (form.groups.size() > 16 || parities.size() > 63) throw Error("{}: too many parities", where);
    for (const json& p : parities) {
        JsonObject parity(p, where + ": parities");
        form.parities.push_back({parity.get<Mask>("mask"), parity.get<std::uint32_t>("weight")});
    }
    form.agreement = o.get<double>("agreement");
    o.read("table", form.table);
    if (!form.table.empty() && form.table.size() != std::size_t{1} << form.parities.size())
        throw Error("{}: a table of {} entries for {} parities", where, form.table.size(), form.parities.size());
    for (Mask m : form.groups) form.window |= m;
    for (const WeightedParity& p : form.parities) form.window |= p.mask;
    return form;
}

namespace {

SliceLatencies readLatencies(const json& j, const std::string& where) {
    JsonObject o(j, where);
    SliceLatencies latencies{o.get<std::vector<unsigned>>("sms"), o.get<std::vector<Times>>("cycles")};
    if (latencies.sms.size() != latencies.cycles.size())
        throw Error("{}: has latencies of {} SMs, not of {}", where, latencies.cycles.size(), latencies.sms.size());
    for (const Times& row : latencies.cycles)
        if (row.size() != latencies.slices() || row.empty())
            throw Error("{}: latencies of SMs have different numbers of slices", where);
    return latencies;
}

Value valueFrom(const json& j, const std::string& where) {
    if (j.is_null()) return {};
    if (j.is_boolean()) return j.get<bool>();
    if (j.is_number_integer()) return jsonAs<std::int64_t>(j, where);
    if (j.is_number()) return j.get<double>();
    if (j.is_string()) return j.get<std::string>();
    throw Error("{}: a value must be a number, text, true, false or null", where);
}

std::vector<Finding> readFindings(const json& list, const std::string& where) {
    if (!list.is_array()) throw Error("{}: must be a list", where);
    std::vector<Finding> findings;
    for (const json& one : list) {
        JsonObject o(one, where);
        Finding f;
        f.name = o.get<std::string>("name");
        if (const json* value = o.find("value")) f.value = valueFrom(*value, where);
        o.read("unit", f.unit);
        o.read("confidence", f.confidence);
        o.read("evidence", f.evidence);
        findings.push_back(std::move(f));
    }
    return findings;
}

Result::Provenance readProvenance(const json& j, const std::string& where) {
    JsonObject o(j, where);
    Result::Provenance p;
    o.read("command", p.command);
    o.read("gpu", p.gpu);
    std::int64_t seed = 0;
    o.read("seed", seed);
    p.seed = seed;
    o.read("version", p.version);
    o.read("date", p.date);
    return p;
}

}  // namespace

ordered_json toJson(const MapFile& file) {
    ordered_json j = schemas::kMap.begin();
    j["gpu"] = file.gpu;
    j["addresses"] = file.physical ? "physical" : "page labels";
    j["confidence"] = file.confidence;
    j["map"] = file.map.toJson();
    if (!file.uuid.empty()) j["uuid"] = file.uuid;
    if (file.form) j["form"] = formJson(*file.form);
    if (file.latencies) j["latencies"] = {{"sms", file.latencies->sms}, {"cycles", file.latencies->cycles}};
    j["findings"] = ordered_json::array();
    for (const Finding& f : file.findings)
        j["findings"].push_back({{"name", f.name},
                                 {"value", valueJson(f.value)},
                                 {"unit", f.unit},
                                 {"confidence", f.confidence},
                                 {"evidence", f.evidence}});
    j["provenance"] = {{"command", file.provenance.command},
                       {"gpu", file.provenance.gpu},
                       {"seed", file.provenance.seed.value_or(0)},
                       {"version", file.provenance.version},
                       {"date", file.provenance.date}};
    return j;
}

MapFile mapFileFromJson(const json& j, const std::string& where) {
    JsonObject o(j, where);
    schemas::kMap.expectIn(o);
    MapFile file;
    const json& map = o.at("map");
    try {
        file.map = arch::AddressMap::fromJson(map);
    } catch (const Error& e) {
        throw Error("{}: {}", where, e.what());
    }
    file.gpu = o.get<std::string>("gpu");
    o.read("uuid", file.uuid);
    const auto addresses = o.get<std::string>("addresses");
    file.physical = addresses == "physical";
    if (!file.physical && addresses != "page labels")
        throw Error("{}: addresses are {}, but must be physical or page labels", where, addresses);
    file.confidence = o.get<double>("confidence");
    if (const json* form = o.find("form")) file.form = formFromJson(*form, where + ": form");
    if (const json* latencies = o.find("latencies")) file.latencies = readLatencies(*latencies, where + ": latencies");
    if (const json* findings = o.find("findings")) file.findings = readFindings(*findings, where + ": findings");
    if (const json* from = o.find("provenance")) file.provenance = readProvenance(*from, where + ": provenance");
    if (file.form && file.map.slices() != file.form->slices())
        throw Error("{}: the map has {} slices, its form {}", where, file.map.slices(), file.form->slices());
    if (file.latencies && file.map.slices() != file.latencies->slices())
        throw Error("{}: the map has {} slices, its latencies {}", where, file.map.slices(), file.latencies->slices());
    return file;
}

MapFile readMapFile(const std::string& path) {
    return mapFileFromJson(readJson(path), path);
}

}  // namespace bulkhead::dissect
