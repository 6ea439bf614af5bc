#include "arch/profile_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "arch/parameter_table.h"
#include "base/schema.h"

namespace bulkhead::arch {

namespace {

nlohmann::ordered_json valueSchema(const Descriptor& d) {
    using nlohmann::ordered_json;
    const ordered_json integer = {{"type", "integer"}, {"minimum", d.least}, {"maximum", d.most}};
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return integer;
        case Descriptor::Kind::decimal:
            return {{"type", "number"}, {"minimum", inUnits(d.least)}, {"maximum", inUnits(d.most)}};
        case Descriptor::Kind::flag:
            return {{"type", "boolean"}};
        case Descriptor::Kind::choice:
            return {{"enum", d.choices}};
        case Descriptor::Kind::list:
            return {{"type", "array"}, {"items", integer}};
    }
    return {};
}

nlohmann::ordered_json parameterSchema(nlohmann::ordered_json value) {
    return {{"type", "object"},
            {"required", {"value", "from"}},
            {"additionalProperties", false},
            {"properties", {{"value", std::move(value)}, {"from", {{"$ref", "#/$defs/source"}}}}}};
}

/// Makes the objects on the way to a key, each demanding the next where the key is demanded.
void addParameter(nlohmann::ordered_json& object, std::string_view key, const Descriptor& d) {
    const std::size_t dot = key.find('.');
    const std::string name(key.substr(0, dot));
    auto& required = object["required"];
    if (d.source.empty() && std::find(required.begin(), required.end(), name) == required.end())
        required.push_back(name);
    auto& member = object["properties"][name];
    if (dot == std::string_view::npos) {
        member = parameterSchema(valueSchema(d));
        member["description"] = d.unit.empty() ? d.meaning : fmt::format("{} ({})", d.meaning, d.unit);
        return;
    }
    if (member.is_null())
        member = {{"type", "object"},
                  {"required", nlohmann::ordered_json::array()},
                  {"additionalProperties", false},
                  {"properties", nlohmann::ordered_json::object()}};
    addParameter(member, key.substr(dot + 1), d);
}

}  // namespace

nlohmann::ordered_json profileSchema() {
    nlohmann::ordered_json schema = {
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"$id", "profile.schema.json"},
        {"title", "A GPU: every parameter that the simulator uses, and where it comes from"},
        {"type", "object"},
        {"required", {"name", "description", "map"}},
        {"additionalProperties", false},
        {"properties",
         {{"schema", {{"const", schemas::kProfile.text()}}},
          {"name", {{"type", "string"}, {"minLength", 1}}},
          {"description", {{"type", "string"}, {"minLength", 1}}},
          {"map", parameterSchema({{"$ref", "address_map.schema.json"}})}}},
        {"$defs", {{"source", {{"type", "string"}, {"pattern", "^(published|measured|assumed): ."}}}}},
    };
    for (const Descriptor& d : parameterTable()) addParameter(schema, d.key, d);
    return schema;
}

}  // namespace bulkhead::arch
