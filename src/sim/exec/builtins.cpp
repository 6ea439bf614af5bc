#include "sim/exec/builtins.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "sim/exec/memory_access.h"
#include "sim/exec/pending_effects.h"

namespace bulkhead::sim {

namespace {

/// Widths and precisions beyond this are cut: a format string is the device's, the memory the host's.
constexpr int kWidestField = 1 << 16;

template <class T>
T argument(Warp& w, const CallSite& site, unsigned lane, std::size_t index) {
    return readAs<T>(w.callParams(lane) + site.arguments[index].from);
}

/// Values as the compiler packed them: each at a multiple of its own size.
class Arguments {
  public:
    Arguments(const Instr& i, Warp& w, unsigned lane, std::uint64_t address)
        : instr_(i), warp_(w), lane_(lane), address_(address) {}

    template <class T>
    T next() {
        address_ = (address_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        std::uint8_t bytes[sizeof(T)];
        for (std::uint8_t& b : bytes) b = readGenericByte(instr_, warp_, lane_, address_++);
        return readAs<T>(bytes);
    }
    std::string string() {
        const auto address = next<std::uint64_t>();
        return address ? readGenericString(instr_, warp_, lane_, address) : "(null)";
    }

  private:
    const Instr& instr_;
    Warp& warp_;
    unsigned lane_;
    std::uint64_t address_;
};

template <class T>
std::string formatted(const std::string& specification, T value) {
    const int size = std::snprintf(nullptr, 0, specification.c_str(), value);
    std::string out(static_cast<std::size_t>(std::max(size, 0)) + 1, '\0');
    std::snprintf(out.data(), out.size(), specification.c_str(), value);
    out.pop_back();
    return out;
}

/// One conversion; `at` stands behind the '%' and is moved behind the conversion. Empty length means int.
std::string convert(const std::string& format, std::size_t& at, Arguments& arguments) {
    const std::size_t begin = at;
    std::string specification = "%";
    while (at < format.size() && std::strchr("-+ #0", format[at])) specification += format[at++];
    const auto number = [&] {
        int value = 0;
        if (at < format.size() && format[at] == '*') {
            ++at;
            value = arguments.next<std::int32_t>();
            if (value < 0 && value >= -kWidestField) return value;
        } else {
            while (at < format.size() && format[at] >= '0' && format[at] <= '9')
                value = std::min(value * 10 + (format[at++] - '0'), kWidestField);
        }
        return std::clamp(value, 0, kWidestField);
    };
    if (at < format.size() && (format[at] == '*' || (format[at] >= '1' && format[at] <= '9')))
        specification += std::to_string(number());
    if (at < format.size() && format[at] == '.') {
        ++at;
        // A negative precision counts as none given.
        if (const int precision = number(); precision >= 0) specification += "." + std::to_string(precision);
    }
    std::string length;
    while (at < format.size() && std::strchr("hlLqjzt", format[at])) length += format[at++];
    if (at == format.size()) return "%" + format.substr(begin);
    const bool isLong = !length.empty() && length[0] != 'h';
    const char conversion = format[at++];
    switch (conversion) {
        case 'd':
        case 'i': {
            std::int64_t v = isLong ? arguments.next<std::int64_t>() : arguments.next<std::int32_t>();
            const int dropped = length == "h" ? 48 : length == "hh" ? 56 : 0;  // bits above what is printed
            v = static_cast<std::int64_t>(static_cast<std::uint64_t>(v) << dropped) >> dropped;
            return formatted(specification + "ll" + conversion, static_cast<long long>(v));
        }
        case 'u':
        case 'x':
        case 'X':
        case 'o': {
            std::uint64_t v = isLong ? arguments.next<std::uint64_t>() : arguments.next<std::uint32_t>();
            if (length == "h") v = static_cast<std::uint16_t>(v);
            if (length == "hh") v = static_cast<std::uint8_t>(v);
            return formatted(specification + "ll" + conversion, static_cast<unsigned long long>(v));
        }
        case 'c':
            return formatted(specification + conversion, static_cast<int>(arguments.next<std::int32_t>()));
        case 's':
            return formatted(specification + conversion, arguments.string().c_str());
        case 'p':
            return formatted(specification + conversion,
                             reinterpret_cast<void*>(static_cast<std::uintptr_t>(arguments.next<std::uint64_t>())));
        case 'f':
        case 'F':
        case 'e':
        case 'E':
        case 'g':
        case 'G':
        case 'a':
        case 'A':
            return formatted(specification + conversion, arguments.next<double>());
        default:
            return "%" + format.substr(begin, at - begin);
    }
}

}  // namespace

void runVprintf(const Instr& i, Warp& w, const CallSite& site, LaneMask mask) {
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        const std::string format = readGenericString(i, w, lane, argument<std::uint64_t>(w, site, lane, 0));
        Arguments arguments(i, w, lane, argument<std::uint64_t>(w, site, lane, 1));
        std::string text;
        std::int32_t conversions = 0;
        for (std::size_t at = 0; at < format.size();) {
            const char c = format[at++];
            if (c != '%') {
                text += c;
            } else if (at < format.size() && format[at] == '%') {
                text += '%';
                ++at;
            } else {
                text += convert(format, at, arguments);
                ++conversions;
            }
        }
        w.effects().print(w.launch(), text);
        for (const CallSite::Copy& result : site.results)
            std::memcpy(w.callParams(lane) + result.to, &conversions, std::min<std::size_t>(result.bytes, 4));
    }
}

void runAssertFail(const Instr& i, Warp& w, const CallSite& site, unsigned lane) {
    const std::string message = readGenericString(i, w, lane, argument<std::uint64_t>(w, site, lane, 0));
    const std::string file = readGenericString(i, w, lane, argument<std::uint64_t>(w, site, lane, 1));
    const auto line = argument<std::uint32_t>(w, site, lane, 2);
    const std::string function = readGenericString(i, w, lane, argument<std::uint64_t>(w, site, lane, 3));
    w.fail(LaunchError::Cause::assertion, i, lane,
           fmt::format("{}:{}: {}: Assertion `{}` failed.", file, line, function, message));
}

}  // namespace bulkhead::sim
