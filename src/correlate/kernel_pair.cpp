#include "correlate/kernel_pair.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "metrics/kernel_name.h"
#include "metrics/metric_table.h"

namespace bulkhead::correlate {
namespace {

using metrics::LaunchRow;
namespace names = metrics::names;

constexpr double kSectorBytes = 32;

/// Sum and number of those launches that have it.
struct Sum {
    double value = 0;
    std::size_t launches = 0;

    std::optional<double> mean() const {
        return launches ? std::optional(value / static_cast<double>(launches)) : std::nullopt;
    }
};

Sum sumOf(std::span<const LaunchRow> rows, std::string_view metric) {
    Sum sum;
    for (const LaunchRow& row : rows)
        if (const std::optional<double> value = row.value(metric)) {
            sum.value += *value;
            ++sum.launches;
        }
    return sum;
}

/// Percent of the launches' sum, of those that counted both.
std::optional<double> rateOf(std::span<const LaunchRow> rows, std::string_view part, std::string_view whole) {
    double parts = 0, wholes = 0;
    for (const LaunchRow& row : rows) {
        const std::optional<double> p = row.value(part), w = row.value(whole);
        if (!p || !w) continue;
        parts += *p;
        wholes += *w;
    }
    return wholes > 0 ? std::optional(100 * parts / wholes) : std::nullopt;
}

std::optional<double> added(std::optional<double> a, std::optional<double> b) {
    return a && b ? std::optional(*a + *b) : a ? a : b;
}

std::optional<double> dramBytes(std::span<const LaunchRow> rows) {
    if (const std::optional<double> all = sumOf(rows, names::kDramBytes).mean()) return all;
    return added(sumOf(rows, names::kDramRead).mean(), sumOf(rows, names::kDramWritten).mean());
}

std::optional<double> cyclesFromTime(std::span<const LaunchRow> rows) {
    Sum sum;
    for (const LaunchRow& row : rows) {
        const std::optional<double> time = row.value(names::kTime), clock = row.value(names::kClock);
        if (!time || !clock) continue;
        sum.value += *time * *clock;
        ++sum.launches;
    }
    return sum.mean();
}

struct StallReason {
    std::string_view name;
    int group;
};
enum Group : int { kMemory, kDependency, kBarrier, kUnit, kFetch };

/// Nsight Compute's warp states that hinder a warp; "selected" and "not_selected" do not.
constexpr std::array kReasons = {
    StallReason{"long_scoreboard", kMemory},
    StallReason{"lg_throttle", kMemory},
    StallReason{"tex_throttle", kMemory},
    StallReason{"drain", kMemory},
    StallReason{"membar", kMemory},
    StallReason{"imc_miss", kMemory},
    StallReason{"wait", kDependency},
    StallReason{"short_scoreboard", kDependency},
    StallReason{"branch_resolving", kDependency},
    StallReason{"sleeping", kDependency},
    StallReason{"misc", kDependency},
    StallReason{"gmma", kDependency},
    StallReason{"warpgroup_arrive", kDependency},
    StallReason{"barrier", kBarrier},
    StallReason{"math_pipe_throttle", kUnit},
    StallReason{"mio_throttle", kUnit},
    StallReason{"dispatch_stall", kUnit},
    StallReason{"no_instruction", kFetch},
    StallReason{"no_instructions", kFetch},
};

double stalledBy(std::span<const LaunchRow> rows, std::string_view reason) {
    for (const auto& [before, behind] : {std::pair{"smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"},
                                         std::pair{"smsp__average_warp_latency_issue_stalled_", ".ratio"}})
        if (const std::optional<double> mean = sumOf(rows, before + std::string(reason) + behind).mean()) return *mean;
    return 0;
}

std::optional<std::array<double, kStallGroups>> stallsOf(std::span<const LaunchRow> rows) {
    std::array<double, kStallGroups> groups = {};
    for (const StallReason& reason : kReasons)
        groups[static_cast<std::size_t>(reason.group)] += stalledBy(rows, reason.name);
    for (const Group group : {kMemory, kDependency, kBarrier, kUnit})
        groups[group] +=
            sumOf(rows, "bulkhead__scheduler_cycles_stalled_" + std::string(kStallGroupNames[group]) + ".sum")
                .mean()
                .value_or(0);
    double all = 0;
    for (const double group : groups) all += group;
    if (!(all > 0)) return std::nullopt;
    for (double& group : groups) group *= 100 / all;
    return groups;
}

/// A subject's launches by kernel, kernels in the order of their first launch.
class ByKernel {
  public:
    explicit ByKernel(const std::vector<LaunchRow>& rows) {
        for (const LaunchRow& row : rows) {
            const std::string kernel = metrics::kernelName(row.kernel);
            if (!launches_.contains(kernel)) order_.push_back(kernel);
            launches_[kernel].push_back(row);
        }
    }
    const std::vector<std::string>& kernels() const { return order_; }
    const std::vector<LaunchRow>* of(const std::string& kernel) const {
        const auto at = launches_.find(kernel);
        return at == launches_.end() ? nullptr : &at->second;
    }

  private:
    std::map<std::string, std::vector<LaunchRow>> launches_;
    std::vector<std::string> order_;
};

KernelPair pairOf(const Subject& subject, const std::string& kernel, const std::vector<LaunchRow>& hardware,
                  const std::vector<LaunchRow>& twin) {
    const std::size_t both = std::min(hardware.size(), twin.size());
    return {subject.suite,
            subject.name,
            kernel,
            sideOf(std::span(hardware).first(both)),
            sideOf(std::span(twin).first(both)),
            hardware.size(),
            twin.size()};
}

}  // namespace

Side sideOf(std::span<const LaunchRow> rows) {
    Side side;
    side.launches = rows.size();
    side.cycles = sumOf(rows, names::kCycles).mean();
    if (!side.cycles) {
        side.cycles = cyclesFromTime(rows);
        side.cyclesFromTime = side.cycles.has_value();
    }
    side.seconds = sumOf(rows, names::kTime).mean();
    side.instructions = sumOf(rows, names::kInstructions).mean();
    side.l1HitRate = rateOf(rows, names::kL1LoadHits, names::kL1Loads);
    side.l2HitRate = rateOf(rows, names::kL2ReadHits, names::kL2Reads);
    if (const std::optional<double> sectors = sumOf(rows, names::kL2Reads).mean())
        side.l2Bytes = *sectors * kSectorBytes;
    side.dramBytes = dramBytes(rows);
    side.warps = sumOf(rows, names::kWarps).mean();
    side.atomics = added(sumOf(rows, names::kAtomics).mean(), sumOf(rows, names::kReductions).mean());
    side.stalls = stallsOf(rows);
    return side;
}

std::string_view mostStalled(const Side& side) {
    if (!side.stalls) return {};
    return kStallGroupNames[static_cast<std::size_t>(std::max_element(side.stalls->begin(), side.stalls->end()) -
                                                     side.stalls->begin())];
}

std::optional<double> KernelPair::ratio() const {
    if (!hardware.cycles || !twin.cycles || !(*hardware.cycles > 0) || !(*twin.cycles > 0)) return std::nullopt;
    return *twin.cycles / *hardware.cycles;
}

std::optional<double> KernelPair::error() const {
    const std::optional<double> r = ratio();
    return r ? std::optional(std::abs(*r - 1)) : std::nullopt;
}

Correlation pairKernels(std::span<const Subject> subjects) {
    Correlation all;
    std::set<std::string> pairedSomewhere, toldOfShared;
    std::vector<Unmatched> ofShared;
    for (const Subject& subject : subjects) {
        const ByKernel hardware(subject.hardware), twin(subject.twin);
        for (const std::string& kernel : twin.kernels()) {
            const std::vector<LaunchRow>& launches = *twin.of(kernel);
            if (const std::vector<LaunchRow>* const real = hardware.of(kernel)) {
                all.kernels.push_back(pairOf(subject, kernel, *real, launches));
                pairedSomewhere.insert(kernel);
            } else {
                all.unmatched.push_back({subject.suite, subject.name, kernel, launches.size(), false});
            }
        }
        for (const std::string& kernel : hardware.kernels()) {
            if (twin.of(kernel)) continue;
            const std::size_t launches = hardware.of(kernel)->size();
            if (!subject.shared) {
                all.unmatched.push_back({subject.suite, subject.name, kernel, launches, true});
            } else if (toldOfShared.insert(kernel).second) {
                ofShared.push_back({"", "", kernel, launches, true});
            }
        }
    }
    for (Unmatched& one : ofShared)
        if (!pairedSomewhere.contains(one.kernel)) all.unmatched.push_back(std::move(one));
    return all;
}

}  // namespace bulkhead::correlate
