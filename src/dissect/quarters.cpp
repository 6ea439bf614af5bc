#include "dissect/quarters.h"

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

/// Latencies as differences from what is usual for the multiprocessor, and from what is usual for the address.
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

std::vector<std::size_t> multiprocessorsOf(const Sides& sides, unsigned side) {
    std::vector<std::size_t> list;
    for (std::size_t sm = 0; sm < sides.ofMultiprocessor.size(); ++sm)
        if (sides.ofMultiprocessor[sm] == side) list.push_back(sm);
    return list;
}

/// Addresses that most of these multiprocessors find near.
std::vector<std::size_t> near(const Sides& sides, const std::vector<std::size_t>& multiprocessors) {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < sides.addresses.size(); ++i) {
        const auto votes = std::count_if(multiprocessors.begin(), multiprocessors.end(),
                                         [&](std::size_t sm) { return sides.latencies[sm][i] <= sides.threshold[sm]; });
        if (2 * static_cast<std::size_t>(votes) > multiprocessors.size()) list.push_back(i);
    }
    return list;
}

}  // namespace

std::optional<Quarters> findQuarters(const Sides& sides) {
    constexpr double kClear = 0.5;
    constexpr std::size_t kFewest = 8;  // addresses, and multiprocessors
    Quarters quarters;
    quarters.ofMultiprocessor.resize(sides.ofMultiprocessor.size());
    for (unsigned side = 0; side < 2; ++side) {
        const std::vector<std::size_t> sms = multiprocessorsOf(sides, side), addresses = near(sides, sms);
        if (sms.size() < kFewest || addresses.size() < kFewest) return std::nullopt;
        std::vector<Row> rows;
        for (const std::size_t sm : sms) {
            Row& row = rows.emplace_back();
            for (const std::size_t i : addresses) row.push_back(sides.latencies[sm][i]);
        }
        center(rows);
        for (std::size_t i = 0; i < sms.size(); ++i) {
            const double r = correlation(rows.front(), rows[i]);
            quarters.leastCorrelation = std::min(quarters.leastCorrelation, std::fabs(r));
            quarters.ofMultiprocessor[sms[i]] = static_cast<std::uint8_t>(2 * side + (r < 0 ? 1 : 0));
        }
    }
    if (quarters.leastCorrelation < kClear) return std::nullopt;
    return quarters;
}

unsigned quarterOf(const Sides& sides, const std::optional<Quarters>& quarters, const Times& latencies) {
    // Means of the multiprocessors of each side, then of each half.
    const auto meanOf = [&](const std::vector<std::uint8_t>& of, unsigned which) {
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
    const unsigned side = isFirst(all, meanOf(sides.ofMultiprocessor, 0), meanOf(sides.ofMultiprocessor, 1)) ? 0 : 1;
    if (!quarters) return 2 * side;
    const std::vector<std::size_t> addresses = near(sides, multiprocessorsOf(sides, side));
    const std::vector<std::uint8_t>& of = quarters->ofMultiprocessor;
    return 2 * side + (isFirst(addresses, meanOf(of, 2 * side), meanOf(of, 2 * side + 1)) ? 0 : 1);
}

std::vector<std::uint8_t> quartersOfSlices(const Quarters& quarters, const SliceLatencies& latencies,
                                           std::uint32_t modulus) {
    std::vector<std::uint8_t> result(latencies.slices(), 0);
    for (unsigned side = 0; side < 2; ++side) {
        std::vector<std::size_t> slices;
        for (std::size_t s = 0; s < result.size(); ++s)
            if ((s / modulus & 1) == side) slices.push_back(s);
        std::vector<Row> rows;
        std::vector<unsigned> half;
        for (std::size_t i = 0; i < latencies.cycles.size(); ++i) {
            const unsigned quarter = quarters.ofMultiprocessor[latencies.multiprocessors[i]];
            if (quarter / 2 != side) continue;
            half.push_back(quarter % 2);
            Row& row = rows.emplace_back();
            for (const std::size_t s : slices) row.push_back(latencies.cycles[i][s]);
        }
        if (rows.empty() || slices.empty()) continue;
        center(rows);
        for (std::size_t k = 0; k < slices.size(); ++k) {
            Row from[2];
            for (std::size_t i = 0; i < rows.size(); ++i) from[half[i]].push_back(rows[i][k]);
            result[slices[k]] = static_cast<std::uint8_t>(2 * side + (mean(from[0]) > mean(from[1]) ? 1 : 0));
        }
    }
    return result;
}

}  // namespace bulkhead::dissect
