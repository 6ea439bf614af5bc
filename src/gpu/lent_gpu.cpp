#include "gpu/lent_gpu.h"

#include "arch/device_profile.h"
#include "driver/shared_machine.h"
#include "far_driver/server.h"

namespace bulkhead::gpu {

void lend(const LentGpu& gpu, const far_driver::Place& place, const std::function<std::string(const LentUse&)>& about,
          const std::function<bool()>& ended) {
    arch::DeviceProfile profile = arch::findProfile(gpu.name);
    arch::applySettings(profile, gpu.settings);
    const auto machine =
        std::make_shared<driver::SharedMachine>(std::move(profile), sim::Machine::Options(),
                                                gpu.concurrent ? sim::Sharing::concurrent : sim::Sharing::timeSliced);
    const auto tell = [&] {
        const driver::SharedMachine::Use use = machine->use();
        return about({use.processes, use.bytes, use.freeBytes});
    };
    far_driver::Server(place, machine, {gpu.anybody, tell}).run(ended);
}

}  // namespace bulkhead::gpu
