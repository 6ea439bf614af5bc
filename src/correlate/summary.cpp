#include "correlate/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/statistics.h"
#include "correlate/causes.h"

namespace bulkhead::correlate {
namespace {

/// Pearson's correlation; nothing of fewer than two points, or where one side never differs.
std::optional<double> correlationOf(std::span<const double> x, std::span<const double> y) {
    if (x.size() < 2) return std::nullopt;
    const double middleX = mean(x), middleY = mean(y);
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - middleX) * (x[i] - middleX);
        yy += (y[i] - middleY) * (y[i] - middleY);
        xy += (x[i] - middleX) * (y[i] - middleY);
    }
    return xx > 0 && yy > 0 ? std::optional(xy / std::sqrt(xx * yy)) : std::nullopt;
}

std::optional<double> meanOf(const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional(mean(values));
}

/// What `differ` makes of each kernel for which both sides have it and hardware has at least so much.
template <class Differ>
std::vector<double> differences(std::span<const KernelPair> kernels, std::optional<double> Side::*what, double least,
                                Differ&& differ) {
    std::vector<double> found;
    for (const KernelPair& k : kernels)
        if (k.hardware.*what && k.twin.*what && *(k.hardware.*what) >= least)
            found.push_back(differ(*(k.hardware.*what), *(k.twin.*what)));
    return found;
}

double apart(double hardware, double twin) {
    return std::abs(twin - hardware);
}

double percentApart(double hardware, double twin) {
    return 100 * std::abs(twin / hardware - 1);
}

}  // namespace

Errors errorsOf(std::span<const KernelPair> kernels) {
    std::vector<double> errors, ratios;
    Errors e;
    for (const KernelPair& k : kernels) {
        if (!k.ratio()) continue;
        errors.push_back(100 * *k.error());
        ratios.push_back(*k.ratio());
        e.within += *k.error() <= kWithin;
    }
    e.kernels = errors.size();
    if (errors.empty()) return e;
    e.mean = mean(errors);
    e.median = percentile(errors, 50);
    e.ratio = geometricMean(ratios);
    return e;
}

Summary summaryOf(std::span<const KernelPair> kernels) {
    Summary s;
    s.all = errorsOf(kernels);
    std::vector<KernelPair> ofLong;
    std::vector<double> hardware, twin;
    for (const KernelPair& k : kernels) {
        if (!k.ratio()) continue;
        hardware.push_back(std::log(*k.hardware.cycles));
        twin.push_back(std::log(*k.twin.cycles));
        if (*k.hardware.cycles > kLongCycles) ofLong.push_back(k);
    }
    s.ofLong = errorsOf(ofLong);
    s.logCorrelation = correlationOf(hardware, twin);
    s.l1Points = meanOf(differences(kernels, &Side::l1HitRate, 0, apart));
    s.l2Points = meanOf(differences(kernels, &Side::l2HitRate, 0, apart));
    s.instructions = meanOf(differences(kernels, &Side::instructions, 1, percentApart));
    s.warps = meanOf(differences(kernels, &Side::warps, 0, apart));
    const std::vector<double> dram = differences(kernels, &Side::dramBytes, kMuchDramBytes, percentApart);
    s.dram = meanOf(dram);
    s.dramKernels = dram.size();
    return s;
}

}  // namespace bulkhead::correlate
