#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/json.h"

namespace bulkhead::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string count(double n) {
    if (n >= 1e9) return fmt::format("{:.2f} G", n / 1e9);
    if (n >= 1e6) return fmt::format("{:.2f} M", n / 1e6);
    return fmt::format("{:.1f} k", n / 1e3);
}

}  // namespace

std::string clockTime(double seconds) {
    const long whole = std::lround(seconds);
    return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                         : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

double TimeLeft::elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

std::optional<double> TimeLeft::seconds(double fraction) const {
    constexpr double kEnough = 0.01, kSoonS = 0.5;
    const double soFar = elapsed();
    if (fraction < kEnough || soFar < kSoonS) return std::nullopt;
    return soFar * (1 / fraction - 1);
}

std::string TimeLeft::words(double fraction) const {
    const std::optional<double> left = seconds(fraction);
    return left ? fmt::format(", {} left", clockTime(*left)) : "";
}

bool streamsProgress() {
    return environment("BULKHEAD_PROGRESS") == "json";
}

void streamProgress(double fraction, const std::string& text, std::optional<double> secondsLeft) {
    nlohmann::ordered_json line = {{"progress", fraction}, {"text", text}};
    if (secondsLeft) line["seconds_left"] = std::round(*secondsLeft);
    fmt::print(stderr, "{}\n", jsonText(line));
}

bool EveryMinute::due(Clock::time_point now) {
    if (now - last_ < each_) return false;
    last_ = now;
    return true;
}

ProgressLine::ProgressLine() : terminal_(isatty(2) != 0), last_(Clock::now()) {}

void ProgressLine::clear() {
    if (!shown_) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    shown_ = false;
}

void ProgressLine::update(std::uint64_t cycles, std::uint64_t warpInstructions, double fraction) {
    const bool read = streamsProgress();
    const auto now = Clock::now();
    if (terminal_ || read ? now - last_ < std::chrono::milliseconds(250) : !minute_.due()) return;
    last_ = now;
    const double elapsed = timeLeft_.elapsed();
    const std::string so = fmt::format("{} cycles, {} warp instructions/s", count(static_cast<double>(cycles)),
                                       count(static_cast<double>(warpInstructions) / elapsed));
    if (read) return streamProgress(fraction, so, timeLeft_.seconds(fraction));
    const std::string left = fraction > 0 ? fmt::format(", {:.0f} %{}", fraction * 100, timeLeft_.words(fraction)) : "";
    fmt::print(stderr, "{}{}{}{}", terminal_ ? "\r\x1b[K" : "", so, left, terminal_ ? "" : "\n");
    std::fflush(stderr);
    shown_ = terminal_;
}

}  // namespace bulkhead::cli
