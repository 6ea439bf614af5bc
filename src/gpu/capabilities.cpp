#include "gpu/capabilities.h"

#include "base/error.h"
#include "gpu/gpu_name.h"

namespace bulkhead::gpu {

Capabilities capabilitiesOf(std::string_view gpu) {
    Capabilities can;
    switch (GpuName::parse(gpu).kind) {
        case GpuName::Kind::simulated:
            can.physicalAddresses = can.choosesPages = can.launchCounters = true;
            can.concurrentContexts = can.settable = true;
            can.deterministic = can.costly = true;
            can.dispatchesInTurn = true;
            break;
        case GpuName::Kind::cuda:
            can.sharedByProcesses = can.runsByItself = can.copiesFarLines = true;
            break;
    }
    return can;
}

void expectSettable(std::string_view gpu, const std::vector<std::string>& settings) {
    if (!settings.empty() && !capabilitiesOf(gpu).settable)
        throw Error("{}: nobody can set {} of a real GPU: choose a simulated one, such as sim:h200", gpu,
                    settings.front());
}

}  // namespace bulkhead::gpu
