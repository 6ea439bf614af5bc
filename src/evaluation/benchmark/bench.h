#pragma once

#include <map>
#include <optional>
#include <utility>

#include "evaluation/benchmark/tenants.h"
#include "evaluation/samples.h"

namespace bulkhead::evaluation::benchmark {

/// One way of sharing while it is measured.
class Bench {
  public:
    Bench(const BenchmarkSpec& spec, const Way& way, unsigned partitions, WholeGpu& whole)
        : spec_(spec), tenants_(spec, way, partitions), whole_(whole) {}

    const BenchmarkSpec& spec() const { return spec_; }
    Tenants& tenants() { return tenants_; }
    /// Whether this is the tenant that has no neighbours.
    bool isWhole() const { return tenants_.partitions() == 1; }
    WholeGpu& whole() { return whole_; }

    /// Of an application in the first partition, alone: its seconds, sample by sample.
    std::vector<double> alone(const std::string& application);
    /// Alone and beside a neighbour in all other partitions, by turns where times vary.
    std::pair<std::vector<double>, std::vector<double>> beside(const std::string& application,
                                                               const std::string& neighbour);

    void add(const std::string& what, const std::string& unit, Value value, bool detail = false) {
        findings_.push_back({measure_, what, unit, std::move(value), detail});
    }
    /// What is found from now on is of this row of the table of measurements.
    void begin(std::size_t measure) { measure_ = measure; }
    /// Those since the last time.
    std::vector<Finding> takeFindings() { return std::exchange(findings_, {}); }

  private:
    std::vector<std::vector<double>> sample(const std::string& application, corun::CoRun&, std::vector<Neighbourhood>);

    const BenchmarkSpec& spec_;
    Tenants tenants_;
    WholeGpu& whole_;
    std::map<std::string, std::vector<double>> alone_;
    std::map<std::string, unsigned> runs_;  ///< of a batch
    std::size_t measure_ = 0;
    std::vector<Finding> findings_;
};

double median(const std::vector<double>&);
/// "latency-bound" and so on: what limits an application of this program's own; its name where it is a workload.
std::string kindOf(const std::string& application);

}  // namespace bulkhead::evaluation::benchmark
