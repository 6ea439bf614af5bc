// How often worst-case bounds hold: samples are drawn from distributions whose tails are known, bounded, and the bound
// is held against the true time. Arguments: [--trials N] [--first-seed N] [--exceedance P] [SAMPLES...]. Prints the
// table of docs/bounds.md: of the trials that show each kind of run, how many got a bound; of these, how many are too
// low; and the median of the bound's distance from the median time over that of the true time.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "known_tails.h"
#include "stress/extreme_value.h"

namespace {

using namespace bulkhead;

struct Options {
    std::size_t trials = 400, firstSeed = 1;
    double exceedance = 1e-6;
    std::vector<std::size_t> samples;
};

Options parse(int count, char** arguments) {
    Options o;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        const auto value = [&] {
            if (++i == count) throw Error("{} needs a value", word);
            return std::string(arguments[i]);
        };
        if (word == "--trials")
            o.trials = std::stoul(value());
        else if (word == "--first-seed")
            o.firstSeed = std::stoul(value());
        else if (word == "--exceedance")
            o.exceedance = std::stod(value());
        else if (word.starts_with("--"))
            throw Error("no option {}: there are --trials, --first-seed and --exceedance", word);
        else
            o.samples.push_back(std::stoul(word));
    }
    if (o.samples.empty()) o.samples = {200, 1000, 4000};
    return o;
}

/// Cells of a row: how many bounds were given and are too low, in percent, and how far above the truth they are.
std::string study(const KnownTail& tail, std::size_t samples, const Options& o) {
    const double truth = tail.exceeded(o.exceedance);
    std::size_t refused = 0, low = 0;
    std::vector<double> ratios;
    for (std::size_t trial = 0; trial < o.trials; ++trial) {
        const std::vector<double> runs = tail.draw(samples, o.firstSeed + trial);
        if (tail.slow > 0 && maximum(runs) < tail.slow) continue;
        const stress::WorstCase w = stress::boundWorstCase(runs, 0, o.exceedance);
        if (!w.value) {
            ++refused;
            continue;
        }
        low += *w.value < truth;
        const double median = percentile(runs, 50);
        ratios.push_back((*w.value - median) / (truth - median));
    }
    if (ratios.empty()) return " 0 | | |";
    const auto given = static_cast<double>(ratios.size());
    return fmt::format(" {:.1f} | {:.1f} | {:.1f} |", 100 * given / (given + static_cast<double>(refused)),
                       100 * static_cast<double>(low) / given, percentile(ratios, 50));
}

}  // namespace

int main(int count, char** arguments) try {
    const Options o = parse(count, arguments);
    fmt::print("| times |");
    for (const std::size_t samples : o.samples)
        fmt::print(" {} samples: given, % | too low, % | over truth |", samples);
    fmt::print("\n|---|");
    for (std::size_t i = 0; i < o.samples.size(); ++i) fmt::print("---|---|---|");
    fmt::print("\n");
    for (const auto* kinds : {&singleKinds(), &mixtures(), &dependentRuns()})
        for (const KnownTail& tail : *kinds) {
            std::string row = fmt::format("| {} |", tail.name);
            for (const std::size_t samples : o.samples) row += study(tail, samples, o);
            fmt::print("{}\n", row);
            std::fflush(stdout);
        }
    return 0;
} catch (const std::exception& e) {
    fmt::print(stderr, "coverage: {}\n", e.what());
    return 2;
}
