#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "isolate/leases.h"
#include "walls/survey.h"

// One simulated GPU for all processes that join partitions from a folder of leases. A keeper has it, as nothing of it
// can outlive the process that simulates it; tenants call it by far_driver. Their walls are their own, as on any GPU.

namespace bulkhead::isolate {

/// How its processes run: side by side, as under MPS, or one at a time.
enum class KeptSharing : std::uint8_t { mps, timeSlices };
/// "mps" or "time-slices". Throws Error that lists them.
KeptSharing parseKeptSharing(std::string_view);
std::string_view nameOf(KeptSharing);

struct SimulatedGpu {
    std::string name;
    std::vector<std::string> settings;
    KeptSharing sharing = KeptSharing::mps;
};

/// Throws Error where walls of this GPU could not be put up beside others' work.
void expectKeepable(gpu::Gpu&, std::size_t partitions, const std::string& mapFile);

/// Keeps a GPU until `ended` says so, until it is told to end, or until the folder is gone. Throws Error: another
/// process keeps one.
void keepSimulated(const SimulatedGpu&, const LeaseBook&, const std::function<bool()>& ended);

struct SimulatedKeeper {
    pid_t process = 0;
    SimulatedGpu gpu;
    std::size_t processes = 0;  ///< that use it
    Bytes bytes = 0, freeBytes = 0;
};
/// Empty where nobody keeps a simulated GPU. Throws Error: somebody who is neither root nor owns the folder pretends
/// to.
std::optional<SimulatedKeeper> keeperOf(const LeaseBook&);

/// Which GPU processes are to share, from startKeeping() to endKeeping(), whether somebody keeps it or not.
std::optional<SimulatedGpu> gpuToKeep(const LeaseBook&);
/// Has a keeper, which `command` starts where there is none. Throws Error where one keeps another GPU.
void startKeeping(const SimulatedGpu&, const LeaseBook&, const std::vector<std::string>& command);
void endKeeping(const LeaseBook&);

/// The kept GPU, and what its kind is like, as found on one that nobody else uses.
struct OpenedGpu {
    gpu::Gpu gpu;
    walls::Survey survey;
};
/// Empty where each process is to have a GPU of its own. Throws Error: the keeper is gone, or keeps one of other
/// settings.
std::optional<OpenedGpu> openKept(const LeaseBook&, const std::vector<std::string>& settings);

}  // namespace bulkhead::isolate
