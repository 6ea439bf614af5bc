#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "calibrate/measurement.h"
#include "gpu/real_driver.h"

namespace bulkhead::calibrate {
namespace {

/// One thread stays for a while, and notes when it came and went.
const char* const kStay = R"(
.visible .entry stay(.param .u64 result, .param .u64 nanoseconds)
{
.reg .pred %p;
.reg .b64 %d<6>;
ld.param.u64 %d0, [result];
ld.param.u64 %d1, [nanoseconds];
mov.u64 %d2, %globaltimer;
STAY:
mov.u64 %d3, %globaltimer;
sub.u64 %d4, %d3, %d2;
setp.lt.u64 %p, %d4, %d1;
@%p bra STAY;
st.global.u64 [%d0], %d2;
st.global.u64 [%d0+8], %d3;
ret;
}
)";

/// SMs of the smallest green context that has at least so many; 0 if there is none.
unsigned smsGiven(Bench& b, unsigned atLeast) {
    const driver::DriverApi& api = b.gpu().api();
    b.context().makeCurrent();
    driver::CUdevice device = 0;
    gpu::check(api, api.cuCtxGetDevice(&device), "cannot tell the context's GPU");
    constexpr driver::CUdevResourceType kSms = 1;
    driver::CUdevResource whole = {}, part = {}, others = {};
    gpu::check(api, api.cuDeviceGetDevResource(device, &whole, kSms), "cannot ask for SMs");
    unsigned groups = 1;
    if (api.cuDevSmResourceSplitByCount(&part, &groups, &whole, &others, 0, atLeast) != driver::CUDA_SUCCESS) return 0;
    return groups ? part.sm.smCount : 0;
}

/// Share of their time, in per cent, that kernels of two contexts are on the GPU at once.
double overlap(Session& s, std::vector<gpu::Context> contexts) {
    Bench& b = s.bench();
    // Less than a slice, where contexts take turns, and more than the host needs for a second launch.
    const double microseconds = std::min(s.known("sharing.quantumUs") / 4, 200.0);
    const auto nanoseconds = static_cast<std::uint64_t>(1e3 * microseconds);
    struct Stay {
        gpu::Module module;
        gpu::Stream stream;
        gpu::Array<std::uint64_t> result;
    };
    std::vector<Stay> stays;
    const std::string ptx = std::string(kPtxHead) + kStay;
    for (gpu::Context& context : contexts) {
        gpu::Module module = context.load(ptx.c_str());
        gpu::Stream stream = context.createStream();
        stays.push_back({std::move(module), std::move(stream), context.array<std::uint64_t>(2)});
    }
    // The first time, code and memory are made ready for it.
    for (int round = 0; round < 2; ++round) {
        for (Stay& stay : stays) stay.module.kernel("stay").launch(stay.stream, {1}, {1}, 0, stay.result, nanoseconds);
        for (Stay& stay : stays) stay.stream.synchronize();
        b.spent(2e-9 * static_cast<double>(nanoseconds));
    }
    std::vector<std::uint64_t> came, went;
    for (Stay& stay : stays) {
        const std::vector<std::uint64_t> told = stay.result.download();
        came.push_back(told[0]);
        went.push_back(told[1]);
    }
    const std::uint64_t begin = std::ranges::max(came), end = std::ranges::min(went);
    return end > begin ? 100.0 * static_cast<double>(end - begin) / static_cast<double>(nanoseconds) : 0;
}

}  // namespace

void measureSharing(Session& s) {
    Bench& b = s.bench();
    if (!b.gpu().api().cuGreenCtxCreate) {
        s.undecided("the driver is too old for green contexts");
    } else {
        const unsigned least = smsGiven(b, 1), next = smsGiven(b, least + 1);
        s.foundOther("smallest green context", least, "SMs");
        if (next > least) s.foundOther("the next larger one has more", next - least, "SMs");
        auto [one, other] = b.gpu().createGreenPair(least);
        s.foundOther("kernels of two green contexts at the same time", overlap(s, {one, other}), "%");
    }
    s.foundOther("kernels of two contexts at the same time",
                 overlap(s, {b.gpu().createContext(), b.gpu().createContext()}), "%");
    if (b.gpu().capabilities().concurrentContexts)
        s.foundOther("kernels of two contexts under MPS at the same time",
                     overlap(s, {b.gpu().createContext(true), b.gpu().createContext(true)}), "%");
    else
        s.undecided("contexts under MPS: they take processes of their own");
}

}  // namespace bulkhead::calibrate
