#include "isolate/partitions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/schema.h"

namespace bulkhead::isolate {
namespace {

constexpr double kRounding = 1e-6;  // three times 33.333 % are not more than 100 %
constexpr unsigned kMostTenants = 1024, kMostPartitions = 1024;

/// Nothing if the text is none; the largest one where it is larger.
std::optional<unsigned> wholeNumber(const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    unsigned value = std::numeric_limits<unsigned>::max();
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

double parsePercent(std::string_view text, const std::string& where) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || std::string_view(end, text.data() + text.size()) != "%" || !std::isfinite(value))
        throw Error("{}: {} is not a share: write it as 50%", where, text.empty() ? "nothing" : text);
    return value / 100;
}

double shareFromJson(const nlohmann::json& value, const std::string& where) {
    if (!value.is_string()) throw Error("{}: a share is written as \"50%\"", where);
    return parsePercent(value.get<std::string>(), where);
}

void expectShare(double share, const char* of, const Partition& partition, const std::string& where) {
    if (!(share > 0 && share <= 1))
        throw Error("{}: partition {} has {:g} % of the {}: choose more than 0 % and at most 100 %", where,
                    partition.name, share * 100, of);
}

bool isName(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_' || c == '.';
    });
}

}  // namespace

std::vector<Partition> parsePartitions(std::string_view text) {
    const std::string where = "partitions";
    std::vector<Partition> partitions;
    while (true) {
        const std::string_view one = text.substr(0, text.find(','));
        const std::size_t equals = one.find('=');
        if (equals == std::string_view::npos) throw Error("{}: {} is not NAME=SHARE, such as A=50%", where, one);
        const std::string_view shares = one.substr(equals + 1);
        const std::size_t slash = shares.find('/');
        Partition partition;
        partition.name = one.substr(0, equals);
        partition.sms = parsePercent(shares.substr(0, slash), where);
        partition.memory =
            slash == std::string_view::npos ? partition.sms : parsePercent(shares.substr(slash + 1), where);
        partitions.push_back(std::move(partition));
        if (one.size() == text.size()) break;
        text.remove_prefix(one.size() + 1);
    }
    validate(partitions, where);
    return partitions;
}

std::vector<Partition> partitionsFromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject file(json, where);
    schemas::kPartitions.expectIn(file);
    if (!json.contains("partitions") || !json["partitions"].is_array())
        throw Error("{}: not a list of partitions: it has no \"partitions\"", where);
    std::vector<Partition> partitions;
    for (const nlohmann::json& one : json["partitions"]) {
        if (!one.is_object()) throw Error("{}: a partition is an object with name and sms", where);
        for (const auto& [key, value] : one.items())
            if (key != "name" && key != "sms" && key != "memory" && key != "tenants" && key != "strict")
                throw Error("{}: a partition has name, sms, memory, tenants and strict, not {}", where, key);
        if (!one.contains("name") || !one["name"].is_string()) throw Error("{}: a partition has no name", where);
        if (!one.contains("sms")) throw Error("{}: partition {} has no sms", where, one["name"].get<std::string>());
        Partition partition;
        partition.name = one["name"].get<std::string>();
        partition.sms = shareFromJson(one["sms"], where);
        partition.memory = one.contains("memory") ? shareFromJson(one["memory"], where) : partition.sms;
        if (one.contains("tenants")) {
            const nlohmann::json& tenants = one["tenants"];
            if (!tenants.is_number_unsigned() || tenants < 1u || tenants > kMostTenants)
                throw Error("{}: tenants of partition {}: choose from 1 to {}", where, partition.name, kMostTenants);
            partition.tenants = tenants.get<unsigned>();
        }
        if (one.contains("strict")) {
            if (!one["strict"].is_boolean())
                throw Error("{}: strict of partition {} is true or false", where, partition.name);
            partition.strict = one["strict"].get<bool>();
        }
        partitions.push_back(std::move(partition));
    }
    validate(partitions, where);
    return partitions;
}

nlohmann::ordered_json toJson(const std::vector<Partition>& partitions) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Partition& p : partitions)
        list.push_back({{"name", p.name},
                        {"sms", fmt::format("{:.12g}%", p.sms * 100)},
                        {"memory", fmt::format("{:.12g}%", p.memory * 100)},
                        {"tenants", p.tenants},
                        {"strict", p.strict}});
    nlohmann::ordered_json json = schemas::kPartitions.begin();
    json["partitions"] = std::move(list);
    return json;
}

std::vector<Partition> partitionsFrom(const std::string& textOrFile) {
    if (const std::optional<unsigned> count = wholeNumber(textOrFile)) {
        if (*count > kMostPartitions) throw Error("partitions: {}: choose from 1 to {}", textOrFile, kMostPartitions);
        return equalPartitions(*count);
    }
    if (!textOrFile.ends_with(".json") && textOrFile.find('=') != std::string::npos) return parsePartitions(textOrFile);
    return partitionsFromJson(readJson(textOrFile), textOrFile);
}

std::vector<Partition> equalPartitions(unsigned count) {
    if (count == 0) throw Error("partitions: choose at least 1");
    std::vector<Partition> partitions;
    for (unsigned i = 1; i <= count; ++i) partitions.push_back({"P" + std::to_string(i), 1.0 / count, 1.0 / count});
    return partitions;
}

void validate(const std::vector<Partition>& partitions, const std::string& where) {
    if (partitions.empty()) throw Error("{}: name at least one partition", where);
    std::set<std::string> names;
    double sms = 0, memory = 0;
    for (const Partition& p : partitions) {
        if (!isName(p.name))
            throw Error(
                "{}: {} is not a valid name of a partition: use at most 64 letters, digits, dashes, underscores and "
                "dots",
                where, p.name.empty() ? "nothing" : p.name);
        if (!names.insert(p.name).second) throw Error("{}: there are two partitions {}", where, p.name);
        expectShare(p.sms, "SMs", p, where);
        expectShare(p.memory, "memory", p, where);
        sms += p.sms;
        memory += p.memory;
    }
    if (sms > 1 + kRounding) throw Error("{}: shares of SMs sum to {:g} %, more than 100 %", where, sms * 100);
    if (memory > 1 + kRounding) throw Error("{}: shares of memory sum to {:g} %, more than 100 %", where, memory * 100);
}

}  // namespace bulkhead::isolate
