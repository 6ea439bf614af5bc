// Bytes changed at random are hardly ever JSON. Two thirds of the inputs are made by changes of values, keys and lists,
// which get past the parser.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);

namespace {

using Json = nlohmann::ordered_json;
using Engine = std::minstd_rand;

std::size_t below(Engine& engine, std::size_t bound) {
    return bound ? engine() % bound : 0;
}

void collect(Json& value, std::vector<Json*>& all) {
    all.push_back(&value);
    if (value.is_structured())
        for (Json& part : value) collect(part, all);
}

const Json kValues[] = {
    nullptr,
    true,
    false,
    0,
    1,
    -1,
    2,
    3,
    31,
    32,
    63,
    64,
    65,
    255,
    256,
    1024,
    65535,
    65536,
    2147483647,
    2147483648,
    -2147483648LL,
    4294967295,
    4294967296,
    9223372036854775807LL,
    18446744073709551615ULL,
    std::numeric_limits<std::int64_t>::min(),
    0.5,
    -0.0,
    1e-300,
    1e300,
    0.1,
    1e18,
    1e19,
    1.5,
    "",
    "0",
    "50%",
    "0x10",
    "\xff",
    "a b",
    "1e400",
    "-1",
    Json::array(),
    Json::object(),
};

void change(Json& root, Engine& engine) {
    std::vector<Json*> all;
    collect(root, all);
    Json& value = *all[below(engine, all.size())];
    const Json other = *all[below(engine, all.size())];
    switch (below(engine, 8)) {
        case 0:
            value = other;
            break;
        case 1:
        case 2:
            value = kValues[below(engine, std::size(kValues))];
            break;
        case 3:
            if (value.is_number_integer())
                value = static_cast<std::int64_t>(value.get<std::uint64_t>() + 2 * below(engine, 2) - 1);
            else if (value.is_number())
                value = value.get<double>() * (below(engine, 2) ? 2 : -0.5);
            break;
        case 4:
            if (value.is_structured() && !value.empty())
                value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(below(engine, value.size()))));
            break;
        case 5:
            if (value.is_array())
                value.insert(value.begin() + static_cast<std::ptrdiff_t>(below(engine, value.size() + 1)), other);
            break;
        case 6:
            if (value.is_array() && value.size() > 1)
                std::swap(value[below(engine, value.size())], value[below(engine, value.size())]);
            break;
        default:
            if (value.is_object() && !value.empty()) {
                // Under another key of the same file, or one that nobody knows.
                const auto at = std::next(value.begin(), static_cast<std::ptrdiff_t>(below(engine, value.size())));
                const std::string key = other.is_object() && !other.empty() ? other.begin().key() : "unknown";
                value[key] = Json(at.value());
            }
    }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t maxSize,
                                               unsigned seed) {
    Engine engine(seed);
    if (below(engine, 3) == 0) return LLVMFuzzerMutate(data, size, maxSize);
    Json root = Json::parse(data, data + size, nullptr, false);
    if (root.is_discarded()) return LLVMFuzzerMutate(data, size, maxSize);
    for (std::size_t times = 1 + below(engine, 3); times > 0; --times) change(root, engine);
    const std::string text = root.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > maxSize) return LLVMFuzzerMutate(data, size, maxSize);
    std::memcpy(data, text.data(), text.size());
    return text.size();
}
