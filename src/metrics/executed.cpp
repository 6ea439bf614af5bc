#include "metrics/executed.h"

#include <nlohmann/json.hpp>

namespace bulkhead::metrics {

Result executedTable(std::string title) {
    Result r;
    r.title = std::move(title);
    r.columns = {{"kernel", ""},
                 {"launches", ""},
                 {"timed", ""},
                 {"warp instructions", ""},
                 {"thread instructions", ""},
                 {"memory instructions", ""}};
    return r;
}

void addExecuted(Result& table, const std::string& kernel, const gpu::Sampled& s, const sim::Counters& c) {
    std::vector<Value> row = {kernel};
    for (const std::uint64_t count :
         {s.launches, s.timedLaunches, c.warpInstructions, c.threadInstructions, c.memoryInstructions})
        row.emplace_back(static_cast<std::int64_t>(count));
    table.add(std::move(row));
}

nlohmann::ordered_json executedJson(const gpu::Sampled& s, const sim::Counters& c) {
    return {{"timed_launches", s.timedLaunches},
            {"warp_instructions", c.warpInstructions},
            {"thread_instructions", c.threadInstructions},
            {"memory_instructions", c.memoryInstructions}};
}

}  // namespace bulkhead::metrics
