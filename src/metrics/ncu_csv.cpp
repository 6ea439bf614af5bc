#include "metrics/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "metrics/kernel_name.h"
#include "metrics/metric_table.h"
#include "metrics/unit.h"

namespace bulkhead::metrics {
namespace {

constexpr std::string_view kId = "ID", kProcess = "Process Name", kKernel = "Kernel Name", kGrid = "Grid Size",
                           kBlock = "Block Size";

using Fields = std::vector<std::string>;

/// The fields of a line as RFC 4180 has them; nothing where a quotation mark is not closed, or followed by more.
std::optional<Fields> fieldsOf(std::string_view line) {
    Fields fields(1);
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == ',') {
            fields.emplace_back();
            continue;
        }
        if (line[i] != '"') {
            fields.back() += line[i];
            continue;
        }
        if (!fields.back().empty()) return std::nullopt;
        for (++i;; ++i) {
            if (i == line.size()) return std::nullopt;
            if (line[i] != '"') {
                fields.back() += line[i];
            } else if (i + 1 < line.size() && line[i + 1] == '"') {
                fields.back() += line[++i];
            } else {
                break;
            }
        }
        if (i + 1 < line.size() && line[i + 1] != ',') return std::nullopt;
    }
    return fields;
}

std::size_t columnOf(const Fields& header, std::string_view name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

bool isHeader(const Fields& fields) {
    return columnOf(fields, kId) < fields.size() && columnOf(fields, kKernel) < fields.size();
}

/// Whether a line can be one of the page's: a header, units or a row begin with a field that is quoted and is ID, empty
/// or a number. What a program prints is seldom that.
bool isOfPage(std::string_view line) {
    if (!line.starts_with('"')) return false;
    const std::string_view first = line.substr(1, line.find('"', 1) - 1);
    return first == kId || first.find_first_not_of("0123456789,") == std::string_view::npos;
}

/// Metrics have two underscores behind the unit that counts them; the other columns are words. What the device is does
/// not differ from launch to launch.
bool isMetric(std::string_view column) {
    return column.find("__") != std::string_view::npos && !column.starts_with("device__");
}

bool isNothing(std::string_view text) {
    return text.empty() || text == "n/a" || text == "N/A" || text == "nan" || text == "inf" || text == "-nan" ||
           text == "-inf" || text == "no data";
}

/// "1,234,567.8": between groups of three digits there may be commas. Behind the number may be one for each instance,
/// in parentheses.
std::optional<double> numberIn(std::string_view text) {
    if (const std::size_t instances = text.find(" ("); instances != std::string_view::npos)
        text = text.substr(0, instances);
    std::string digits;
    const std::size_t point = std::min(text.find('.'), text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != ',') {
            digits += text[i];
            continue;
        }
        if (i == 0 || i > point || (point - i) % 4 != 0) return std::nullopt;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// Reads line by line; a header begins another run.
class Reader {
  public:
    Reader(std::string where) : where_(std::move(where)) {}

    void line(std::string_view text) {
        ++number_;
        if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
        if (!isOfPage(text)) return;
        const std::optional<Fields> fields = fieldsOf(text);
        if (fields && isHeader(*fields)) return begin(*fields);
        if (runs_.empty()) return;
        if (!fields) throw Error("{}, line {}: a quotation mark is not closed, or followed by more", where_, number_);
        if (fields->size() != header_.size())
            throw Error("{}, line {}: has {} fields, but its header {}", where_, number_, fields->size(),
                        header_.size());
        if (awaitsUnits_) return units(*fields);
        row(*fields);
    }

    std::vector<std::vector<LaunchRow>> done() {
        if (runs_.empty())
            throw Error("{}: has no header with {} and {}: write it with ncu --csv --page raw", where_, kId, kKernel);
        return std::move(runs_);
    }

  private:
    void begin(const Fields& fields) {
        header_ = fields;
        runs_.emplace_back();
        awaitsUnits_ = true;
    }

    /// A row of units has no number for its launch.
    void units(const Fields& fields) {
        awaitsUnits_ = false;
        factors_.assign(header_.size(), 1.0);
        if (numberIn(fields[columnOf(header_, kId)])) return row(fields);
        for (std::size_t c = 0; c < fields.size(); ++c) factors_[c] = factorOf(fields[c]);
    }

    std::string word(const Fields& fields, std::string_view column) const {
        const std::size_t at = columnOf(header_, column);
        return at < fields.size() ? fields[at] : std::string();
    }

    void row(const Fields& fields) {
        LaunchRow row{word(fields, kProcess), word(fields, kKernel), word(fields, kGrid), word(fields, kBlock), {}};
        if (row.kernel.empty()) throw Error("{}, line {}: has no {}", where_, number_, kKernel);
        for (std::size_t c = 0; c < fields.size(); ++c) {
            if (!isMetric(header_[c]) || isNothing(fields[c])) continue;
            const std::optional<double> value = numberIn(fields[c]);
            if (value && std::isfinite(*value * factors_[c])) {
                row.values.emplace(header_[c], *value * factors_[c]);
            } else if (findMetric(header_[c])) {
                throw Error("{}, line {}: {} is '{}', which is no number", where_, number_, header_[c], fields[c]);
            }
        }
        runs_.back().push_back(std::move(row));
    }

    std::string where_;
    std::size_t number_ = 0;
    Fields header_;
    std::vector<double> factors_;
    bool awaitsUnits_ = false;
    std::vector<std::vector<LaunchRow>> runs_;
};

std::string inQuotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c == '\n' || c == '\r' ? ' ' : c;
    }
    return out + "\"";
}

void addLine(std::string& out, const Fields& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) out += (i > 0 ? "," : "") + inQuotes(fields[i]);
    out += "\n";
}

/// Whole numbers as such, others with all their digits.
std::string written(double value) {
    constexpr double kWhole = 9e15;
    if (value == std::floor(value) && std::abs(value) < kWhole) return fmt::format("{:.0f}", value);
    return fmt::format("{}", value);
}

/// Those of the table in its order, then any others.
std::vector<std::string> metricsOf(const std::vector<LaunchRow>& rows) {
    std::set<std::string, std::less<>> left;
    for (const LaunchRow& row : rows)
        for (const auto& [name, value] : row.values) left.insert(name);
    std::vector<std::string> all;
    for (const Metric& metric : metricTable()) {
        const auto at = left.find(metric.name);
        if (at == left.end()) continue;
        all.push_back(*at);
        left.erase(at);
    }
    all.insert(all.end(), left.begin(), left.end());
    return all;
}

}  // namespace

std::vector<std::vector<LaunchRow>> readNcuCsv(std::string_view text, const std::string& where) {
    Reader reader(where);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        reader.line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return reader.done();
}

std::vector<LaunchRow> mergeRuns(const std::vector<std::vector<LaunchRow>>& runs) {
    std::vector<LaunchRow> merged;
    std::map<std::string, std::vector<std::size_t>> placesOf;  // of a kernel's launches among the merged
    for (const std::vector<LaunchRow>& run : runs) {
        std::map<std::string, std::size_t> seen;
        for (const LaunchRow& row : run) {
            const std::string kernel = kernelName(row.kernel);
            std::vector<std::size_t>& places = placesOf[kernel];
            const std::size_t n = seen[kernel]++;
            if (n == places.size()) {
                places.push_back(merged.size());
                merged.push_back(row);
            } else {
                merged[places[n]].values.insert(row.values.begin(), row.values.end());
            }
        }
    }
    return merged;
}

std::string ncuCsv(const std::vector<LaunchRow>& rows) {
    const std::vector<std::string> metrics = metricsOf(rows);
    Fields header = {std::string(kId), std::string(kProcess), std::string(kKernel), std::string(kBlock),
                     std::string(kGrid)};
    Fields units(header.size());
    std::vector<double> factors;
    for (const std::string& name : metrics) {
        const Metric* const metric = findMetric(name);
        header.push_back(name);
        units.emplace_back(metric ? metric->unit : "");
        factors.push_back(factorOf(units.back()));
    }
    std::string out;
    addLine(out, header);
    addLine(out, units);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        Fields fields = {std::to_string(i), rows[i].process, rows[i].kernel, rows[i].block, rows[i].grid};
        for (std::size_t m = 0; m < metrics.size(); ++m) {
            const std::optional<double> value = rows[i].value(metrics[m]);
            fields.push_back(value ? written(*value / factors[m]) : "");
        }
        addLine(out, fields);
    }
    return out;
}

}  // namespace bulkhead::metrics
