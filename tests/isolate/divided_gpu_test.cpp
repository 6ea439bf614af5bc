#include "isolate/divided_gpu.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace bulkhead::isolate {
namespace {

TEST(Tenancy, PagesComeBackWithTheirTenant) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    walls::WalledGpu walled = makeWalledGpu(gpu, walls::Coloring::pages, "");
    const Plan plan = makePlan(divisibleGpuOf(gpu, walled), parsePartitions("A=50%,B=50%"));
    std::vector<std::size_t> freeAfter;
    for (int round = 0; round < 20; ++round) {
        for (const Share& share : plan.shares) {
            walls::PartitionContext tenant = walled.enclose(wallsOf(share, walled));
            const gpu::Buffer small = tenant.context().allocate(1000), large = tenant.context().allocate(32_MiB);
        }
        std::size_t total = 0;
        gpu.context().makeCurrent();
        gpu.api().cuMemGetInfo(&freeAfter.emplace_back(), &total);
    }
    EXPECT_EQ(freeAfter.back(), freeAfter.front());
}

TEST(Tenancy, MoreThanTheShareIsRefused) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    walls::WalledGpu walled = makeWalledGpu(gpu, walls::Coloring::pages, "");
    const Plan plan = makePlan(divisibleGpuOf(gpu, walled), parsePartitions("A=50%,B=50%"));
    walls::PartitionContext tenant = walled.enclose(wallsOf(plan.find("A"), walled));
    EXPECT_THROW(tenant.context().allocate(plan.find("A").memoryBytes + 1), Error);
}

TEST(Walls, OfEveryKindRefuseAMapOfAnotherGpu) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    for (const walls::Coloring coloring : {walls::Coloring::none, walls::Coloring::pages}) {
        try {
            makeWalledGpu(gpu, coloring, BULKHEAD_SOURCE_DIR "/results/h200/dissect.json");
            FAIL() << "was not refused";
        } catch (const Error& e) {
            EXPECT_NE(std::string_view(e.what()).find("is a map of NVIDIA H200, but sim:gtx1080 is"),
                      std::string_view::npos)
                << e.what();
        }
    }
}

TEST(Tenancy, AsManyPartitionsAsColors) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:v100");
    EXPECT_EQ(planFor(gpu, equalPartitions(8), "").topology.colors(), 8u);
    EXPECT_THROW(planFor(gpu, equalPartitions(9), ""), Error);
}

}  // namespace
}  // namespace bulkhead::isolate
