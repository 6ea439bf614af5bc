#include "dissect/regions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dissect/correlation.h"

namespace bulkhead::dissect {
namespace {

using Row = std::vector<double>;

double mean(const Row& row) {
    return row.empty() ? 0 : std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
}

/// Latencies as differences from what is usual for the SM, and from what is usual for the address.
void center(std::vector<Row>& rows) {
    for (Row& row : rows) {
        const double usual = mean(row);
        for (double& value : row) value -= usual;
    }
    for (std::size_t column = 0; column < rows.front().size(); ++column) {
        Row all;
        for (const Row& row : rows) all.push_back(row[column]);
        const double usual = mean(all);
        for (Row& row : rows) row[column] -= usual;
    }
}

std::vector<std::size_t> smsOf(const Sides& sides, unsigned side) {
    std::vector<std::size_t> list;
    for (std::size_t sm = 0; sm < sides.ofSm.size(); ++sm)
        if (sides.ofSm[sm] == side) list.push_back(sm);
    return list;
}

/// Addresses that most of these SMs find near.
std::vector<std::size_t> near(const Sides& sides, const std::vector<std::size_t>& sms) {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < sides.addresses.size(); ++i) {
        const auto votes = std::count_if(sms.begin(), sms.end(),
                                         [&](std::size_t sm) { return sides.latencies[sm][i] <= sides.threshold[sm]; });
        if (2 * static_cast<std::size_t>(votes) > sms.size()) list.push_back(i);
    }
    return list;
}

}  // namespace

std::optional<L2Regions> findRegions(const Sides& sides) {
    constexpr double kClear = 0.5;
    constexpr std::size_t kFewest = 8;  // addresses, and SMs
    L2Regions regions;
    regions.ofSm.resize(sides.ofSm.size());
    for (std::uint8_t side = 0; side < 2; ++side) {
        const std::vector<std::size_t> sms = smsOf(sides, side), addresses = near(sides, sms);
        if (sms.size() < kFewest || addresses.size() < kFewest) return std::nullopt;
        std::vector<Row> rows;
        for (const std::size_t sm : sms) {
            Row& row = rows.emplace_back();
            for (const std::size_t i : addresses) row.push_back(sides.latencies[sm][i]);
        }
        center(rows);
        for (std::size_t i = 0; i < sms.size(); ++i) {
            const double r = correlation(rows.front(), rows[i]);
            regions.leastCorrelation = std::min(regions.leastCorrelation, std::fabs(r));
            regions.ofSm[sms[i]] = {side, static_cast<std::uint8_t>(r < 0)};
        }
    }
    if (regions.leastCorrelation < kClear) return std::nullopt;
    return regions;
}

L2Region regionOf(const Sides& sides, const std::optional<L2Regions>& regions, const Times& latencies) {
    // Means of the SMs of each side, then of each half.
    const auto meanOf = [&](const auto& of, const auto& which) {
        Row sum(latencies.size(), 0);
        for (std::size_t sm = 0; sm < of.size(); ++sm)
            if (of[sm] == which)
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += sides.latencies[sm][i];
        return sum;
    };
    const auto isFirst = [&](const std::vector<std::size_t>& addresses, const Row& first, const Row& second) {
        Row here, there, own;
        for (const std::size_t i : addresses) {
            here.push_back(first[i]);
            there.push_back(second[i]);
            own.push_back(latencies[i]);
        }
        return correlation(own, here) > correlation(own, there);
    };
    std::vector<std::size_t> all(latencies.size());
    std::iota(all.begin(), all.end(), 0);
    const std::uint8_t side = isFirst(all, meanOf(sides.ofSm, 0), meanOf(sides.ofSm, 1)) ? 0 : 1;
    const L2Region first = {side, 0}, second = {side, 1};
    if (!regions) return first;
    const std::vector<std::size_t> addresses = near(sides, smsOf(sides, side));
    return isFirst(addresses, meanOf(regions->ofSm, first), meanOf(regions->ofSm, second)) ? first : second;
}

std::vector<L2Region> regionsOfSlices(const L2Regions& regions, const SliceLatencies& latencies,
                                      std::uint32_t modulus) {
    std::vector<L2Region> result(latencies.slices());
    for (std::uint8_t side = 0; side < 2; ++side) {
        std::vector<std::size_t> slices;
        for (std::size_t s = 0; s < result.size(); ++s)
            if ((s / modulus & 1) == side) slices.push_back(s);
        std::vector<Row> rows;
        std::vector<unsigned> half;
        for (std::size_t i = 0; i < latencies.cycles.size(); ++i) {
            const L2Region region = regions.ofSm[latencies.sms[i]];
            if (region.side != side) continue;
            half.push_back(region.half);
            Row& row = rows.emplace_back();
            for (const std::size_t s : slices) row.push_back(latencies.cycles[i][s]);
        }
        if (rows.empty() || slices.empty()) continue;
        center(rows);
        for (std::size_t k = 0; k < slices.size(); ++k) {
            Row from[2];
            for (std::size_t i = 0; i < rows.size(); ++i) from[half[i]].push_back(rows[i][k]);
            result[slices[k]] = {side, static_cast<std::uint8_t>(mean(from[0]) > mean(from[1]))};
        }
    }
    return result;
}

}  // namespace bulkhead::dissect
