#include "driver/host_watch.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace bulkhead::driver {
namespace {

double secondsOf(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Of all threads but the caller's.
double programSeconds() {
    return secondsOf(CLOCK_PROCESS_CPUTIME_ID) - secondsOf(CLOCK_THREAD_CPUTIME_ID);
}

/// The letter that /proc has for what a thread does; it follows the name, which may hold anything.
char stateOf(const std::filesystem::path& task) {
    std::ifstream file(task / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t end = line.rfind(')');
    return end == std::string::npos || end + 2 >= line.size() ? '?' : line[end + 2];
}

bool allOthersSleep() {
    const std::string own = std::to_string(gettid());
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error))
        if (task.path().filename() != own && stateOf(task.path()) != 'S') return false;
    return !error;
}

}  // namespace

bool HostWatch::waits(std::uint64_t calls) {
    const double now = programSeconds();
    if (calls != calls_) {
        calls_ = calls;
        sinceCall_ = now;
        asleep_ = 0;
    }
    const bool idle = now - sinceLook_ < kAsleep;
    sinceLook_ = now;
    asleep_ = idle && allOthersSleep() ? asleep_ + 1 : 0;
    return asleep_ >= kLooks || now - sinceCall_ >= kComputing;
}

}  // namespace bulkhead::driver
