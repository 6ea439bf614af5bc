#pragma once

#include <chrono>
#include <string>

namespace bulkhead::isolate {

/// A client that ends in the middle of a kernel, or makes a fault, takes its MPS server with it. For a moment whoever
/// comes next gets errors that nothing in this process can mend. So a server that does not say that it is active is
/// tried by a child, again and again, until it has recovered; one that has not after a while, and has no clients, is
/// replaced. `suspect`: what it says is not enough, as a client may just have ended so. Does nothing where there is no
/// MPS daemon. Throws Error that says who keeps the server from recovering. No other thread may run.
void waitForServer(const std::string& gpu, bool suspect, std::chrono::milliseconds patience = std::chrono::seconds(15));

}  // namespace bulkhead::isolate
