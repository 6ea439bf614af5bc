#include "dissect/residue_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace bulkhead::dissect {
namespace {

constexpr double kClean = 0.9;  // labels may be wrong now and then, and a difference meets two of them
constexpr std::int32_t kUnknown = -1;

std::uint32_t modular(std::int64_t value, std::uint32_t modulus) {
    const std::int64_t r = value % static_cast<std::int64_t>(modulus);
    return static_cast<std::uint32_t>(r < 0 ? r + modulus : r);
}

std::uint32_t parities(const std::vector<Mask>& masks, std::uint64_t address) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < masks.size(); ++i) bits |= static_cast<std::uint32_t>(parity(address & masks[i])) << i;
    return bits;
}

/// The parities that are the same at all addresses of a slice: its side, and more where the number of slices is even.
/// Differences within a slice span what they are even on; wrong labels spoil some draws, not all.
std::vector<Mask> groupMasks(const std::vector<std::vector<std::uint64_t>>& addressesOf, Mask bits, Mask side) {
    constexpr int kDraws = 100;
    const auto pairs = 3 * static_cast<std::size_t>(std::popcount(bits));
    Random random(1);
    Subspace best;
    for (int draw = 0; draw < kDraws; ++draw) {
        Subspace differences;
        for (std::size_t i = 0; i < pairs; ++i) {
            const auto& same = addressesOf[random.below(addressesOf.size())];
            if (same.size() > 1)
                differences.add((same[random.below(same.size())] ^ same[random.below(same.size())]) & bits);
        }
        const Subspace functions = differences.orthogonal(bits);
        if (functions.dimension() > best.dimension()) best = functions;
    }
    std::vector<Mask> masks;
    Subspace known;
    if (side != 0) {
        masks.push_back(side);
        known.add(side);
    }
    for (Mask m : best.basis()) {
        // Right for nearly every address of a slice, or it is no function of the slice.
        std::size_t agree = 0, total = 0;
        for (const auto& same : addressesOf) {
            std::size_t odd = 0;
            for (std::uint64_t a : same) odd += parity(a & m) ? 1 : 0;
            agree += std::max(odd, same.size() - odd);
            total += same.size();
        }
        if (static_cast<double>(agree) > 0.95 * static_cast<double>(total) && known.add(m)) masks.push_back(m);
    }
    return masks;
}

/// Labels of a window of the address space, as numbers within their groups.
class LabelWindow {
  public:
    LabelWindow(const std::vector<Labelled>& labels, Mask bits, const std::vector<std::uint32_t>& groupOf,
                std::size_t groups)
        : shift_(static_cast<unsigned>(std::countr_zero(bits))), members_(groups), groupOf_(groupOf) {
        member_.resize(groupOf.size());
        for (std::uint32_t slice = 0; slice < groupOf.size(); ++slice) {
            member_[slice] = static_cast<std::int32_t>(members_[groupOf[slice]].size());
            members_[groupOf[slice]].push_back(slice);
        }
        slices_.assign((bits >> shift_) + 1, kUnknown);
        for (const Labelled& l : labels) slices_[(l.address & bits) >> shift_] = static_cast<std::int32_t>(l.slice);
    }
    std::size_t size() const { return slices_.size(); }
    const std::vector<std::uint32_t>& members(std::size_t group) const { return members_[group]; }
    /// Which of its group's slices is here; unknown if it is another group's.
    std::int32_t at(std::size_t group, std::size_t index) const {
        const std::int32_t slice = slices_[index];
        if (slice == kUnknown || groupOf_[static_cast<std::size_t>(slice)] != group) return kUnknown;
        return member_[static_cast<std::size_t>(slice)];
    }
    std::size_t indexOf(Mask difference) const { return difference >> shift_; }

  private:
    unsigned shift_;
    std::vector<std::int32_t> slices_, member_;
    std::vector<std::vector<std::uint32_t>> members_;
    const std::vector<std::uint32_t>& groupOf_;
};

/// Where a difference of addresses sends each slice of a group.
struct Transitions {
    std::vector<std::uint32_t> counts;  ///< [from][to]
    std::uint32_t slices = 0;
    std::uint32_t total = 0;
    double stays = 0;      ///< share that keeps its slice
    double oneTarget = 0;  ///< share that the commonest target of each slice explains
    double twoTargets = 0;
    std::vector<std::array<std::uint32_t, 2>> targets;  ///< the two commonest

    std::uint32_t& count(std::uint32_t from, std::uint32_t to) { return counts[std::size_t{from} * slices + to]; }
};

void rankTargets(Transitions& t) {
    std::uint32_t same = 0, one = 0, two = 0;
    t.targets.resize(t.slices);
    for (std::uint32_t from = 0; from < t.slices; ++from) {
        same += t.count(from, from);
        std::uint32_t best = 0, second = 0;
        for (std::uint32_t to = 0; to < t.slices; ++to) {
            const std::uint32_t n = t.count(from, to);
            if (n > best) {
                second = best;
                t.targets[from] = {to, t.targets[from][0]};
                best = n;
            } else if (n > second) {
                second = n;
                t.targets[from][1] = to;
            }
        }
        one += best;
        two += best + second;
    }
    t.stays = static_cast<double>(same) / t.total;
    t.oneTarget = static_cast<double>(one) / t.total;
    t.twoTargets = static_cast<double>(two) / t.total;
}

Transitions transitions(const LabelWindow& window, std::size_t group, Mask difference) {
    Transitions t;
    t.slices = static_cast<std::uint32_t>(window.members(group).size());
    t.counts.assign(std::size_t{t.slices} * t.slices, 0);
    const std::size_t flip = window.indexOf(difference);
    for (std::size_t i = 0; i < window.size(); ++i) {
        const std::int32_t from = window.at(group, i);
        if (from == kUnknown) continue;
        const std::int32_t to = window.at(group, i ^ flip);
        if (to == kUnknown) continue;
        ++t.count(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
        ++t.total;
    }
    if (t.total != 0) rankTargets(t);
    return t;
}

/// Differences that send each slice to two others, as flipping a single parity of the index does (and flipping all but
/// one, which mirrors the index), and those that keep every slice.
struct Steps {
    std::vector<Mask> twoWay;
    Subspace kernel;
};

Steps findSteps(const LabelWindow& window, const Subspace& space) {
    Steps steps;
    std::vector<Mask> candidates;
    const std::vector<Mask>& basis = space.basis();
    for (std::size_t n = 1; n < (std::size_t{1} << basis.size()); ++n) {
        Mask d = 0;
        for (std::size_t i = 0; i < basis.size(); ++i)
            if ((n >> i & 1) != 0) d ^= basis[i];
        if (steps.kernel.reduced(d) != d) continue;  // its twin up to the kernel comes, or came
        const Transitions t = transitions(window, 0, d);
        if (t.total == 0) continue;
        if (t.stays > kClean) {
            steps.kernel.add(d);
        } else if (t.twoTargets > kClean && t.stays < 1 - kClean && t.oneTarget < 0.8) {
            candidates.push_back(d);
        }
    }
    for (Mask d : candidates) {
        const Mask r = steps.kernel.reduced(d);
        if (std::find(steps.twoWay.begin(), steps.twoWay.end(), r) == steps.twoWay.end()) steps.twoWay.push_back(r);
    }
    return steps;
}

/// Slices in the order in which a difference steps from one to the next, if they form a single ring.
std::optional<std::vector<std::uint32_t>> ring(const Transitions& t) {
    const std::uint32_t n = t.slices;
    if (n < 3 || t.total == 0) return std::nullopt;
    std::vector<std::uint32_t> place(n, n);
    std::uint32_t previous = n, at = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        if (place[at] != n) return std::nullopt;
        place[at] = i;
        const auto [a, b] = t.targets[at];
        const auto isNeighbour = [&](std::uint32_t of, std::uint32_t x) {
            return t.targets[of][0] == x || t.targets[of][1] == x;
        };
        if (a == b || !isNeighbour(a, at) || !isNeighbour(b, at)) return std::nullopt;
        const std::uint32_t next = a == previous ? b : a;
        previous = at;
        at = next;
    }
    return at == 0 ? std::optional(place) : std::nullopt;
}

/// How far a difference steps in a numbering of the slices, without the sign; 0 if it is no single distance.
std::uint32_t stepLength(Transitions& t, const std::vector<std::uint32_t>& number) {
    const std::uint32_t n = t.slices;
    std::vector<std::uint32_t> votes(n / 2 + 1, 0);
    for (std::uint32_t from = 0; from < n; ++from)
        for (std::uint32_t to = 0; to < n; ++to) {
            const std::uint32_t up = modular(std::int64_t{number[to]} - number[from], n);
            votes[std::min(up, n - up)] += t.count(from, to);
        }
    const auto best = std::max_element(votes.begin() + 1, votes.end());
    return *best > kClean * t.total ? static_cast<std::uint32_t>(best - votes.begin()) : 0;
}

/// An order of the slices in which differences step by one distance each.
struct Numbering {
    std::vector<std::vector<std::uint32_t>> number;  ///< [group][member]
    std::vector<Mask> steps;
    std::vector<std::uint32_t> lengths;
};

/// Any difference that steps through all slices in a ring orders them. The order is right if as many differences as
/// there are parities step by a single distance in it.
std::optional<Numbering> numberSlices(const LabelWindow& window, const Steps& steps, std::size_t groups,
                                      std::size_t needed) {
    std::vector<Transitions> moves;
    for (Mask d : steps.twoWay) moves.push_back(transitions(window, 0, d));
    for (std::size_t first = 0; first < moves.size(); ++first) {
        Numbering result;
        for (std::size_t group = 0; group < groups; ++group) {
            auto number = ring(transitions(window, group, steps.twoWay[first]));
            if (!number) break;
            result.number.push_back(std::move(*number));
        }
        if (result.number.size() != groups) continue;
        for (std::size_t i = 0; i < moves.size(); ++i) {
            const std::uint32_t length = stepLength(moves[i], result.number[0]);
            if (length == 0) continue;
            result.steps.push_back(steps.twoWay[i]);
            result.lengths.push_back(length);
        }
        if (result.steps.size() == needed) return result;
    }
    return std::nullopt;
}

/// Whether a parity is inverted in a group, and how sure: by the direction of the steps that flip it.
struct Direction {
    bool inverted = false;
    double share = 0;
};

Direction direction(const LabelWindow& window, std::size_t group, Mask step, const WeightedParity& p,
                    const std::vector<std::uint32_t>& number) {
    const auto n = static_cast<std::uint32_t>(number.size());
    const std::size_t flip = window.indexOf(step), mask = window.indexOf(p.mask);
    std::uint32_t plain = 0, inverted = 0, total = 0;
    for (std::size_t i = 0; i < window.size(); ++i) {
        const std::int32_t from = window.at(group, i), to = window.at(group, i ^ flip);
        if (from == kUnknown || to == kUnknown) continue;
        const std::uint32_t moved =
            modular(std::int64_t{number[static_cast<std::size_t>(to)]} - number[static_cast<std::size_t>(from)], n);
        const bool odd = parity(i & mask);
        ++total;
        if (moved == (odd ? n - p.weight : p.weight)) ++plain;
        if (moved == (odd ? p.weight : n - p.weight)) ++inverted;
    }
    if (total == 0) return {};
    return {inverted > plain, static_cast<double>(std::max(plain, inverted)) / total};
}

/// Directions of every parity in every group. A ring may be walked either way round, group by group, which inverts all
/// of its parities.
struct Directions {
    std::vector<std::uint32_t> inverted;  ///< of each group, bit i: parity i
    double worst = 1;
};

Directions findDirections(const LabelWindow& window, const Numbering& numbering,
                          const std::vector<WeightedParity>& list) {
    Directions d;
    for (std::size_t group = 0; group < numbering.number.size(); ++group) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const Direction one = direction(window, group, numbering.steps[i], list[i], numbering.number[group]);
            bits |= static_cast<std::uint32_t>(one.inverted) << i;
            d.worst = std::min(d.worst, one.share);
        }
        d.inverted.push_back(bits);
    }
    return d;
}

/// The value, in a group, of a parity that is a sum of the group's own.
bool groupParity(const std::vector<Mask>& groups, Mask sum, std::size_t group) {
    for (std::uint32_t chosen = 0; chosen < std::uint32_t{1} << groups.size(); ++chosen) {
        Mask m = 0;
        for (std::size_t j = 0; j < groups.size(); ++j)
            if ((chosen >> j & 1) != 0) m ^= groups[j];
        if (m == sum) return parity(chosen & group);
    }
    return false;
}

/// Masks of the parities if the rings of some groups (bit j: the group of parity j alone) are walked the other way
/// round.
std::vector<Mask> orientedMasks(const ResidueHash& hash, const Directions& d, std::uint32_t reversed) {
    std::vector<Mask> masks;
    for (std::size_t i = 0; i < hash.parities.size(); ++i) {
        Mask m = hash.parities[i].mask;
        for (std::size_t j = 0; j < hash.groups.size(); ++j) {
            const std::uint32_t differs = d.inverted[std::size_t{1} << j] ^ d.inverted[0];
            if ((differs >> i & 1) != (reversed >> j & 1)) m ^= hash.groups[j];
        }
        masks.push_back(m);
    }
    return masks;
}

/// A parity that is inverted in some groups contains those groups' parities. Which way round each ring is walked is
/// chosen so that the most masks have a single bit: the upper bits of an index are plain address bits.
void orient(ResidueHash& hash, const Directions& d, Numbering& numbering) {
    std::vector<Mask> best;
    long bestScore = -1;
    for (std::uint32_t reversed = 0; reversed < std::uint32_t{1} << hash.groups.size(); ++reversed) {
        std::vector<Mask> masks = orientedMasks(hash, d, reversed);
        const long score = std::count_if(masks.begin(), masks.end(), [](Mask m) { return std::has_single_bit(m); });
        if (score > bestScore) {
            bestScore = score;
            best = std::move(masks);
        }
    }
    // In each group, the parities that were found inverted and those that now should be are the same, or all differ.
    hash.page.flips = d.inverted[0];
    for (std::size_t group = 0; group < d.inverted.size(); ++group) {
        std::uint32_t shouldBe = d.inverted[0];
        for (std::size_t i = 0; i < best.size(); ++i) {
            // What was added to the mask is a sum of group parities, the same at all addresses of the group.
            const Mask added = best[i] ^ hash.parities[i].mask;
            if (groupParity(hash.groups, added, group)) shouldBe ^= std::uint32_t{1} << i;
        }
        if (shouldBe != d.inverted[group])
            for (std::uint32_t& r : numbering.number[group]) r = modular(-std::int64_t{r}, hash.modulus);
    }
    for (std::size_t i = 0; i < best.size(); ++i) hash.parities[i].mask = best[i];
}

/// Numbers that agree with the sums, from a numbering that is right up to an addend.
void shiftNumbers(ResidueHash& hash, const std::vector<Labelled>& labels, std::uint32_t group) {
    std::vector<std::uint32_t> votes(hash.modulus, 0);
    for (const Labelled& l : labels)
        if (hash.groupOf[l.slice] == group)
            ++votes[modular(std::int64_t{hash.residue(l.address, hash.page)} - hash.residueOf[l.slice], hash.modulus)];
    const auto shift = static_cast<std::uint32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    for (std::size_t slice = 0; slice < hash.residueOf.size(); ++slice)
        if (hash.groupOf[slice] == group) hash.residueOf[slice] = (hash.residueOf[slice] + shift) % hash.modulus;
}

/// Sorts the slices into groups by what their addresses' parities mostly are.
bool findGroups(ResidueHash& hash, const std::vector<std::vector<std::uint64_t>>& addressesOf, std::string& why) {
    std::vector<std::uint32_t> sizes(std::size_t{1} << hash.groups.size(), 0);
    for (const auto& same : addressesOf) {
        std::vector<std::size_t> votes(sizes.size(), 0);
        for (std::uint64_t a : same) ++votes[parities(hash.groups, a)];
        const auto group = static_cast<std::uint32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
        hash.groupOf.push_back(group);
        ++sizes[group];
    }
    hash.modulus = sizes[0];
    if (std::all_of(sizes.begin(), sizes.end(), [&](std::uint32_t s) { return s == hash.modulus; }) &&
        hash.modulus != 0)
        return true;
    why = fmt::format("{} slices do not fall into {} equal groups", addressesOf.size(), sizes.size());
    return false;
}

double shareExplained(const ResidueHash& hash, const std::vector<Labelled>& labels) {
    std::size_t right = 0;
    for (const Labelled& l : labels) right += hash.explains(l, hash.page) ? 1 : 0;
    return static_cast<double>(right) / static_cast<double>(labels.size());
}

bool findIndex(ResidueHash& hash, const std::vector<Labelled>& labels, std::string& why) {
    const std::size_t groups = std::size_t{1} << hash.groups.size();
    const LabelWindow window(labels, hash.window, hash.groupOf, groups);
    const Subspace space = Subspace(hash.groups).orthogonal(hash.window);
    const Steps steps = findSteps(window, space);
    const std::size_t needed = space.dimension() - steps.kernel.dimension();
    std::optional<Numbering> numbering = numberSlices(window, steps, groups, needed);
    if (!numbering) {
        why =
            fmt::format("no order of {} slices makes {} address bits step up and down an index", hash.modulus, needed);
        return false;
    }
    const std::vector<Mask> masks = dualFunctions(numbering->steps, steps.kernel, hash.window);
    for (std::size_t i = 0; i < masks.size(); ++i) hash.parities.push_back({masks[i], numbering->lengths[i]});
    const Directions directions = findDirections(window, *numbering, hash.parities);
    if (directions.worst < kClean) {
        why = fmt::format("only {:.1f} % of the steps follow a parity", 100 * directions.worst);
        return false;
    }
    orient(hash, directions, *numbering);
    for (std::size_t group = 0; group < groups; ++group) {
        const auto& members = window.members(group);
        for (std::size_t m = 0; m < members.size(); ++m) hash.residueOf[members[m]] = numbering->number[group][m];
        shiftNumbers(hash, labels, static_cast<std::uint32_t>(group));
    }
    return true;
}

}  // namespace

std::uint32_t ResidueHash::group(std::uint64_t offset, const PageLabel& label) const {
    return dissect::parities(groups, offset) ^ label.groupFlips;
}

std::uint32_t ResidueHash::patternOf(std::uint64_t offset) const {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < parities.size(); ++i)
        bits |= static_cast<std::uint32_t>(parity(offset & parities[i].mask)) << i;
    return bits;
}

std::uint32_t ResidueHash::residue(std::uint64_t offset, const PageLabel& label) const {
    if (!table.empty()) return table[patternOf(offset) ^ label.flips];
    std::uint64_t sum = label.addend;
    for (std::size_t i = 0; i < parities.size(); ++i)
        if (parity(offset & parities[i].mask) != ((label.flips >> i & 1) != 0)) sum += parities[i].weight;
    return static_cast<std::uint32_t>(sum % modulus);
}

PageLabel ResidueHash::backwards(const PageLabel& label) const {
    std::uint64_t sum = label.addend;
    for (const WeightedParity& p : parities) sum += p.weight;
    const std::uint32_t all = (std::uint32_t{1} << parities.size()) - 1;
    return {label.groupFlips, label.flips ^ all, static_cast<std::uint32_t>((modulus - sum % modulus) % modulus)};
}

bool ResidueHash::explains(const Labelled& l, const PageLabel& label) const {
    return groupOf[l.slice] == group(l.address, label) && residueOf[l.slice] == residue(l.address, label);
}

std::optional<SideMask> fitSide(const std::vector<Labelled>& labels, Mask bits, double agreement) {
    if (labels.empty()) return std::nullopt;
    std::map<std::uint64_t, std::uint32_t> sideOf;
    for (const Labelled& l : labels) sideOf[l.address & bits] = l.slice;
    SideMask fit;
    for (Mask rest = bits; rest != 0; rest &= rest - 1) {
        const Mask bit = rest & (~rest + 1);
        int changes = 0;
        for (const auto& [address, side] : sideOf) {
            const auto other = sideOf.find(address ^ bit);
            if (other != sideOf.end()) changes += other->second != side ? 1 : -1;
        }
        if (changes > 0) fit.mask |= bit;
    }
    std::size_t plain = 0;
    for (const auto& [address, side] : sideOf) plain += parity(address & fit.mask) == (side != 0) ? 1 : 0;
    fit.inverted = 2 * plain < sideOf.size();
    fit.agreement =
        static_cast<double>(fit.inverted ? sideOf.size() - plain : plain) / static_cast<double>(sideOf.size());
    if (fit.agreement < agreement) return std::nullopt;
    return fit;
}

std::optional<ResidueHash> fitResidueHash(const std::vector<Labelled>& labels, Mask bits, Mask side, std::string& why) {
    std::uint32_t slices = 0;
    for (const Labelled& l : labels) slices = std::max(slices, l.slice + 1);
    if (slices < 2) {
        why = "all addresses share one slice";
        return std::nullopt;
    }
    std::vector<std::vector<std::uint64_t>> addressesOf(slices);
    for (const Labelled& l : labels) addressesOf[l.slice].push_back(l.address);

    ResidueHash hash;
    hash.window = bits;
    hash.groups = groupMasks(addressesOf, bits, side & bits);
    if (!findGroups(hash, addressesOf, why)) return std::nullopt;
    hash.residueOf.assign(slices, 0);
    if (hash.modulus != 1 && !findIndex(hash, labels, why)) return std::nullopt;
    hash.agreement = shareExplained(hash, labels);
    if (hash.agreement < kClean) {
        why = fmt::format("the best index explains {:.1f} % of the labels", 100 * hash.agreement);
        return std::nullopt;
    }
    return hash;
}

std::optional<ResidueHash> fitTable(const std::vector<Labelled>& labels, Mask bits, Mask side, std::string& why) {
    std::uint32_t slices = 0;
    for (const Labelled& l : labels) slices = std::max(slices, l.slice + 1);
    std::vector<std::vector<std::uint64_t>> addressesOf(slices);
    std::map<std::uint64_t, std::uint32_t> sliceAt;
    for (const Labelled& l : labels) {
        addressesOf[l.slice].push_back(l.address);
        sliceAt[l.address & bits] = l.slice;
    }
    ResidueHash hash;
    hash.window = bits;
    if (side != 0) hash.groups.push_back(side & bits);
    if (slices < 2 || !findGroups(hash, addressesOf, why)) return std::nullopt;
    std::vector<std::uint32_t> sizes(std::size_t{1} << hash.groups.size(), 0);
    for (std::uint32_t slice = 0; slice < slices; ++slice) hash.residueOf.push_back(sizes[hash.groupOf[slice]]++);

    // Differences that keep every slice take no part.
    Subspace kernel;
    for (Mask d = bits; d != 0; d = (d - 1) & bits) {
        if (kernel.contains(d)) continue;
        std::size_t stays = 0;
        for (const auto& [address, slice] : sliceAt) {
            const auto other = sliceAt.find(address ^ d);
            stays += other != sliceAt.end() && other->second == slice ? 1 : 0;
        }
        if (static_cast<double>(stays) > kClean * static_cast<double>(sliceAt.size())) kernel.add(d);
    }
    const Subspace functions = kernel.orthogonal(bits);
    for (Mask m : functions.basis()) hash.parities.push_back({m, 0});
    std::vector<std::map<std::uint32_t, std::size_t>> votes(std::size_t{1} << hash.parities.size());
    for (const Labelled& l : labels) ++votes[hash.patternOf(l.address)][l.slice];
    for (const auto& entry : votes) {
        const auto most = std::max_element(entry.begin(), entry.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most == entry.end()) {
            why = "some addresses have no labels";
            return std::nullopt;
        }
        hash.table.push_back(hash.residueOf[most->first]);
    }
    hash.agreement = shareExplained(hash, labels);
    if (hash.agreement >= kClean) return hash;
    why = fmt::format("a table explains {:.1f} % of the labels", 100 * hash.agreement);
    return std::nullopt;
}

std::optional<PageLabel> fitPage(const ResidueHash& hash, const std::vector<Labelled>& labels, double agreement) {
    if (labels.empty()) return std::nullopt;
    PageLabel label;
    const auto needed = std::max(1.0, agreement * static_cast<double>(labels.size()));
    std::vector<std::size_t> groupVotes(std::size_t{1} << hash.groups.size(), 0);
    for (const Labelled& l : labels) ++groupVotes[hash.groupOf[l.slice] ^ parities(hash.groups, l.address)];
    const auto group = std::max_element(groupVotes.begin(), groupVotes.end());
    if (static_cast<double>(*group) < needed) return std::nullopt;
    label.groupFlips = static_cast<std::uint32_t>(group - groupVotes.begin());
    if (hash.modulus == 1) return label;

    std::vector<std::uint32_t> patternOf;
    patternOf.reserve(labels.size());
    for (const Labelled& l : labels) patternOf.push_back(hash.patternOf(l.address));
    // Sums for every pattern of parities, so that trying all labels is a look-up each.
    const std::size_t patterns = std::size_t{1} << hash.parities.size();
    std::vector<std::uint32_t> sums = hash.table;
    sums.resize(patterns, 0);
    for (std::size_t p = 1; p < patterns && hash.table.empty(); ++p) {
        const auto low = static_cast<std::size_t>(std::countr_zero(p));
        sums[p] = (sums[p & (p - 1)] + hash.parities[low].weight) % hash.modulus;
    }
    std::size_t best = 0;
    bool tie = false;
    std::vector<std::size_t> votes(hash.modulus);
    for (std::size_t flips = 0; flips < patterns; ++flips) {
        std::fill(votes.begin(), votes.end(), 0);
        for (std::size_t i = 0; i < labels.size(); ++i)
            ++votes[(hash.residueOf[labels[i].slice] + hash.modulus - sums[patternOf[i] ^ flips]) % hash.modulus];
        for (std::uint32_t addend = 0; addend < (hash.table.empty() ? hash.modulus : 1); ++addend) {
            if (votes[addend] < best) continue;
            tie = votes[addend] == best;
            best = votes[addend];
            label.flips = static_cast<std::uint32_t>(flips);
            label.addend = addend;
        }
    }
    if (static_cast<double>(best) < needed || tie) return std::nullopt;
    return label;
}

bool extendToPages(ResidueHash& hash, const std::vector<KnownPage>& pages) {
    if (pages.empty()) return true;
    const KnownPage& base = pages.front();
    const std::uint32_t n = hash.modulus;
    std::vector<WeightedParity> above;
    PageLabel origin = base.label;  // of the page at address 0: what no address bit explains
    for (std::size_t i = 1; i < pages.size(); ++i) {
        const Mask bit = pages[i].address ^ base.address;
        if (!std::has_single_bit(bit)) return false;
        const PageLabel& label = pages[i].label;
        const std::uint32_t flips = label.flips ^ base.label.flips;
        const std::uint32_t groupFlips = label.groupFlips ^ base.label.groupFlips;
        for (std::size_t g = 0; g < hash.groups.size(); ++g)
            if ((groupFlips >> g & 1) != 0) hash.groups[g] |= bit;
        for (std::size_t p = 0; p < hash.parities.size(); ++p)
            if ((flips >> p & 1) != 0) hash.parities[p].mask |= bit;
        const bool set = (base.address & bit) != 0;
        const std::uint32_t added = modular(std::int64_t{label.addend} - base.label.addend, n);
        const std::uint32_t weight = set ? modular(-std::int64_t{added}, n) : added;
        if (weight != 0) above.push_back({bit, weight});
        if (set) {
            origin.flips ^= flips;
            origin.groupFlips ^= groupFlips;
            origin.addend = modular(std::int64_t{origin.addend} - weight, n);
        }
        hash.window |= bit;
    }
    hash.page = origin;
    if (!hash.table.empty()) {
        const std::vector<std::uint32_t> old = hash.table;
        for (std::size_t p = 0; p < old.size(); ++p) hash.table[p] = old[p ^ origin.flips];
        hash.page.flips = 0;
        return true;
    }
    // What is inverted at address 0 counts down: sum of w (1 - v) = sum of w - sum of w v.
    for (std::size_t p = 0; p < hash.parities.size(); ++p) {
        if ((hash.page.flips >> p & 1) == 0) continue;
        hash.page.addend = (hash.page.addend + hash.parities[p].weight) % n;
        hash.parities[p].weight = modular(-std::int64_t{hash.parities[p].weight}, n);
    }
    hash.page.flips = 0;
    hash.parities.insert(hash.parities.end(), above.begin(), above.end());
    return true;
}

}  // namespace bulkhead::dissect
