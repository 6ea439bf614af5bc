#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "calibrate/measurement.h"
#include "gpu/real_driver.h"

namespace bulkhead::calibrate {

/// Memory of the host that the GPU reads and writes itself.
void measureCopies(Session& s) {
    Bench& b = s.bench();
    const Bytes bytes = b.effort<Bytes>(4_MiB, 256_MiB);
    const driver::DriverApi& api = b.gpu().api();
    b.context().makeCurrent();
    void* pinned = nullptr;
    gpu::check(api, api.cuMemAllocHost(&pinned, bytes), "cannot allocate memory of the host");
    const std::unique_ptr<void, driver::CUresult (*)(void*)> owner(pinned, api.cuMemFreeHost);
    const gpu::Buffer memory = b.context().allocate(bytes);
    const auto seconds = [&](bool in, Bytes some, unsigned times) {
        const double taken = b.secondsOf([&] {
            for (unsigned i = 0; i < times; ++i)
                gpu::check(api,
                           in ? api.cuMemcpyHtoDAsync(memory.address(), pinned, some, b.stream().handle())
                              : api.cuMemcpyDtoHAsync(pinned, memory.address(), some, b.stream().handle()),
                           "cannot copy");
        });
        return taken / times;
    };
    const double in = static_cast<double>(bytes) / seconds(true, bytes, 2) / 1e6,
                 out = static_cast<double>(bytes) / seconds(false, bytes, 2) / 1e6;
    s.found("hostLink.mbPerS", std::min(in, out), fmt::format("{:.5g} MB/s in, {:.5g} MB/s out", in, out));
    constexpr Bytes kSmall = 64;
    s.foundOther("a copy of 64 B to the GPU behind another", 1e9 * seconds(true, kSmall, 16), "ns");
    s.foundOther("a copy of 64 B from the GPU behind another", 1e9 * seconds(false, kSmall, 16), "ns");
}

}  // namespace bulkhead::calibrate
