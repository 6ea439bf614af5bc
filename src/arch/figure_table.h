#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "arch/device_profile.h"

namespace bulkhead::arch {

/// One figure. Everything that is known of a key is here: reading, writing, `--set`, ranges and display follow.
struct Descriptor {
    enum class Kind { integer, decimal, flag, choice, list };  ///< decimal: kept in millionths

    Kind kind = Kind::integer;
    std::string key, unit, meaning;
    std::int64_t least = 0, most = 0;
    std::vector<std::string> choices;
    std::string source;  ///< of the value that holds where a profile gives none; empty: it must give one

    std::function<std::int64_t(const DeviceProfile&)> get;
    std::function<void(DeviceProfile&, std::int64_t)> put;
    std::function<std::vector<std::int64_t>&(DeviceProfile&)> list;
};

/// Every figure of a profile, in the order in which they are shown.
const std::vector<Descriptor>& figureTable();

/// The figure of a key, or null.
const Descriptor* findFigure(std::string_view key);

/// What a decimal's millionths stand for.
double inUnits(std::int64_t millionths);

const std::vector<std::int64_t>& listOf(const Descriptor& d, const DeviceProfile& p);
std::string asText(const Descriptor& d, const DeviceProfile& p);
nlohmann::json asJson(const Descriptor& d, const DeviceProfile& p);

/// What values a figure may have, for messages: "an integer from 1 to 64".
std::string wanted(const Descriptor& d);

/// A value from a file or a person, put into the profile. False, and nothing done, if it is not what the descriptor
/// wants.
bool assign(const Descriptor& d, DeviceProfile& p, const nlohmann::json& value);

/// A value as it is written behind `--set KEY=`.
nlohmann::json parseValue(const Descriptor& d, std::string_view text);

}  // namespace bulkhead::arch
