#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "arch/device_profile.h"

namespace bulkhead::arch {

/// A number of a profile where it is kept, whatever its type.
class Field {
  public:
    template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T> Field(T& member)
        : member_(&member),
          get_([](const void* from) { return static_cast<std::int64_t>(*static_cast<const T*>(from)); }),
          put_([](void* to, std::int64_t value) { *static_cast<T*>(to) = static_cast<T>(value); }) {}

    std::int64_t get() const { return get_(member_); }
    void put(std::int64_t value) const { put_(member_, value); }

  private:
    void* member_;
    std::int64_t (*get_)(const void*);
    void (*put_)(void*, std::int64_t);
};

/// One parameter. Everything that is known of a key is here: reading, writing, `--set`, ranges and display follow.
struct Descriptor {
    enum class Kind { integer, decimal, flag, choice, list };  ///< decimal: kept in millionths

    Kind kind = Kind::integer;
    std::string key, unit, meaning;
    std::int64_t least = 0, most = 0;
    std::vector<std::string> choices;
    std::string source;  ///< of the value that holds where a profile gives none; empty: it must give one

    // Functions without a state: two hundred std::functions, each of a type of its own, take the compiler long.
    Field (*field)(DeviceProfile&, int index) = nullptr;
    int index = 0;  ///< of a parameter that is one of an array
    std::vector<std::int64_t>& (*list)(DeviceProfile&) = nullptr;

    std::int64_t get(const DeviceProfile& p) const { return field(const_cast<DeviceProfile&>(p), index).get(); }
    void put(DeviceProfile& p, std::int64_t value) const { field(p, index).put(value); }
};

/// Every parameter of a profile, in the order in which they are shown.
const std::vector<Descriptor>& parameterTable();

/// The parameter of a key, or null.
const Descriptor* findParameter(std::string_view key);

/// What a decimal's millionths stand for.
double inUnits(std::int64_t millionths);

const std::vector<std::int64_t>& listOf(const Descriptor& d, const DeviceProfile& p);
std::string asText(const Descriptor& d, const DeviceProfile& p);
nlohmann::json asJson(const Descriptor& d, const DeviceProfile& p);

/// What values a parameter may have, for messages: "an integer from 1 to 64".
std::string wanted(const Descriptor& d);

/// A value from a file or a person, put into the profile. False, and nothing done, if it is not what the descriptor
/// wants.
bool assign(const Descriptor& d, DeviceProfile& p, const nlohmann::json& value);

/// A value as it is written behind `--set KEY=`.
nlohmann::json parseValue(const Descriptor& d, std::string_view text);

}  // namespace bulkhead::arch
