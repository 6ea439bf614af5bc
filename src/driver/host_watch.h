#pragma once

#include <cstdint>
#include <ctime>

namespace bulkhead::driver {

/// Tells from outside whether a program waits for its GPU without having told the driver: on a condition variable that
/// a function in a stream will notify, for a word that a kernel will write, or asleep.
///
/// It does if all of its threads sleep, or if they have computed for long without a call. Neither happens between the
/// calls of a program that only launches, copies and synchronizes, however slow its host is: its simulated times stay
/// the same from run to run.
class HostWatch {
  public:
    /// To be asked every few milliseconds, with the number of calls so far, by the thread that is not to be counted.
    bool waits(std::uint64_t calls);

  private:
    static constexpr int kLooks = 3;           ///< that have to find every thread asleep
    static constexpr double kComputing = 1.0;  ///< seconds of the processor's time
    static constexpr double kAsleep = 0.0005;  ///< seconds of it that a sleeping program may take between two looks

    std::uint64_t calls_ = 0;
    double sinceCall_ = 0, sinceLook_ = 0;  ///< the program's processor time then
    int asleep_ = 0;                        ///< looks in a row
};

}  // namespace bulkhead::driver
