#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace bulkhead::cli {

/// "1:05", or "2:03:04" from an hour on.
std::string clockTime(double seconds);

/// How long something still takes, by what it took so far.
class TimeLeft {
  public:
    TimeLeft() : start_(std::chrono::steady_clock::now()) {}

    double elapsed() const;  ///< seconds
    /// ", 1:05 left" once there is something to go by; nothing before. `fraction` in [0, 1] is done.
    std::string words(double fraction) const;
    std::optional<double> seconds(double fraction) const;

  private:
    std::chrono::steady_clock::time_point start_;
};

/// Whether a program reads how far this one is: with BULKHEAD_PROGRESS=json, from lines of JSON on standard error.
bool streamsProgress();
/// {"progress": 0.4, "text": "2 of 5 runs", "seconds_left": 12}. `fraction` in [0, 1].
void streamProgress(double fraction, const std::string& text, std::optional<double> secondsLeft = {});

/// When to tell of progress where there is no terminal, and every line stays.
class EveryMinute {
  public:
    explicit EveryMinute(std::chrono::steady_clock::duration each = std::chrono::minutes(1),
                         std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now())
        : each_(each), last_(begin) {}

    /// Whether so long has passed since it was last due, or since the beginning.
    bool due(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

  private:
    std::chrono::steady_clock::duration each_;
    std::chrono::steady_clock::time_point last_;
};

/// One line on a terminal that tells how far a long run has come, and a line a minute where standard error is none;
/// lines of JSON for who reads progress.
class ProgressLine {
  public:
    ProgressLine();
    ~ProgressLine() { clear(); }

    void clear();  ///< before anything else is written

    /// Shown at most a few times a second. `fraction` in [0, 1] gives the time left.
    void update(std::uint64_t cycles, std::uint64_t warpInstructions, double fraction);

  private:
    bool terminal_;
    bool shown_ = false;
    TimeLeft timeLeft_;
    EveryMinute minute_;
    std::chrono::steady_clock::time_point last_;
};

}  // namespace bulkhead::cli
