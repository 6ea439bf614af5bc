#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "corun/corun.h"

namespace bulkhead::evaluation {

/// How a GPU is divided among applications (Fractional GPUs, V-A).
enum class Method : std::uint8_t {
    none,   ///< not at all: side by side on the same multiprocessors
    mps,    ///< NVIDIA's: a share of threads each, wherever there is room
    green,  ///< NVIDIA's: green contexts, disjoint multiprocessors
    cp,     ///< compute walls
    cmp,    ///< compute and memory walls
};
const std::vector<Method>& methods();
std::string_view methodName(Method);
/// Throws Error that lists them.
Method parseMethod(std::string_view);

/// One application in partition 1 of equal ones, timed with each of several neighbours in all the others.
struct SeriesSpec {
    std::string gpu;
    std::vector<std::string> settings;  ///< of a simulated GPU
    std::string map;                    ///< file of bulkhead dissect, for walls between slices of a real GPU
    Method method = Method::none;
    std::string placement = "usual";  ///< of walls: what places blocks, "blocks" or "driver"
    unsigned partitions = 2;          ///< 1: the whole GPU, to see what walls cost
    std::string application;
    std::vector<std::string> neighbours;  ///< empty names: the others are idle
    workloads::Size size = workloads::Size::standard;
    std::uint64_t seed = 1;
    unsigned samples = 1;
    bool processes = false;  ///< of a real GPU: a process each under MPS, as method mps needs them anyway

    /// Everything that determines what it finds, but for the program itself.
    nlohmann::ordered_json toJson() const;
};

/// What the name of a file with its figures begins with.
std::string nameOf(const SeriesSpec&);
std::string labelOf(const SeriesSpec&);

/// Seconds of a run of the application, for each neighbour and sample.
struct SeriesFigures {
    std::vector<std::vector<double>> seconds;
    std::vector<std::uint64_t> neighbourRuns;  ///< of all its copies together, while the application was timed
    corun::Place place;                        ///< of the application, after its last run
    double wallSeconds = 0;

    nlohmann::ordered_json toJson() const;
    static SeriesFigures fromJson(const nlohmann::json&, const std::string& where);
};

/// Measures it here. On simulated GPUs caches are cold in every first sample. Throws Error, also where the
/// application's result differs from the CPU's.
SeriesFigures execute(const SeriesSpec&);

}  // namespace bulkhead::evaluation
