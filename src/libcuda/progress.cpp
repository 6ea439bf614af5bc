#include "libcuda/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "base/environment.h"
#include "libcuda/kernel_name.h"

namespace bulkhead::libcuda {
namespace {

constexpr double kFirst = 5, kOnTerminal = 5;  ///< seconds; elsewhere each line comes after twice the time

bool wanted(bool terminal) {
    const std::string text = environment("BULKHEAD_PROGRESS");
    return text.empty() ? terminal : text == "1";
}

/// "45 s", or "2 min 05 s".
std::string timeText(double seconds) {
    const auto whole = std::llround(seconds);
    return whole < 100 ? fmt::format("{} s", whole) : fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace

Progress& Progress::instance() {
    static Progress* progress = new Progress;
    return *progress;
}

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) == 1), shown_(wanted(terminal_)), due_(kFirst) {}

double Progress::secondsSince(Clock::time_point when) const {
    return std::chrono::duration<double>(Clock::now() - when).count();
}

void Progress::launchStarted(std::uint32_t launch) {
    running_[launch] = Clock::now();
}

void Progress::launchEnded(std::uint32_t launch) {
    running_.erase(launch);
    ++ended_;
}

/// "bulkhead: after 10 s, 2 kernels done and 1.25 ms simulated; matMul: 30 % of 4096 blocks, about 23 s left"
std::string Progress::line(const gpu::LaunchCounters& gpu) const {
    std::string text = fmt::format("bulkhead: after {}, {} kernel{} done", timeText(secondsSince(begun_)), ended_,
                                   ended_ == 1 ? "" : "s");
    if (gpu.timing() != sim::Timing::functional)
        text += fmt::format(" and {:.3g} ms simulated", gpu.seconds(gpu.now()) * 1e3);
    if (running_.empty()) return text;
    const auto& [launch, since] = *running_.begin();
    const double done = gpu.fractionDone(launch);
    text += fmt::format("; {}: {:.0f} % of its blocks", shortName(gpu.launch(launch).kernel), 100 * done);
    if (done > 0) text += fmt::format(", about {} left for it", timeText(secondsSince(since) * (1 - done) / done));
    return text;
}

void Progress::look(const gpu::LaunchCounters& gpu) {
    if (!shown_ || secondsSince(begun_) < due_) return;
    fmt::print(stderr, "{}\n", line(gpu));
    due_ = terminal_ ? secondsSince(begun_) + kOnTerminal : 2 * due_;
}

}  // namespace bulkhead::libcuda
