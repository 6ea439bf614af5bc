#pragma once

#include "sim/mem/replacement/stamped_replacement.h"

namespace bulkhead::sim {

/// In a header, since most caches have it, and ask it at every access.
class Lru final : public StampedReplacement {
  public:
    using StampedReplacement::StampedReplacement;
    void use(std::uint32_t set, std::uint32_t way) override { renew(set, way); }
};

}  // namespace bulkhead::sim
