#include "report/report.h"
#include "report/values.h"

namespace bulkhead::report {
namespace {

std::string quoted(const std::string& s) {
    if (s.find_first_of(",\"\r\n") == std::string::npos) return s;
    std::string q = "\"";
    for (char c : s) {
        if (c == '"') q += '"';
        q += c;
    }
    return q + "\"";
}

}  // namespace

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

}  // namespace bulkhead::report
