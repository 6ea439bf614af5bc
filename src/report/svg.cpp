#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "report/palette.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/scale.h"
#include "report/values.h"

namespace bulkhead::report {
namespace {

constexpr double kWidth = 760, kPlotHeight = 320, kRight = 20, kLetter = 6.3, kLineHeight = 18;
constexpr const char *kInk = "#1d2329", *kFaint = "#5c6670", *kGrid = "#e3e7eb";
constexpr std::array<const char*, 4> kDashes = {"", "7 3", "2 3", "9 3 2 3"};

double textWidth(const std::string& s) {
    return kLetter * static_cast<double>(width(s));
}

std::string shortened(const std::string& s, std::size_t most) {
    if (width(s) <= most) return s;
    std::size_t bytes = 0, characters = 0;
    while (bytes < s.size() && characters + 1 < most) {
        ++bytes;
        while (bytes < s.size() && (static_cast<unsigned char>(s[bytes]) & 0xc0) == 0x80) ++bytes;
        ++characters;
    }
    return s.substr(0, bytes) + "…";
}

enum class Anchor { start, middle, end };

/// Elements of a picture, in the order in which they are drawn.
class Sheet {
  public:
    void text(double x, double y, const std::string& s, Anchor anchor, const char* color = kFaint, double size = 11,
              double turn = 0) {
        constexpr std::array<const char*, 3> kAnchors = {"start", "middle", "end"};
        body_ += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\" font-size=\"{}\"{}>{}</text>\n", x, y,
            kAnchors[static_cast<std::size_t>(anchor)], color, size,
            turn == 0 ? "" : fmt::format(" transform=\"rotate({} {:.1f} {:.1f})\"", turn, x, y), escaped(s));
    }
    void line(double x1, double y1, double x2, double y2, const char* color) {
        body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1,
                             x2, y2, color);
    }
    void rect(double x, double y, double w, double h, const std::string& color, const std::string& more = "") {
        body_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}/>\n", x,
                             y, w, h, color, more);
    }
    void path(const std::string& d, const std::string& color, const std::string& dashes) {
        body_ += fmt::format(
            "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}/>\n", d, color,
            dashes.empty() ? "" : " stroke-dasharray=\"" + dashes + "\"");
    }
    void dot(double x, double y, const std::string& color) {
        body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" fill=\"{}\" fill-opacity=\"0.75\"/>\n", x,
                             y, color);
    }
    /// The mark of a published figure.
    void diamond(double x, double y, const std::string& color) {
        body_ += fmt::format(
            "<path d=\"M{:.1f} {:.1f}l4.5 5.5l-4.5 5.5l-4.5 -5.5z\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.6\"/>\n",
            x, y - 5.5, kLightPage, color);
    }

    std::string done(const std::string& title, const std::string& description, double height) const {
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
            "height=\"{1:.0f}\" role=\"img\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
            "<title>{2}</title>\n<desc>{3}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"{4}\"/>\n{5}</svg>\n",
            kWidth, height, escaped(title), escaped(description), kLightPage, body_);
    }

  private:
    std::string body_;
};

bool isBars(Chart::Kind kind) {
    return kind == Chart::Kind::bar || kind == Chart::Kind::stack;
}

/// What is drawn of a series: the paper's has the color of ours, which is before it.
struct Look {
    const char *color, *dashes;
};

std::vector<Look> looks(const Plot& p) {
    std::vector<Look> all;
    std::size_t ours = 0;
    for (const Plot::Series& s : p.series) {
        if (!s.paper) ++ours;
        const std::size_t n = ours == 0 ? 0 : ours - 1;
        all.push_back({kLightSeries[n % kLightSeries.size()], kDashes[n / 2 % kDashes.size()]});
    }
    return all;
}

/// Draws the legend from `y` on and returns where it ends.
double legend(Sheet& sheet, const Plot& p, double y) {
    if (p.series.size() < 2) return y;
    const std::vector<Look> look = looks(p);
    double x = 16;
    const auto entry = [&](const std::string& name, auto&& mark) {
        const double needed = 24 + textWidth(name) + 18;
        if (x > 16 && x + needed > kWidth) {
            x = 16;
            y += kLineHeight;
        }
        mark();
        sheet.text(x + 24, y, name, Anchor::start, kInk);
        x += needed;
    };
    bool paper = false;
    for (std::size_t i = 0; i < p.series.size(); ++i) {
        paper = paper || p.series[i].paper;
        if (p.series[i].paper) continue;
        entry(shortened(p.series[i].name, 60), [&] {
            if (isBars(p.kind) || p.kind == Chart::Kind::histogram) {
                sheet.rect(x + 3, y - 10, 12, 12, look[i].color);
            } else {
                sheet.path(fmt::format("M{:.1f} {:.1f}h18", x, y - 4), look[i].color, look[i].dashes);
            }
        });
    }
    if (paper) entry("paper", [&] { sheet.diamond(x + 9, y - 4, kInk); });
    return y + kLineHeight;
}

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    void include(double v, bool positive) {
        if (!std::isfinite(v) || (positive && v <= 0)) return;
        low = std::min(low, v);
        high = std::max(high, v);
    }
    /// A range of nothing still wants an axis.
    void settle() {
        if (low > high) low = high = 1;
    }
};

/// Of stacked bars, by category.
std::vector<double> heightsOf(const Plot& p) {
    std::vector<double> heights(p.categories.size(), 0);
    for (const Plot::Series& s : p.series)
        for (std::size_t k = 0; k < s.x.size(); ++k)
            if (std::isfinite(s.y[k])) heights[static_cast<std::size_t>(s.x[k])] += s.y[k];
    return heights;
}

Range yRange(const Plot& p) {
    Range r;
    if (p.kind == Chart::Kind::stack) {
        for (const double height : heightsOf(p)) r.include(height, false);
    } else {
        for (const Plot::Series& s : p.series)
            for (const double v : s.y) r.include(v, p.logY);
    }
    if (!p.logY && p.kind != Chart::Kind::line) r.include(0, false);
    // Lines far above zero may leave it out where they differ enough.
    constexpr double kFar = 0.6, kWorthMagnifying = 0.1;
    const bool magnified = r.low > kFar * r.high && r.high - r.low > kWorthMagnifying * r.high;
    if (!p.logY && p.kind == Chart::Kind::line && r.low > 0 && !magnified) r.include(0, false);
    r.settle();
    return r;
}

Range xRange(const Plot& p) {
    Range r;
    for (const Plot::Series& s : p.series)
        for (const double v : s.x) r.include(v, p.logX);
    for (const Chart::Mark& mark : p.marks) r.include(mark.x, p.logX);
    r.settle();
    if (p.kind == Chart::Kind::histogram) r.high += p.binWidth;
    return r;
}

/// Where the axes of a chart are.
struct Frame {
    double left, right, top, bottom;
};

void yAxis(Sheet& sheet, const Plot& p, const Scale& y, const Frame& f) {
    for (const double tick : y.ticks()) {
        sheet.line(f.left, y.place(tick), f.right, y.place(tick), kGrid);
        sheet.text(f.left - 7, y.place(tick) + 4, rounded(tick), Anchor::end);
    }
    sheet.text(15, (f.top + f.bottom) / 2, shortened(p.yTitle, 50), Anchor::middle, kFaint, 11, -90);
}

/// Draws names below the axis, turned where they would not fit, and returns how much room they took.
double nameAxis(Sheet& sheet, const std::vector<std::string>& names, const Frame& f) {
    const double each = (f.right - f.left) / static_cast<double>(names.size());
    double longest = 0;
    for (const std::string& name : names) longest = std::max(longest, textWidth(shortened(name, 24)));
    const bool turned = longest + 6 > each;
    const auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(12 / each)));
    for (std::size_t i = 0; i < names.size(); i += step) {
        const double middle = f.left + each * (static_cast<double>(i) + 0.5);
        if (turned) {
            sheet.text(middle + 3, f.bottom + 14, shortened(names[i], 24), Anchor::end, kFaint, 11, -45);
        } else {
            sheet.text(middle, f.bottom + 16, names[i], Anchor::middle);
        }
    }
    return turned ? 16 + longest * 0.75 : 20;
}

double numberAxis(Sheet& sheet, const Scale& x, const Frame& f) {
    for (const double tick : x.ticks()) {
        sheet.line(x.place(tick), f.bottom, x.place(tick), f.bottom + 4, kFaint);
        sheet.text(x.place(tick), f.bottom + 17, rounded(tick), Anchor::middle);
    }
    return 22;
}

std::string steps(const std::vector<std::pair<double, double>>& points) {
    std::string d;
    for (std::size_t i = 0; i < points.size(); ++i)
        d += i == 0 ? fmt::format("M{:.1f} {:.1f}", points[i].first, points[i].second)
                    : fmt::format("H{:.1f}V{:.1f}", points[i].first, points[i].second);
    return d;
}

void drawLines(Sheet& sheet, const Plot& p, const Scale& x, const Scale& y) {
    const std::vector<Look> look = looks(p);
    for (std::size_t i = 0; i < p.series.size(); ++i) {
        const Plot::Series& s = p.series[i];
        std::string d;
        std::vector<std::pair<double, double>> points;
        bool pen = false;
        for (std::size_t k = 0; k < s.x.size(); ++k) {
            if (!x.holds(s.x[k]) || !y.holds(s.y[k])) {
                pen = false;
                continue;
            }
            const double px = x.place(s.x[k]), py = y.place(s.y[k]);
            if (s.paper) sheet.diamond(px, py, kInk);
            d += fmt::format("{}{:.1f} {:.1f}", pen ? 'L' : 'M', px, py);
            points.emplace_back(px, py);
            pen = true;
        }
        if (!s.paper) sheet.path(p.kind == Chart::Kind::cdf ? steps(points) : d, look[i].color, look[i].dashes);
    }
}

/// y = x times a factor, as far as both axes go.
void drawDiagonal(Sheet& sheet, const Scale& x, const Scale& y, const Range& range, double factor,
                  const std::string& dashes) {
    const double low = std::max(range.low, range.low / factor), high = std::min(range.high, range.high / factor);
    if (!x.holds(low) || !x.holds(high) || !y.holds(low * factor) || !y.holds(high * factor)) return;
    sheet.path(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x.place(low), y.place(low * factor), x.place(high),
                           y.place(high * factor)),
               kFaint, dashes);
}

void drawDots(Sheet& sheet, const Plot& p, const Scale& x, const Scale& y, const Range& range) {
    if (p.band > 0) {
        drawDiagonal(sheet, x, y, range, 1, "");
        drawDiagonal(sheet, x, y, range, 1 + p.band, "4 3");
        drawDiagonal(sheet, x, y, range, 1 - p.band, "4 3");
    }
    const std::vector<Look> look = looks(p);
    for (std::size_t i = 0; i < p.series.size(); ++i)
        for (std::size_t k = 0; k < p.series[i].x.size(); ++k)
            if (x.holds(p.series[i].x[k]) && y.holds(p.series[i].y[k]))
                sheet.dot(x.place(p.series[i].x[k]), y.place(p.series[i].y[k]), look[i].color);
}

void drawBars(Sheet& sheet, const Plot& p, const Scale& y, const Frame& f) {
    const std::vector<Look> look = looks(p);
    const auto ours = static_cast<double>(
        std::count_if(p.series.begin(), p.series.end(), [](const Plot::Series& s) { return !s.paper; }));
    const double each = (f.right - f.left) / static_cast<double>(p.categories.size());
    const double group = each * 0.8, bar = group / ours, zero = p.logY ? f.bottom : y.place(0);
    double place = -1;
    for (std::size_t i = 0; i < p.series.size(); ++i) {
        const Plot::Series& s = p.series[i];
        if (!s.paper) ++place;
        for (std::size_t k = 0; k < s.x.size(); ++k) {
            if (!y.holds(s.y[k])) continue;
            const double left = f.left + each * s.x[k] + (each - group) / 2 + bar * place, top = y.place(s.y[k]);
            if (s.paper) {
                sheet.diamond(left + bar / 2, top, kInk);
            } else {
                sheet.rect(left + bar * 0.04, std::min(top, zero), bar * 0.92, std::abs(zero - top), look[i].color);
            }
        }
    }
}

void drawStacks(Sheet& sheet, const Plot& p, const Scale& y, const Frame& f) {
    const std::vector<Look> look = looks(p);
    const double each = (f.right - f.left) / static_cast<double>(p.categories.size());
    std::vector<double> below(p.categories.size(), 0);
    for (std::size_t i = 0; i < p.series.size(); ++i)
        for (std::size_t k = 0; k < p.series[i].x.size(); ++k) {
            if (!std::isfinite(p.series[i].y[k])) continue;
            double& base = below[static_cast<std::size_t>(p.series[i].x[k])];
            const double bottom = y.place(base), top = y.place(base + p.series[i].y[k]);
            sheet.rect(f.left + each * (p.series[i].x[k] + 0.13), std::min(top, bottom), each * 0.74,
                       std::abs(bottom - top), look[i].color);
            base += p.series[i].y[k];
        }
}

/// Lines down the chart, named at their upper ends.
void drawMarks(Sheet& sheet, const Plot& p, const Scale& x, const Frame& f) {
    for (std::size_t i = 0; i < p.marks.size(); ++i) {
        const double at = x.place(p.marks[i].x);
        const bool late = at > (f.left + f.right) / 2;
        sheet.path(fmt::format("M{:.1f} {:.1f}V{:.1f}", at, f.top, f.bottom), kInk, "5 4");
        sheet.text(at + (late ? -6 : 6), f.top + 12 + 15 * static_cast<double>(i),
                   shortened(p.marks[i].name, 40) + ": " + rounded(p.marks[i].x), late ? Anchor::end : Anchor::start,
                   kInk);
    }
}

void drawHistogram(Sheet& sheet, const Plot& p, const Scale& x, const Scale& y, const Frame& f) {
    const std::vector<Look> look = looks(p);
    for (std::size_t i = 0; i < p.series.size(); ++i)
        for (std::size_t k = 0; k < p.series[i].x.size(); ++k) {
            const double count = p.series[i].y[k];
            if (!y.holds(count) || count == 0) continue;
            const double left = x.place(p.series[i].x[k]), right = x.place(p.series[i].x[k] + p.binWidth);
            sheet.rect(left, y.place(count), right - left, f.bottom - y.place(count), look[i].color,
                       fmt::format(" fill-opacity=\"0.55\" stroke=\"{}\"", look[i].color));
        }
}

double widestTick(const Scale& y) {
    double widest = 0;
    for (const double tick : y.ticks()) widest = std::max(widest, textWidth(rounded(tick)));
    return widest;
}

std::string xyChart(const Plot& p) {
    Sheet sheet;
    sheet.text(16, 26, shortened(p.title, 90), Anchor::start, kInk, 14);
    const double top = legend(sheet, p, 50) + (p.series.size() < 2 ? -6 : 4);
    Range ys = yRange(p), xs = xRange(p);
    if (p.band > 0) {  // both axes are of the same kind
        ys.low = xs.low = std::min(xs.low, ys.low);
        ys.high = xs.high = std::max(xs.high, ys.high);
    }
    const double bottom = top + kPlotHeight;
    const Scale y(ys.low, ys.high, p.logY, bottom, top);
    const Frame f{34 + widestTick(y), kWidth - kRight, top, bottom};
    const Scale x(xs.low, xs.high, p.logX, f.left, f.right);
    yAxis(sheet, p, y, f);
    double below = 0;
    if (p.kind == Chart::Kind::bar) {
        drawBars(sheet, p, y, f);
        below = nameAxis(sheet, p.categories, f);
    } else if (p.kind == Chart::Kind::stack) {
        drawStacks(sheet, p, y, f);
        below = nameAxis(sheet, p.categories, f);
    } else if (p.kind == Chart::Kind::histogram) {
        drawHistogram(sheet, p, x, y, f);
        below = numberAxis(sheet, x, f);
    } else if (p.kind == Chart::Kind::scatter) {
        drawDots(sheet, p, x, y, xs);
        below = numberAxis(sheet, x, f);
    } else {
        drawLines(sheet, p, x, y);
        below = numberAxis(sheet, x, f);
    }
    drawMarks(sheet, p, x, f);
    sheet.line(f.left, bottom, f.right, bottom, kFaint);
    sheet.text((f.left + f.right) / 2, bottom + below + 16, shortened(p.xTitle, 100), Anchor::middle);
    return sheet.done(p.title, describe(p), bottom + below + 30);
}

std::array<int, 3> parts(const char* color) {
    const auto value = static_cast<int>(std::stoul(color + 1, nullptr, 16));
    return {value >> 16, value >> 8 & 255, value & 255};
}

std::array<int, 3> heatColor(double share) {
    const double at = std::clamp(share, 0.0, 1.0) * (kHeat.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(at), kHeat.size() - 2);
    const auto a = parts(kHeat[below]), b = parts(kHeat[below + 1]);
    std::array<int, 3> mixed{};
    for (std::size_t i = 0; i < 3; ++i)
        mixed[i] = static_cast<int>(std::lround(a[i] + (at - static_cast<double>(below)) * (b[i] - a[i])));
    return mixed;
}

std::string hex(const std::array<int, 3>& c) {
    return fmt::format("#{:02x}{:02x}{:02x}", c[0], c[1], c[2]);
}

/// From the values of a layer to colors: for numbers a place on a ramp, for names a color each.
class LayerColors {
  public:
    LayerColors(const Plot::Layer& layer, bool logarithmic)
        : layer_(layer), logarithmic_(logarithmic && layer.names.empty()) {
        for (const double v : layer.values) range_.include(v, logarithmic_);
        range_.settle();
    }

    bool draws(double v) const { return std::isfinite(v) && (!logarithmic_ || v > 0); }
    std::array<int, 3> of(double v) const {
        if (!layer_.names.empty()) return parts(kLightSeries[static_cast<std::size_t>(v) % kLightSeries.size()]);
        if (range_.high <= range_.low) return heatColor(1);
        return heatColor(logarithmic_ ? std::log(v / range_.low) / std::log(range_.high / range_.low)
                                      : (v - range_.low) / (range_.high - range_.low));
    }
    std::string words(double v) const {
        return layer_.names.empty() ? fmt::format("{:.3g}", v) : layer_.names[static_cast<std::size_t>(v)];
    }
    const Plot::Layer& layer() const { return layer_; }
    const Range& range() const { return range_; }

  private:
    const Plot::Layer& layer_;
    Range range_;
    bool logarithmic_;
};

void nameLegend(Sheet& sheet, const Plot::Layer& layer) {
    double x = 16;
    for (std::size_t i = 0; i < layer.names.size() && x < kWidth - 80; ++i) {
        const std::string name = shortened(layer.names[i], 24);
        sheet.rect(x, 40, 11, 11, kLightSeries[i % kLightSeries.size()]);
        sheet.text(x + 17, 49, name, Anchor::start);
        x += 17 + textWidth(name) + 18;
    }
}

void heatLegend(Sheet& sheet, const LayerColors& colors) {
    if (!colors.layer().names.empty()) return nameLegend(sheet, colors.layer());
    const Range& range = colors.range();
    constexpr int kSteps = 40;
    const double left = kWidth - kRight - 260, width = 160;
    for (int i = 0; i < kSteps; ++i)
        sheet.rect(left + 50 + width * i / kSteps, 40, width / kSteps + 0.3, 10, hex(heatColor((i + 0.5) / kSteps)));
    sheet.text(left + 45, 49, rounded(range.low), Anchor::end);
    sheet.text(left + width + 55, 49, rounded(range.high), Anchor::start);
    sheet.text(16, 49, shortened(colors.layer().name, 70), Anchor::start);
}

const char* inkOn(const std::array<int, 3>& color) {
    return color[0] + color[1] + color[2] > 330 ? "#000000" : "#ffffff";
}

std::string heatMap(const Plot& p) {
    Sheet sheet;
    sheet.text(16, 26, shortened(p.title, 90), Anchor::start, kInk, 14);
    const LayerColors colors(p.layers.front(), p.logY);
    const auto columns = static_cast<double>(p.categories.size()), rows = static_cast<double>(p.rows.size());
    double names = 0;
    for (const std::string& row : p.rows) names = std::max(names, textWidth(shortened(row, 30)));
    Frame f{24 + names, kWidth - kRight, 66, 0};
    const double cellWidth = std::min(64.0, (f.right - f.left) / columns);
    const double cellHeight = std::clamp(460 / rows, 1.5, std::min(26.0, std::max(cellWidth, 12.0)));
    f.right = f.left + cellWidth * columns;
    f.bottom = f.top + cellHeight * rows;
    heatLegend(sheet, colors);
    const auto rowStep = static_cast<std::size_t>(std::max(1.0, std::ceil(11 / cellHeight)));
    for (std::size_t row = 0; row < p.rows.size(); ++row) {
        const double top = f.top + cellHeight * static_cast<double>(row);
        if (row % rowStep == 0)
            sheet.text(f.left - 6, top + cellHeight / 2 + 4, shortened(p.rows[row], 30), Anchor::end);
        for (std::size_t column = 0; column < p.categories.size(); ++column) {
            const double v = p.cells[row * p.categories.size() + column];
            if (!colors.draws(v)) continue;
            const auto color = colors.of(v);
            const double left = f.left + cellWidth * static_cast<double>(column);
            const double gap = cellHeight > 6 ? 0.5 : 0;
            // Cells that touch would let the page shine through between them.
            sheet.rect(left + gap, top + gap, cellWidth - 2 * gap, cellHeight - 2 * gap, hex(color),
                       gap == 0 ? " shape-rendering=\"crispEdges\"" : "");
            if (cellWidth >= 34 && cellHeight >= 14)
                sheet.text(left + cellWidth / 2, top + cellHeight / 2 + 4, shortened(colors.words(v), 10),
                           Anchor::middle, inkOn(color), 10);
        }
    }
    const double below = nameAxis(sheet, p.categories, f);
    sheet.text(f.left, f.bottom + below + 16, shortened(fmt::format("across: {}, down: {}", p.xTitle, p.rowTitle), 100),
               Anchor::start);
    return sheet.done(p.title, describe(p), f.bottom + below + 30);
}

constexpr double kUnit = 22, kGroupGap = 8, kInset = 6, kGroupHead = 18;

/// Groups of units side by side from `top` on, in as many rows as they need. Returns where they end.
double drawGroups(Sheet& sheet, const Plot& p, std::span<const Plot::Group* const> groups, const LayerColors& colors,
                  double top) {
    constexpr double kNarrowest = 110, kLeft = 16;
    const double wide = kWidth - kLeft - kRight;
    std::size_t across = groups.size();
    const auto widthOf = [&](std::size_t n) {
        return (wide - kGroupGap * static_cast<double>(n - 1)) / static_cast<double>(n);
    };
    while (across > 1 && widthOf(across) < kNarrowest) across = (across + 1) / 2;
    for (std::size_t first = 0; first < groups.size(); first += across) {
        const double each = widthOf(across);
        const auto columns = static_cast<std::size_t>(std::max(1.0, (each - 2 * kInset) / kUnit));
        const auto row = groups.subspan(first, std::min(across, groups.size() - first));
        std::size_t most = 1;
        for (const Plot::Group* g : row) most = std::max(most, (g->units.size() + columns - 1) / columns);
        const double height = kGroupHead + 2 * kInset + kUnit * static_cast<double>(most);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const double left = kLeft + (each + kGroupGap) * static_cast<double>(i);
            sheet.rect(left, top, each, height, "#f4f6f8", " stroke=\"#d5dbe1\"");
            const std::string count =
                fmt::format("{} {}{}", row[i]->units.size(), row[i]->part, row[i]->units.size() == 1 ? "" : "s");
            sheet.text(left + kInset, top + 14, row[i]->name.empty() ? count : row[i]->name + ": " + count,
                       Anchor::start);
            for (std::size_t k = 0; k < row[i]->units.size(); ++k) {
                const std::size_t unit = row[i]->units[k];
                const double v = colors.layer().values[unit];
                const double x = left + kInset + kUnit * static_cast<double>(k % columns);
                const std::size_t line = k / columns;
                const double y = top + kGroupHead + kInset + kUnit * static_cast<double>(line);
                const auto color = colors.draws(v) ? colors.of(v) : std::array<int, 3>{255, 255, 255};
                sheet.rect(x, y, kUnit - 2, kUnit - 2, hex(color), " stroke=\"#d5dbe1\"");
                sheet.text(x + kUnit / 2 - 1, y + kUnit / 2 + 2.5, shortened(p.labels[unit], 4), Anchor::middle,
                           colors.draws(v) ? inkOn(color) : kFaint, 9);
            }
        }
        top += height + kGroupGap;
    }
    return top;
}

/// SMs above and below, what they share between them.
std::string floorPlan(const Plot& p) {
    Sheet sheet;
    sheet.text(16, 26, shortened(p.title, 90), Anchor::start, kInk, 14);
    const LayerColors colors(p.layers.front(), p.logY);
    heatLegend(sheet, colors);
    std::vector<const Plot::Group*> outer, inner;
    for (const Plot::Group& g : p.groups) (g.part == p.groups.front().part ? outer : inner).push_back(&g);
    const std::size_t half = (outer.size() + 1) / 2;
    double top = drawGroups(sheet, p, std::span(outer).first(half), colors, 66);
    for (auto first = inner.begin(); first != inner.end();) {
        const auto last = std::find_if(first, inner.end(), [&](const auto* g) { return g->part != (*first)->part; });
        top = drawGroups(sheet, p, std::span(first, last), colors, top);
        first = last;
    }
    if (half < outer.size()) top = drawGroups(sheet, p, std::span(outer).subspan(half), colors, top);
    return sheet.done(p.title, describe(p), top + 8);
}

}  // namespace

std::string svg(const Result& result, const Chart& chart) {
    const Plot p = plot(result, chart);
    if (p.kind == Chart::Kind::heatmap && !p.empty()) return heatMap(p);
    if (p.kind == Chart::Kind::floorplan && !p.empty()) return floorPlan(p);
    if (!p.empty()) return xyChart(p);
    Sheet sheet;
    sheet.text(16, 26, shortened(p.title, 90), Anchor::start, kInk, 14);
    sheet.text(16, 52, "Nothing to show.", Anchor::start);
    return sheet.done(p.title, describe(p), 70);
}

}  // namespace bulkhead::report
