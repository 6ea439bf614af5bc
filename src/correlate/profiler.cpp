#include "correlate/profiler.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/files.h"
#include "metrics/metric_table.h"
#include "metrics/ncu_csv.h"

namespace bulkhead::correlate {
namespace {

namespace fs = std::filesystem;
namespace names = metrics::names;

std::vector<std::string> stallMetrics(std::initializer_list<const char*> reasons) {
    std::vector<std::string> all;
    for (const char* const reason : reasons)
        all.push_back(fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", reason));
    return all;
}

/// The first line in which it says what went wrong.
std::string complaintIn(std::string_view text) {
    for (const std::string_view mark : {"==ERROR==", "==WARNING== No kernels"})
        if (const std::size_t at = text.find(mark); at != std::string_view::npos)
            return std::string(text.substr(at, text.find('\n', at) - at));
    return {};
}

std::vector<std::vector<metrics::LaunchRow>> profileGroup(const fs::path& profiler, const Profiling& p,
                                                          const MetricGroup& group) {
    const fs::path file = p.folder / fmt::format("{}.{}.csv", p.name, group.name);
    std::vector<std::string> words = {profiler.string(),
                                      "--csv",
                                      "--page",
                                      "raw",
                                      "--print-units",
                                      "base",
                                      "--cache-control",
                                      "none",
                                      "--clock-control",
                                      "none",
                                      "--target-processes",
                                      "all",
                                      "--force-overwrite",
                                      "--log-file",
                                      file.string(),
                                      "--metrics",
                                      fmt::format("{}", fmt::join(group.metrics, ","))};
    words.insert(words.end(), p.command.begin(), p.command.end());
    experiment::ChildProcess child(words, p.environment, experiment::ChildProcess::Says::nothing);
    const int status = child.wait(p.limitSeconds);
    std::error_code unknown;
    const std::string text = fs::exists(file, unknown) ? readFile(file) : std::string();
    const std::string complaint = complaintIn(text);
    if (status != 0 || !complaint.empty())
        throw Error("{}: ncu ended with {} while it counted {}{}", p.name, status, group.name,
                    complaint.empty() ? std::string() : ": " + complaint);
    return metrics::readNcuCsv(text, file.string());
}

}  // namespace

const std::vector<MetricGroup>& metricGroups() {
    const auto text = [](std::initializer_list<std::string_view> metrics) {
        return std::vector<std::string>(metrics.begin(), metrics.end());
    };
    static const std::vector<MetricGroup> all = {
        {"time", text({names::kCycles, names::kTime, names::kInstructions, names::kWarps})},
        {"l1", text({names::kL1Loads, names::kL1LoadHits})},
        {"l2-reads", text({names::kL2Reads})},
        {"l2-hits", text({names::kL2ReadHits})},
        {"atomics", text({names::kAtomics, names::kReductions})},
        {"dram", text({names::kDramRead, names::kDramWritten})},
        {"stalls-memory", stallMetrics({"long_scoreboard", "lg_throttle", "drain", "membar"})},
        {"stalls-work", stallMetrics({"wait", "short_scoreboard", "branch_resolving", "barrier"})},
        {"stalls-units", stallMetrics({"math_pipe_throttle", "mio_throttle", "dispatch_stall", "no_instruction"})},
    };
    return all;
}

std::optional<fs::path> findProfiler() {
    for (std::string rest = environment("PATH"); !rest.empty();) {
        const std::size_t colon = rest.find(':');
        const fs::path candidate = fs::path(rest.substr(0, colon)) / "ncu";
        std::error_code unknown;
        if (fs::is_regular_file(candidate, unknown) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
        rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
    }
    return std::nullopt;
}

std::vector<std::vector<metrics::LaunchRow>> profile(const fs::path& profiler, const Profiling& p) {
    std::vector<std::vector<metrics::LaunchRow>> runs;
    for (const MetricGroup& group : metricGroups())
        for (std::vector<metrics::LaunchRow>& run : profileGroup(profiler, p, group)) runs.push_back(std::move(run));
    return runs;
}

}  // namespace bulkhead::correlate
