#include "sim/mem/dram_channel.h"
#include "sim/mem/l2_slice.h"

namespace bulkhead::sim {

/// A line that is here is updated and stays as clean as it was. Atomics are still kept here until they are evicted.
L2Slice::Served L2Slice::writeThrough(RequestId id, std::uint32_t way) {
    const Request& request = sim_.requests[id];
    if (channel_.room(request.launch) == 0) return Served::dramFull;
    Counters& counters = sim_.counters(request.launch);
    if (way == CacheTags::kNoWay) {
        ++counters.l2Misses;
    } else {
        ++counters.l2Hits;
        tags_.use(request.set, way);
        tags_.state(way).valid |= request.complete;
    }
    sendWriteback(request.line, request.bank, request.row, request.sectors, request.launch);
    finish(id);
    return Served::yes;
}

}  // namespace bulkhead::sim
