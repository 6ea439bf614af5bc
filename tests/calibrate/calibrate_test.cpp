#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "arch/parameter_table.h"
#include "base/error.h"
#include "base/random.h"
#include "random_profiles.h"
#include "temporary_directory.h"

namespace bulkhead::calibrate {
namespace {

/// How near a measured parameter must come to the profile's own.
struct Tolerance {
    const char* key;
    double share;   ///< of the value
    double cycles;  ///< or so much, whichever is more
};

// Chains are exact, as the simulator is: whatever else a round does is the same with more of them. Where many warps
// compete, the last ones end alone, which costs up to a few per cent of the time that was meant to be of full use.
constexpr Tolerance kTolerances[] = {
    {"op.control.interval", 0.05, 0.5},
    {"launch.latency", 0, 8},  // the block's own start and end
    {"launch.blockInterval", 0.02, 0},
    {"interval", 0.02, 0.4},
};

double allowed(const std::string& key, double own) {
    for (const Tolerance& t : kTolerances)
        if (key.ends_with(t.key)) return std::max(t.share * own, t.cycles);
    return 0.05;  // exact, but for the last digit of a quotient
}

struct Case {
    TemporaryDirectory directory;
    arch::DeviceProfile own, base;
    Calibration found;

    Case(std::uint64_t structure, std::uint64_t seed, Options options = {})
        : own(randomProfile(structure, seed)), base(randomProfile(structure, seed + 1000)) {
        gpu::Gpu gpu = gpu::Gpu::open(writtenProfile(own, (directory / "own.json").string()));
        writtenProfile(base, (directory / "base.json").string());
        options.base = (directory / "base.json").string();
        Listener silent;
        found = calibrate(gpu, options, silent);
    }
};

void expectOwnFigures(const Case& c) {
    for (const Figure& f : c.found.figures) {
        if (f.key.empty()) continue;
        const arch::Descriptor& d = *arch::findParameter(f.key);
        EXPECT_EQ(f.refused, "") << f.key;
        if (!f.text.empty()) {
            EXPECT_EQ(f.text, arch::asText(d, c.own)) << f.key;
            continue;
        }
        const auto own = static_cast<double>(d.get(c.own));
        EXPECT_NEAR(f.value, own, allowed(f.key, own)) << f.key << " of " << c.own.name << ", " << f.note;
    }
    for (const Undecided& u : c.found.undecided) ADD_FAILURE() << u.measurement << ": " << u.why;
}

class RandomProfiles : public testing::TestWithParam<int> {};

TEST_P(RandomProfiles, OperationsAndLaunchesAreGivenBack) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    Options options;
    options.only = {"attributes", "clock", "launches", "operations", "branches"};
    expectOwnFigures(Case(seed, seed, options));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProfiles, testing::Range(1, 7));

}  // namespace
}  // namespace bulkhead::calibrate
