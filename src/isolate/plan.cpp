#include "isolate/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/suggest.h"

namespace bulkhead::isolate {
namespace {

/// How many of `total` things each share gets: at least one each, and what rounding leaves over to those that lost most
/// by it.
std::vector<unsigned> divide(unsigned total, const std::vector<double>& shares, const std::string& what) {
    if (shares.size() > total)
        throw Error("{} partitions cannot be made of {} {}: each needs one", shares.size(), total, what);
    const double asked = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<unsigned> counts;
    std::vector<double> lost;
    unsigned given = 0;
    for (const double share : shares) {
        const double exact = share * total;
        counts.push_back(std::max(1u, static_cast<unsigned>(std::floor(exact + 1e-9))));
        lost.push_back(exact - counts.back());
        given += counts.back();
    }
    const auto most = std::min(total, static_cast<unsigned>(std::floor(asked * total + 1e-6)));
    while (given > total) {  // the ones that were rounded up take from the largest
        --*std::max_element(counts.begin(), counts.end());
        --given;
    }
    while (given < most) {
        const auto at = std::max_element(lost.begin(), lost.end());
        ++counts[static_cast<std::size_t>(at - lost.begin())];
        *at -= 1;
        ++given;
    }
    return counts;
}

/// Things of each side that nobody has yet, in order.
using Free = std::vector<std::vector<unsigned>>;

Free bySide(const std::vector<std::uint8_t>& sides, unsigned count) {
    Free free(count);
    for (unsigned i = 0; i < sides.size(); ++i) free[sides[i]].push_back(i);
    return free;
}

void take(std::vector<unsigned>& from, unsigned count, std::vector<unsigned>& to) {
    to.insert(to.end(), from.begin(), from.begin() + count);
    from.erase(from.begin(), from.begin() + count);
}

/// From the side with most left, then the next.
void takeAnywhere(Free& free, unsigned count, std::vector<unsigned>& to) {
    while (count > 0) {
        auto& most = *std::max_element(free.begin(), free.end(),
                                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
        const auto some = std::min(count, static_cast<unsigned>(most.size()));
        take(most, some, to);
        count -= some;
    }
}

/// The side with the least room that is enough; as many as there are sides where none is.
std::size_t bestSide(const Free& multiprocessors, const Free& colors, unsigned needSms, unsigned needColors) {
    std::size_t best = multiprocessors.size();
    for (std::size_t side = 0; side < multiprocessors.size(); ++side) {
        if (multiprocessors[side].size() < needSms || colors[side].size() < needColors) continue;
        if (best == multiprocessors.size() || multiprocessors[side].size() < multiprocessors[best].size()) best = side;
    }
    return best;
}

std::vector<double> sharesOf(const std::vector<Partition>& partitions, double Partition::*share) {
    std::vector<double> shares;
    for (const Partition& p : partitions) shares.push_back(p.*share);
    return shares;
}

bool intersect(const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
    std::vector<unsigned> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return !both.empty();
}

char letterOf(const Plan& plan, std::vector<unsigned> Share::*things, unsigned thing) {
    for (std::size_t i = 0; i < plan.shares.size(); ++i) {
        const std::vector<unsigned>& all = plan.shares[i].*things;
        if (std::binary_search(all.begin(), all.end(), thing))
            return i < 26 ? static_cast<char>('A' + i) : i < 52 ? static_cast<char>('a' + i - 26) : '*';
    }
    return '.';
}

constexpr std::size_t kPerLine = 72;

std::string rows(const std::string& label, const std::string& letters) {
    std::string out;
    for (std::size_t at = 0; at < letters.size(); at += kPerLine)
        out += fmt::format("  {:<14} {}\n", at == 0 ? label : "", letters.substr(at, kPerLine));
    return out;
}

std::string drawSide(const Plan& plan, unsigned side) {
    const Topology& t = plan.topology;
    std::string multiprocessors, slices;
    for (unsigned i = 0; i < t.multiprocessors(); ++i)
        if (t.sideOfMultiprocessor[i] == side) multiprocessors += letterOf(plan, &Share::multiprocessors, i);
    for (unsigned color = 0; color < t.colors(); ++color) {
        if (t.sideOfColor[color] != side) continue;
        slices.append(std::max(1u, t.slicesPerColor), letterOf(plan, &Share::colors, color));
    }
    return rows("SMs", multiprocessors) + rows(t.slicesPerColor ? "slices" : "colors", slices);
}

}  // namespace

unsigned Topology::sides() const {
    const auto last = std::max_element(sideOfMultiprocessor.begin(), sideOfMultiprocessor.end());
    return last == sideOfMultiprocessor.end() ? 1 : *last + 1u;
}

bool Share::overlaps(const Share& other) const {
    return intersect(multiprocessors, other.multiprocessors) || intersect(colors, other.colors);
}

const Share& Plan::find(const std::string& name) const {
    std::vector<std::string> names;
    for (const Share& share : shares) {
        if (share.partition.name == name) return share;
        names.push_back(share.partition.name);
    }
    throw Error("no partition {} on {}{}: there are {}", name, topology.gpu, didYouMean(name, names),
                fmt::join(names, ", "));
}

Plan makePlan(Topology topology, const std::vector<Partition>& partitions) {
    validate(partitions, "partitions");
    const std::vector<unsigned> smCounts =
        divide(topology.multiprocessors(), sharesOf(partitions, &Partition::multiprocessors), "multiprocessors");
    const std::vector<unsigned> colorCounts =
        divide(topology.colors(), sharesOf(partitions, &Partition::memory),
               topology.colors() == 1 ? "color of " + topology.gpu : "colors of " + topology.gpu);

    Plan plan;
    plan.shares.resize(partitions.size());
    Free sms = bySide(topology.sideOfMultiprocessor, topology.sides());
    Free colors = bySide(topology.sideOfColor, topology.sides());
    // The largest first: what is small fits into what they leave.
    std::vector<std::size_t> order(partitions.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return smCounts[a] > smCounts[b]; });
    for (const std::size_t i : order) {
        Share& share = plan.shares[i];
        share.partition = partitions[i];
        const std::size_t side = bestSide(sms, colors, smCounts[i], colorCounts[i]);
        if (side < sms.size()) {
            take(sms[side], smCounts[i], share.multiprocessors);
            take(colors[side], colorCounts[i], share.colors);
        } else {
            takeAnywhere(sms, smCounts[i], share.multiprocessors);
            takeAnywhere(colors, colorCounts[i], share.colors);
        }
        std::sort(share.multiprocessors.begin(), share.multiprocessors.end());
        std::sort(share.colors.begin(), share.colors.end());
        share.memoryBytes = topology.memoryBytes / topology.colors() * colorCounts[i];
    }
    plan.topology = std::move(topology);
    return plan;
}

std::string draw(const Plan& plan) {
    const Topology& t = plan.topology;
    std::string out =
        fmt::format("{}: {} SMs, {} color{}\n", t.gpu, t.multiprocessors(), t.colors(), t.colors() == 1 ? "" : "s");
    for (unsigned side = 0; side < t.sides(); ++side) {
        if (t.sides() > 1) out += fmt::format("side {}\n", side);
        out += drawSide(plan, side);
    }
    for (const Share& share : plan.shares) {
        const char letter = letterOf(plan, &Share::multiprocessors, share.multiprocessors.front());
        out += fmt::format("{} {:<12} {:>3} SMs ({:.1f} %), {} of {} colors, {} MB, {} at once\n", letter,
                           share.partition.name, share.multiprocessors.size(),
                           100.0 * static_cast<double>(share.multiprocessors.size()) / t.multiprocessors(),
                           share.colors.size(), t.colors(), share.memoryBytes >> 20, share.partition.tenants);
    }
    return out;
}

}  // namespace bulkhead::isolate
