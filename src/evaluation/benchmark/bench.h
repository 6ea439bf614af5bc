#pragma once

#include <map>
#include <optional>

#include "evaluation/benchmark/tenants.h"
#include "evaluation/samples.h"

namespace bulkhead::evaluation::benchmark {

/// A figure of one way, or a word where there is none.
struct Finding {
    std::string what, unit;
    Value value;
    bool detail = false;  ///< of one pair of a victim and a neighbour
};

/// What the same applications do where one has the whole GPU to itself.
struct WholeGpu {
    std::map<std::string, double> seconds;
    Bytes memory = 0;
};

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
        findings_.push_back({what, unit, std::move(value), detail});
    }
    const std::vector<Finding>& findings() const { return findings_; }

  private:
    std::vector<std::vector<double>> sample(corun::CoRun&, std::vector<Neighbourhood>);

    const BenchmarkSpec& spec_;
    Tenants tenants_;
    WholeGpu& whole_;
    std::map<std::string, std::vector<double>> alone_;
    std::vector<Finding> findings_;
};

double median(const std::vector<double>&);
/// "latency-bound" and so on: what limits an application of this program's own; its name where it is a workload.
std::string kindOf(const std::string& application);

}  // namespace bulkhead::evaluation::benchmark
