#pragma once

#include <span>
#include <string>
#include <vector>

namespace bulkhead::stress {

/// All tests together reject one in twenty sets of samples that are fine, at most: each has a quarter of that.
constexpr double kIidLevel = 0.05 / 4;

/// A test of whether samples, in the order in which they were taken, are independent and of one distribution.
struct IidTest {
    const char* name = "";
    std::string meaning;  ///< of a rejection
    double statistic = 0;
    double pValue = 1;  ///< how often independent samples of one distribution would look worse

    bool rejected() const { return pValue < kIidLevel; }
};

/// Ljung and Box's sum of squared autocorrelations over min(n / 4, 100) lags. Where it rejects, shuffled samples must
/// confirm it, and the p-value is theirs: 1/120 at least.
IidTest ljungBox(std::span<const double>);
/// Kolmogorov and Smirnov's greatest distance, between the first half and the second.
IidTest halves(std::span<const double>);
/// Wald and Wolfowitz's number of runs above and below the median.
IidTest runsTest(std::span<const double>);
/// Kwiatkowski, Phillips, Schmidt and Shin's test of a level that stays, with Bartlett's window over
/// 4 (n / 100)^(1/4) lags.
IidTest kpss(std::span<const double>);

/// All four, of samples that vary.
std::vector<IidTest> testIid(std::span<const double>);

}  // namespace bulkhead::stress
