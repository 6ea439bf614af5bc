// How the cost of simulating grows: with the number of SMs, with the warps of each, and with what a kernel touches. One
// thread, the full timing model. Argument: the GPU.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "shape.h"

namespace {

using namespace bulkhead;

int measureAndPrint(const std::string& what, const Shape& shape, const arch::DeviceProfile& profile) try {
    const Measured m = measure(shape, profile, "gto", 3);
    fmt::print("{:>24}{:>12}{:>14}{:>16.0f}{:>14.0f}", what, m.cycles, m.instructions, 1e9 / m.speed(),
               static_cast<double>(m.cycles) / m.seconds / 1e3);
    std::fflush(stdout);
    return 0;
} catch (const std::exception& e) {
    fmt::print(stderr, "bulkhead_growth: {}\n", e.what());
    return 2;
}

/// A row of a table, by a process of its own, which alone can say how much memory it needed.
void row(const std::string& what, const Shape& shape, const arch::DeviceProfile& profile) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(measureAndPrint(what, shape, profile));
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
        throw Error("the measurement of {} did not end well", what);
    fmt::print("{:>8}\n", usage.ru_maxrss / 1024);
}

void title(const char* what) {
    fmt::print("\n{:>24}{:>12}{:>14}{:>16}{:>14}{:>8}\n", what, "cycles", "warp instr", "ns/warp instr", "kcycles/s",
               "MB");
}

void bySms(const arch::DeviceProfile& gpu) {
    title("SMs, 8 blocks each");
    for (std::int64_t sms = gpu.l2.sides;; sms = std::min(2 * sms, gpu.sm.count)) {
        arch::DeviceProfile profile = gpu;
        profile.set("sm.count", std::to_string(sms));
        const auto blocks = static_cast<std::uint32_t>(8 * sms);
        row(std::to_string(sms),
            {"vectorAdd",
             {blocks},
             {256},
             {buffer(blocks * 256), buffer(blocks * 256), buffer(blocks * 256),
              scalar(static_cast<std::int32_t>(blocks * 256))}},
            profile);
        if (sms == gpu.sm.count) return;
    }
}

void byWarps(const arch::DeviceProfile& gpu) {
    title("warps per SM, computing");
    const auto sms = static_cast<std::uint32_t>(gpu.sm.count);
    for (std::uint32_t warps = 1; warps <= 32; warps *= 2)
        row(std::to_string(warps),
            {"arithmetic", {sms}, {32 * warps}, {buffer(std::uint64_t{sms} * 32 * warps), scalar(200)}}, gpu);
}

void byFootprint(const arch::DeviceProfile& gpu) {
    title("MB of data, streaming");
    for (std::uint64_t floats = 1u << 16; floats <= 1u << 24; floats *= 4)
        row(fmt::format("{:.1f}", static_cast<double>(floats) * 12 / 1e6),
            {"vectorAdd",
             {static_cast<std::uint32_t>(floats / 256)},
             {256},
             {buffer(floats), buffer(floats), buffer(floats), scalar(static_cast<std::int32_t>(floats))}},
            gpu);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const arch::DeviceProfile gpu = arch::findProfile(argc > 1 ? argv[1] : "h200");
        bySms(gpu);
        byWarps(gpu);
        byFootprint(gpu);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bulkhead_growth: {}\n", error.what());
        return 2;
    }
}
