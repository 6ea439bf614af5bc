#include "base/json.h"

#include <algorithm>

#include "base/files.h"

namespace bulkhead {
namespace {

using nlohmann::json;

constexpr unsigned kDeepest = 64;

/// Notes the first thing that is wrong with a text, without making anything of it.
class Checker final : public nlohmann::json_sax<json> {
  public:
    enum class Fault { none, notJson, number, depth };

    Fault fault = Fault::none;
    std::size_t at = 0;  ///< bytes before it; of `depth` unknown

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(std::int64_t) override { return true; }
    bool number_unsigned(std::uint64_t) override { return true; }
    bool number_float(double, const std::string&) override { return true; }
    bool string(std::string&) override { return true; }
    bool binary(json::binary_t&) override { return true; }
    bool key(std::string&) override { return true; }
    bool start_object(std::size_t) override { return enter(); }
    bool start_array(std::size_t) override { return enter(); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }
    bool parse_error(std::size_t position, const std::string& token, const json::exception& e) override {
        constexpr int kOutOfRange = 406;
        fault = e.id == kOutOfRange ? Fault::number : Fault::notJson;
        const std::size_t back = e.id == kOutOfRange ? token.size() : 1;
        at = position > back ? position - back : 0;
        return false;
    }

  private:
    bool enter() {
        if (++depth_ <= kDeepest) return true;
        fault = Fault::depth;
        return false;
    }
    bool leave() {
        --depth_;
        return true;
    }
    unsigned depth_ = 0;
};

/// "line 2, column 8" of what stands after so many bytes.
std::string placeOf(std::string_view text, std::size_t at) {
    const std::string_view before = text.substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("line {}, column {}", line, at - lineStart + 1);
}

/// Before anything is made of it: values that are nested deeply are copied and destroyed by recursion, and the library
/// does not say where a number is too large.
void expectJson(std::string_view text, const std::string& where) {
    Checker checker;
    json::sax_parse(text, &checker);
    const std::size_t at = std::min(checker.at, text.size());
    switch (checker.fault) {
        case Checker::Fault::none:
            return;
        case Checker::Fault::notJson:
            // The library's own message quotes the input, which may be anything.
            throw Error("{}: not JSON: {} at {}", where, at >= text.size() ? "ends too early" : "unexpected text",
                        placeOf(text, at));
        case Checker::Fault::number:
            throw Error("{}: a number at {} is too large", where, placeOf(text, at));
        case Checker::Fault::depth:
            throw Error("{}: nested more than {} levels deep", where, kDeepest);
    }
}

template <class Json>
std::string textOf(const Json& value, int indent) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

json parseJson(std::string_view text, const std::string& where) {
    expectJson(text, where);
    return json::parse(text);
}

json readJson(const std::filesystem::path& path) {
    return parseJson(readFile(path), path.string());
}

std::string jsonText(const json& value, int indent) {
    return textOf(value, indent);
}

std::string jsonText(const nlohmann::ordered_json& value, int indent) {
    return textOf(value, indent);
}

std::string jsonQuoted(const json& value) {
    constexpr std::size_t kMost = 60;
    const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

JsonObject::JsonObject(const json& value, std::string where) : json_(value), where_(std::move(where)) {
    if (!json_.is_object()) throw Error("{}: must be an object", where_);
}

const json* JsonObject::find(const std::string& key) {
    known_.push_back(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
}

const json& JsonObject::at(const std::string& key) {
    if (const json* value = find(key)) return *value;
    throw Error("{}: {} is missing", where_, key);
}

void JsonObject::finish() const {
    for (const auto& [key, value] : json_.items())
        if (std::find(known_.begin(), known_.end(), key) == known_.end())
            throw Error("{}: unknown key {}", where_, key);
}

}  // namespace bulkhead
