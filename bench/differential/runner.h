#pragma once

#include <functional>
#include <span>

#include "gpu/gpu.h"
#include "program.h"

namespace bulkhead::differential {

/// What a GPU made of a program: its output, or why there is none.
struct Outcome {
    Data output;
    std::string failure;
};

/// Executes programs on a GPU, many as the kernels of one module.
class Runner {
  public:
    /// `settings`: of a simulated GPU, beside its own, KEY=VALUE.
    explicit Runner(const std::string& gpu, const std::vector<std::string>& settings = {});

    /// Throws Error if the GPU is lost: a real one does nothing more after a fault.
    std::vector<Outcome> run(std::span<const Program>);
    gpu::Gpu& gpu() { return gpu_; }

    std::function<void(const char* doing)> tell = [](const char*) {};

  private:
    bool isAlive();
    std::vector<Outcome> runTogether(std::span<const Program>);

    gpu::Gpu gpu_;
    gpu::Stream stream_;
    gpu::Buffer input_, output_;  ///< kept from batch to batch
};

/// The first thing that differs between what a program must give and a GPU's outcome; empty if nothing.
std::string differenceOf(const Data& expected, const Outcome&);

}  // namespace bulkhead::differential
