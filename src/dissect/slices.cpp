#include "dissect/slices.h"

#include <fmt/format.h>

#include <algorithm>

namespace bulkhead::dissect {
namespace {

constexpr unsigned kPasses = 2;         // after the first
constexpr std::size_t kReferences = 3;  // of each kind, in each launch
constexpr std::size_t kNewcomers = 8;   // of a side, compared with each other at a time
constexpr std::size_t kGuesses = 3;     // tried together: few enough that the one which is right is soon found

std::uint32_t quantile(Times times, std::size_t eighths) {
    const auto place = times.begin() + static_cast<std::ptrdiff_t>(times.size() * eighths / 8);
    std::nth_element(times.begin(), place, times.end());
    return *place;
}

/// Another sector of the same line.
std::uint64_t besides(std::uint64_t address) {
    return address ^ 32;
}

}  // namespace

/// A target on its way through the representatives of its side.
struct SliceLabeller::Search {
    std::size_t target = 0;
    std::size_t next = 0;                       ///< of its side's representatives, the first not tried yet
    std::vector<std::uint32_t> among = {};      ///< representatives it is pressed against now
    std::vector<std::uint32_t> otherwise = {};  ///< one of these, if it is none of those
    std::vector<std::uint32_t> guesses = {};    ///< to try before all others
    unsigned matches = 0;                       ///< with a single one
    unsigned passes = 0;                        ///< through all representatives of its side, again
};

SliceLabeller::SliceLabeller(Probe& probe, const Sides* sides, const ContentionEffort& effort)
    : probe_(probe), sides_(sides), effort_(effort) {}

void SliceLabeller::addSlots(const Test& test, std::vector<std::uint64_t>& slots) const {
    const std::size_t addresses = 1 + test.against.size();
    for (std::size_t s = 0; s <= kMost; ++s)
        slots.push_back(s % addresses == 0 ? test.target.address : test.against[s % addresses - 1]);
}

Times SliceLabeller::timeOnSide(unsigned side, const std::vector<Test>& tests) {
    constexpr std::size_t kWarmUp = 3;  // the first tests of a launch take longer than the same ones later
    if (tests.empty()) return {};
    tests_ += tests.size();
    std::vector<std::uint64_t> slots;
    for (std::size_t i = 0; i < kWarmUp; ++i) addSlots(tests.front(), slots);
    for (const Test& test : tests) addSlots(test, slots);
    Probe::Contention c;
    c.sms = sides_ != nullptr ? sides_->members(side) : std::vector<std::uint8_t>(probe_.sms(), 1);
    c.members = effort_.members;
    c.threads = effort_.threads;
    c.repeats = effort_.repeats;
    c.lanes = effort_.lanes;
    c.lead = effort_.lead;
    Times times = probe_.timeContention(c, slots, 1 + kMost);
    times.erase(times.begin(), times.begin() + kWarmUp);
    return times;
}

/// Whether each target of a side shares a slice with one that it is pressed against, in one launch.
void SliceLabeller::metOnSide(unsigned side, std::span<const Test> tests, std::vector<bool>& answers) {
    std::vector<Test> all;
    std::array<std::size_t, kMost + 1> first = {};
    std::vector<std::size_t> place;
    for (std::size_t i = 0; i < tests.size(); ++i)
        if (tests[i].target.side == side) place.push_back(i);
    for (const std::size_t size : kSizes) {
        if (std::none_of(place.begin(), place.end(), [&](auto i) { return tests[i].against.size() == size; })) continue;
        const References& r = references_[side][size];
        first[size] = all.size();
        all.insert(all.end(), r.with.begin(), r.with.end());
        all.insert(all.end(), r.without.begin(), r.without.end());
    }
    const std::size_t begin = all.size();
    for (std::size_t i : place) all.push_back(tests[i]);
    const Times times = timeOnSide(side, all);
    for (std::size_t k = 0; k < place.size(); ++k) {
        const std::size_t size = tests[place[k]].against.size();
        const auto with = times.begin() + static_cast<std::ptrdiff_t>(first[size]), without = with + kReferences;
        const double threshold = (quantile({with, without}, 4) + quantile({without, without + kReferences}, 4)) / 2.0;
        answers[place[k]] = times[begin + k] > threshold;
    }
}

std::vector<bool> SliceLabeller::met(std::span<const Test> tests) {
    std::vector<bool> answers(tests.size(), false);
    for (unsigned side = 0; side < 2; ++side) metOnSide(side, tests, answers);
    return answers;
}

bool SliceLabeller::calibrate(std::span<const Target> targets, std::uint64_t seed, std::string& evidence) {
    constexpr std::size_t kPairs = 60;
    Random random(seed);
    Times same, different;
    for (unsigned side = 0; side < 2; ++side) {
        std::vector<Test> tests;
        for (std::size_t tries = 0; tries < 40 * kPairs && tests.size() < 2 * kPairs; ++tries) {
            const Target& a = targets[random.below(targets.size())];
            const Target& b = targets[random.below(targets.size())];
            if (a.side != side || b.side != side || a.address == b.address) continue;
            tests.push_back({a, {besides(a.address)}});
            tests.push_back({a, {b.address}});
        }
        const Times times = timeOnSide(side, tests);
        Times ofSame, ofDifferent;
        for (std::size_t i = 0; i < times.size(); ++i) (i % 2 == 0 ? ofSame : ofDifferent).push_back(times[i]);
        if (times.empty()) continue;
        // Pairs that take no longer than a region are surely of two slices, even if there are but two.
        References& r = references_[side][1];
        const std::uint32_t usual = quantile(ofDifferent, 2);
        for (std::size_t i = 0; i < times.size() && r.without.size() < kReferences; i += 2) {
            if (times[i + 1] > usual) continue;
            r.with.push_back(tests[i]);
            r.without.push_back(tests[i + 1]);
        }
        same.insert(same.end(), ofSame.begin(), ofSame.end());
        different.insert(different.end(), ofDifferent.begin(), ofDifferent.end());
    }
    if (same.empty()) {
        evidence = "no two addresses of one side to compare";
        return false;
    }
    same_ = quantile(same, 4);
    different_ = quantile(different, 2);
    evidence = fmt::format("{:.0f} cycles within a line, {:.0f} between random addresses", same_, different_);
    return same_ > 1.1 * different_;
}

/// References for a target that is pressed against so many. False if it cannot be told whether it shares a slice with
/// one of them.
bool SliceLabeller::findReferences(unsigned side, std::size_t size) {
    constexpr std::size_t kTests = 40;
    const auto& list = ofSide_[side];
    std::vector<Test> tests;
    for (std::size_t i = 0; tests.size() < 2 * kTests; ++i) {
        const std::uint32_t own = list[i % list.size()];
        if (!partners_[own]) continue;
        Test in{*partners_[own], {}}, out{*partners_[own], {}};
        for (std::size_t k = 1; k <= size; ++k)
            out.against.push_back(representatives_[list[(i + k) % list.size()]].address);
        in.against = out.against;
        in.against.back() = representatives_[own].address;
        tests.push_back(in);
        tests.push_back(out);
    }
    const Times times = timeOnSide(side, tests);
    References& r = references_[side][size];
    Times slow, fast;
    for (std::size_t i = 0; i < times.size(); i += 2) {
        slow.push_back(times[i]);
        fast.push_back(times[i + 1]);
        if (r.with.size() == kReferences) continue;
        r.with.push_back(tests[i]);
        r.without.push_back(tests[i + 1]);
    }
    // Nearly all of either kind must be clearly on their side.
    constexpr double kClear = 0.6;
    std::sort(slow.begin(), slow.end());
    std::sort(fast.begin(), fast.end());
    const double gap = static_cast<double>(slow[kTests / 2]) - fast[kTests / 2];
    return slow[1] > fast[kTests / 2] + kClear * gap && fast[kTests - 2] < slow[kTests / 2] - kClear * gap;
}

void SliceLabeller::findGroups() {
    for (unsigned side = 0; side < 2; ++side) {
        const auto& list = ofSide_[side];
        const auto known = std::count_if(list.begin(), list.end(), [&](auto r) { return partners_[r].has_value(); });
        if (group_[side] != 0 || list.size() <= kMost || static_cast<std::size_t>(known) < kMost) continue;
        for (const std::size_t size : kSizes) {
            if (size > 1 && !findReferences(side, size)) break;
            group_[side] = size;
        }
    }
}

std::vector<bool> SliceLabeller::sameSlice(std::span<const std::pair<Target, Target>> pairs, unsigned votes) {
    std::vector<Test> tests;
    for (const auto& [a, b] : pairs) tests.push_back({a, {b.address}});
    std::vector<unsigned> yes(pairs.size(), 0);
    for (unsigned v = 0; v < votes; ++v) {
        const std::vector<bool> answers = met(tests);
        for (std::size_t i = 0; i < pairs.size(); ++i) yes[i] += answers[i] ? 1 : 0;
    }
    std::vector<bool> answers;
    answers.reserve(yes.size());
    for (unsigned y : yes) answers.push_back(2 * y > votes);
    return answers;
}

void SliceLabeller::addRepresentative(const Target& target) {
    ofSide_[target.side].push_back(static_cast<std::uint32_t>(representatives_.size()));
    representatives_.push_back(target);
    partners_.emplace_back();
}

void SliceLabeller::setRepresentatives(std::vector<Target> list) {
    representatives_.clear();
    partners_.clear();
    ofSide_ = {};
    for (const Target& t : list) addRepresentative(t);
}

/// The largest number that a target can be pressed against, up to `most`.
std::size_t SliceLabeller::groupOf(unsigned side, std::size_t most) const {
    std::size_t size = std::min<std::size_t>(1, most);
    for (const std::size_t larger : kSizes)
        if (larger <= group_[side] && larger <= most) size = larger;
    return size;
}

SliceLabeller::Test SliceLabeller::testOf(const Target& target, const std::vector<std::uint32_t>& among) const {
    Test test{target, {}};
    for (std::uint32_t r : among) test.against.push_back(representatives_[r].address);
    return test;
}

/// Sets a search on the group that its target has met.
void SliceLabeller::resume(Search& s, const std::vector<std::uint32_t>& among) {
    s.among = among;
    s.otherwise.clear();
    s.matches = 0;
}

/// Whether each slice of a side was met a second time.
bool SliceLabeller::allMet(unsigned side) const {
    return std::all_of(ofSide_[side].begin(), ofSide_[side].end(), [&](auto r) { return partners_[r].has_value(); });
}

/// Where no slice can be new, all are tried once more, since answers may have been wrong.
bool SliceLabeller::tryAgain(Search& s, const Target& target) {
    if (s.passes == kPasses) return false;
    ++s.passes;
    s.next = 0;
    advance(s, target, false);
    return !s.among.empty();
}

/// Narrows down what a target that met some of a group may belong to; true when it met a single one twice.
bool SliceLabeller::advance(Search& s, const Target& target, bool met) {
    const auto narrow = [&](std::vector<std::uint32_t> list) {
        const auto some = static_cast<std::ptrdiff_t>(groupOf(target.side, std::max<std::size_t>(1, list.size() / 2)));
        s.otherwise.assign(list.begin() + some, list.end());
        s.among.assign(list.begin(), list.begin() + some);
    };
    if (met && s.among.size() == 1) {
        if (++s.matches == 2) return true;
    } else if (met) {
        narrow(s.among);
    } else {
        s.matches = 0;
        s.among.clear();
        if (!s.otherwise.empty()) narrow(std::move(s.otherwise));
    }
    if (!s.among.empty()) return false;
    const bool guessing = !s.guesses.empty();
    const auto& list = guessing ? s.guesses : ofSide_[target.side];
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(guessing ? 0 : s.next);
    const auto left = static_cast<std::size_t>(list.end() - first);
    const auto last =
        first + static_cast<std::ptrdiff_t>(groupOf(target.side, guessing ? std::min(kGuesses, left) : left));
    s.among.assign(first, last);
    if (guessing) {
        s.guesses.erase(s.guesses.begin(), s.guesses.begin() + static_cast<std::ptrdiff_t>(s.among.size()));
    } else {
        s.next += s.among.size();
    }
    return false;
}

/// Who has met no representative is compared with all of them at once, twice, since answers may have been wrong, and
/// with others like it. If it still meets none it stands for a slice of its own.
void SliceLabeller::promote(std::span<const Target> targets, std::vector<Search>& open,
                            std::vector<std::optional<std::uint32_t>>& labels) {
    std::vector<std::size_t> fresh;
    std::array<std::size_t, 2> ofSide = {};
    for (std::size_t i = 0; i < open.size(); ++i)
        if (open[i].among.empty() && ofSide[targets[open[i].target].side]++ < kNewcomers) fresh.push_back(i);
    if (fresh.empty()) return;

    struct Question {
        std::size_t newcomer;
        std::size_t other;                      ///< an earlier newcomer, or its own number
        std::vector<std::uint32_t> among = {};  ///< representatives
    };
    std::vector<Question> questions;
    std::vector<Test> tests;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        const Target& target = targets[open[fresh[i]].target];
        for (std::size_t k = 0; k < i; ++k)
            if (const Target& other = targets[open[fresh[k]].target]; other.side == target.side) {
                questions.push_back({i, k});
                tests.push_back({target, {other.address}});
            }
        const auto& list = ofSide_[target.side];
        for (auto first = list.begin(); first != list.end();) {
            const auto size = groupOf(target.side, static_cast<std::size_t>(list.end() - first));
            const auto last = first + static_cast<std::ptrdiff_t>(size);
            questions.push_back({i, i, {first, last}});
            tests.push_back(testOf(target, questions.back().among));
            first = last;
        }
    }
    const std::vector<bool> once = met(tests), again = met(tests);
    std::vector<bool> isNew(fresh.size(), true), done(open.size(), false);
    for (std::size_t q = 0; q < questions.size(); ++q) {
        if (!once[q] && !again[q]) continue;
        const Question& question = questions[q];
        if (question.other != question.newcomer && !isNew[question.other]) continue;
        isNew[question.newcomer] = false;
        if (question.other == question.newcomer) resume(open[fresh[question.newcomer]], question.among);
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (!isNew[i]) continue;
        const std::size_t target = open[fresh[i]].target;
        labels[target] = static_cast<std::uint32_t>(representatives_.size());
        addRepresentative(targets[target]);
        done[fresh[i]] = true;
    }
    std::size_t at = 0;
    std::erase_if(open, [&](const Search&) { return done[at++]; });
}

/// One test for each search that is under way.
void SliceLabeller::testAll(std::span<const Target> targets, std::vector<Search>& open,
                            std::vector<std::optional<std::uint32_t>>& labels) {
    std::vector<Test> tests;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (open[i].among.empty()) continue;
        tests.push_back(testOf(targets[open[i].target], open[i].among));
        asked.push_back(i);
    }
    const std::vector<bool> answers = met(tests);
    std::vector<bool> done(open.size(), false);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        Search& s = open[asked[i]];
        const std::uint32_t first = s.among.front();
        const Target& target = targets[s.target];
        done[asked[i]] = advance(s, target, answers[i]);
        if (!done[asked[i]]) continue;
        labels[s.target] = first;
        if (target.address != representatives_[first].address) partners_[first] = target;
    }
    std::size_t at = 0;
    std::erase_if(open, [&](const Search&) { return done[at++]; });
}

std::vector<std::optional<std::uint32_t>> SliceLabeller::search(std::span<const Target> targets,
                                                                const std::vector<std::vector<std::uint32_t>>& guesses,
                                                                bool addNew) {
    std::vector<std::optional<std::uint32_t>> labels(targets.size());
    std::vector<Search> open;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        open.push_back({i});
        if (i < guesses.size()) open.back().guesses = guesses[i];
        std::erase_if(open.back().guesses, [&](auto r) { return representatives_[r].side != targets[i].side; });
    }
    while (!open.empty()) {
        findGroups();
        for (Search& s : open) {
            const Target& target = targets[s.target];
            // At first most targets are new: promote() compares them with all at once.
            if (addNew && group_[target.side] == 0 && !allMet(target.side)) s.next = ofSide_[target.side].size();
            if (s.among.empty()) advance(s, target, false);
        }
        if (addNew) {
            promote(targets, open, labels);
        } else {
            std::erase_if(open, [&](Search& s) { return s.among.empty() && !tryAgain(s, targets[s.target]); });
        }
        testAll(targets, open, labels);
    }
    return labels;
}

std::vector<std::uint32_t> SliceLabeller::label(std::span<const Target> targets,
                                                const std::vector<std::vector<std::uint32_t>>& guesses) {
    std::vector<std::uint32_t> labels;
    for (const auto& l : search(targets, guesses, true)) labels.push_back(*l);
    return labels;
}

std::vector<std::optional<std::uint32_t>> SliceLabeller::identify(std::span<const Target> targets) {
    return search(targets, {}, false);
}

}  // namespace bulkhead::dissect
