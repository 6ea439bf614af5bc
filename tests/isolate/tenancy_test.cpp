#include "isolate/tenancy.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "sim/gpu.h"

namespace bulkhead::isolate {
namespace {

TEST(Tenancy, PagesComeBackWithTheirTenant) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    walls::Site site = makeSite(gpu, walls::Coloring::pages, "");
    const Plan plan = makePlan(topologyOf(gpu, site), parsePartitions("A=50%,B=50%"));
    std::vector<Bytes> freeAfter;
    for (int round = 0; round < 20; ++round) {
        for (const Share& share : plan.shares) {
            walls::Enclosure tenant = site.enclose(wallsOf(share, site));
            const gpu::Buffer small = tenant.context().allocate(1000), large = tenant.context().allocate(32_MiB);
        }
        freeAfter.push_back(gpu.simulator()->physicalMemory().freeBytes());
    }
    EXPECT_EQ(freeAfter.back(), freeAfter.front());
}

TEST(Tenancy, MoreThanTheShareIsRefused) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    walls::Site site = makeSite(gpu, walls::Coloring::pages, "");
    const Plan plan = makePlan(topologyOf(gpu, site), parsePartitions("A=50%,B=50%"));
    walls::Enclosure tenant = site.enclose(wallsOf(plan.find("A"), site));
    EXPECT_THROW(tenant.context().allocate(plan.find("A").memoryBytes + 1), Error);
}

TEST(Tenancy, AsManyPartitionsAsColors) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:v100");
    EXPECT_EQ(planFor(gpu, equalPartitions(8), "").topology.colors(), 8u);
    EXPECT_THROW(planFor(gpu, equalPartitions(9), ""), Error);
}

}  // namespace
}  // namespace bulkhead::isolate
