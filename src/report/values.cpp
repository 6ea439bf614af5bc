#include "report/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bulkhead::report {

std::string rounded(double x) {
    if (!std::isfinite(x)) return fmt::format("{}", x);
    const double size = std::abs(x);
    if (size >= 1000 && size < 1e15) return fmt::format("{:.0f}", x);
    return fmt::format("{:.4g}", x);
}

std::string shown(const Value& value) {
    return std::visit(
        Overloaded{[](std::monostate) { return std::string("-"); }, [](std::int64_t n) { return std::to_string(n); },
                   [](double x) { return rounded(x); }, [](const std::string& s) { return s; },
                   [](bool b) { return std::string(b ? "yes" : "no"); }},
        value);
}

std::string exact(const Value& value) {
    return std::visit(
        Overloaded{[](std::monostate) { return std::string(); }, [](std::int64_t n) { return std::to_string(n); },
                   [](double x) { return fmt::format("{}", x); }, [](const std::string& s) { return s; },
                   [](bool b) { return std::string(b ? "true" : "false"); }},
        value);
}

bool isNumber(const Value& value) {
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

double number(const Value& value) {
    if (const auto* n = std::get_if<std::int64_t>(&value)) return static_cast<double>(*n);
    if (const auto* x = std::get_if<double>(&value)) return *x;
    return std::numeric_limits<double>::quiet_NaN();
}

std::string heading(const Result::Column& column) {
    return column.unit.empty() ? column.name : fmt::format("{} ({})", column.name, column.unit);
}

std::size_t width(const std::string& s) {
    return static_cast<std::size_t>(
        std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string withoutMiddle(const std::string& s, std::size_t most) {
    const std::size_t whole = width(s);
    if (whole <= most || most < 3) return s;
    // Where a character begins, by its number.
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < s.size(); ++i)
        if ((static_cast<unsigned char>(s[i]) & 0xc0) != 0x80) begins.push_back(i);
    const std::size_t behind = (most - 1) / 2, before = most - 1 - behind;
    return s.substr(0, begins[before]) + "…" + s.substr(begins[whole - behind]);
}

std::string escaped(const std::string& s) {
    std::string e;
    for (char c : s) {
        switch (c) {
            case '&':
                e += "&amp;";
                break;
            case '<':
                e += "&lt;";
                break;
            case '>':
                e += "&gt;";
                break;
            case '"':
                e += "&quot;";
                break;
            case '\'':
                e += "&#39;";
                break;
            default:
                e += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
        }
    }
    return e;
}

}  // namespace bulkhead::report
