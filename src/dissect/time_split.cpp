#include "dissect/time_split.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bulkhead::dissect {
namespace {

std::vector<std::uint32_t> sorted(std::span<const std::uint32_t> times) {
    std::vector<std::uint32_t> v(times.begin(), times.end());
    std::sort(v.begin(), v.end());
    return v;
}

double meanOf(std::span<const std::uint32_t> v) {
    double sum = 0;
    for (std::uint32_t t : v) sum += t;
    return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

}  // namespace

std::uint32_t median(std::vector<std::uint32_t> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

std::optional<TimeSplit> splitSlow(std::span<const std::uint32_t> times) {
    if (times.size() < 100) return std::nullopt;
    const std::vector<std::uint32_t> v = sorted(times);
    TimeSplit split;
    split.usual = v[v.size() / 2];
    // Bins of 1 % of the usual time. A cluster is the fullest window of three bins that begins 5 % above the bulk.
    constexpr std::size_t kBins = 150, kFirst = 5, kWindow = 3;
    std::vector<std::size_t> bins(kBins, 0);
    for (std::uint32_t t : v) {
        const double above = 100 * (t / split.usual - 1);
        if (above >= 0 && above < static_cast<double>(kBins)) ++bins[static_cast<std::size_t>(above)];
    }
    std::size_t best = 0, mass = 0, all = 0;
    for (std::size_t b = kFirst; b + kWindow <= kBins; ++b) {
        const std::size_t m = bins[b] + bins[b + 1] + bins[b + 2];
        all += bins[b];
        if (m > mass) {
            mass = m;
            best = b;
        }
    }
    // Outliers spread over all bins; a cluster holds a good part of what is slow.
    if (mass < 5 || mass * 12 < all) return std::nullopt;
    const auto from = std::lower_bound(v.begin(), v.end(), split.usual * (1 + static_cast<double>(best) / 100));
    const auto to = std::lower_bound(from, v.end(), split.usual * (1 + static_cast<double>(best + kWindow) / 100));
    split.slow = meanOf({from, to});
    split.threshold = (split.usual + split.slow) / 2;
    split.slowShare = static_cast<double>(mass) / static_cast<double>(v.size());
    return split;
}

std::optional<TimeSplit> splitTwo(std::span<const std::uint32_t> times) {
    if (times.size() < 8) return std::nullopt;
    std::vector<std::uint32_t> v = sorted(times);
    // Outliers at the ends would pass for a cluster.
    const std::size_t trim = v.size() / 25;
    const std::span<const std::uint32_t> body(v.data() + trim, v.size() - 2 * trim);
    // The cut that leaves the least variance within its two parts.
    std::vector<double> sum(body.size() + 1, 0), squares(body.size() + 1, 0);
    for (std::size_t i = 0; i < body.size(); ++i) {
        sum[i + 1] = sum[i] + body[i];
        squares[i + 1] = squares[i] + static_cast<double>(body[i]) * body[i];
    }
    const auto scatter = [&](std::size_t a, std::size_t b) {
        const double n = static_cast<double>(b - a), s = sum[b] - sum[a];
        return squares[b] - squares[a] - s * s / n;
    };
    std::size_t cut = 1;
    for (std::size_t i = 2; i < body.size(); ++i)
        if (scatter(0, i) + scatter(i, body.size()) < scatter(0, cut) + scatter(cut, body.size())) cut = i;
    const double within = scatter(0, cut) + scatter(cut, body.size()), whole = scatter(0, body.size());
    TimeSplit split;
    split.usual = meanOf(body.first(cut));
    split.slow = meanOf(body.subspan(cut));
    split.threshold = (split.usual + split.slow) / 2;
    split.slowShare = static_cast<double>(body.size() - cut) / static_cast<double>(body.size());
    if (whole <= 0 || within > 0.2 * whole || split.slow < 1.03 * split.usual) return std::nullopt;
    return split;
}

}  // namespace bulkhead::dissect
