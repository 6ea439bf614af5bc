#pragma once

#include <array>
#include <concepts>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace bulkhead {

/// Parses JSON. Throws Error, which begins with `where` and names line and column, if the text is none, has a number
/// that is too large for a double, or is nested deeper than any file of ours.
nlohmann::json parseJson(std::string_view text, const std::string& where);

/// That of a file.
nlohmann::json readJson(const std::filesystem::path&);

/// JSON as text, with line breaks unless `indent` is negative. Names of files and programs may hold any bytes: what is
/// no UTF-8 is replaced by U+FFFD, so that nothing measured is lost to a name.
std::string jsonText(const nlohmann::json&, int indent = -1);
std::string jsonText(const nlohmann::ordered_json&, int indent = -1);

/// Of a value, what a message quotes: plain characters, and not more than fit on a line.
std::string jsonQuoted(const nlohmann::json&);

/// The value as a T: bool, a number, text, or a list of those. Throws Error, "WHAT must be ...", if it is of another
/// type or beyond the range of T.
template <class T>
T jsonAs(const nlohmann::json& value, const std::string& what);

/// An object of a file. Messages begin with where it is.
class JsonObject {
  public:
    /// The value must outlive it. Throws Error if it is no object.
    JsonObject(const nlohmann::json& value, std::string where);

    /// Throws Error if the key is missing.
    const nlohmann::json& at(const std::string& key);
    template <class T>
    T get(const std::string& key) {
        return jsonAs<T>(at(key), where_ + ": " + key);
    }

    /// Null if the key is missing.
    const nlohmann::json* find(const std::string& key);
    /// Leaves the variable as it is if the key is missing.
    template <class T>
    void read(const std::string& key, T& variable) {
        if (const nlohmann::json* value = find(key)) variable = jsonAs<T>(*value, where_ + ": " + key);
    }

    /// Throws Error if there is a key that nobody has asked for.
    void finish() const;
    const std::string& where() const { return where_; }

  private:
    const nlohmann::json& json_;
    std::string where_;
    std::vector<std::string> known_;
};

namespace detail {

template <class T>
struct JsonList : std::false_type {};
template <class T>
struct JsonList<std::vector<T>> : std::true_type {};
template <class T, std::size_t n>
struct JsonList<std::array<T, n>> : std::true_type {};

/// Whether a whole number of JSON is in the range of T.
template <std::integral T>
bool jsonFits(const nlohmann::json& value) {
    if (value.is_number_unsigned()) return std::in_range<T>(value.get<std::uint64_t>());
    return value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
}

}  // namespace detail

template <class T>
T jsonAs(const nlohmann::json& value, const std::string& what) {
    if constexpr (detail::JsonList<T>::value) {
        using Element = typename T::value_type;
        if (!value.is_array()) throw Error("{} must be a list", what);
        T list{};
        if constexpr (requires { list.push_back(Element()); }) {
            list.reserve(value.size());
            for (const nlohmann::json& element : value) list.push_back(jsonAs<Element>(element, "each of " + what));
        } else {
            if (value.size() != list.size()) throw Error("{} must be a list of {}", what, list.size());
            for (std::size_t i = 0; i < list.size(); ++i) list[i] = jsonAs<Element>(value[i], "each of " + what);
        }
        return list;
    } else if constexpr (std::same_as<T, bool>) {
        if (!value.is_boolean()) throw Error("{} must be true or false", what);
        return value.get<bool>();
    } else if constexpr (std::integral<T>) {
        if (!detail::jsonFits<T>(value))
            throw Error("{} must be a whole number from {} to {}", what, +std::numeric_limits<T>::min(),
                        +std::numeric_limits<T>::max());
        return value.get<T>();
    } else if constexpr (std::floating_point<T>) {
        if (!value.is_number()) throw Error("{} must be a number", what);
        return value.get<T>();
    } else {
        static_assert(std::same_as<T, std::string>);
        if (!value.is_string()) throw Error("{} must be text", what);
        return value.get<std::string>();
    }
}

}  // namespace bulkhead
