#include "corruption.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

using driver::CUdeviceptr;

struct Range {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
};

/// The allocations of a context from one address up to another. Allocations begin on multiples of 512.
std::vector<Range> allocations(gpu::Context& context, CUdeviceptr from, CUdeviceptr to) {
    constexpr CUdeviceptr kAlignment = 512;
    std::vector<Range> found;
    context.makeCurrent();
    for (CUdeviceptr at = from; at < to;) {
        Range range;
        if (context.api().cuMemGetAddressRange(&range.base, &range.bytes, at) == driver::CUDA_SUCCESS) {
            found.push_back(range);
            at = (range.base + range.bytes + kAlignment - 1) / kAlignment * kAlignment;
        } else {
            at += kAlignment;
        }
    }
    return found;
}

bool checkFails(Instance& instance) {
    try {
        instance.check();
        return false;
    } catch (const Error&) {
        return true;
    }
}

/// Whether the check of a run sees that the float at this address (or the bits of something else) is another.
bool damageIsCaught(gpu::Context& context, gpu::Stream& stream, Instance& instance, CUdeviceptr at) {
    const driver::DriverApi& api = context.api();
    instance.run(stream);
    stream.synchronize();
    float good = 0;
    EXPECT_EQ(api.cuMemcpyDtoH(&good, at, sizeof good), driver::CUDA_SUCCESS);
    const float bad = good + 1e-3f * (std::abs(good) + 1);
    EXPECT_EQ(api.cuMemcpyHtoD(at, &bad, sizeof bad), driver::CUDA_SUCCESS);
    const bool caught = checkFails(instance);
    EXPECT_EQ(api.cuMemcpyHtoD(at, &good, sizeof good), driver::CUDA_SUCCESS);
    return caught;
}

}  // namespace

std::vector<std::size_t> bytesOfCaught(const std::string& workload) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480");
    gpu::Context& context = gpu.context();
    gpu::Stream stream = context.createStream();
    const gpu::Buffer before = context.allocate(4);
    const auto instance = find(workload).create(context, Size::test, 11);
    instance->run(stream);
    stream.synchronize();
    const gpu::Buffer after = context.allocate(4);
    EXPECT_NO_THROW(instance->check());

    std::vector<std::size_t> caught;
    for (const Range& range : allocations(context, before.address() + 512, after.address())) {
        const CUdeviceptr middle = range.base + range.bytes / 8 * 4;
        if (damageIsCaught(context, stream, *instance, range.base) &&
            damageIsCaught(context, stream, *instance, middle))
            caught.push_back(range.bytes);
    }
    return caught;
}

}  // namespace bulkhead::workloads
