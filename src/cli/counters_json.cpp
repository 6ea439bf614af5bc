#include "cli/counters_json.h"

namespace bulkhead::cli {

nlohmann::ordered_json countersJson(const sim::Counters& c, Cycles cycleCount, double seconds) {
    using json = nlohmann::ordered_json;
    const auto cycles = static_cast<double>(cycleCount);
    json stalls;
    for (int i = 0; i < sim::kStalls; ++i) stalls[std::string(sim::kStallNames[i])] = c.stalls[i];
    return {
        {"cycles", cycleCount},
        {"microseconds", seconds * 1e6},
        {"warp_instructions", c.warpInstructions},
        {"thread_instructions", c.threadInstructions},
        {"ipc", static_cast<double>(c.threadInstructions) / cycles},
        {"warp_ipc", static_cast<double>(c.warpInstructions) / cycles},
        {"l1",
         {{"hits", c.l1Hits},
          {"misses", c.l1Misses},
          {"hit_rate", sim::ratio(c.l1Hits, c.l1Misses)},
          {"merges", c.l1Merges},
          {"bypasses", c.l1Bypasses},
          {"sectors", c.l1Sectors},
          {"sector_hits", c.l1SectorHits},
          {"evictions", c.l1Evictions},
          {"prefetches",
           {{"issued", c.l1Prefetches},
            {"useful", c.l1PrefetchesUseful},
            {"late", c.l1PrefetchesLate},
            {"useless", c.l1PrefetchesUseless}}},
          {"bytes", c.bytesL1},
          {"stall_cycles", {{"mshr", c.l1StallMshr}, {"port", c.l1StallQueue}, {"line", c.l1StallLine}}}}},
        {"shared", {{"accesses", c.sharedAccesses}, {"bank_conflicts", c.sharedConflicts}}},
        {"shared_cache",
         {{"hits", c.sharedCacheHits},
          {"misses", c.sharedCacheMisses},
          {"hit_rate", sim::ratio(c.sharedCacheHits, c.sharedCacheMisses)},
          {"evictions", c.sharedCacheEvictions},
          {"lines_from_l1", c.movedToShared},
          {"lines_to_l1", c.movedToL1}}},
        {"constant", {{"hits", c.constantHits}, {"misses", c.constantMisses}}},
        {"instruction", {{"misses", c.instructionMisses}}},
        {"l2",
         {{"hits", c.l2Hits},
          {"misses", c.l2Misses},
          {"hit_rate", sim::ratio(c.l2Hits, c.l2Misses)},
          {"merges", c.l2Merges},
          {"joined_reads", c.l2Joined},
          {"far_reads", c.l2FarReads},
          {"sectors", c.l2Sectors},
          {"sector_hits", c.l2SectorHits},
          {"evictions", c.l2Evictions},
          {"writebacks", c.l2Writebacks},
          {"atomics", c.l2Atomics},
          {"bytes", c.bytesL2},
          {"stall_cycles",
           {{"mshr", c.l2StallMshr},
            {"response", c.l2StallResponse},
            {"dram", c.l2StallDram},
            {"line", c.l2StallLine}}},
          {"port_wait_cycles", c.portWait}}},
        {"dram",
         {{"reads", c.dramReads},
          {"writes", c.dramWrites},
          {"row_hits", c.dramRowHits},
          {"row_misses", c.dramRowMisses + c.dramRowConflicts},
          {"row_conflicts", c.dramRowConflicts},
          {"bytes", c.bytesDram},
          {"gb_per_s", static_cast<double>(c.bytesDram) / (seconds * 1e9)}}},
        {"stall_cycles", stalls},
    };
}

}  // namespace bulkhead::cli
