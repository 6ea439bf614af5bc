#include "evaluation/benchmark/bench.h"

namespace bulkhead::evaluation::benchmark {

/// A tenant asks for all of the memory that there is.
void measureMemory(Bench& bench) {
    constexpr double kTolerated = 1.1;  // of a share: more is no limit
    const corun::TakenMemory taken = bench.tenants().be("empty", "").takeMemory(0);
    if (bench.isWhole()) bench.whole().memory = taken.bytes;
    const double share = static_cast<double>(taken.bytes) / static_cast<double>(bench.whole().memory);
    bench.add("memory: that one tenant gets if it asks for all", "%", 100 * share);
    if (bench.isWhole()) return;
    const bool kept = share < kTolerated / bench.spec().partitions;
    bench.add("memory: limit", "",
              std::string(kept ? "refused at " + std::to_string(taken.bytes >> 20) + " MB" : "none"));
}

}  // namespace bulkhead::evaluation::benchmark
