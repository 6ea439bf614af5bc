#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "report/scale.h"
#include "report/values.h"

namespace bulkhead::report {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostCdfPoints = 1000, kMostCells = 1'000'000, kMostUnits = 5000;

/// A number that an axis can hold: sums and ratios of any two are still numbers.
double drawn(const Value& value) {
    constexpr double kMost = 1e150, kLeast = 1e-150;
    const double x = number(value);
    if (!(std::abs(x) <= kMost)) return kNothing;
    return std::abs(x) < kLeast ? 0 : x;
}

std::size_t columnOf(const Result& result, const std::string& name) {
    for (std::size_t c = 0; c < result.columns.size(); ++c)
        if (result.columns[c].name == name) return c;
    throw Error("result \"{}\": a chart uses column \"{}\", which does not exist", result.title, name);
}

/// Names in the order in which they first occur.
class Names {
  public:
    std::size_t number(const std::string& name) {
        const auto [at, fresh] = numbers_.emplace(name, names_.size());
        if (fresh) names_.push_back(name);
        return at->second;
    }
    const std::vector<std::string>& all() const { return names_; }

  private:
    std::map<std::string, std::size_t> numbers_;
    std::vector<std::string> names_;
};

/// The rows of a result, split by the columns that a chart wants apart.
struct Split {
    std::vector<std::string> names;  ///< one, empty, where nothing is apart
    std::vector<std::vector<std::size_t>> rows;
};

template <class Labels>
std::string joined(const Result& result, const std::vector<std::size_t>& columns, std::size_t row, Labels&& labels) {
    std::string name;
    for (const std::size_t c : columns) name += (name.empty() ? "" : " / ") + labels(c, result.rows[row][c]);
    return name;
}

Split split(const Result& result, const Chart& chart) {
    std::vector<std::size_t> columns;
    for (const std::string& name : chart.series) columns.push_back(columnOf(result, name));
    // A number alone would not tell in a legend what it counts; an axis has its own title.
    const auto label = [&](std::size_t column, const Value& value) {
        const bool named = chart.kind != Chart::Kind::heatmap && isNumber(value);
        return named ? result.columns[column].name + " " + shown(value) : shown(value);
    };
    Names names;
    Split s;
    for (std::size_t row = 0; row < result.rows.size(); ++row) {
        const std::size_t n = names.number(joined(result, columns, row, label));
        s.rows.resize(std::max(s.rows.size(), n + 1));
        s.rows[n].push_back(row);
    }
    s.names = names.all();
    return s;
}

std::string seriesName(const Chart& chart, const std::string& part, const std::string& column) {
    if (part.empty()) return column;
    return chart.y.size() == 1 ? part : part + ": " + column;
}

std::string yTitle(const Result& result, const Chart& chart) {
    if (!chart.yTitle.empty()) return chart.yTitle;
    if (chart.y.size() == 1) return heading(result.columns[columnOf(result, chart.y.front())]);
    std::string unit;
    for (const std::string& y : chart.y) {
        const std::string& its = result.columns[columnOf(result, y)].unit;
        if (!unit.empty() && unit != its) return {};
        unit = its;
    }
    return unit;
}

bool anyNumber(const std::vector<double>& values) {
    return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

bool hasCategories(Chart::Kind kind) {
    return kind == Chart::Kind::bar || kind == Chart::Kind::stack;
}

void sortByX(Plot::Series& s) {
    std::vector<std::size_t> order(s.x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return s.x[a] < s.x[b]; });
    Plot::Series sorted = s;
    for (std::size_t i = 0; i < order.size(); ++i) {
        sorted.x[i] = s.x[order[i]];
        sorted.y[i] = s.y[order[i]];
        if (!s.labels.empty()) sorted.labels[i] = s.labels[order[i]];
    }
    s = std::move(sorted);
}

Plot::Series lineOf(const Result& result, const Chart& chart, const std::vector<std::size_t>& rows,
                    const std::string& y) {
    const std::size_t yColumn = columnOf(result, y);
    Plot::Series s;
    for (const std::size_t row : rows) {
        const double x =
            chart.x.empty() ? static_cast<double>(s.x.size() + 1) : drawn(result.rows[row][columnOf(result, chart.x)]);
        if (!std::isfinite(x) || (chart.logX && x <= 0)) continue;
        s.x.push_back(x);
        s.y.push_back(drawn(result.rows[row][yColumn]));
        if (!chart.label.empty()) s.labels.push_back(shown(result.rows[row][columnOf(result, chart.label)]));
    }
    sortByX(s);
    return s;
}

Plot::Series barsOf(const Result& result, const Chart& chart, const std::vector<std::size_t>& rows,
                    const std::string& y, Names& categories) {
    const std::size_t xColumn = columnOf(result, chart.x), yColumn = columnOf(result, y);
    std::map<std::size_t, double> heights;
    for (const std::size_t row : rows)
        heights[categories.number(shown(result.rows[row][xColumn]))] = drawn(result.rows[row][yColumn]);
    Plot::Series s;
    for (const auto& [category, height] : heights) {
        s.x.push_back(static_cast<double>(category));
        s.y.push_back(height);
    }
    return s;
}

/// Lines and bars: one series for each y of each part, followed by the paper's where it has figures.
void addHeights(Plot& p, const Result& result, const Chart& chart) {
    const Split parts = split(result, chart);
    Names categories;
    const auto series = [&](std::size_t part, const std::string& y) {
        return hasCategories(chart.kind) ? barsOf(result, chart, parts.rows[part], y, categories)
                                         : lineOf(result, chart, parts.rows[part], y);
    };
    for (std::size_t part = 0; part < parts.names.size(); ++part)
        for (std::size_t i = 0; i < chart.y.size(); ++i) {
            Plot::Series ours = series(part, chart.y[i]);
            ours.name = seriesName(chart, parts.names[part], chart.y[i]);
            if (!anyNumber(ours.y)) continue;
            const std::string name = ours.name;
            p.series.push_back(std::move(ours));
            if (i >= chart.paper.size()) continue;
            Plot::Series published = series(part, chart.paper[i]);
            published.name = chart.y.size() * parts.names.size() == 1 ? "paper" : name + ", paper";
            published.paper = true;
            if (anyNumber(published.y)) p.series.push_back(std::move(published));
        }
    p.categories = categories.all();
}

std::vector<double> samples(const Result& result, const std::vector<std::size_t>& rows, const std::string& column) {
    const std::size_t c = columnOf(result, column);
    std::vector<double> values;
    for (const std::size_t row : rows)
        if (const double v = drawn(result.rows[row][c]); std::isfinite(v)) values.push_back(v);
    std::sort(values.begin(), values.end());
    return values;
}

/// The distribution as percent of samples at or below; of very many, evenly chosen ones, with the least and the most.
Plot::Series cdfOf(const std::vector<double>& sorted) {
    Plot::Series s;
    const std::size_t n = sorted.size(), points = std::min(n, kMostCdfPoints);
    for (std::size_t i = 0; i < points; ++i) {
        const std::size_t at = points == 1 ? n - 1 : i * (n - 1) / (points - 1);
        s.x.push_back(sorted[at]);
        s.y.push_back(100 * static_cast<double>(at + 1) / static_cast<double>(n));
    }
    return s;
}

void addHistograms(Plot& p, const std::vector<std::vector<double>>& all) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    std::size_t most = 0;
    for (const auto& values : all) {
        low = std::min(low, values.front());
        high = std::max(high, values.back());
        most = std::max(most, values.size());
    }
    const double bins = std::clamp(std::sqrt(static_cast<double>(most)), 8.0, 60.0);
    p.binWidth = high > low ? niceStep((high - low) / bins) : 1;
    const double start = std::floor(low / p.binWidth) * p.binWidth;
    const auto count = static_cast<std::size_t>((high - start) / p.binWidth) + 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
        Plot::Series& s = p.series[i];
        for (std::size_t b = 0; b < count; ++b) s.x.push_back(start + static_cast<double>(b) * p.binWidth);
        s.y.assign(count, 0);
        for (const double v : all[i]) ++s.y[std::min(count - 1, static_cast<std::size_t>((v - start) / p.binWidth))];
    }
}

void addDistributions(Plot& p, const Result& result, const Chart& chart) {
    const Split parts = split(result, chart);
    std::vector<std::vector<double>> all;
    for (std::size_t part = 0; part < parts.names.size(); ++part)
        for (const std::string& y : chart.y) {
            std::vector<double> values = samples(result, parts.rows[part], y);
            if (values.empty()) continue;
            Plot::Series s = chart.kind == Chart::Kind::cdf ? cdfOf(values) : Plot::Series();
            s.name = seriesName(chart, parts.names[part], y);
            p.series.push_back(std::move(s));
            all.push_back(std::move(values));
        }
    if (chart.kind == Chart::Kind::histogram && !all.empty()) addHistograms(p, all);
}

/// Numbers ascend, so that neighbours on an axis are neighbours; names keep their order.
std::vector<std::size_t> axisOrder(const std::vector<std::string>& names) {
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto isInteger = [](const std::string& s) {
        return !s.empty() && s.size() < 16 && s.find_first_not_of("0123456789") == std::string::npos;
    };
    if (std::all_of(names.begin(), names.end(), isInteger))
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return std::stoull(names[a]) < std::stoull(names[b]); });
    return order;
}

/// Numbers as they are; where a column has words, each word has a number.
Plot::Layer layerOf(const Result& result, const std::string& column,
                    const std::vector<std::optional<std::size_t>>& rows) {
    const std::size_t c = columnOf(result, column);
    const bool words = std::any_of(result.rows.begin(), result.rows.end(),
                                   [&](const auto& row) { return std::holds_alternative<std::string>(row[c]); });
    Plot::Layer layer{heading(result.columns[c]), {}};
    Names names;
    for (const std::optional<std::size_t> row : rows) {
        const Value value = row ? result.rows[*row][c] : Value();
        const bool nothing = std::holds_alternative<std::monostate>(value);
        layer.values.push_back(words && !nothing ? static_cast<double>(names.number(shown(value)))
                               : words           ? kNothing
                                                 : drawn(value));
    }
    layer.names = names.all();
    return layer;
}

void addLayers(Plot& p, const Result& result, const Chart& chart, const std::vector<std::optional<std::size_t>>& rows) {
    for (const std::string& y : chart.y) p.layers.push_back(layerOf(result, y, rows));
}

void addCells(Plot& p, const Result& result, const Chart& chart) {
    const Split parts = split(result, chart);
    const std::size_t xColumn = columnOf(result, chart.x);
    Names across;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> places;
    for (std::size_t part = 0; part < parts.names.size(); ++part)
        for (const std::size_t row : parts.rows[part])
            places[{part, across.number(shown(result.rows[row][xColumn]))}] = row;
    if (parts.names.size() * across.all().size() > kMostCells)
        throw Error("result \"{}\": a heat map of {} by {} cells is too large to draw", result.title,
                    parts.names.size(), across.all().size());
    for (const std::size_t column : axisOrder(across.all())) p.categories.push_back(across.all()[column]);
    std::vector<std::optional<std::size_t>> rows;
    for (const std::size_t part : axisOrder(parts.names)) {
        p.rows.push_back(parts.names[part]);
        for (const std::size_t column : axisOrder(across.all())) {
            const auto place = places.find({part, column});
            rows.push_back(place == places.end() ? std::nullopt : std::optional(place->second));
        }
    }
    addLayers(p, result, chart, rows);
    p.cells = p.layers.front().values;
    if (p.layers.size() == 1) p.layers.front().name = p.yTitle;
    if (chart.label.empty()) return;
    const std::size_t label = columnOf(result, chart.label);
    for (const std::optional<std::size_t> row : rows)
        p.labels.push_back(row ? shown(result.rows[*row][label]) : std::string());
}

void addUnits(Plot& p, const Result& result, const Chart& chart) {
    if (chart.series.empty()) throw Error("result \"{}\": a floor plan does not say what its units are", result.title);
    if (result.rows.size() > kMostUnits)
        throw Error("result \"{}\": a floor plan of {} units is too large to draw", result.title, result.rows.size());
    const std::size_t unit = columnOf(result, chart.x), part = columnOf(result, chart.series.front());
    const Split groups = split(result, chart);
    std::vector<std::optional<std::size_t>> rows;
    for (std::size_t g = 0; g < groups.names.size(); ++g) {
        const std::size_t first = groups.rows[g].front();
        const std::string kind = shown(result.rows[first][part]);
        std::string name;
        for (std::size_t i = 1; i < chart.series.size(); ++i)
            name += (name.empty() ? "" : ", ") + shown(result.rows[first][columnOf(result, chart.series[i])]);
        p.groups.push_back({kind, name, {}});
        for (const std::size_t row : groups.rows[g]) {
            p.groups.back().units.push_back(rows.size());
            p.labels.push_back(shown(result.rows[row][unit]));
            rows.emplace_back(row);
        }
    }
    addLayers(p, result, chart, rows);
}

std::string kindWords(Chart::Kind kind) {
    switch (kind) {
        case Chart::Kind::line:
            return "Line chart";
        case Chart::Kind::bar:
            return "Bar chart";
        case Chart::Kind::cdf:
            return "Cumulative distribution";
        case Chart::Kind::histogram:
            return "Histogram";
        case Chart::Kind::heatmap:
            return "Heat map";
        case Chart::Kind::scatter:
            return "Scatter plot";
        case Chart::Kind::stack:
            return "Stacked bar chart";
        case Chart::Kind::floorplan:
            return "Floor plan";
    }
    return {};
}

std::string placeOf(const Plot& p, const Plot::Series& s, std::size_t i) {
    return p.categories.empty() ? rounded(s.x[i]) : p.categories[static_cast<std::size_t>(s.x[i])];
}

std::string describeHeights(const Plot& p, const Plot::Series& s) {
    std::size_t least = s.y.size(), most = s.y.size();
    for (std::size_t i = 0; i < s.y.size(); ++i) {
        if (!std::isfinite(s.y[i])) continue;
        if (least == s.y.size() || s.y[i] < s.y[least]) least = i;
        if (most == s.y.size() || s.y[i] > s.y[most]) most = i;
    }
    if (least == s.y.size()) return {};
    return fmt::format("{}: from {} at {} to {} at {}.", s.name, rounded(s.y[least]), placeOf(p, s, least),
                       rounded(s.y[most]), placeOf(p, s, most));
}

std::string describeSamples(const Plot::Series& s) {
    const auto half = std::lower_bound(s.y.begin(), s.y.end(), 50.0);
    return fmt::format("{}: from {} to {}, median {}.", s.name, rounded(s.x.front()), rounded(s.x.back()),
                       rounded(s.x[static_cast<std::size_t>(half - s.y.begin())]));
}

std::string describeCells(const Plot& p) {
    if (!p.layers.front().names.empty())
        return fmt::format(" {} rows by {} columns, each one of: {}.", p.rows.size(), p.categories.size(),
                           fmt::join(p.layers.front().names, ", "));
    std::size_t least = p.cells.size(), most = p.cells.size();
    for (std::size_t i = 0; i < p.cells.size(); ++i) {
        if (!std::isfinite(p.cells[i])) continue;
        if (least == p.cells.size() || p.cells[i] < p.cells[least]) least = i;
        if (most == p.cells.size() || p.cells[i] > p.cells[most]) most = i;
    }
    const auto place = [&](std::size_t i) {
        return p.rows[i / p.categories.size()] + ", " + p.categories[i % p.categories.size()];
    };
    return fmt::format(" {} rows by {} columns. Minimum {} ({}), maximum {} ({}).", p.rows.size(), p.categories.size(),
                       rounded(p.cells[least]), place(least), rounded(p.cells[most]), place(most));
}

std::string describeUnits(const Plot& p) {
    std::map<std::string, std::pair<std::size_t, std::size_t>> counts;  // groups and units of a part
    Names parts;
    for (const Plot::Group& g : p.groups) {
        parts.number(g.part);
        ++counts[g.part].first;
        counts[g.part].second += g.units.size();
    }
    std::string out = "Floor plan of a GPU:";
    for (std::size_t i = 0; i < parts.all().size(); ++i) {
        const auto [groups, units] = counts[parts.all()[i]];
        out += fmt::format("{} {} of {} in {} {}", i == 0 ? "" : ",", units, parts.all()[i], groups,
                           groups == 1 ? "group" : "groups");
    }
    out += ". Colors show ";
    for (std::size_t i = 0; i < p.layers.size(); ++i) out += (i == 0 ? "" : " or ") + p.layers[i].name;
    return out + ".";
}

}  // namespace

bool Plot::empty() const {
    return series.empty() &&
           std::none_of(layers.begin(), layers.end(), [](const Layer& l) { return anyNumber(l.values); });
}

Plot plot(const Result& result, const Chart& chart) {
    const bool distribution = chart.kind == Chart::Kind::cdf || chart.kind == Chart::Kind::histogram;
    if (chart.y.empty()) throw Error("result \"{}\": a chart has no y column", result.title);
    if (chart.x.empty() && (hasCategories(chart.kind) || chart.kind == Chart::Kind::heatmap ||
                            chart.kind == Chart::Kind::scatter || chart.kind == Chart::Kind::floorplan))
        throw Error("result \"{}\": a chart has no x column", result.title);
    Plot p;
    p.kind = chart.kind;
    p.title = chart.title;
    p.logX = chart.logX && chart.kind != Chart::Kind::histogram;
    p.logY = chart.logY;
    if (chart.kind == Chart::Kind::scatter) p.band = chart.band;
    if (chart.kind == Chart::Kind::line || distribution)
        for (const Chart::Mark& mark : chart.marks)
            if (std::isfinite(mark.x) && (!p.logX || mark.x > 0)) p.marks.push_back(mark);
    p.yTitle = yTitle(result, chart);
    if (!chart.x.empty()) p.xTitle = heading(result.columns[columnOf(result, chart.x)]);
    if (distribution) {
        p.xTitle = p.yTitle;
        p.yTitle = chart.kind == Chart::Kind::cdf ? "samples at or below (%)" : "samples";
        addDistributions(p, result, chart);
    } else if (chart.kind == Chart::Kind::heatmap) {
        p.rowTitle = fmt::format("{}", fmt::join(chart.series, " / "));
        addCells(p, result, chart);
    } else if (chart.kind == Chart::Kind::floorplan) {
        addUnits(p, result, chart);
    } else {
        addHeights(p, result, chart);
    }
    return p;
}

std::string describe(const Plot& p) {
    if (p.kind == Chart::Kind::floorplan && !p.empty()) return describeUnits(p);
    std::string out = fmt::format("{} of {}", kindWords(p.kind), p.yTitle.empty() ? p.title : p.yTitle);
    if (p.kind == Chart::Kind::cdf)
        out = fmt::format("{} of {}", kindWords(p.kind), p.xTitle);
    else if (!p.xTitle.empty())
        out += " by " + p.xTitle + (p.rowTitle.empty() ? "" : " and " + p.rowTitle);
    out += ".";
    if (p.empty()) return out + " Nothing to show.";
    if (p.kind == Chart::Kind::heatmap) return out + describeCells(p);
    constexpr std::size_t kMost = 12;
    for (std::size_t i = 0; i < std::min(kMost, p.series.size()); ++i)
        out += " " + (p.kind == Chart::Kind::cdf ? describeSamples(p.series[i]) : describeHeights(p, p.series[i]));
    if (p.series.size() > kMost) out += fmt::format(" And {} more.", p.series.size() - kMost);
    for (const Chart::Mark& mark : p.marks) out += fmt::format(" Marked: {} at {}.", mark.name, rounded(mark.x));
    return out;
}

}  // namespace bulkhead::report
