// Programs that know nothing of walls give the same results inside them.

#include <gtest/gtest.h>

#include "walls/walls.h"
#include "workloads/workload.h"

namespace bulkhead::walls {
namespace {

void runInside(Site& site, const Walls& walls, std::string_view name) {
    SCOPED_TRACE(name);
    Enclosure enclosure = site.enclose(walls);
    const auto instance = workloads::find(name).create(enclosure.context(), workloads::Size::test, 1);
    gpu::Stream stream = enclosure.context().createStream();
    for (int round = 0; round < 2; ++round) {
        instance->run(stream);
        stream.synchronize();
        EXPECT_NO_THROW(instance->check());
    }
    for (std::size_t sm = 0; sm < walls.sms.size(); ++sm)
        EXPECT_LE(enclosure.multiprocessorsUsed()[sm], walls.sms[sm]) << "multiprocessor " << sm;
    EXPECT_EQ(enclosure.strayBlocks(), 0u);
}

SmSet everyThird(const Site& site) {
    SmSet sms(site.topology().multiprocessors(), false);
    for (std::size_t sm = 1; sm < sms.size(); sm += 3) sms[sm] = true;
    return sms;
}

TEST(WorkloadsInside, PagesOfOneColor) {
    auto gpu = gpu::Gpu::open("sim:gtx1080");
    SiteOptions options;
    options.coloring = Coloring::pages;
    Site site(gpu, options);
    for (const workloads::Workload& workload : workloads::all())
        runInside(site, {everyThird(site), {1}, 256_MiB}, workload.name);
}

TEST(WorkloadsInside, OneSideOfAnUnmodifiedDriver) {
    auto gpu = gpu::Gpu::open("sim:h200");
    SiteOptions options;
    options.coloring = Coloring::sides;
    options.memory = 32_MiB;
    Site site(gpu, options);
    for (const char* name : {"VA", "SYRK", "Hotspot"}) runInside(site, {everyThird(site), {0}, 16_MiB}, name);
}

}  // namespace
}  // namespace bulkhead::walls
