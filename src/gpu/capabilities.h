#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::gpu {

/// What a GPU can do, and what it tells. Code above this layer asks for what it depends on, not for a kind of GPU.
struct Capabilities {
    bool physicalAddresses = false;   ///< tells where an address lies in its memory
    bool choosesPages = false;        ///< takes memory from pages of the colors asked for
    bool launchCounters = false;      ///< counts cycles, instructions and misses of each launch
    bool concurrentContexts = false;  ///< contexts of one process can run side by side
    bool settable = false;            ///< its scheduler, parameters and seed can be chosen when it is opened
    bool deterministic = false;       ///< the same calls take the same time: nothing else is at work, no clock drifts
    bool costly = false;              ///< every access takes time of the host: as few as will do
    bool sharedByProcesses = false;   ///< is the same one for all processes; otherwise each opens one of its own
    bool runsByItself = false;      ///< works on while nobody waits for it; otherwise time passes only in waiting calls
    bool copiesFarLines = false;    ///< an L2 of two sides may hold a line in both
    bool dispatchesInTurn = false;  ///< every SM gets its share of a launch's blocks, also where others have just left

    bool operator==(const Capabilities&) const = default;
};

/// Of a GPU that need not be open. Throws Error where no GPU can have that name.
Capabilities capabilitiesOf(std::string_view gpu);

/// Throws Error if there are settings for a GPU that is not settable.
void expectSettable(std::string_view gpu, const std::vector<std::string>& settings);

}  // namespace bulkhead::gpu
