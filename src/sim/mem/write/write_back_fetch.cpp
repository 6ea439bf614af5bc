#include "sim/mem/dram_channel.h"
#include "sim/mem/l2_slice.h"

namespace bulkhead::sim {

/// Write-allocate as GPGPU-Sim 3 has it: a write that misses goes to DRAM, and its line is fetched from there. One that
/// hits stays here until the line is evicted.
L2Slice::Served L2Slice::writeBackFetch(RequestId id, std::uint32_t way) {
    if (way != CacheTags::kNoWay) return writeBack(id, way);
    const Request& request = sim_.requests[id];
    const std::uint32_t copy = sim_.separation.queuesOf(request.launch);
    if (mshrs_.full(copy)) return Served::mshrFull;
    way = tags_.victim(request.set);
    if (way == CacheTags::kNoWay) return Served::lineBusy;
    if (channel_.room(request.launch) < 2 + std::size_t{tags_.state(way).dirty != 0}) return Served::dramFull;
    if (!channel_.hasRoomForFill(request.bank, request.launch)) return Served::dramFull;
    ++sim_.counters(request.launch).l2Misses;
    evict(way, request);
    tags_.place(request.set, way, request.line, request.launch, sim_.config.l2.writeRetention);
    retain(request.set, way, request.retention);
    tags_.state(way).pending |= request.sectors;
    mshrs_[mshrs_.allocate(mshrKey(request.set, request.line), copy)].pending |= request.sectors;
    sendWriteback(request.line, request.bank, request.row, request.sectors, request.launch);
    sendFill(request, request.sectors);
    finish(id);
    return Served::yes;
}

}  // namespace bulkhead::sim
