#pragma once

#include <memory>

#include "corun/arena.h"

namespace bulkhead::corun {

/// One side of an arena in a process of its own: reads requests from standard input, one JSON object a line, and
/// answers on standard output, until its input ends. Returns an exit code.
int serveWorker();

/// Starts a process for the victim and one for the aggressor: contexts that take turns, or, with a daemon that is
/// started and ended with the arena, run side by side under MPS.
std::unique_ptr<Arena> makeRemoteArena(const ArenaSpec&);

}  // namespace bulkhead::corun
