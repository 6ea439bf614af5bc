// How often worst-case bounds hold: samples are drawn from distributions whose tails are known, bounded, and the bound
// is held against the true time. Arguments: [--trials N] [--exceedance P] [SAMPLES...]. Writes the table of
// docs/bounds.md.

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
    std::size_t trials = 1000;
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
        else if (word == "--exceedance")
            o.exceedance = std::stod(value());
        else if (word.starts_with("--"))
            throw Error("no option {}: there are --trials and --exceedance", word);
        else
            o.samples.push_back(std::stoul(word));
    }
    if (o.samples.empty()) o.samples = {200, 1000, 4000};
    return o;
}

void study(const KnownTail& tail, std::size_t samples, const Options& o) {
    const double truth = tail.exceeded(o.exceedance);
    std::size_t refused = 0, unseen = 0, given = 0, low = 0;
    std::vector<double> ratios;
    for (std::size_t trial = 0; trial < o.trials; ++trial) {
        const std::vector<double> runs = tail.draw(samples, trial + 1);
        const stress::WorstCase w = stress::boundWorstCase(runs, 0, o.exceedance);
        if (!w.value) {
            ++refused;
        } else if (tail.slow > 0 && maximum(runs) < tail.slow) {
            ++unseen;
        } else {
            ++given;
            low += *w.value < truth;
            const double median = percentile(runs, 50);
            ratios.push_back((*w.value - median) / (truth - median));
        }
    }
    const auto percent = [&](std::size_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(o.trials); };
    fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {} | {} |\n", tail.name, samples, percent(refused),
               percent(unseen), percent(given),
               given ? fmt::format("{:.1f}", 100.0 * static_cast<double>(low) / static_cast<double>(given)) : "",
               given ? fmt::format("{:.1f}", percentile(ratios, 50)) : "");
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) try {
    const Options o = parse(count, arguments);
    fmt::print(
        "| times | samples | refused, % | slow kind not sampled, % | bounds given, % | of these too low, % | bound "
        "over true time, from the median |\n|---|---|---|---|---|---|---|\n");
    for (const auto* kinds : {&singleKinds(), &mixtures(), &dependentRuns()})
        for (const KnownTail& tail : *kinds)
            for (const std::size_t samples : o.samples) study(tail, samples, o);
    return 0;
} catch (const std::exception& e) {
    fmt::print(stderr, "coverage: {}\n", e.what());
    return 2;
}
