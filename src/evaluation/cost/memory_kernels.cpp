#include "evaluation/cost/memory_kernels.h"

#include <algorithm>

#include "base/error.h"
#include "workloads/compare.h"

namespace bulkhead::evaluation::cost {
namespace {

using Addresses = std::vector<driver::CUdeviceptr>;

constexpr unsigned kWidth = 4096;  // of a row of the stencil's grid
constexpr float kFactor = 2;

void launchVectorAdd(gpu::Kernel& kernel, const gpu::Stream& stream, const Addresses& arrays, unsigned count) {
    kernel.launch(stream, {count / kThreadsPerBlock}, {kThreadsPerBlock}, 0, arrays[0], arrays[1], arrays[2], count);
}
std::vector<float> sums(const std::vector<float>& input) {
    std::vector<float> output(input);
    for (float& x : output) x += x;
    return output;
}

void launchSaxpy(gpu::Kernel& kernel, const gpu::Stream& stream, const Addresses& arrays, unsigned count) {
    kernel.launch(stream, {count / kThreadsPerBlock}, {kThreadsPerBlock}, 0, arrays[0], arrays[1], kFactor, count);
}
std::vector<float> multiples(const std::vector<float>& input) {
    std::vector<float> output(input);
    for (float& x : output) x *= kFactor;
    return output;
}

void launchStencil(gpu::Kernel& kernel, const gpu::Stream& stream, const Addresses& arrays, unsigned count) {
    constexpr unsigned kAcross = 64, kDown = kThreadsPerBlock / kAcross;
    const unsigned height = count / kWidth;
    kernel.launch(stream, {kWidth / kAcross, height / kDown}, {kAcross, kDown}, 0, arrays[0], arrays[1], kWidth,
                  height);
}
std::vector<float> averages(const std::vector<float>& input) {
    const std::size_t height = input.size() / kWidth;
    std::vector<float> output(input.size(), 0);
    for (std::size_t y = 1; y + 1 < height; ++y)
        for (std::size_t x = 1; x + 1 < kWidth; ++x) {
            const std::size_t i = y * kWidth + x;
            output[i] = 0.2f * (input[i] + input[i - 1] + input[i + 1] + input[i - kWidth] + input[i + kWidth]);
        }
    return output;
}

}  // namespace

const std::vector<MemoryKernelType>& memoryKernels() {
    static const std::vector<MemoryKernelType> all = {
        {"vectorAdd", 3, 3, true, launchVectorAdd, sums},
        {"saxpy", 2, 3, true, launchSaxpy, multiples},
        {"stencil", 2, 2, false, launchStencil, averages},
    };
    return all;
}

unsigned mostArrays() {
    unsigned most = 0;
    for (const MemoryKernelType& type : memoryKernels()) most = std::max(most, type.arrays);
    return most;
}

unsigned elementsOf(unsigned megabytes) {
    return megabytes << 18;
}

std::vector<float> numbers(std::size_t count) {
    std::vector<float> content(count);
    for (std::size_t i = 0; i < count; ++i) content[i] = static_cast<float>(i % 1000);
    return content;
}

MemoryKernel::MemoryKernel(TimedContext& timed, const MemoryKernelType& type)
    : timed_(timed),
      type_(type),
      kernel_(timed.kernel(type.name)),
      count_(elementsOf(timed.bench().effort().megabytes)) {
    const std::vector<float> input = numbers(count_);
    for (unsigned i = 0; i < type.arrays; ++i) {
        arrays_.push_back(timed.context().array<float>(count_));
        if (i > 0) arrays_.back().upload(input);
        addresses_.push_back(arrays_.back().address());
    }
    arrays_.front().buffer().fill(0);
}

void MemoryKernel::launch() {
    type_.launch(kernel_, timed_.stream(), addresses_, count_);
}

double MemoryKernel::rate() {
    return bytes() / timed_.time([&] { launch(); }) * 1e-9;
}

void MemoryKernel::check() {
    arrays_.front().buffer().fill(0, timed_.stream());
    launch();
    timed_.stream().synchronize();  // a tenant's copies do not wait for its streams
    try {
        workloads::expectEqual(type_.name, type_.expected(numbers(count_)), arrays_.front().download());
    } catch (const Error& error) {
        timed_.bench().fail(error.what());
    }
}

}  // namespace bulkhead::evaluation::cost
