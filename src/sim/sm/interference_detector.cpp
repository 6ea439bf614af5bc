#include "sim/sm/interference_detector.h"

namespace bulkhead::sim {

void InterferenceDetector::observe(const CacheEvent& event) {
    if (event.kind == CacheEvent::Kind::eviction) {
        // What a warp pushes out of its own is no interference: no other warp could be isolated to prevent it.
        if (event.owner != event.warp) vta_.insert(event.owner, event.line, event.warp);
        return;
    }
    const std::uint32_t evictor = vta_.probe(event.warp, event.line);
    if (evictor == VictimTagArray::kNobody) return;
    ++vtaHits_[event.warp];
    list_.record(event.warp, evictor);
}

void InterferenceDetector::kernelStarted() {
    vta_.clear();
    list_.clear();
    vtaHits_.assign(vtaHits_.size(), 0);
    instructions_ = 0;
}

}  // namespace bulkhead::sim
