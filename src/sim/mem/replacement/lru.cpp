#include "sim/mem/replacement/lru.h"

namespace bulkhead::sim {

std::unique_ptr<ReplacementPolicy> makeLru(std::uint32_t sets, std::uint32_t ways) {
    return std::make_unique<Lru>(sets, ways);
}

}  // namespace bulkhead::sim
