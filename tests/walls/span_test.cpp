// Views in CUDA C++ reach the bytes that the walled driver put there.

#include "walls/span.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "span_kernels.ptx.h"

namespace bulkhead::walls {
namespace {

constexpr unsigned kCount = 20'000;

/// Runs a kernel of span_kernels.cu in the GPU's own context, where no walls change it.
template <class View>
std::uint32_t run(gpu::Gpu& gpu, const char* name, const View& out, const View& in) {
    gpu::Context& context = gpu.context();
    gpu::Kernel kernel = context.load(kSpanKernelsPtx).kernel(name);
    auto sum = context.array(std::vector<std::uint32_t>(1, 0));
    gpu::Stream stream = context.createStream();
    kernel.launch(stream, {(kCount + 255) / 256}, {256}, 0, out, in, sum);
    stream.synchronize();
    return sum.download()[0];
}

std::vector<unsigned> numbers() {
    std::vector<unsigned> content(kCount);
    for (unsigned i = 0; i < kCount; ++i) content[i] = i * i;
    return content;
}

void expectMirrored(const std::vector<unsigned>& out, std::uint32_t sum) {
    const std::vector<unsigned> in = numbers();
    EXPECT_EQ(sum, std::accumulate(in.begin(), in.end(), 0u));
    for (unsigned i = 0; i < kCount; ++i) ASSERT_EQ(out[i], in[i] + in[kCount - 1 - i]) << i;
}

TEST(Spans, PlainMemory) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    auto in = gpu.context().array(numbers()), out = gpu.context().array<unsigned>(kCount);
    const auto span = [](const gpu::Array<unsigned>& a) {
        return Span<unsigned>(reinterpret_cast<unsigned*>(a.address()), a.size());
    };
    const std::uint32_t sum = run(gpu, "addPlain", span(out), span(in));
    expectMirrored(out.download(), sum);
}

TEST(Spans, MemoryOfASide) {
    auto gpu = gpu::Gpu::open("sim:h200");
    WalledGpuOptions options;
    options.coloring = Coloring::sides;
    options.memory = 16_MiB;
    WalledGpu walled(gpu, options);
    for (unsigned side = 0; side < 2; ++side) {
        PartitionContext tenant = walled.enclose({{}, {side}, 0});
        auto in = tenant.context().array(numbers()), out = tenant.context().array<unsigned>(kCount);
        const std::uint32_t sum = run(gpu, "addOnSide", sideSpan(tenant, out), sideSpan(tenant, in));
        expectMirrored(out.download(), sum);
        EXPECT_THROW(sliceSpan(tenant, in), Error);
    }
}

}  // namespace
}  // namespace bulkhead::walls
