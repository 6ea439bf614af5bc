#include "cli/kernel_arguments.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/host_memory.h"
#include "base/random.h"

namespace bulkhead::cli {
namespace {

enum class Class : std::uint8_t { integer, unsignedInteger, real };
struct ElementType {
    std::string_view name;
    Class kind;
    unsigned bytes;
};
constexpr ElementType kTypes[] = {
    {"i8", Class::integer, 1},
    {"i16", Class::integer, 2},
    {"i32", Class::integer, 4},
    {"i64", Class::integer, 8},
    {"u8", Class::unsignedInteger, 1},
    {"u16", Class::unsignedInteger, 2},
    {"u32", Class::unsignedInteger, 4},
    {"u64", Class::unsignedInteger, 8},
    {"f32", Class::real, 4},
    {"f64", Class::real, 8},
};

const ElementType& typeNamed(std::string_view name, std::string_view argument) {
    for (const ElementType& type : kTypes)
        if (type.name == name) return type;
    throw Error("--arg {}: unknown type '{}': use i8 i16 i32 i64 u8 u16 u32 u64 f32 f64", argument, name);
}

template <class T>
bool parseWhole(std::string_view text, T& value) {
    int base = 10;
    const bool negative = text.starts_with("-");
    std::string_view digits = negative ? text.substr(1) : text;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
        base = 16;
        digits.remove_prefix(2);
    }
    const std::string whole = (negative ? "-" : "") + std::string(digits);
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value, base);
    return error == std::errc() && end == whole.data() + whole.size() && !digits.empty();
}

bool parseReal(const std::string& text, double& value) {
    char* end = nullptr;
    value = std::strtod(text.c_str(), &end);
    return !text.empty() && end == text.c_str() + text.size();
}

void store(std::uint8_t* at, const ElementType& type, double value) {
    if (type.bytes == 4) {
        const auto narrow = static_cast<float>(value);
        std::memcpy(at, &narrow, 4);
    } else {
        std::memcpy(at, &value, 8);
    }
}

void storeScalar(KernelArgument& argument, const ElementType& type, std::string_view text) {
    argument.bytes.resize(type.bytes);
    if (type.kind == Class::real) {
        double value = 0;
        if (!parseReal(std::string(text), value)) throw Error("--arg {}: '{}' is not a number", argument.text, text);
        store(argument.bytes.data(), type, value);
        return;
    }
    std::int64_t value = 0;
    std::uint64_t bits = 0;
    bool fits = false;
    const unsigned width = type.bytes * 8;
    if (type.kind == Class::integer) {
        if (!parseWhole(text, value))
            throw Error("--arg {}: '{}' is not a whole number of 64 bits", argument.text, text);
        fits = width == 64 || (value >= -(std::int64_t{1} << (width - 1)) && value < std::int64_t{1} << (width - 1));
        bits = static_cast<std::uint64_t>(value);
    } else {
        if (!parseWhole(text, bits))
            throw Error("--arg {}: '{}' is not a whole number of 64 bits, 0 or more", argument.text, text);
        fits = width == 64 || bits >> width == 0;
    }
    if (!fits) throw Error("--arg {}: {} does not fit {}", argument.text, text, type.name);
    std::memcpy(argument.bytes.data(), &bits, type.bytes);
}

std::vector<std::uint64_t> parseShape(std::string_view text, std::string_view argument) {
    std::vector<std::uint64_t> shape;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find('x', from), text.size());
        std::uint64_t extent = 0;
        if (!parseWhole(text.substr(from, to - from), extent) || extent == 0)
            throw Error("--arg {}: the length must be a whole number above 0", argument);
        shape.push_back(extent);
        from = to + 1;
    }
    return shape;
}

void fill(KernelArgument& argument, const ElementType& type, std::uint64_t count, std::string_view how) {
    argument.bytes.assign(count * type.bytes, 0);
    std::uint8_t* at = argument.bytes.data();
    if (how == "zero") return;
    if (how == "iota") {
        for (std::uint64_t i = 0; i < count; ++i, at += type.bytes) {
            if (type.kind == Class::real) {
                store(at, type, static_cast<double>(i));
            } else {
                std::memcpy(at, &i, type.bytes);
            }
        }
        return;
    }
    if (how.starts_with("random:")) {
        std::uint64_t seed = 0;
        if (!parseWhole(how.substr(7), seed)) throw Error("--arg {}: '{}' is not a seed", argument.text, how.substr(7));
        Random random(seed);
        for (std::uint64_t i = 0; i < count; ++i, at += type.bytes) {
            const std::uint64_t bits = random.next();
            if (type.kind == Class::real) {
                store(at, type, static_cast<double>(bits >> 40) * 0x1p-24);  // [0, 1), exact in f32
            } else {
                std::memcpy(at, &bits, type.bytes);
            }
        }
        return;
    }
    if (how.starts_with("file:")) {
        const std::string path(how.substr(5));
        const std::size_t bytes = argument.bytes.size();
        const std::string content = readBeginning(path, bytes + 1);
        if (content.size() > bytes)
            throw Error("--arg {}: {} holds more than the {} bytes of the buffer", argument.text, path, bytes);
        if (content.size() < bytes)
            throw Error("--arg {}: {} holds {} bytes, the buffer {}", argument.text, path, content.size(), bytes);
        std::copy(content.begin(), content.end(), reinterpret_cast<char*>(at));
        return;
    }
    throw Error("--arg {}: unknown content '{}': use zero, iota, random:SEED or file:PATH", argument.text, how);
}

}  // namespace

KernelArgument parseKernelArgument(std::string_view text, Bytes mostBytes) {
    KernelArgument argument;
    argument.text = text;
    const std::size_t open = text.find('['), colon = text.find(':');
    if (open != std::string_view::npos && open < colon) {
        const std::size_t close = text.find(']', open);
        if (close == std::string_view::npos) throw Error("--arg {}: ']' is missing", text);
        const ElementType& type = typeNamed(text.substr(0, open), text);
        std::uint64_t count = 1;
        for (const std::uint64_t extent : parseShape(text.substr(open + 1, close - open - 1), text)) {
            argument.shape.push_back(extent);
            if (extent > mostBytes / type.bytes / count)
                throw Error("--arg {}: the GPU's memory holds {} bytes", text, mostBytes);
            count *= extent;
        }
        if (argument.shape.size() == 1) argument.shape.clear();
        if (count > hostMemory() / type.bytes)
            throw Error("--arg {}: this computer's memory holds {} bytes", text, hostMemory());
        const std::string_view rest = text.substr(close + 1);
        if (!rest.empty() && !rest.starts_with("=")) throw Error("--arg {}: '=' expected after ']'", text);
        argument.isBuffer = true;
        argument.elementBytes = type.bytes;
        fill(argument, type, count, rest.empty() ? "zero" : rest.substr(1));
        return argument;
    }
    if (colon == std::string_view::npos)
        throw Error("--arg {}: write TYPE:VALUE or TYPE[COUNT]=CONTENT, such as i32:5 or f32[1024]=zero", text);
    const ElementType& type = typeNamed(text.substr(0, colon), text);
    argument.elementBytes = type.bytes;
    storeScalar(argument, type, text.substr(colon + 1));
    return argument;
}

Extent parseExtent(std::string_view text, std::string_view what) {
    std::uint32_t values[3] = {1, 1, 1};
    std::size_t count = 0, from = 0;
    while (true) {
        const std::size_t to = std::min(text.find_first_of("x,", from), text.size());
        if (count == 3 || !parseWhole(text.substr(from, to - from), values[count]) || values[count] == 0)
            throw Error("{} {}: write one to three numbers above 0, such as 64 or 16x16", what, text);
        ++count;
        from = to + 1;
        if (to == text.size()) break;
    }
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
    if (std::uint64_t{values[0]} * values[1] > (kMost - 1) / values[2]) throw Error("{} {}: too many", what, text);
    return {values[0], values[1], values[2]};
}

}  // namespace bulkhead::cli
