#include "evaluation/benchmark/bench.h"

namespace bulkhead::evaluation::benchmark {

/// Against the same share of the whole GPU: all of its latency, and as much of its rate as one of so many partitions
/// has.
void measureAlone(Bench& bench) {
    for (const std::string& victim : bench.spec().victims) {
        const double seconds = median(bench.alone(victim));
        if (bench.isWhole()) bench.whole().seconds[victim] = seconds;
        const double whole = bench.whole().seconds.at(victim);
        if (victim == "latency") {
            bench.add("alone: latency, more than on the whole GPU", "%", 100 * (seconds / whole - 1));
        } else {
            bench.add("alone: rate of a " + kindOf(victim) + " tenant, of its share", "%",
                      100 * whole * bench.spec().partitions / seconds);
        }
    }
}

}  // namespace bulkhead::evaluation::benchmark
