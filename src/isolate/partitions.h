#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::isolate {

/// A share of a GPU under a name.
struct Partition {
    std::string name;
    double sms = 0;        ///< its share, above 0 and at most 1
    double memory = 0;     ///< likewise, of slices, DRAM and capacity
    unsigned tenants = 1;  ///< processes that may be in it at once
    bool strict = false;   ///< nobody may be in it, or beside it, without a memory wall

    bool operator==(const Partition&) const = default;
};

/// "A=50%,B=25%/50%": the share of SMs and, after a slash, that of memory where it differs.
std::vector<Partition> parsePartitions(std::string_view);

/// {"partitions": [{"name": "A", "sms": "50%", "memory": "50%", "tenants": 1, "strict": false}]}; all but name and sms
/// may be left out.
std::vector<Partition> partitionsFromJson(const nlohmann::json&, const std::string& where);
nlohmann::ordered_json toJson(const std::vector<Partition>&);

/// Equal ones from a whole number, from the text itself where it has an equals sign, and otherwise from the file that
/// it names, which may also be one with an equals sign that ends in .json.
std::vector<Partition> partitionsFrom(const std::string& textOrFile);

/// Equal ones, named P1, P2, ... as in the paper.
std::vector<Partition> equalPartitions(unsigned count);

/// Throws Error: none, a bad or repeated name, a share out of range, or shares that sum to more than 100 %.
void validate(const std::vector<Partition>&, const std::string& where);

}  // namespace bulkhead::isolate
