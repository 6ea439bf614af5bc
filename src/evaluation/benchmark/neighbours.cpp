#include <algorithm>

#include "base/statistics.h"
#include "evaluation/benchmark/bench.h"

namespace bulkhead::evaluation::benchmark {

void measureNeighbours(Bench& bench) {
    for (const std::string& victim : bench.spec().victims) {
        std::vector<double> slower;
        for (const std::string& neighbour : bench.spec().neighbours) {
            const auto [alone, together] = bench.beside(victim, neighbour);
            slower.push_back(100 * (median(together) / median(alone) - 1));
            bench.add(kindOf(victim) + " beside " + neighbour, "%", slower.back(), true);
        }
        bench.add("neighbours: " + kindOf(victim) + " tenant slower, at most", "%", maximum(slower));
    }
}

}  // namespace bulkhead::evaluation::benchmark
