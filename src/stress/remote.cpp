#include "stress/arena.h"

namespace bulkhead::stress {

std::unique_ptr<Arena> makeArena(const ArenaSpec& spec) {
    return makeLocalArena(spec);
}

}  // namespace bulkhead::stress
