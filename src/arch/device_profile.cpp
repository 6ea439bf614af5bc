#include "arch/device_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "arch/parameter_table.h"
#include "arch/profile_checks.h"
#include "base/error.h"
#include "base/schema.h"
#include "base/suggest.h"

namespace bulkhead::arch {

namespace {

using nlohmann::json;

std::vector<std::string> allKeys() {
    std::vector<std::string> keys;
    for (const Descriptor& d : parameterTable()) keys.push_back(d.key);
    return keys;
}

bool hasSource(std::string_view from) {
    for (std::string_view kind : {"published: ", "measured: ", "assumed: "})
        if (from.starts_with(kind) && from.size() > kind.size()) return true;
    return false;
}

std::string readSource(const json& parameter, const std::string& key, const std::string& where) {
    const auto from = parameter.find("from");
    if (from == parameter.end() || !from->is_string() || !hasSource(from->get_ref<const std::string&>()))
        throw Error(
            "{}: {}: \"from\" must say where the parameter comes from: \"published: ...\", \"measured: ...\" or "
            "\"assumed: ...\"",
            where, key);
    return from->get<std::string>();
}

/// {"value": ..., "from": ...}: the form of every parameter.
const json& readParameter(const json& parameter, const std::string& key, const std::string& where) {
    if (!parameter.is_object() || !parameter.contains("value"))
        throw Error("{}: {}: must be {{\"value\": ..., \"from\": ...}}", where, key);
    for (const auto& [name, unused] : parameter.items())
        if (name != "value" && name != "from")
            throw Error("{}: unknown key {}.{} (a parameter has value and from)", where, key, name);
    return parameter["value"];
}

/// Walks the nested objects of a profile down to the parameters.
void readGroup(const json& group, const std::string& prefix, DeviceProfile& p, const std::string& where) {
    for (const auto& [name, value] : group.items()) {
        const std::string key = prefix.empty() ? name : prefix + "." + name;
        if (const Descriptor* d = findParameter(key)) {
            const json& parameter = readParameter(value, key, where);
            if (!assign(*d, p, parameter))
                throw Error("{}: {} = {}: must be {}", where, key, jsonQuoted(parameter), wanted(*d));
            p.provenance[key] = readSource(value, key, where);
            continue;
        }
        const auto& all = parameterTable();
        const bool isGroup =
            std::any_of(all.begin(), all.end(), [&](const Descriptor& d) { return d.key.starts_with(key + "."); });
        if (!isGroup) throw Error("{}: unknown key {}{}", where, key, didYouMean(key, allKeys()));
        if (!value.is_object()) throw Error("{}: {}: must be an object of parameters", where, key);
        readGroup(value, key, p, where);
    }
}

std::string readName(const json& value, const char* key, const std::string& where) {
    if (!value.contains(key)) throw Error("{}: {} is missing", where, key);
    if (!value[key].is_string() || value[key].get_ref<const std::string&>().empty())
        throw Error("{}: {}: must be text", where, key);
    return value[key].get<std::string>();
}
}  // namespace

DeviceProfile DeviceProfile::fromJson(const json& value, const std::string& where) {
    if (!value.is_object()) throw Error("{}: a profile must be a JSON object", where);
    JsonObject file(value, where);
    schemas::kProfile.expectIn(file);
    DeviceProfile p;
    p.name = readName(value, "name", where);
    p.description = readName(value, "description", where);
    json groups = value;
    groups.erase("schema");
    groups.erase("name");
    groups.erase("description");
    groups.erase("map");
    readGroup(groups, "", p, where);
    for (const Descriptor& d : parameterTable()) {
        if (p.provenance.contains(d.key)) continue;
        if (d.source.empty()) throw Error("{}: {} is missing: {}, {}", where, d.key, d.meaning, wanted(d));
        p.provenance[d.key] = d.source;
    }
    if (!value.contains("map")) throw Error("{}: map is missing: the address map", where);
    const json& map = readParameter(value["map"], "map", where);
    p.provenance["map"] = readSource(value["map"], "map", where);
    try {
        p.map = AddressMap::fromJson(map);
        p.validate();
    } catch (const Error& e) {
        throw Error("{}: {}", where, e.what());
    }
    return p;
}

DeviceProfile DeviceProfile::load(const std::filesystem::path& path) {
    return fromJson(readJson(path), path.string());
}

json DeviceProfile::toJson() const {
    const auto source = [&](const std::string& key) {
        const auto it = provenance.find(key);
        return it == provenance.end() ? std::string("assumed: not said") : it->second;
    };
    json value = {{"schema", schemas::kProfile.text()}, {"name", name}, {"description", description}};
    for (const Descriptor& d : parameterTable()) {
        if (!d.source.empty() && source(d.key) == d.source) continue;  // holds without being said
        std::string path = "/" + d.key;
        std::replace(path.begin(), path.end(), '.', '/');
        value[json::json_pointer(path)] = {{"value", asJson(d, *this)}, {"from", source(d.key)}};
    }
    value["map"] = {{"value", map.toJson()}, {"from", source("map")}};
    return value;
}

void DeviceProfile::set(std::string_view key, std::string_view text) {
    const Descriptor* d = findParameter(key);
    if (d == nullptr) throw Error("unknown key {}{}", key, didYouMean(key, allKeys()));
    if (!assign(*d, *this, parseValue(*d, text))) throw Error("{} = {}: must be {}", key, text, wanted(*d));
    provenance[d->key] = "assumed: set by the user";
}

void DeviceProfile::validate() const {
    check(*this);
}

double DeviceProfile::dramGBps() const {
    return static_cast<double>(map.channels()) * static_cast<double>(dram.burstBytes) / static_cast<double>(dram.tCCD) *
           static_cast<double>(clock.memoryMHz) / 1000.0;
}

std::string_view sourceKind(std::string_view from) {
    return from.substr(0, from.find(':'));
}

std::vector<Parameter> parameters(const DeviceProfile& p) {
    std::vector<Parameter> all;
    for (const Descriptor& d : parameterTable()) {
        const auto from = p.provenance.find(d.key);
        all.push_back({d.key, d.unit, d.meaning, asText(d, p), from == p.provenance.end() ? "" : from->second});
    }
    return all;
}

bool DeviceProfile::hasGpcs() const {
    return !cluster.gpcs.empty() && (static_cast<std::size_t>(sm.count) + kTpcSms - 1) / kTpcSms == cluster.gpcs.size();
}

std::vector<std::uint32_t> DeviceProfile::gpcsOfSms() const {
    std::vector<std::uint32_t> gpcs(static_cast<std::size_t>(sm.count));
    if (!cluster.sms) return gpcs;
    for (std::size_t i = 0; i < gpcs.size(); ++i)
        gpcs[i] = static_cast<std::uint32_t>(hasGpcs() ? cluster.gpcs[i / kTpcSms]
                                                       : static_cast<std::int64_t>(i) / cluster.sms);
    return gpcs;
}

std::vector<std::vector<std::uint32_t>> DeviceProfile::clusterNeighbours() const {
    std::vector<std::vector<std::uint32_t>> all;
    if (!cluster.sms) return all;
    const std::vector<std::uint32_t> gpcs = gpcsOfSms();
    all.resize(*std::max_element(gpcs.begin(), gpcs.end()) + 1);
    for (std::size_t i = 0; i < gpcs.size(); ++i) all[gpcs[i]].push_back(static_cast<std::uint32_t>(i));
    return all;
}

std::vector<DeviceProfile::Region> DeviceProfile::regionsOfSms() const {
    std::vector<Region> regions(static_cast<std::size_t>(sm.count));
    const std::vector<std::uint32_t> gpcs = gpcsOfSms();
    const auto sides = static_cast<std::size_t>(l2.sides), count = regions.size(), ofSide = count / sides;
    for (std::size_t i = 0; i < count; ++i) {
        if (l2.gpcSides.empty() || !hasGpcs())
            regions[i] = {static_cast<std::uint32_t>(i / ofSide),
                          static_cast<std::uint32_t>(i % ofSide / kTpcSms * 2 * kTpcSms / ofSide)};
        else
            regions[i] = {static_cast<std::uint32_t>(l2.gpcSides[gpcs[i]]),
                          l2.gpcHalves.empty() ? 0 : static_cast<std::uint32_t>(l2.gpcHalves[gpcs[i]])};
    }
    return regions;
}

DeviceProfile::Region DeviceProfile::regionOfSlice(std::uint32_t slice) const {
    const auto sides = static_cast<std::uint32_t>(l2.sides), ofSide = map.slices() / sides;
    return {slice / ofSide, slice % ofSide * 2 / ofSide};
}

void applySettings(DeviceProfile& p, const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos || equals == 0)
            throw Error("--set {}: must be KEY=VALUE, as in l1.ways=8", setting);
        p.set(std::string_view(setting).substr(0, equals), std::string_view(setting).substr(equals + 1));
    }
    if (!settings.empty()) p.validate();
}

}  // namespace bulkhead::arch
