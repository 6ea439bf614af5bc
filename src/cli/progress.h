#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace bulkhead::cli {

/// One line on a terminal that tells how far a long run has come; nothing where standard error is no terminal.
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
    std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace bulkhead::cli
