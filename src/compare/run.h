#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/counters.h"
#include "workloads/workload.h"

namespace bulkhead::compare {

/// Everything that determines what one run finds, but for the program itself.
struct RunSpec {
    static constexpr std::string_view kKind = "workload";
    std::string workload;
    workloads::Size size = workloads::Size::standard;
    std::uint64_t seed = 1;
    std::string gpu = "sim:gtx480";
    std::vector<std::string> settings;  ///< KEY=VALUE, parameters of its profile
    std::string scheduler = "gto";
    std::uint64_t warpInstructions = 0;  ///< it stops after so many; 0: it runs to its end and is checked
    bool observe = false;                ///< also how it went over time, and which warps interfered
    bool closely = false;                ///< also why it went so, and a trace

    /// With the profile's content, so that a changed profile is another run.
    nlohmann::ordered_json toJson() const;
    /// From what describe() says.
    static RunSpec fromJson(const nlohmann::json&, const std::string& where);
};
/// All of it for another process, which finds the profile itself.
nlohmann::ordered_json describe(const RunSpec&);

/// A moment of a run: totals since its beginning, and the state of its SMs since the point before.
struct SeriesPoint {
    Cycles cycles = 0;
    std::uint64_t threadInstructions = 0;
    std::uint64_t interference = 0;  ///< misses of lines that another warp had pushed out
    double activeWarps = 0;          ///< of an SM that has warps, on average
    double isolatedWarps = 0;
};

struct RunMeasurement {
    Cycles cycles = 0;
    sim::Counters counters;
    std::uint64_t footprintBytes = 0;
    double sharedMemoryShare = 0;  ///< of shared memory, reserved by the program's blocks: F_smem
    bool limited = false;          ///< stopped by its limit, so its result could not be checked
    double wallSeconds = 0;        ///< what it cost to simulate

    // Means over time of the SMs that have warps.
    double residentWarps = 0, activeWarps = 0, isolatedWarps = 0;
    double sharedReserved = 0, sharedCacheCapacity = 0, sharedCacheUsed = 0;  ///< bytes

    // Of runs that were observed.
    std::vector<SeriesPoint> series;
    std::uint32_t warps = 0;                  ///< slots of an SM: the matrix is that many squared
    std::vector<std::uint64_t> interference;  ///< SM 0's, by interfered, then interfering warp

    // Of runs that were looked at closely.
    std::vector<Result> insight;
    std::string timeline;  ///< for Perfetto

    double ipc() const;
    double apki() const;  ///< lines that loads ask for, for a thousand thread instructions
    /// Of the lines that loads asked for, found on the SM: in L1D or in shared memory that serves as a cache.
    double hitRate() const;

    nlohmann::ordered_json toJson() const;
    static RunMeasurement fromJson(const nlohmann::json&, const std::string& where);
};

/// Runs it here, and checks its result unless it was limited. Throws Error.
RunMeasurement execute(const RunSpec&);

}  // namespace bulkhead::compare
