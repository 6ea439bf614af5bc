#include "driver/simulator_api.h"

#include "driver/access_policy.h"
#include "driver/background.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// The first that no device of now has: a device alone always has the same addresses.
std::uint32_t freePlace() {
    std::set<std::uint32_t> taken;
    for (const auto& [ordinal, device] : state().devices) taken.insert(device->place);
    std::uint32_t place = 0;
    while (taken.count(place)) ++place;
    return place;
}

int addDevice(arch::DeviceProfile profile, sim::Machine::Options options) {
    auto device = std::make_unique<Device>();
    const std::lock_guard lock(state().mutex);
    options.place = device->place = freePlace();
    device->gpu = std::make_shared<sim::Machine>(std::move(profile), std::move(options));
    device->persistingL2 = persistingL2AtFirst(*device);
    device->gpu->setPersistingL2(device->persistingL2);
    device->ordinal = state().nextOrdinal++;
    const CUdevice ordinal = device->ordinal;
    state().devices[ordinal] = std::move(device);
    return ordinal;
}

void removeDevice(CUdevice ordinal) {
    const std::lock_guard lock(state().mutex);
    const auto found = state().devices.find(ordinal);
    if (found == state().devices.end()) return;
    destroyDevice(*found->second);
    state().devices.erase(found);
}

void discardWork(CUdevice ordinal) {
    const std::lock_guard lock(state().mutex);
    if (const auto found = state().devices.find(ordinal); found != state().devices.end())
        found->second->gpu->discardWork();
}

sim::Machine* machine(CUdevice ordinal) {
    sim::Machine* gpu = nullptr;
    const std::lock_guard lock(state().mutex);
    if (const auto found = state().devices.find(ordinal); found != state().devices.end())
        gpu = found->second->gpu.get();
    return gpu;
}

CUresult newSharingContext(CUcontext* context, CUdevice device, bool concurrent) {
    return call([&] {
        requireOutput(context);
        *context = createContext(deviceAt(device), concurrent ? sim::Sharing::concurrent : sim::Sharing::timeSliced, 0);
    });
}

void setSharing(CUdevice device, bool concurrent) {
    const std::lock_guard lock(state().mutex);
    const auto found = state().devices.find(device);
    if (found == state().devices.end()) return;
    found->second->sharing = concurrent ? sim::Sharing::concurrent : sim::Sharing::timeSliced;
}

void setNumbering(bool anew) {
    const std::lock_guard lock(state().mutex);
    state().numbersAnew = anew;
}

CUresult setAllocation(const sim::AllocationOptions& options) {
    return call([&] { current()->root->placement = options; });
}

/// The mapping of the current context's that holds an address of the device's.
const sim::Mapping& mappingOf(CUdeviceptr address) {
    const sim::Mapping* mapping = memoryOf(currentContext()).space().find(address);
    require(mapping != nullptr, CUDA_ERROR_INVALID_VALUE, "there is no device memory at that address");
    return *mapping;
}

CUresult physicalAddress(std::uint64_t* physical, CUdeviceptr address) {
    return call([&] {
        requireOutput(physical);
        *physical = mappingOf(address).physical(address);
    });
}

CUresult pageColor(std::uint32_t* color, CUdeviceptr address) {
    return call([&] {
        requireOutput(color);
        const sim::Mapping& mapping = mappingOf(address);
        const Bytes pageBytes = Bytes{1} << mapping.pageShift;
        *color = gpuOf(currentContext()).profile().map.color(mapping.physical(address), pageBytes);
    });
}

CUresult limitThreads(double share) {
    return call([&] {
        require(share > 0 && share <= 1, CUDA_ERROR_INVALID_VALUE, "a share of threads is above 0 and at most 1");
        sim::Machine& gpu = gpuOf(current());
        const auto all = static_cast<double>(gpu.profile().sm.count * gpu.profile().sm.maxThreads);
        gpu.limitThreads(current()->root->id, static_cast<std::uint64_t>(share * all));
    });
}

CUresult keepLaunches(bool on) {
    return call([&] {
        CUcontext root = currentContext()->root;
        if (on) {
            ++root->launchLogs;
            return;
        }
        require(root->launchLogs > 0, CUDA_ERROR_INVALID_VALUE, "nobody keeps the context's launches");
        if (--root->launchLogs > 0) return;
        sim::Machine& gpu = gpuOf(root);
        for (const sim::LaunchId id : root->launches)
            if (gpu.record(id).over() && !std::ranges::binary_search(root->unchecked, id)) gpu.forget(id);
        root->launches.clear();
    });
}

CUresult launches(std::vector<sim::LaunchId>* ids) {
    return call([&] {
        requireOutput(ids);
        *ids = currentContext()->root->launches;
    });
}

void relaxBounds(std::function<void(const std::string&)> tell) {
    const std::lock_guard lock(state().mutex);
    state().overruns = std::make_unique<sim::Overruns>(std::move(tell));
}

std::string lastError() {
    return lastErrorText();
}

}  // namespace

const SimulatorApi& simulatorApi() {
    static const SimulatorApi api = {addDevice,         removeDevice, discardWork,        machine,
                                     newSharingContext, setSharing,   setNumbering,       setAllocation,
                                     physicalAddress,   pageColor,    limitThreads,       keepLaunches,
                                     launches,          relaxBounds,  workWhileHostWaits, lastError};
    return api;
}

}  // namespace bulkhead::driver
