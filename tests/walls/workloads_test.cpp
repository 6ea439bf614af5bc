// Programs that know nothing of walls give the same results inside them.

#include <gtest/gtest.h>

#include "base/error.h"
#include "walls/walls.h"
#include "workloads/workload.h"

namespace bulkhead::walls {
namespace {

void runInside(WalledGpu& walled, const Walls& walls, std::string_view name) {
    SCOPED_TRACE(name);
    PartitionContext tenant = walled.enclose(walls);
    const auto instance = workloads::find(name).create(tenant.context(), workloads::Size::test, 1);
    gpu::Stream stream = tenant.context().createStream();
    for (int round = 0; round < 2; ++round) {
        instance->run(stream);
        stream.synchronize();
        EXPECT_NO_THROW(instance->check());
    }
    for (std::size_t sm = 0; sm < walls.sms.size(); ++sm) EXPECT_LE(tenant.smsUsed()[sm], walls.sms[sm]) << "SM " << sm;
    EXPECT_EQ(tenant.strayBlocks(), 0u);
}

SmSet everyThird(const WalledGpu& walled) {
    SmSet sms(walled.topology().sms(), false);
    for (std::size_t sm = 1; sm < sms.size(); sm += 3) sms[sm] = true;
    return sms;
}

TEST(WorkloadsInside, PagesOfOneColor) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    WalledGpuOptions options;
    options.coloring = Coloring::pages;
    WalledGpu walled(gpu, options);
    for (const workloads::Workload& workload : workloads::all()) {
        const auto inside = [&] { runInside(walled, {everyThird(walled), {1}, 256_MiB}, workload.name); };
        if (workload.inference && workload.inference->tensorMaps) {
            EXPECT_THROW(inside(), Error) << workload.name;
        } else {
            inside();
        }
    }
}

TEST(WorkloadsInside, OneSideOfAnUnmodifiedDriver) {
    auto gpu = gpu::Gpu::open("sim:h200");
    WalledGpuOptions options;
    options.coloring = Coloring::sides;
    options.memory = 32_MiB;
    WalledGpu walled(gpu, options);
    for (const char* name : {"VA", "SYRK", "Hotspot", "GEMM_MMA", "Attention", "PagedDecode", "GEMV_INT4"})
        runInside(walled, {everyThird(walled), {0}, 16_MiB}, name);
}

}  // namespace
}  // namespace bulkhead::walls
