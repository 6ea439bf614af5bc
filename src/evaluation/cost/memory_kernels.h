#pragma once

#include <vector>

#include "evaluation/cost/bench.h"

namespace bulkhead::evaluation::cost {

constexpr unsigned kThreadsPerBlock = 256;

/// A kernel of cost_kernels.cu that memory binds. Its first array is the output.
struct MemoryKernelType {
    const char* name;
    unsigned arrays;
    unsigned moved;    ///< arrays that DRAM has to move at least, read and written
    bool findsChunks;  ///< there is one more, that finds the chunks of a side of the L2 itself
    void (*launch)(gpu::Kernel&, const gpu::Stream&, const std::vector<driver::CUdeviceptr>& arrays, unsigned count);
    /// From the content of every other array; the output held zeros.
    std::vector<float> (*expected)(const std::vector<float>& input);
};
const std::vector<MemoryKernelType>& memoryKernels();
/// That the one with the most arrays has.
unsigned mostArrays();

unsigned elementsOf(unsigned megabytes);
/// What arrays hold: whole numbers, so that sums are exact.
std::vector<float> numbers(std::size_t count);

/// One of them over arrays of a tenant.
class MemoryKernel {
  public:
    MemoryKernel(TimedContext&, const MemoryKernelType&);
    void launch();
    /// That DRAM has to move at least in a launch.
    double bytes() const { return double{sizeof(float)} * count_ * type_.moved; }
    /// GB/s, alone.
    double rate();
    /// Launches it once more and compares the output with the CPU's; notes it if it is wrong.
    void check();

  private:
    TimedContext& timed_;
    const MemoryKernelType& type_;
    gpu::Kernel kernel_;
    unsigned count_;
    std::vector<gpu::Array<float>> arrays_;
    std::vector<driver::CUdeviceptr> addresses_;
};

}  // namespace bulkhead::evaluation::cost
