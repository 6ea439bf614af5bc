#include "known_tails.h"

#include <cmath>
#include <utility>

#include "base/random.h"

namespace bulkhead {
namespace {

constexpr double kPi = 3.14159265358979323846;

double normal(Random& random) {
    return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(2 * kPi * random.uniform());
}

double normalAbove(double x) {
    return std::erfc(x / std::sqrt(2.0)) / 2;
}

double exponential(Random& random) {
    return -std::log(1 - random.uniform());
}

/// Each run by itself.
KnownTail independent(std::string name, double (*draw)(Random&), double (*survival)(double)) {
    return {std::move(name),
            [draw](std::size_t count, std::uint64_t seed) {
                Random random(seed);
                std::vector<double> runs;
                for (std::size_t i = 0; i < count; ++i) runs.push_back(draw(random));
                return runs;
            },
            survival};
}

template <int kPercent>
KnownTail pareto() {
    static constexpr double kShape = kPercent / 100.0;
    return independent(
        "Pareto, shape " + std::string(kPercent < 0 ? "-" : "") + "0." + std::to_string(std::abs(kPercent) / 10),
        [](Random& random) { return std::expm1(kShape * exponential(random)) / kShape; },
        [](double x) { return x < 0                ? 1
                              : 1 + kShape * x > 0 ? std::pow(1 + kShape * x, -1 / kShape)
                                                   : 0; });
}

/// One run of `rarity` is of a slower kind.
KnownTail mixture(std::string name, unsigned rarity, double from, double (*slow)(Random&),
                  double (*slowAbove)(double)) {
    KnownTail tail;
    tail.name = std::move(name);
    tail.draw = [=](std::size_t count, std::uint64_t seed) {
        Random random(seed);
        std::vector<double> runs;
        for (std::size_t i = 0; i < count; ++i)
            runs.push_back(random.below(rarity) == 0 ? from + slow(random) : 100 + normal(random));
        return runs;
    };
    tail.survival = [=](double x) {
        const double share = 1.0 / rarity;
        return (1 - share) * normalAbove(x - 100) + share * (x < from - 50 ? 1 : slowAbove(x - from));
    };
    tail.slow = from - 5;
    return tail;
}

double exponentialAbove(double x) {
    return x < 0 ? 1 : std::exp(-x);
}

/// Normal times around a level that changes from run to run: `level` of the run's number and of their count.
KnownTail moving(std::string name, double (*level)(double run, double count)) {
    KnownTail tail;
    tail.name = std::move(name);
    tail.draw = [=](std::size_t count, std::uint64_t seed) {
        Random random(seed);
        std::vector<double> runs;
        for (std::size_t i = 0; i < count; ++i)
            runs.push_back(level(static_cast<double>(i), static_cast<double>(count)) + normal(random));
        return runs;
    };
    tail.survival = [=](double x) {
        double sum = 0;
        for (int i = 0; i < 2000; ++i) sum += normalAbove(x - level(i, 2000));
        return sum / 2000;
    };
    return tail;
}

/// Each run is `memory` of the one before and the rest anew; all are standard normal.
KnownTail remembering(std::string name, double memory) {
    return {std::move(name),
            [memory](std::size_t count, std::uint64_t seed) {
                Random random(seed);
                std::vector<double> runs;
                double level = normal(random);
                for (std::size_t i = 0; i < count; ++i) {
                    runs.push_back(level);
                    level = memory * level + std::sqrt(1 - memory * memory) * normal(random);
                }
                return runs;
            },
            normalAbove};
}

/// Slow runs come in bursts of twenty, on average; a tenth of all is slow.
KnownTail bursts() {
    KnownTail tail;
    tail.name = "bursts of slow runs";
    tail.draw = [](std::size_t count, std::uint64_t seed) {
        Random random(seed);
        std::vector<double> runs;
        bool slow = false;
        for (std::size_t i = 0; i < count; ++i) {
            slow = slow ? random.below(20) != 0 : random.below(180) == 0;
            runs.push_back((slow ? 105 : 100) + normal(random));
        }
        return runs;
    };
    tail.survival = [](double x) { return 0.9 * normalAbove(x - 100) + 0.1 * normalAbove(x - 105); };
    return tail;
}

}  // namespace

double KnownTail::exceeded(double probability) const {
    double low = -1e3, high = 1;
    while (survival(high) > probability) high *= 2;
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        (survival(middle) > probability ? low : high) = middle;
    }
    return high;
}

const std::vector<KnownTail>& singleKinds() {
    static const std::vector<KnownTail> all = {
        independent("normal", normal, normalAbove),
        independent(
            "uniform", [](Random& random) { return random.uniform(); },
            [](double x) { return x < 0   ? 1
                                  : x > 1 ? 0
                                          : 1 - x; }),
        independent("exponential", exponential, exponentialAbove),
        independent(
            "gamma, shape 0.5", [](Random& random) { return std::pow(normal(random), 2) / 2; },
            [](double x) { return x < 0 ? 1 : std::erfc(std::sqrt(x)); }),
        independent(
            "gamma, shape 2", [](Random& random) { return exponential(random) + exponential(random); },
            [](double x) { return x < 0 ? 1 : (1 + x) * std::exp(-x); }),
        independent(
            "Gumbel", [](Random& random) { return -std::log(exponential(random)); },
            [](double x) { return -std::expm1(-std::exp(-x)); }),
        pareto<-50>(),
        pareto<-20>(),
        pareto<10>(),
        pareto<30>(),
        independent(
            "lognormal", [](Random& random) { return std::exp(normal(random)); },
            [](double x) { return x <= 0 ? 1 : normalAbove(std::log(x)); }),
        independent(
            "Weibull, shape 0.5", [](Random& random) { return std::pow(exponential(random), 2); },
            [](double x) { return x < 0 ? 1 : std::exp(-std::sqrt(x)); }),
    };
    return all;
}

const std::vector<KnownTail>& mixtures() {
    static const std::vector<KnownTail> all = {
        mixture("1 in 10 slow", 10, 150, normal, normalAbove),
        mixture("1 in 20 a little slow", 20, 105, normal, normalAbove),
        mixture("1 in 100 slow", 100, 150, normal, normalAbove),
        mixture("1 in 100 a little slow", 100, 108, normal, normalAbove),
        mixture(
            "1 in 100 slow, exponential", 100, 110, [](Random& random) { return 10 * exponential(random); },
            [](double x) { return exponentialAbove(x / 10); }),
        mixture("1 in 500 slow", 500, 150, normal, normalAbove),
    };
    return all;
}

const std::vector<KnownTail>& dependentRuns() {
    static const std::vector<KnownTail> all = {
        moving("slow drift", [](double run, double count) { return 100 + run / count; }),
        moving("drift", [](double run, double count) { return 100 + 4 * run / count; }),
        moving("a step half way", [](double run, double count) { return run < count / 2 ? 100.0 : 102.0; }),
        moving("period of 50 runs", [](double run, double) { return 100 + 3 * std::sin(2 * kPi * run / 50); }),
        moving("period of 2 runs", [](double run, double) { return std::fmod(run, 2) < 1 ? 100.0 : 102.0; }),
        moving("each 40th run slow", [](double run, double) { return std::fmod(run, 40) < 1 ? 150.0 : 100.0; }),
        remembering("memory of 0.2", 0.2),
        remembering("memory of 0.9", 0.9),
        bursts(),
    };
    return all;
}

}  // namespace bulkhead
