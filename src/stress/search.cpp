#include "stress/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/phrases.h"
#include "base/random.h"
#include "corun/aggressor.h"
#include "corun/spec_json.h"
#include "stress/values.h"

namespace bulkhead::stress {
namespace {

using corun::AggressorSpec;

constexpr std::size_t kGeneration = 8;  // aggressors that are chosen at once
constexpr std::size_t kParents = 4;     // of which the next ones are made
constexpr int kMostTries = 64;          // for one that is new

/// A knob is turned to one of these.
using Turn = std::function<void(AggressorSpec&, Random&)>;

template <class T>
T oneOf(std::initializer_list<T> values, Random& random) {
    return values.begin()[random.below(values.size())];
}

/// Those that mean something to its kind.
std::vector<Turn> knobsFor(const AggressorSpec& spec, const SearchSpace& space) {
    const bool chases = spec.kind.starts_with("evict-"), streams = spec.kind.starts_with("stream-");
    std::vector<Turn> knobs = {[](AggressorSpec& a, Random& random) {
        a.layout.warps = oneOf({1u, 2u, 4u, 8u, 16u, 32u}, random);
        a.layout.blocks = 0;
    }};
    if (space.choosesSms && space.sms > 1)
        knobs.emplace_back([&space](AggressorSpec& a, Random& random) {
            a.sms = 1 + static_cast<unsigned>(random.below(space.sms));
            a.layout.blocks = 0;
        });
    if (chases) {
        knobs.emplace_back([](AggressorSpec& a, Random& random) {
            a.lanes = oneOf({1u, 2u, 4u, 8u, 16u, 32u}, random);
        });
        knobs.emplace_back([](AggressorSpec& a, Random& random) {
            a.strideLines = oneOf({1u, 2u, 3u, 4u, 8u, 16u, 32u}, random);
        });
    }
    if (chases || streams) {
        // In eighths of the cache.
        knobs.emplace_back([&space](AggressorSpec& a, Random& random) {
            a.bytes = space.cacheBytes * oneOf({1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u}, random) / 8;
        });
        // Order of a chase, and reads or writes of a stream.
        knobs.emplace_back([chases](AggressorSpec& a, Random& random) {
            a.kind = chases ? oneOf({"evict-sequential", "evict-random"}, random)
                            : oneOf({"stream-read", "stream-write", "stream-read-write", "stream-atomic"}, random);
        });
    }
    if (const std::uint64_t targets = space.targets ? space.targets(spec.kind) : 0)
        knobs.emplace_back([targets](AggressorSpec& a, Random& random) {
            a.target = static_cast<std::uint32_t>(random.below(targets));
        });
    return knobs;
}

std::string identityOf(const AggressorSpec& spec) {
    AggressorSpec plain = spec;
    plain.name.clear();
    return corun::toJson(plain).dump();
}

/// The worst so far, worst first; of equals, the one that was tried first.
std::vector<const Trial*> ranked(const std::vector<Trial>& trials) {
    std::vector<const Trial*> all;
    for (const Trial& trial : trials)
        if (trial.slowdown) all.push_back(&trial);
    std::ranges::stable_sort(all, std::greater<>(), [](const Trial* trial) { return *trial->slowdown; });
    return all;
}

/// One that is new, made of one of the worst; nothing where none is found.
std::optional<AggressorSpec> varied(const std::vector<const Trial*>& parents, const SearchSpace& space, Random& random,
                                    const std::set<std::string>& known) {
    for (int i = 0; i < kMostTries; ++i) {
        AggressorSpec child = parents[random.below(std::min(parents.size(), kParents))]->aggressor;
        child.name.clear();
        for (std::uint64_t turns = 1 + random.below(2); turns > 0; --turns) {
            const std::vector<Turn> knobs = knobsFor(child, space);
            knobs[random.below(knobs.size())](child, random);
        }
        if (!known.contains(identityOf(child))) return child;
    }
    return std::nullopt;
}

}  // namespace

std::vector<Trial> searchWorst(const std::vector<AggressorSpec>& first, const SearchSpace& space, unsigned budget,
                               std::uint64_t seed, const TryAll& tryAll) {
    std::vector<Trial> trials;
    std::set<std::string> known;
    Random random(seed);
    const auto measure = [&](const std::vector<AggressorSpec>& specs) {
        const std::vector<std::optional<double>> slowdowns = tryAll(specs);
        for (std::size_t i = 0; i < specs.size(); ++i) trials.push_back({specs[i], slowdowns.at(i)});
    };
    std::vector<AggressorSpec> next;
    for (const AggressorSpec& spec : first)
        if (next.size() < budget && known.insert(identityOf(spec)).second) next.push_back(spec);
    measure(next);
    while (trials.size() < budget) {
        const std::vector<const Trial*> parents = ranked(trials);
        next.clear();
        while (!parents.empty() && next.size() < std::min(kGeneration, budget - trials.size())) {
            const std::optional<AggressorSpec> child = varied(parents, space, random, known);
            if (!child) break;
            known.insert(identityOf(*child));
            next.push_back(*child);
        }
        if (next.empty()) break;
        measure(next);
    }
    return trials;
}

const Trial* worstOf(const std::vector<Trial>& trials) {
    const std::vector<const Trial*> all = ranked(trials);
    return all.empty() ? nullptr : all.front();
}

std::string knobsOf(const AggressorSpec& spec) {
    const AggressorSpec usual;
    std::string text = spec.kind;
    const auto add = [&](const char* knob, auto value, auto usually) {
        if (value != usually) text += fmt::format(" {}={}", knob, value);
    };
    add("sms", spec.sms, usual.sms);
    add("blocks", spec.layout.blocks, usual.layout.blocks);
    add("warps", spec.layout.warps, usual.layout.warps);
    add("lanes", spec.lanes, usual.lanes);
    add("stride", spec.strideLines, usual.strideLines);
    add("bytes", spec.bytes, usual.bytes);
    add("duty", spec.dutyPercent, usual.dutyPercent);
    add("rate", spec.gigabytesPerSecond, usual.gigabytesPerSecond);
    add("target", spec.target, usual.target);
    return text;
}

Result found(const std::vector<Search>& searches) {
    Result r;
    r.title = "Worst neighbours found";
    r.columns = {{"victim", ""},      {"sharing", ""},       {"tried", ""},       {"without a sample", ""},
                 {"worst found", ""}, {"its slowdown", "x"}, {"worst given", ""}, {"slowdown", "x"}};
    for (const Search& search : searches) {
        const Trial* const worst = worstOf(search.trials);
        const auto given = search.trials.begin() + static_cast<std::ptrdiff_t>(search.given);
        const std::vector<Trial> asGiven(search.trials.begin(), given);
        const Trial* const usual = worstOf(asGiven);
        const auto lost = std::ranges::count_if(search.trials, [](const Trial& t) { return !t.slowdown; });
        r.add({search.victim, search.sharing, whole(search.trials.size()), std::int64_t{lost},
               worst ? Value(knobsOf(worst->aggressor)) : Value(), worst ? valueOf(worst->slowdown) : Value(),
               usual ? Value(knobsOf(usual->aggressor)) : Value(), usual ? valueOf(usual->slowdown) : Value()});
        if (worst == nullptr || !worst->slowdown) continue;
        r.answer += fmt::format("{}The worst of {} neighbours of {} (sharing: {}) costs it a factor of {}",
                                r.answer.empty() ? "" : " ", search.trials.size(), search.victim, search.sharing,
                                brief(*worst->slowdown));
        r.answer += usual && usual->slowdown ? fmt::format("; the worst given, {}.", brief(*usual->slowdown)) : ".";
    }
    r.question = "Which neighbour is worst?";
    r.reading = "Each was tried once; the worst is measured in full, with other seeds, in the table of interference.";
    return r;
}

Result tried(const std::vector<Search>& searches) {
    Result r;
    r.title = "Neighbours tried";
    r.columns = {{"victim", ""}, {"sharing", ""}, {"trial", ""}, {"aggressor", ""}, {"slowdown", "x"}};
    for (const Search& search : searches)
        for (std::size_t i = 0; i < search.trials.size(); ++i)
            r.add({search.victim, search.sharing, whole(i), knobsOf(search.trials[i].aggressor),
                   valueOf(search.trials[i].slowdown)});
    return r;
}

}  // namespace bulkhead::stress
