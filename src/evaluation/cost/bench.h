#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/cost/cost.h"
#include "evaluation/cost/effort.h"
#include "isolate/plan.h"
#include "walls/walls.h"

namespace bulkhead::evaluation::cost {

/// What stands around a tenant.
enum class Around : std::uint8_t { compute, both };

/// A GPU divided into equal partitions, all in this process, and what the measurements have in common.
class Bench {
  public:
    explicit Bench(const CostSpec&);

    gpu::Gpu& gpu() { return gpu_; }
    walls::WalledGpu& walled() { return *walled_; }
    const walls::WalledGpu& walled() const { return *walled_; }
    const CostSpec& spec() const { return spec_; }
    /// As the spec has it where it says something.
    const Effort& effort() const { return effort_; }
    const char* deviceCode() const { return deviceCode_.c_str(); }

    std::size_t partitions() const { return plan_.shares.size(); }
    /// That a tenant behind both walls can have at most.
    Bytes memoryOf(std::size_t partition) const { return walled_->memoryOf(plan_.shares.at(partition).colors); }
    walls::PartitionContext enclose(std::size_t partition, Around);
    /// Of each partition.
    std::vector<walls::PartitionContext> encloseAll(Around);
    /// Compute walls around all of the GPU.
    walls::PartitionContext encloseWhole();

    /// Notes a result that is wrong.
    void fail(const std::string& why) { failures_.push_back(why); }
    const std::vector<std::string>& failures() const { return failures_; }

  private:
    void expectRoom() const;

    CostSpec spec_;
    std::string deviceCode_;
    gpu::Gpu gpu_;
    Effort effort_;
    std::optional<walls::WalledGpu> walled_;
    isolate::Plan plan_;
    std::vector<std::string> failures_;
};

/// A context with the kernels of the measurements, whose work is timed.
class TimedContext {
  public:
    TimedContext(Bench&, gpu::Context);

    Bench& bench() { return bench_; }
    gpu::Context& context() { return context_; }
    gpu::Stream& stream() { return stream_; }
    gpu::Kernel kernel(const char* name) { return module_.kernel(name); }
    /// Median seconds on the GPU of what the work puts into the stream.
    double time(const std::function<void()>& work);

  private:
    Bench& bench_;
    gpu::Context context_;
    gpu::Stream stream_;
    gpu::Module module_;
};

double median(const std::vector<double>&);

/// A table whose first column has names, and whose others have one unit.
Result tableOf(const std::string& title, const char* first, const std::vector<const char*>& names, const char* unit);

}  // namespace bulkhead::evaluation::cost
