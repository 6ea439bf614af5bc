#include "base/phrases.h"

#include <fmt/format.h>

#include <cmath>

namespace bulkhead {

std::string brief(double x) {
    const double size = std::abs(x);
    if (size >= 99.95 && size < 1e15) return fmt::format("{:.0f}", x);
    return fmt::format("{:.3g}", x);
}

std::string counted(std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string duration(double seconds) {
    const double size = std::abs(seconds);
    if (size >= 1) return brief(seconds) + " s";
    if (size >= 1e-3) return brief(seconds * 1e3) + " ms";
    return brief(seconds * 1e6) + " us";
}

}  // namespace bulkhead
