#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bulkhead::experiment {

/// What the MPS daemon that this process would be a client of says of its server.
struct MpsServer {
    std::string process, status;       ///< empty where there is none; ACTIVE, FAULT, ...
    std::vector<std::string> clients;  ///< processes
};
/// Throws Error if no daemon answers.
MpsServer askMpsServer();

/// Takes the work of one of its clients from a server, which others do not notice. Throws Error.
void terminateMpsClient(const MpsServer&, pid_t);

/// Ends a server, for the daemon to start another one with the next client. Throws Error.
void replaceMpsServer(const MpsServer&);

}  // namespace bulkhead::experiment
