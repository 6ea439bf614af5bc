#pragma once

#include <memory>
#include <string>

#include "evaluation/benchmark/benchmark.h"

namespace bulkhead::evaluation::benchmark {

/// An application in each partition of a GPU that is shared in one way: processes where the GPU is shared by them,
/// and otherwise contexts of this one.
class Tenants {
  public:
    Tenants(const BenchmarkSpec& spec, const Way& way, unsigned partitions)
        : spec_(spec), way_(way), partitions_(partitions) {}

    /// One application in the first partition, another in all others; empty: they are idle.
    corun::CoRun& be(const std::string& first, const std::string& others);
    /// From now on there are new ones, with nothing that others may have broken.
    void leave() { coRun_.reset(); }
    unsigned partitions() const { return partitions_; }

  private:
    corun::ActorSpec tenant(unsigned partition, const std::string& application) const;
    corun::CoRunSpec coRunOf(const std::string& first, const std::string& others) const;
    void replace(std::size_t actor, const std::string& application);

    const BenchmarkSpec& spec_;
    const Way& way_;
    unsigned partitions_;
    std::unique_ptr<corun::CoRun> coRun_;
    std::vector<std::string> applications_;
};

}  // namespace bulkhead::evaluation::benchmark
