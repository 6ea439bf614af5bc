#include "report/gallery.h"

#include <cmath>

#include "base/random.h"

namespace bulkhead::report {

const char* const kHostile = "</script><script>window.broken=1</script>\"'><img src=x onerror='window.broken=2'>&amp;";

namespace {

Result::Provenance provenance(const std::string& command) {
    return {command, "sim:tx2", 1, "0.1.0", "2026-01-02T03:04:05Z"};
}

Result bars() {
    Result r;
    r.title = "Instructions per cycle by scheduler";
    r.columns = {{"workload", ""}, {"gto", ""}, {"ciao-c", ""}, {"paper's ciao-c", ""}};
    r.add({"ATAX", 1.0, 1.62, 1.55});
    r.add({"Backprop", 1.0, 1.11, 1.24});
    r.add({"Kmeans", 1.0, 2.4, {}});
    r.add({"Hotspot", 1.0, 0.98, 1.02});
    r.charts = {{Chart::Kind::bar,
                 "IPC relative to GTO",
                 "workload",
                 {"ciao-c", "gto"},
                 {},
                 {"paper's ciao-c"},
                 "IPC relative to gto",
                 false,
                 false}};
    r.provenance = provenance("bulkhead compare --workloads ATAX,Backprop --html 'a b.html'");
    return r;
}

Result lines() {
    Result r;
    r.title = "Latency by working set";
    r.columns = {{"working set", "KB"}, {"stride", ""}, {"latency", "cycles"}};
    for (const std::int64_t stride : {32, 128})
        for (int kb = 16; kb <= 4096; kb *= 2)
            r.add({std::int64_t{kb}, stride,
                   110.0 + (kb > 512 ? 330.0 * (1 - 512.0 / kb) : 0.0) + 0.2 * static_cast<double>(stride)});
    r.charts = {{Chart::Kind::line, "Latency", "working set", {"latency"}, {"stride"}, {}, "", true, true}};
    r.provenance = provenance("bulkhead x");
    return r;
}

Result samples() {
    Result r;
    r.title = "Times of single accesses";
    r.columns = {{"sharing", ""}, {"time", "cycles"}};
    Random random(7);
    for (int i = 0; i < 100; ++i) {
        r.add({"alone", 100 + static_cast<double>(random.below(40))});
        r.add({"together", 100 + static_cast<double>(random.below(40) + (i % 3 == 0 ? random.below(300) : 0))});
    }
    r.charts = {{Chart::Kind::cdf, "Distribution of times", "", {"time"}, {"sharing"}, {}, "", false, false},
                {Chart::Kind::histogram, "Histogram of times", "", {"time"}, {"sharing"}, {}, "", false, false}};
    r.provenance = provenance("bulkhead y");
    return r;
}

Result matrix() {
    Result r;
    r.title = "Slowdown of victims by aggressors";
    r.columns = {{"victim", ""}, {"aggressor", ""}, {"slowdown", ""}};
    const char* const aggressors[] = {"compute", "evict-random", "stream-read", "map-guided", "slice", "bank"};
    double x = 1;
    for (const char* victim : {"random", "sequential", "latency", "bandwidth"})
        for (const char* aggressor : aggressors) r.add({victim, aggressor, x += 0.37});
    r.charts = {{Chart::Kind::heatmap, "Slowdown", "aggressor", {"slowdown"}, {"victim"}, {}, "", false, false}};
    r.provenance = provenance("bulkhead stress");
    return r;
}

Result interference() {
    Result r;
    r.title = "Warp by warp";
    r.columns = {{"interfered warp", ""}, {"interfering warp", ""}, {"VTA hits", ""}};
    for (std::int64_t a = 23; a >= 0; --a)
        for (std::int64_t b = 0; b < 24; ++b)
            if (a != b) r.add({a, b, std::int64_t{1} + a * b % 97 * 30});
    r.charts = {{Chart::Kind::heatmap,
                 "Who evicts whom",
                 "interfering warp",
                 {"VTA hits"},
                 {"interfered warp"},
                 {},
                 "",
                 false,
                 true}};
    r.provenance = provenance("bulkhead reproduce ciao --figures 1a");
    return r;
}

/// As large as an H200: SMs by L2 slices, of which those of the other side are further away.
Result slices() {
    Result r;
    r.title = "Latency of slices by SM";
    r.columns = {{"SM", ""}, {"slice", ""}, {"latency", "cycles"}};
    for (std::int64_t sm = 0; sm < 132; ++sm)
        for (std::int64_t slice = 0; slice < 94; ++slice)
            r.add({sm, slice,
                   static_cast<double>(212 + (sm % 18) * 2 + slice % 12 + ((sm / 66) != (slice / 47) ? 170 : 0))});
    r.charts = {{Chart::Kind::heatmap, "Latency", "slice", {"latency"}, {"SM"}, {}, "", false, false}};
    r.provenance = provenance("bulkhead dissect");
    return r;
}

Result colors() {
    Result r;
    r.title = "Colors of pages";
    r.columns = {{"row of 64 pages", ""}, {"page", ""}, {"color", ""}};
    for (std::int64_t page = 0; page < 1024; ++page) r.add({page / 64, page % 64, (page ^ page >> 3 ^ page >> 7) % 8});
    r.charts = {{Chart::Kind::heatmap, "Color", "page", {"color"}, {"row of 64 pages"}, {}, "", false, false}};
    r.provenance = provenance("bulkhead isolate plan");
    return r;
}

Result hostile() {
    Result r;
    const std::string bad = kHostile;
    r.title = bad;
    r.columns = {{bad, bad}, {"value", bad}};
    r.add({bad, 1.5});
    r.add({bad + "2", 2.5});
    r.charts = {{Chart::Kind::bar, bad, bad, {"value"}, {bad}, {}, bad, false, false},
                {Chart::Kind::heatmap, bad, bad, {"value"}, {bad}, {}, "", false, false}};
    r.provenance = {bad, bad, 1, bad, bad};
    return r;
}

Result scatter() {
    Result r;
    r.title = "Cycles on two GPUs";
    r.columns = {{"kernel", ""}, {"class", ""}, {"hardware cycles", ""}, {"twin cycles", ""}};
    Random random(11);
    for (int i = 0; i < 60; ++i) {
        const double cycles = std::pow(10.0, 3.0 + static_cast<double>(i) / 15.0);
        r.add({"kernel " + std::to_string(i), i % 3 == 0 ? "arithmetic" : "latency-bound", cycles,
               cycles * (0.5 + static_cast<double>(random.below(100)) / 100)});
    }
    r.charts = {{Chart::Kind::scatter,
                 "Cycles",
                 "hardware cycles",
                 {"twin cycles"},
                 {"class"},
                 {},
                 "",
                 true,
                 true,
                 "kernel",
                 0.15}};
    r.provenance = provenance("bulkhead correlate");
    return r;
}

Result stacks() {
    Result r;
    r.title = "What schedulers do";
    r.columns = {{"run", ""}, {"issued", "%"}, {"memory", "%"}, {"barrier", "%"}};
    r.add({"ATAX, gto", 20.0, 70.0, 10.0});
    r.add({"ATAX, ciao-c", 35.0, 60.0, 5.0});
    r.add({"SYRK, gto", 55.0, 30.0, 15.0});
    r.charts = {{Chart::Kind::stack,
                 "Cycles of schedulers",
                 "run",
                 {"issued", "memory", "barrier"},
                 {},
                 {},
                 "% of cycles",
                 false,
                 false}};
    r.provenance = provenance("bulkhead compare");
    return r;
}

Result exceedance() {
    Result r;
    r.title = "Exceedance against time";
    r.columns = {{"curve", ""}, {"time", "ms"}, {"exceedance", ""}};
    for (int i = 0; i <= 12; ++i) r.add({"bound", 2 + 0.1 * i, std::pow(10.0, -0.5 * i)});
    for (int i = 0; i <= 5; ++i) r.add({"measured", 1.9 + 0.08 * i, std::pow(10.0, -0.4 * i)});
    Chart chart{
        Chart::Kind::line, "How often a run takes longer", "time", {"exceedance"}, {"curve"}, {}, "", false, true};
    chart.marks = {{"bound at 1e-06", 3.2}};
    r.charts = {chart};
    r.provenance = provenance("bulkhead stress");
    return r;
}

/// Of a GPU as large as an H200.
Result plan() {
    Result r;
    r.title = "A GPU as it is";
    r.columns = {{"part", ""}, {"group", ""}, {"unit", ""}, {"partition", ""}, {"latency", "cycles"}};
    for (std::int64_t sm = 0; sm < 132; ++sm)
        r.add({"SM", "GPC " + std::to_string(sm % 8), sm, sm % 2 ? "speech" : "vision", {}});
    for (std::int64_t slice = 0; slice < 94; ++slice)
        r.add(
            {"L2 slice", slice < 47 ? "side 0" : "side 1", slice, slice < 47 ? "vision" : "speech", 212 + slice % 40});
    for (std::int64_t channel = 0; channel < 10; ++channel)
        r.add({"DRAM channel", channel < 5 ? "side 0" : "side 1", channel, {}, {}});
    r.charts = {{Chart::Kind::floorplan,
                 "Who has what",
                 "unit",
                 {"partition", "latency"},
                 {"part", "group"},
                 {},
                 "",
                 false,
                 false}};
    r.provenance = provenance("bulkhead isolate plan");
    return r;
}

Result addresses() {
    Result r;
    r.title = "Where lines lie";
    r.columns = {{"piece", ""}, {"line", ""}, {"address", ""}, {"slice", ""}, {"set", ""}};
    for (std::int64_t line = 0; line < 512; ++line)
        r.add({line / 32, line % 32, "address " + std::to_string(line * 128), (line ^ line >> 3) % 16, line / 16});
    Chart chart{
        Chart::Kind::heatmap, "Slice and set of each line", "line", {"slice", "set"}, {"piece"}, {}, "", false, false};
    chart.label = "address";
    r.charts = {chart};
    r.provenance = provenance("bulkhead gpus");
    return r;
}

}  // namespace

std::vector<Result> gallery() {
    return {bars(),   lines(),   samples(), matrix(),     interference(), hostile(),  slices(),
            colors(), scatter(), stacks(),  exceedance(), plan(),         addresses()};
}

}  // namespace bulkhead::report
