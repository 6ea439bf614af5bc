#include "sim/mem/request.h"

#include "base/error.h"

namespace bulkhead::sim {

std::uint32_t Request::goTo(const arch::AddressMap& map, arch::PhysicalAddress to) {
    const arch::AddressMap::Location where = map.locate(to);
    line = to;
    slice = where.slice;
    set = where.set;
    bank = where.bank;
    row = where.row;
    return where.channel;
}

RequestId RequestStore::addChunk() {
    const std::lock_guard lock(adding_);
    if (count_ == kMostChunks) throw Error("more than {} memory requests are under way", kMostChunks * kChunk);
    chunks_[count_] = std::make_unique<Request[]>(kChunk);
    return static_cast<RequestId>(count_++ << kShift);
}

}  // namespace bulkhead::sim
