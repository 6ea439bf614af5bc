#include "isolate/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <utility>

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

/// Multiprocessors and colors of a quarter that nobody has yet, in order.
struct Quarter {
    std::vector<unsigned> multiprocessors, colors;
    bool whole = true;
};

constexpr std::size_t kQuarters = 4;
using Free = std::array<Quarter, kQuarters>;

Free freeOf(const Topology& t) {
    Free free;
    for (unsigned i = 0; i < t.multiprocessors(); ++i) free[t.quarterOfMultiprocessor[i]].multiprocessors.push_back(i);
    for (unsigned i = 0; i < t.colors(); ++i) free[t.quarterOfColor[i]].colors.push_back(i);
    return free;
}

struct Need {
    unsigned multiprocessors = 0, colors = 0;
};

void take(std::vector<unsigned>& from, unsigned& count, std::vector<unsigned>& to) {
    const auto some = std::min(count, static_cast<unsigned>(from.size()));
    to.insert(to.end(), from.begin(), from.begin() + some);
    from.erase(from.begin(), from.begin() + some);
    count -= some;
}

/// Quarters from `first` to before `last`, those with most multiprocessors left first: what comes last is divided.
std::vector<Quarter*> byRoom(Free& free, std::size_t first, std::size_t last) {
    std::vector<Quarter*> quarters;
    for (std::size_t q = first; q < last; ++q) quarters.push_back(&free[q]);
    std::stable_sort(quarters.begin(), quarters.end(), [](const Quarter* a, const Quarter* b) {
        return a->multiprocessors.size() > b->multiprocessors.size();
    });
    return quarters;
}

void takeFrom(const std::vector<Quarter*>& quarters, Need need, Share& share) {
    for (Quarter* quarter : quarters) {
        if (need.multiprocessors > 0 || need.colors > 0) quarter->whole = false;
        take(quarter->multiprocessors, need.multiprocessors, share.multiprocessors);
        take(quarter->colors, need.colors, share.colors);
    }
}

/// Whether a share of `asked` would hardly notice to get `given`.
bool about(unsigned asked, std::size_t given) {
    constexpr double kTolerance = 0.1;
    return std::fabs(static_cast<double>(given) - asked) <= kTolerance * asked;
}

/// The untouched quarter that comes nearest to what is asked for; null if none comes near.
Quarter* wholeQuarter(Free& free, Need need) {
    Quarter* best = nullptr;
    const auto off = [&](const Quarter& q) {
        return std::abs(static_cast<long>(q.multiprocessors.size()) - static_cast<long>(need.multiprocessors));
    };
    for (Quarter& q : free)
        if (q.whole && about(need.multiprocessors, q.multiprocessors.size()) && about(need.colors, q.colors.size()) &&
            (best == nullptr || off(q) < off(*best)))
            best = &q;
    return best;
}

/// The group of so many quarters with the least room that is enough, by its first; kQuarters where none is.
std::size_t bestPlace(const Free& free, std::size_t quarters, Need need) {
    std::size_t best = kQuarters, least = 0;
    for (std::size_t first = 0; first < kQuarters; first += quarters) {
        std::size_t multiprocessors = 0, colors = 0;
        for (std::size_t q = first; q < first + quarters; ++q) {
            multiprocessors += free[q].multiprocessors.size();
            colors += free[q].colors.size();
        }
        if (multiprocessors < need.multiprocessors || colors < need.colors) continue;
        if (best == kQuarters || multiprocessors < least) {
            best = first;
            least = multiprocessors;
        }
    }
    return best;
}

void settle(const Topology& topology, Free& free, Need need, Share& share) {
    if (topology.halved()) {
        if (Quarter* whole = wholeQuarter(free, need)) {
            share.multiprocessors = std::exchange(whole->multiprocessors, {});
            share.colors = std::exchange(whole->colors, {});
            whole->whole = false;
            return;
        }
    }
    for (const std::size_t quarters : {1, 2, 4}) {
        const std::size_t first = bestPlace(free, quarters, need);
        if (first == kQuarters) continue;
        takeFrom(byRoom(free, first, first + quarters), need, share);
        return;
    }
    // Others got whole quarters that are a little larger than their share.
    takeFrom(byRoom(free, 0, kQuarters), need, share);
    if (share.multiprocessors.empty() || share.colors.empty())
        throw Error("no room is left for partition {}: the others have all", share.partition.name);
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

std::string drawQuarter(const Plan& plan, unsigned quarter) {
    const Topology& t = plan.topology;
    std::string multiprocessors, slices;
    for (unsigned i = 0; i < t.multiprocessors(); ++i)
        if (t.quarterOfMultiprocessor[i] == quarter) multiprocessors += letterOf(plan, &Share::multiprocessors, i);
    for (unsigned color = 0; color < t.colors(); ++color) {
        if (t.quarterOfColor[color] != quarter) continue;
        slices.append(std::max(1u, t.slicesPerColor), letterOf(plan, &Share::colors, color));
    }
    return rows("SMs", multiprocessors) + rows(t.slicesPerColor ? "slices" : "colors", slices);
}

/// Whether it has multiprocessors or colors on both sides.
bool onBothSides(const Topology& t, const Share& share) {
    std::set<unsigned> sides;
    for (const unsigned sm : share.multiprocessors) sides.insert(t.quarterOfMultiprocessor[sm] / 2);
    for (const unsigned color : share.colors) sides.insert(t.quarterOfColor[color] / 2);
    return sides.size() > 1;
}

}  // namespace

unsigned Topology::sides() const {
    const auto last = std::max_element(quarterOfMultiprocessor.begin(), quarterOfMultiprocessor.end());
    return last == quarterOfMultiprocessor.end() ? 1 : *last / 2 + 1u;
}

bool Topology::halved() const {
    return std::any_of(quarterOfMultiprocessor.begin(), quarterOfMultiprocessor.end(),
                       [](std::uint8_t quarter) { return quarter % 2 != 0; });
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
    Free free = freeOf(topology);
    // The largest first: what is small fits into what they leave.
    std::vector<std::size_t> order(partitions.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return smCounts[a] > smCounts[b]; });
    for (const std::size_t i : order) {
        Share& share = plan.shares[i];
        share.partition = partitions[i];
        settle(topology, free, {smCounts[i], colorCounts[i]}, share);
        std::sort(share.multiprocessors.begin(), share.multiprocessors.end());
        std::sort(share.colors.begin(), share.colors.end());
        share.memoryBytes = topology.memoryBytes / topology.colors() * share.colors.size();
    }
    plan.topology = std::move(topology);
    return plan;
}

std::string draw(const Plan& plan) {
    const Topology& t = plan.topology;
    std::string out =
        fmt::format("{}: {} SMs, {} color{}\n", t.gpu, t.multiprocessors(), t.colors(), t.colors() == 1 ? "" : "s");
    for (unsigned quarter = 0; quarter < 2 * t.sides(); ++quarter) {
        if (!t.halved() && quarter % 2 != 0) continue;
        if (t.sides() > 1)
            out += fmt::format("side {}{}\n", quarter / 2, t.halved() ? fmt::format(", half {}", quarter % 2) : "");
        out += drawQuarter(plan, quarter);
    }
    for (const Share& share : plan.shares) {
        const char letter = letterOf(plan, &Share::multiprocessors, share.multiprocessors.front());
        out += fmt::format("{} {:<12} {:>3} SMs ({:.1f} %), {} of {} colors, {} MB, {} at once\n", letter,
                           share.partition.name, share.multiprocessors.size(),
                           100.0 * static_cast<double>(share.multiprocessors.size()) / t.multiprocessors(),
                           share.colors.size(), t.colors(), share.memoryBytes >> 20, share.partition.tenants);
        if (onBothSides(t, share) && plan.shares.size() > 1)
            out += fmt::format("  {:<12} lies on both sides of the L2, where its traffic crosses others'\n", "");
    }
    return out;
}

}  // namespace bulkhead::isolate
