#pragma once

namespace bulkhead::corun {

/// One actor of a co-run in a process of its own: does what a remote co-run asks on standard input, until that ends.
/// Returns an exit code.
int serveActor();

}  // namespace bulkhead::corun
