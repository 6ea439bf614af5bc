#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace bulkhead::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string count(double n) {
    if (n >= 1e9) return fmt::format("{:.2f} G", n / 1e9);
    if (n >= 1e6) return fmt::format("{:.2f} M", n / 1e6);
    return fmt::format("{:.1f} k", n / 1e3);
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(isatty(2) != 0), start_(Clock::now()), last_(start_) {}

void ProgressLine::clear() {
    if (!shown_) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    shown_ = false;
}

void ProgressLine::update(std::uint64_t cycles, std::uint64_t warpInstructions, double fraction) {
    if (!terminal_) return;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(250)) return;
    last_ = now;
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    std::string left;
    if (fraction > 0.01) left = fmt::format(", {:.0f} %, {:.0f} s left", fraction * 100, elapsed * (1 / fraction - 1));
    fmt::print(stderr, "\r\x1b[K{} cycles, {} warp instructions/s{}", count(static_cast<double>(cycles)),
               count(static_cast<double>(warpInstructions) / elapsed), left);
    std::fflush(stderr);
    shown_ = true;
}

}  // namespace bulkhead::cli
