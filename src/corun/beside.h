#pragma once

#include <memory>
#include <string>
#include <vector>

#include "corun/arena.h"

namespace bulkhead::corun {

// A program on a simulated GPU has that GPU in its own process. So the aggressor is made there too, by the driver
// library in front of the program: a context beside the program's own, on the same GPU.

/// The variable of the environment that tells the library so.
inline constexpr const char* kBesideVariable = "BULKHEAD_BESIDE";

struct BesideRequest {
    ArenaSpec arena;      ///< GPU, placement and aggressor
    bool start = false;   ///< false: it only holds its memory, so that the program's lies where it would otherwise
    std::string account;  ///< file for what happened
};
std::string toText(const BesideRequest&);
/// Throws Error.
BesideRequest besideFromText(const std::string&);

/// What happened: the program from its first kernel's start to its last one's end, and the aggressor.
struct BesideAccount {
    VictimRun program;
    AggressorReport aggressor;
};
/// Throws Error where there is no account, as of a program that was killed or has not used the GPU.
BesideAccount readAccount(const std::string& file);

/// The aggressor in the program's process.
class Beside {
  public:
    /// Before the GPU is opened, and so before any context is made.
    static void prepare(const BesideRequest&);
    /// Opens the GPU, and starts the aggressor if it is to be started.
    explicit Beside(BesideRequest);
    /// Stops it, and writes the account.
    void finish();

  private:
    BesideRequest request_;
    MachineWatch watch_;
    gpu::Gpu gpu_;
    gpu::Context context_;
    std::unique_ptr<Aggressor> aggressor_;
};

/// The program as a victim, with an aggressor beside it in its process. Placements: processes and mps.
std::unique_ptr<Arena> makeSimulatedProgramArena(const ArenaSpec&);

}  // namespace bulkhead::corun
