#include "sim/mem/read_joiner.h"

namespace bulkhead::sim {

ReadJoiner::Arrival ReadJoiner::join(RequestId id) {
    Request& request = sim_.requests[id];
    Look& look = lookLike(request);
    const std::uint32_t group = groupOf(request);
    // Launches that are kept apart (Separation) differ in their sets.
    if (look.line == request.line && look.set == request.set && look.group == group && look.reads < most_ &&
        (request.sectors & ~look.sectors) == 0 && (look.first != kNoRequest || sim_.now() <= look.until)) {
        ++look.reads;
        ++sim_.counters(request.launch).l2Joined;
        if (look.first == kNoRequest) return Arrival::answered;
        Request& first = sim_.requests[look.first];
        request.with = first.with;
        first.with = id;
        return Arrival::waits;
    }
    look = {.first = id,
            .line = request.line,
            .set = request.set,
            .group = group,
            .reads = 1,
            .sectors = request.sectors,
            .until = sim_.now() + sim_.config.l2.joinWindow,
            .answer = {}};
    return Arrival::first;
}

}  // namespace bulkhead::sim
