// What single parts of the simulator cost, for whoever makes one of them faster.

#include <benchmark/benchmark.h>

#include <string>

#include "arch/device_profile.h"
#include "sim/event_queue.h"
#include "sim/mem/cache_tags.h"
#include "sim/sm/coalescer.h"

namespace {

using namespace bulkhead;

void locate(benchmark::State& state, const std::string& gpu) {
    const arch::DeviceProfile profile = arch::findProfile(gpu);
    std::uint64_t address = 0;
    for (auto _ : state) benchmark::DoNotOptimize(profile.map.locate(address += 0x9E3780));
}
BENCHMARK_CAPTURE(locate, gtx480, "gtx480");
BENCHMARK_CAPTURE(locate, gtx1080, "gtx1080");
BENCHMARK_CAPTURE(locate, h200, "h200");

void coalesce(benchmark::State& state) {
    sim::Access access{};
    access.bytes = 4;
    access.lanes = sim::kAllLanes;
    for (unsigned lane = 0; lane < sim::kLanes; ++lane)
        access.address[lane] = lane * static_cast<std::uint64_t>(state.range(0));
    const sim::Coalescer coalescer(128, 32);
    sim::Transactions lines;
    for (auto _ : state) {
        coalescer.gather(access, lines);
        benchmark::DoNotOptimize(lines);
    }
}
BENCHMARK(coalesce)->ArgName("stride")->Arg(4)->Arg(8)->Arg(128)->Arg(4096);

void events(benchmark::State& state) {
    sim::EventQueue queue;
    Cycles now = 0;
    for (Cycles i = 0; i < 64; ++i) queue.push(i * 5, sim::EventKind::respond, 0);
    sim::Event event{};
    for (auto _ : state) {
        while (!queue.popAt(now, event)) queue.advance(now = queue.next());
        queue.push(now + 300, event.kind, event.subject);
    }
}
BENCHMARK(events);

void tags(benchmark::State& state) {
    sim::CacheTags cache(64, static_cast<std::uint32_t>(state.range(0)));
    std::uint64_t line = 0;
    for (auto _ : state) {
        const auto set = static_cast<std::uint32_t>(++line & 63);
        if (cache.find(set, line) == sim::CacheTags::kNoWay) {
            const std::uint32_t way = cache.victim(set);
            cache.place(set, way, line, 0);
        }
    }
}
BENCHMARK(tags)->ArgName("ways")->Arg(4)->Arg(16)->Arg(48);

}  // namespace

BENCHMARK_MAIN();
