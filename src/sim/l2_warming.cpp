#include "sim/l2_warming.h"

#include <algorithm>
#include <bit>

namespace bulkhead::sim {

L2Warming::L2Warming(const SimShared& shared, Units& units)
    : units_(units),
      coalescer_(shared.config.l2.lineBytes, shared.config.l2.sectorBytes),
      lineShift_(static_cast<unsigned>(std::countr_zero(shared.config.l2.lineBytes))) {}

void L2Warming::begin(const LaunchContext& launch, LaunchId id) {
    launch_ = &launch;
    id_ = id;
    bytes_ = 0;
    recent_.fill({});
}

/// As the constant cache is asked: by distinct addresses.
std::uint64_t L2Warming::constantBytes(const Access& access) const {
    std::uint64_t seen[kLanes];
    std::size_t count = 0;
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
        const std::uint64_t address = access.address[std::countr_zero(rest)];
        if (std::find(seen, seen + count, address) == seen + count) seen[count++] = address;
    }
    return count * access.bytes;
}

bool L2Warming::touchedBefore(const Transaction& t, bool writes) {
    Recent& recent = recent_[(t.line >> lineShift_) % kRecent];
    if (recent.line != t.line) recent = {t.line, 0, 0};
    std::uint8_t& before = writes ? recent.written : recent.read;
    const bool all = (t.sectors & ~before) == 0;
    before |= t.sectors;
    return all;
}

void L2Warming::accessed(const Access& access) {
    switch (access.space) {
        case ptx::Space::constant:
            bytes_ += constantBytes(access);
            return;
        case ptx::Space::local:
            coalescer_.gatherLocal(access, 0, lines_);
            for (std::size_t i = 0; i < lines_.count; ++i) bytes_ += lines_.items[i].bytes;
            return;
        case ptx::Space::global:
            break;
        default:
            return;
    }
    coalescer_.gather(access, lines_);
    const bool writes = access.kind != AccessKind::load && access.kind != AccessKind::asyncCopy;
    for (std::size_t i = 0; i < lines_.count; ++i) {
        Transaction& t = lines_.items[i];
        bytes_ += t.bytes;
        if (touchedBefore(t, writes)) continue;
        t.line = launch_->memory->physical(t.line, mappingHint_);
        units_.touchL2(t, access.kind, id_);
    }
}

}  // namespace bulkhead::sim
