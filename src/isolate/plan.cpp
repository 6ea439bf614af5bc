#include "isolate/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/phrases.h"
#include "base/suggest.h"

namespace bulkhead::isolate {
namespace {

/// How many of `total` things each share gets: at least one each, and what rounding leaves over to those that lost most
/// by it.
std::vector<unsigned> divide(unsigned total, const std::vector<double>& shares, const std::string& what) {
    if (shares.size() > total)
        throw Error("{} {} cannot be divided into {} partitions: each needs one", total, what, shares.size());
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

/// SMs and colors of a region that nobody has yet, in order.
struct FreeRegion {
    std::vector<unsigned> sms, colors;
    bool whole = true;
};

using dissect::L2Region, dissect::kL2Regions;

constexpr std::size_t kRegions = kL2Regions.size();
using Free = std::array<FreeRegion, kRegions>;

Free freeOf(const DivisibleGpu& t) {
    Free free;
    for (unsigned i = 0; i < t.sms(); ++i) free[t.regionOfSm[i].number()].sms.push_back(i);
    for (unsigned i = 0; i < t.colors(); ++i) free[t.regionOfColor[i].number()].colors.push_back(i);
    return free;
}

struct Need {
    unsigned sms = 0, colors = 0;
};

void take(std::vector<unsigned>& from, unsigned& count, std::vector<unsigned>& to) {
    const auto some = std::min(count, static_cast<unsigned>(from.size()));
    to.insert(to.end(), from.begin(), from.begin() + some);
    from.erase(from.begin(), from.begin() + some);
    count -= some;
}

/// Regions from `first` to before `last`, those with most SMs left first: what comes last is divided.
std::vector<FreeRegion*> byRoom(Free& free, std::size_t first, std::size_t last) {
    std::vector<FreeRegion*> regions;
    for (std::size_t q = first; q < last; ++q) regions.push_back(&free[q]);
    std::stable_sort(regions.begin(), regions.end(),
                     [](const FreeRegion* a, const FreeRegion* b) { return a->sms.size() > b->sms.size(); });
    return regions;
}

void takeFrom(const std::vector<FreeRegion*>& regions, Need need, Share& share) {
    for (FreeRegion* region : regions) {
        if (need.sms > 0 || need.colors > 0) region->whole = false;
        take(region->sms, need.sms, share.sms);
        take(region->colors, need.colors, share.colors);
    }
}

/// Whether a share of `asked` would hardly notice to get `given`.
bool about(unsigned asked, std::size_t given) {
    constexpr double kTolerance = 0.1;
    return std::fabs(static_cast<double>(given) - asked) <= kTolerance * asked;
}

/// The untouched region that comes nearest to what is asked for; null if none comes near.
FreeRegion* wholeRegion(Free& free, Need need) {
    FreeRegion* best = nullptr;
    const auto off = [&](const FreeRegion& q) {
        return std::abs(static_cast<long>(q.sms.size()) - static_cast<long>(need.sms));
    };
    for (FreeRegion& q : free)
        if (q.whole && about(need.sms, q.sms.size()) && about(need.colors, q.colors.size()) &&
            (best == nullptr || off(q) < off(*best)))
            best = &q;
    return best;
}

/// The group of so many regions with the least room that is enough, by its first; kRegions where none is.
std::size_t bestPlace(const Free& free, std::size_t regions, Need need) {
    std::size_t best = kRegions, least = 0;
    for (std::size_t first = 0; first < kRegions; first += regions) {
        std::size_t sms = 0, colors = 0;
        for (std::size_t q = first; q < first + regions; ++q) {
            sms += free[q].sms.size();
            colors += free[q].colors.size();
        }
        if (sms < need.sms || colors < need.colors) continue;
        if (best == kRegions || sms < least) {
            best = first;
            least = sms;
        }
    }
    return best;
}

void settle(const DivisibleGpu& topology, Free& free, Need need, Share& share) {
    if (topology.halved()) {
        if (FreeRegion* whole = wholeRegion(free, need)) {
            share.sms = std::exchange(whole->sms, {});
            share.colors = std::exchange(whole->colors, {});
            whole->whole = false;
            return;
        }
    }
    for (const std::size_t regions : {1, 2, 4}) {
        const std::size_t first = bestPlace(free, regions, need);
        if (first == kRegions) continue;
        takeFrom(byRoom(free, first, first + regions), need, share);
        return;
    }
    // Others got whole regions that are a little larger than their share.
    takeFrom(byRoom(free, 0, kRegions), need, share);
    if (share.sms.empty() || share.colors.empty())
        throw Error("no SMs or colors are left for partition {}", share.partition.name);
}

std::vector<double> sharesOf(const std::vector<Partition>& partitions, double Partition::*share) {
    std::vector<double> shares;
    shares.reserve(partitions.size());
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

std::string drawRegion(const Plan& plan, L2Region region) {
    const DivisibleGpu& t = plan.topology;
    std::string sms, slices;
    for (unsigned i = 0; i < t.sms(); ++i)
        if (t.regionOfSm[i] == region) sms += letterOf(plan, &Share::sms, i);
    for (unsigned color = 0; color < t.colors(); ++color) {
        if (t.regionOfColor[color] != region) continue;
        slices.append(std::max(1u, t.slicesPerColor), letterOf(plan, &Share::colors, color));
    }
    return rows("SMs", sms) + rows(t.slicesPerColor ? "slices" : "colors", slices);
}

/// Whether it has SMs or colors on both sides.
bool onBothSides(const DivisibleGpu& t, const Share& share) {
    std::set<unsigned> sides;
    for (const unsigned sm : share.sms) sides.insert(t.regionOfSm[sm].side);
    for (const unsigned color : share.colors) sides.insert(t.regionOfColor[color].side);
    return sides.size() > 1;
}

}  // namespace

unsigned DivisibleGpu::sides() const {
    const auto last = std::max_element(regionOfSm.begin(), regionOfSm.end());
    return last == regionOfSm.end() ? 1 : last->side + 1U;
}

bool DivisibleGpu::halved() const {
    return std::any_of(regionOfSm.begin(), regionOfSm.end(), [](L2Region region) { return region.half != 0; });
}

bool Share::overlaps(const Share& other) const {
    return intersect(sms, other.sms) || intersect(colors, other.colors);
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

Plan makePlan(DivisibleGpu topology, const std::vector<Partition>& partitions) {
    validate(partitions, "partitions");
    std::vector<unsigned> smCounts =
        divide(topology.sms() / topology.smsTogether, sharesOf(partitions, &Partition::sms),
               topology.smsTogether == 1 ? "SMs" : "groups of SMs");
    for (unsigned& count : smCounts) count *= topology.smsTogether;
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
        std::sort(share.sms.begin(), share.sms.end());
        std::sort(share.colors.begin(), share.colors.end());
        share.memoryBytes = topology.memoryBytes / topology.colors() * share.colors.size();
    }
    plan.topology = std::move(topology);
    return plan;
}

namespace {

/// What of a GPU nobody has, as the end of a sentence.
std::string leftOver(const DivisibleGpu& t, std::size_t sms, std::size_t colors) {
    const std::size_t freeSms = t.sms() - sms, freeColors = t.colors() - std::min<std::size_t>(colors, t.colors());
    if (freeSms == 0 && freeColors == 0) return "nothing is left over.";
    std::vector<std::string> left;
    if (freeSms > 0) left.push_back(fmt::format("{} of {}", freeSms, counted(t.sms(), "SM")));
    if (freeColors > 0) left.push_back(fmt::format("{} of {}", freeColors, counted(t.colors(), "color")));
    const bool one = left.size() == 1 && freeSms + freeColors == 1;
    return fmt::format("{} {} left over.", fmt::join(left, " and "), one ? "is" : "are");
}

}  // namespace

std::string answerOf(const Plan& plan) {
    std::size_t sms = 0, colors = 0;
    std::vector<unsigned> taken;
    for (const Share& share : plan.shares) {
        sms += share.sms.size();
        colors += share.colors.size();
        taken.insert(taken.end(), share.colors.begin(), share.colors.end());
    }
    std::sort(taken.begin(), taken.end());
    const bool apart = std::adjacent_find(taken.begin(), taken.end()) == taken.end();
    const std::string left = leftOver(plan.topology, sms, colors);
    if (plan.shares.size() == 1) return "One partition has what it asks for; " + left;
    return fmt::format("{} partitions have SMs of their own and {}; {}", plan.shares.size(),
                       apart ? "colors of their own" : "share colors", left);
}

std::string draw(const Plan& plan) {
    const DivisibleGpu& t = plan.topology;
    std::string out = fmt::format("{}: {} SMs, {} color{}\n", t.gpu, t.sms(), t.colors(), t.colors() == 1 ? "" : "s");
    for (const L2Region region : kL2Regions) {
        if (region.side >= t.sides() || (!t.halved() && region.half != 0)) continue;
        if (t.sides() > 1)
            out += fmt::format("side {}{}\n", region.side, t.halved() ? fmt::format(", half {}", region.half) : "");
        out += drawRegion(plan, region);
    }
    for (const Share& share : plan.shares) {
        const char letter = letterOf(plan, &Share::sms, share.sms.front());
        out += fmt::format("{} {:<12} {:>3} SMs ({:.1f} %), {} of {} colors, {} MB, at most {} program{}\n", letter,
                           share.partition.name, share.sms.size(),
                           100.0 * static_cast<double>(share.sms.size()) / t.sms(), share.colors.size(), t.colors(),
                           share.memoryBytes >> 20, share.partition.tenants, share.partition.tenants == 1 ? "" : "s");
        if (onBothSides(t, share) && plan.shares.size() > 1)
            out +=
                fmt::format("  {:<12} warning: on both sides of the L2, so its traffic crosses that of others\n", "");
    }
    return out + "Answer: " + answerOf(plan) + "\n";
}

}  // namespace bulkhead::isolate
