#pragma once

#include <optional>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// A barrier among threads of a block: bar and barrier, but not those of a warp or a cluster.
struct BlockBarrier {
    enum class Kind : std::uint8_t { sync, arrive, vote };
    Kind kind = Kind::sync;
    bool isCounted = false;      ///< for as many threads as it says; else for all that have not left
    std::optional<unsigned> id;  ///< of 16; none where it is not known before the launch
};
std::optional<BlockBarrier> blockBarrier(const Function&, const Instruction&);

/// One that all threads of the block which have not left must come to.
bool isBarrierForAll(const Instruction&);

}  // namespace bulkhead::ptx
