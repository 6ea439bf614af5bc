#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace bulkhead::report {

namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

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

std::string heading(const Result::Column& column) {
    return column.unit.empty() ? column.name : fmt::format("{} ({})", column.name, column.unit);
}

bool isNumber(const Value& value) {
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

/// Characters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width(const std::string& s) {
    return static_cast<std::size_t>(
        std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string quoted(const std::string& s) {
    if (s.find_first_of(",\"\r\n") == std::string::npos) return s;
    std::string q = "\"";
    for (char c : s) {
        if (c == '"') q += '"';
        q += c;
    }
    return q + "\"";
}

std::string escaped(const std::string& s) {
    std::string e;
    for (char c : s) {
        if (c == '&')
            e += "&amp;";
        else if (c == '<')
            e += "&lt;";
        else if (c == '>')
            e += "&gt;";
        else if (c == '"')
            e += "&quot;";
        else
            e += c;
    }
    return e;
}

std::string htmlTable(const Result& result) {
    std::string out = "<table>\n<thead><tr>";
    for (const auto& column : result.columns) out += "<th>" + escaped(heading(column)) + "</th>";
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : result.rows) {
        out += "<tr>";
        for (const Value& value : row)
            out += (isNumber(value) ? "<td class=\"number\">" : "<td>") + escaped(shown(value)) + "</td>";
        out += "</tr>\n";
    }
    return out + "</tbody>\n</table>\n";
}

std::string htmlProvenance(const Result::Provenance& p) {
    std::string out = "<p class=\"source\"><code>" + escaped(p.command) + "</code>";
    if (!p.gpu.empty()) out += " on " + escaped(p.gpu);
    if (p.seed) out += fmt::format(", seed {}", *p.seed);
    return out + ", version " + escaped(p.version) + ", " + escaped(p.date) + "</p>\n";
}

}  // namespace

std::string text(const Result& result) {
    const std::size_t columns = result.columns.size();
    std::vector<std::vector<std::string>> cells(1);
    std::vector<bool> right(columns, !result.rows.empty());
    for (const auto& column : result.columns) cells[0].push_back(heading(column));
    for (const auto& row : result.rows) {
        cells.emplace_back();
        for (std::size_t c = 0; c < columns; ++c) {
            cells.back().push_back(shown(row[c]));
            if (!isNumber(row[c]) && !std::holds_alternative<std::monostate>(row[c])) right[c] = false;
        }
    }
    std::vector<std::size_t> widths(columns, 0);
    for (const auto& row : cells)
        for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], width(row[c]));

    std::string out = result.title.empty() ? "" : result.title + "\n";
    for (const auto& row : cells) {
        std::string line;
        for (std::size_t c = 0; c < columns; ++c) {
            const std::string padding(widths[c] - width(row[c]), ' ');
            if (c > 0) line += "  ";
            line += right[c] ? padding + row[c] : row[c] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string csv(const Result& result) {
    std::string out;
    const auto line = [&](auto&& cell) {
        for (std::size_t c = 0; c < result.columns.size(); ++c) out += (c > 0 ? "," : "") + quoted(cell(c));
        out += "\r\n";
    };
    line([&](std::size_t c) { return heading(result.columns[c]); });
    for (const auto& row : result.rows) line([&](std::size_t c) { return exact(row[c]); });
    return out;
}

nlohmann::ordered_json json(const Result& result) {
    using Json = nlohmann::ordered_json;
    const auto& p = result.provenance;
    Json out = {{"title", result.title},
                {"provenance",
                 {{"command", p.command},
                  {"gpu", p.gpu},
                  {"seed", p.seed ? Json(*p.seed) : Json(nullptr)},
                  {"version", p.version},
                  {"date", p.date}}},
                {"columns", Json::array()},
                {"rows", Json::array()}};
    for (const auto& column : result.columns) out["columns"].push_back({{"name", column.name}, {"unit", column.unit}});
    for (const auto& row : result.rows) {
        Json object = Json::object();
        for (std::size_t c = 0; c < result.columns.size(); ++c)
            object[result.columns[c].name] = std::visit(
                Overloaded{[](std::monostate) { return Json(nullptr); }, [](const auto& v) { return Json(v); }},
                row[c]);
        out["rows"].push_back(std::move(object));
    }
    return out;
}

std::string html(const std::string& title, std::span<const Result> results) {
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" +
                      escaped(title) +
                      "</title>\n<style>\n"
                      "body { font-family: sans-serif; margin: 2em; }\n"
                      "table { border-collapse: collapse; }\n"
                      "th, td { padding: 0.2em 0.8em; border-bottom: 1px solid #ccc; text-align: left; }\n"
                      "td.number { text-align: right; font-variant-numeric: tabular-nums; }\n"
                      ".source { color: #666; font-size: smaller; }\n"
                      "</style>\n</head>\n<body>\n<h1>" +
                      escaped(title) + "</h1>\n";
    for (const Result& result : results)
        out += "<h2>" + escaped(result.title) + "</h2>\n" + htmlTable(result) + htmlProvenance(result.provenance);
    return out + "</body>\n</html>\n";
}

}  // namespace bulkhead::report
