#include "sim/mem/dram_channel.h"
#include "sim/mem/l2_slice.h"

namespace bulkhead::sim {

/// Write-allocate, without a fetch. A line brought in by a write is kept longer than one brought in by a read
/// (Fractional GPUs, appendix B).
L2Slice::Served L2Slice::writeBack(RequestId id, std::uint32_t way) {
    Request& request = sim_.requests[id];
    Counters& counters = sim_.counters(request.launch);
    if (way == CacheTags::kNoWay) {
        way = tags_.victim(request.set);
        if (way == CacheTags::kNoWay) return Served::lineBusy;
        if (tags_.state(way).dirty && channel_.room(request.launch) == 0) return Served::dramFull;
        ++counters.l2Misses;
        evict(way, request);
        tags_.place(request.set, way, request.line, request.launch, sim_.config.l2.writeRetention);
    } else {
        ++counters.l2Hits;
        tags_.use(request.set, way);
    }
    retain(request.set, way, request.retention);
    tags_.state(way).valid |= request.complete;
    if (sim_.config.l2.mergesWrites) mergeWords(tags_.state(way), request);
    markDirty(request.set, way, request.sectors, request.launch);
    finish(id);
    return Served::yes;
}

}  // namespace bulkhead::sim
