#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "corun/aggressor.h"
#include "corun/corun.h"

namespace bulkhead::corun {

// A program on a simulated GPU has that GPU in its own process. So the aggressor is made there too, by the driver
// library in front of the program: a context beside the program's own, on the same GPU.

/// The variable of the environment that tells the library so.
inline constexpr const char* kInProcessVariable = "BULKHEAD_BESIDE";

struct InProcessRequest {
    CoRunSpec corun;      ///< the program and its aggressor
    bool start = false;   ///< false: it only holds its memory, so that the program's lies where it would otherwise
    std::string account;  ///< file for what happened
};
std::string toText(const InProcessRequest&);
/// Throws Error.
InProcessRequest inProcessFromText(const std::string&);

/// What happened: the program from its first kernel's start to its last one's end, and the aggressor.
struct InProcessAccount {
    ActorRun program;
    ActorReport aggressor;
};
/// Throws Error where there is no account, as of a program that was killed or has not used the GPU.
InProcessAccount readAccount(const std::string& file);

/// The aggressor in the program's process.
class InProcessAggressor {
  public:
    /// Opens the GPU, and starts the aggressor if it is to be started.
    explicit InProcessAggressor(InProcessRequest);
    /// Stops it, and writes the account.
    void finish();

  private:
    void enterProgram();

    InProcessRequest request_;
    MachineWatch watch_;
    gpu::Gpu gpu_;
    gpu::Context context_;
    gpu::LaunchLog launches_;  ///< of the aggressor
    std::unique_ptr<Aggressor> aggressor_;
    std::set<std::uint32_t> notOfProgram_;  ///< launches
};

}  // namespace bulkhead::corun
