#include "dissect/slices.h"

#include <fmt/format.h>

#include <algorithm>

namespace bulkhead::dissect {
namespace {

std::uint32_t median(Times times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

/// A target on its way through the representatives.
struct Search {
    std::size_t target = 0;
    std::vector<std::uint32_t> guesses = {};  ///< representatives to compare with first
    std::size_t next = 0;                     ///< then this one and those behind it
    unsigned matches = 0;                     ///< in a row with that one
    bool secondPass = false;
};

}  // namespace

SliceLabeller::SliceLabeller(Probe& probe, const Sides* sides, const ContentionEffort& effort)
    : probe_(probe), sides_(sides), effort_(effort) {}

Times SliceLabeller::time(std::span<const std::pair<Target, Target>> pairs) {
    Times times(pairs.size(), 0);
    tests_ += pairs.size();
    for (unsigned side = 0; side < (sides_ != nullptr ? 2U : 1U); ++side) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
        std::vector<std::size_t> place;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            if (sides_ != nullptr && pairs[i].first.side != side) continue;
            list.emplace_back(pairs[i].first.address, pairs[i].second.address);
            place.push_back(i);
        }
        Probe::Contention c;
        c.multiprocessors =
            sides_ != nullptr ? sides_->members(side) : std::vector<std::uint8_t>(probe_.multiprocessors(), 1);
        c.members = effort_.members;
        c.threads = effort_.threads;
        c.repeats = effort_.repeats;
        c.lanes = effort_.lanes;
        const Times some = probe_.timeContention(c, list);
        for (std::size_t i = 0; i < some.size(); ++i) times[place[i]] = some[i];
    }
    return times;
}

bool SliceLabeller::calibrate(std::span<const Target> targets, std::uint64_t seed, std::string& evidence) {
    constexpr std::size_t kPairs = 120;
    constexpr std::uint64_t kSector = 32;
    Random random(seed);
    std::vector<std::pair<Target, Target>> alike, random2;
    for (std::size_t tries = 0; tries < 20 * kPairs && random2.size() < kPairs; ++tries) {
        const Target& a = targets[random.below(targets.size())];
        const Target& b = targets[random.below(targets.size())];
        if (a.side != b.side || a.address == b.address) continue;
        alike.push_back({a, {a.address ^ kSector, a.side}});
        random2.push_back({a, b});
    }
    if (random2.empty()) {
        evidence = "no two addresses of one side to compare";
        return false;
    }
    const Times same = time(alike), other = time(random2);
    calibration_ = same;
    calibration_.insert(calibration_.end(), other.begin(), other.end());
    same_ = median(same);
    different_ = median(other);
    threshold_ = different_ + 0.65 * (same_ - different_);  // what is slow by accident is never as slow
    evidence = fmt::format("{:.0f} cycles within a line, {:.0f} between random addresses", same_, different_);
    return same_ > 1.1 * different_;
}

std::vector<bool> SliceLabeller::sameSlice(std::span<const std::pair<Target, Target>> pairs, unsigned votes) {
    std::vector<unsigned> yes(pairs.size(), 0);
    for (unsigned v = 0; v < votes; ++v) {
        const Times times = time(pairs);
        for (std::size_t i = 0; i < pairs.size(); ++i) yes[i] += times[i] > threshold_ ? 1 : 0;
    }
    std::vector<bool> answers;
    for (unsigned y : yes) answers.push_back(2 * y > votes);
    return answers;
}

std::vector<std::uint32_t> SliceLabeller::label(std::span<const Target> targets,
                                                const std::vector<std::vector<std::uint32_t>>& guesses) {
    std::vector<std::uint32_t> labels(targets.size(), 0);
    std::vector<Search> open;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        open.push_back({i});
        if (i < guesses.size()) open.back().guesses = guesses[i];
    }
    const auto ofOtherSide = [&](const Search& s) {
        return s.guesses.empty() && s.next < representatives_.size() &&
               representatives_[s.next].side != targets[s.target].side;
    };
    const auto current = [](const Search& s) { return s.guesses.empty() ? s.next : s.guesses.front(); };
    while (!open.empty()) {
        // Who has met every representative is compared once more, since an answer may have been wrong, and then stands
        // for a slice of its own; one at a time, for the others may belong to it.
        std::vector<bool> promoted(2, false);
        std::vector<Search> still;
        for (Search& s : open) {
            while (ofOtherSide(s)) ++s.next;
            if (s.guesses.empty() && s.next == representatives_.size() && !s.secondPass && !representatives_.empty()) {
                s.secondPass = true;
                s.next = 0;
                while (ofOtherSide(s)) ++s.next;
            }
            const std::uint8_t side = targets[s.target].side;
            if (s.guesses.empty() && s.next == representatives_.size() && !promoted[side]) {
                promoted[side] = true;
                labels[s.target] = static_cast<std::uint32_t>(representatives_.size());
                representatives_.push_back(targets[s.target]);
                continue;
            }
            still.push_back(s);
        }
        open = std::move(still);

        std::vector<std::pair<Target, Target>> pairs;
        std::vector<std::size_t> asked;
        for (std::size_t i = 0; i < open.size(); ++i) {
            while (ofOtherSide(open[i])) ++open[i].next;
            if (current(open[i]) == representatives_.size()) continue;
            pairs.push_back({targets[open[i].target], representatives_[current(open[i])]});
            asked.push_back(i);
        }
        const std::vector<bool> same = sameSlice(pairs);
        std::vector<bool> done(open.size(), false);
        for (std::size_t i = 0; i < asked.size(); ++i) {
            Search& s = open[asked[i]];
            if (!same[i]) {
                s.matches = 0;
                if (s.guesses.empty()) {
                    ++s.next;
                } else {
                    s.guesses.erase(s.guesses.begin());
                }
            } else if (++s.matches == 2) {
                labels[s.target] = static_cast<std::uint32_t>(current(s));
                done[asked[i]] = true;
            }
        }
        still.clear();
        for (std::size_t i = 0; i < open.size(); ++i)
            if (!done[i]) still.push_back(open[i]);
        open = std::move(still);
    }
    return labels;
}

}  // namespace bulkhead::dissect
