#pragma once

#include <string>
#include <vector>

namespace bulkhead::stress {

/// What the MPS daemon that this process would be a client of says of its server.
struct MpsServer {
    std::string process, status;       ///< empty where there is none; ACTIVE, FAULT, ...
    std::vector<std::string> clients;  ///< processes
};
/// Throws Error if no daemon answers.
MpsServer askMpsServer();

/// Ends a server, for the daemon to start another one with the next client. Throws Error.
void replaceMpsServer(const MpsServer&);

}  // namespace bulkhead::stress
