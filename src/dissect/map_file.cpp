#include "dissect/map_file.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace bulkhead::dissect {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kKind = "bulkhead address map";

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

ordered_json formJson(const ResidueHash& form) {
    ordered_json j = {{"modulus", form.modulus}, {"groups", form.groups}};
    j["parities"] = ordered_json::array();
    for (const WeightedParity& p : form.parities) j["parities"].push_back({{"mask", p.mask}, {"weight", p.weight}});
    if (!form.table.empty()) j["table"] = form.table;
    j["agreement"] = form.agreement;
    return j;
}

ResidueHash readForm(const json& j) {
    ResidueHash form;
    form.modulus = j.at("modulus").get<std::uint32_t>();
    if (form.modulus == 0) throw Error("modulus is 0");
    form.groups = j.at("groups").get<std::vector<Mask>>();
    for (const json& p : j.at("parities"))
        form.parities.push_back({p.at("mask").get<Mask>(), p.at("weight").get<std::uint32_t>()});
    if (form.groups.size() > 16 || form.parities.size() > 63) throw Error("too many parities");
    form.agreement = j.at("agreement").get<double>();
    if (j.contains("table")) form.table = j.at("table").get<std::vector<std::uint32_t>>();
    if (!form.table.empty() && form.table.size() != std::size_t{1} << form.parities.size())
        throw Error("a table of {} entries for {} parities", form.table.size(), form.parities.size());
    for (Mask m : form.groups) form.window |= m;
    for (const WeightedParity& p : form.parities) form.window |= p.mask;
    return form;
}

SliceLatencies readLatencies(const json& j) {
    SliceLatencies latencies{j.at("multiprocessors").get<std::vector<unsigned>>(),
                             j.at("cycles").get<std::vector<Times>>()};
    if (latencies.multiprocessors.size() != latencies.cycles.size())
        throw Error("latencies of {} multiprocessors, not {}", latencies.cycles.size(),
                    latencies.multiprocessors.size());
    for (const Times& row : latencies.cycles)
        if (row.size() != latencies.slices() || row.empty()) throw Error("latencies of unlike numbers of slices");
    return latencies;
}

}  // namespace

ordered_json toJson(const MapFile& file) {
    ordered_json j = {{"kind", kKind},
                      {"gpu", file.gpu},
                      {"addresses", file.physical ? "physical" : "page labels"},
                      {"confidence", file.confidence},
                      {"map", file.map.toJson()}};
    if (!file.uuid.empty()) j["uuid"] = file.uuid;
    if (file.form) j["form"] = formJson(*file.form);
    if (file.latencies)
        j["latencies"] = {{"multiprocessors", file.latencies->multiprocessors}, {"cycles", file.latencies->cycles}};
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

MapFile readMapFile(const std::string& path) {
    const json j = parseJson(readFile(path), path);
    if (!j.is_object() || j.value("kind", json()) != kKind)
        throw Error("{}: not a map that bulkhead dissect wrote", path);
    MapFile file;
    try {
        file.map = arch::AddressMap::fromJson(j.at("map"));
        file.gpu = j.at("gpu").get<std::string>();
        if (j.contains("uuid")) file.uuid = j.at("uuid").get<std::string>();
        const auto addresses = j.at("addresses").get<std::string>();
        file.physical = addresses == "physical";
        if (!file.physical && addresses != "page labels")
            throw Error("addresses are {}, but must be physical or page labels", addresses);
        file.confidence = j.at("confidence").get<double>();
        if (j.contains("form")) file.form = readForm(j.at("form"));
        if (j.contains("latencies")) file.latencies = readLatencies(j.at("latencies"));
    } catch (const json::exception& e) {
        // Without the number that the library begins with.
        const std::string_view what = e.what();
        throw Error("{}: {}", path, what.substr(what.find("] ") + 2));
    } catch (const Error& e) {
        throw Error("{}: {}", path, e.what());
    }
    if (file.form && file.map.slices() != file.form->slices())
        throw Error("{}: the map has {} slices, its form {}", path, file.map.slices(), file.form->slices());
    if (file.latencies && file.map.slices() != file.latencies->slices())
        throw Error("{}: the map has {} slices, its latencies {}", path, file.map.slices(), file.latencies->slices());
    return file;
}

}  // namespace bulkhead::dissect
