#pragma once

#include <cstdint>

#include "gpgpusim/configuration.h"

namespace bulkhead::gpgpusim {

/// A cache as GPGPU-Sim is told of it, in version 3 as `32:128:4,L:L:m:N:H,A:32:8,8` and since version 4 with its kind
/// in front, `S:64:128:8,L:B:m:L:L,A:256:4,4:0,32`: sets, bytes of a line, ways; policies of replacement, writes,
/// allocation and allocation by writes, and the set index; MSHRs and how many merge; the queue of misses, and more that
/// only some have. `none` is a cache that is not there.
struct CacheSetting {
    bool exists = false;
    bool sectored = false;
    std::int64_t sets = 0, lineBytes = 0, ways = 0;
    char replacement = 'L';  ///< L: LRU, F: FIFO
    char write = 'R';        ///< R: read only, B: back, T: through, E: evict, L: local back, global through
    char allocate = 'm';     ///< m: on a miss, f: on a fill, s: streaming
    char index = 'L';        ///< L: linear, H: hash of Fermi, P: polynomial, X: XOR, C: custom
    std::int64_t mshrs = 0, merges = 0, missQueue = 0;

    static constexpr std::int64_t kSectorBytes = 32;
    std::int64_t bytes() const { return sets * lineBytes * ways; }
    std::int64_t sectorBytes() const { return sectored ? kSectorBytes : lineBytes; }
};

CacheSetting cacheSetting(const Setting&);

}  // namespace bulkhead::gpgpusim
