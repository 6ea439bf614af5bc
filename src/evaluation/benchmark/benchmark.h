#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "corun/corun.h"
#include "experiment/result_folder.h"

namespace bulkhead::evaluation::benchmark {

/// How tenants of a GPU fare under several ways of sharing it: of which GPU, and how much is measured.
struct BenchmarkSpec {
    std::string gpu = "sim:gtx1080";
    std::vector<std::string> settings = {};    ///< of a simulated GPU
    std::string map = {};                      ///< file of bulkhead dissect, for walls between slices of a real GPU
    unsigned partitions = 2;                   ///< of equal size
    std::vector<std::string> ways = {};        ///< by name; none: all
    std::vector<std::string> measures = {};    ///< likewise
    std::vector<std::string> victims = {};     ///< applications; none: one bound by each of latency, bandwidth, compute
    std::vector<std::string> neighbours = {};  ///< applications; none: one of each kind
    double seconds = 1;                        ///< on a real GPU, of a victim's runs alone and beside a neighbour
    std::uint64_t seed = 1;
};

/// A way of sharing between processes.
struct Way {
    std::string name, title;
    std::string sharing;  ///< a row of corun's table
    bool limited;         ///< each has its share of threads and, as a process, of memory
    bool leased;          ///< a process joins a partition by isolate run
};
/// Those of corun's table that processes can have, and those with limits beside those without.
const std::vector<Way>& ways();
/// Throws Error that suggests the nearest one.
const Way& findWay(std::string_view name);

class Bench;

/// A row of the table of measurements.
struct Measure {
    std::string_view name, question;
    void (*measure)(Bench&);
    bool ofOneTenant;     ///< it says something of a tenant that has the whole GPU
    bool needsProcesses;  ///< contexts of one process cannot stand for them
};
const std::vector<Measure>& measures();
/// Throws Error that suggests the nearest one.
const Measure& findMeasure(std::string_view name);

struct BenchmarkReport {
    std::vector<Result> results;
    std::vector<std::string> failures;  ///< what could not be measured, in one line each
};

/// One measurement of one way, which a store keeps.
struct StepSpec {
    BenchmarkSpec common;
    std::string way, measure;

    /// Everything that determines what it finds, but for the program itself.
    nlohmann::ordered_json toJson() const;
};
/// What the name of a file with its findings begins with.
std::string nameOf(const StepSpec&);

/// A figure of one way, or a word where there is none.
struct Finding {
    std::size_t measure = 0;  ///< the row of the table of measurements that it is of
    std::string what, unit;
    Value value;
    bool detail = false;  ///< of one pair of a victim and a neighbour
};

/// What the same applications do where one has the whole GPU to itself.
struct WholeGpu {
    std::map<std::string, double> seconds;
    Bytes memory = 0;
};

struct StepFindings {
    std::vector<Finding> findings;
    WholeGpu whole;  ///< as it was known afterwards

    nlohmann::ordered_json toJson() const;
    static StepFindings fromJson(const nlohmann::json&, const std::string& where);
};
using StepStore = experiment::StoreOf<StepSpec, StepFindings>;

/// Told before each measurement: how much is done, from 0 to 1, and what comes next.
using Progress = std::function<void(double fraction, const std::string& next)>;

/// One way after the other, but for what the store has; what was measured is kept there at once. What fails is told,
/// and the others are measured all the same. Throws Error for what cannot be asked.
BenchmarkReport runBenchmark(const BenchmarkSpec&, const StepStore&, const Progress& = {});

// Each in the file of its name.
void measureAlone(Bench&);
void measureNeighbours(Bench&);
void measureFairness(Bench&);
void measureLaunches(Bench&);
void measureMemory(Bench&);
void measureJoining(Bench&);
void measureRecovery(Bench&);

}  // namespace bulkhead::evaluation::benchmark
