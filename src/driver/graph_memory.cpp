// Memory that graphs allocate. It has its place from the creation of the node on, until nobody names it any more;
// launches only note who has it.

#include <algorithm>

#include "driver/graph.h"

namespace bulkhead::driver {
namespace {

/// CUgraphMem_attribute.
constexpr CUgraphMem_attribute kGraphUsed = 0, kGraphUsedHigh = 1, kGraphReserved = 2, kGraphReservedHigh = 3;

Bytes& counterOf(Device& device, CUgraphMem_attribute attribute) {
    switch (attribute) {
        case kGraphUsed:
            return device.graphMemory.used;
        case kGraphUsedHigh:
            return device.graphMemory.usedHigh;
        case kGraphReserved:
            return device.graphMemory.reserved;
        case kGraphReservedHigh:
            return device.graphMemory.reservedHigh;
        default:
            throw Failure{CUDA_ERROR_INVALID_VALUE, "no such attribute of the memory of graphs"};
    }
}

}  // namespace

GraphMemory::~GraphMemory() {
    if (context->destroyed) return;
    context->device->graphMemory.reserved -= bytes;
    if (context->allocations.count(address)) freeDevice(context, address);
}

AllocationNode newAllocation(CUcontext context, Bytes bytes) {
    CUcontext root = context->root;
    AllocationNode node;
    node.settings.poolProps.allocType = 1;
    node.settings.poolProps.location = {kDeviceLocation, root->device->ordinal};
    node.settings.bytesize = bytes;
    node.settings.dptr = allocateDevice(root, bytes, Allocation::Kind::graph);
    node.memory = std::make_shared<GraphMemory>();
    node.memory->context = root;
    node.memory->address = node.settings.dptr;
    node.memory->bytes = bytes;
    root->allocations[node.settings.dptr].graphMemory = node.memory;
    auto& use = root->device->graphMemory;
    use.reservedHigh = std::max(use.reservedHigh, use.reserved += bytes);
    return node;
}

std::shared_ptr<GraphMemory> findMemory(CUcontext context, CUdeviceptr address) {
    const auto found = context->root->allocations.find(address);
    return found == context->root->allocations.end() ? nullptr : found->second.graphMemory.lock();
}

void becomeLive(const std::shared_ptr<GraphMemory>& memory) {
    memory->live = true;
    memory->context->liveGraphMemory[memory->address] = memory;
    memory->context->device->graphMemory.used += memory->bytes;
}

void noteUse(Device& device, Bytes atOnce) {
    auto& use = device.graphMemory;
    use.usedHigh = std::max(use.usedHigh, use.used + atOnce);
}

void becomeFree(const std::shared_ptr<GraphMemory>& memory) {
    require(memory->live, CUDA_ERROR_INVALID_VALUE, "memory of a graph that no launch has allocated");
    memory->live = false;
    memory->context->device->graphMemory.used -= memory->bytes;
    memory->context->liveGraphMemory.erase(memory->address);
}

bool freeGraphMemory(CUcontext context, CUdeviceptr address, CUstream stream) {
    const std::shared_ptr<GraphMemory> memory = findMemory(context, address);
    if (!memory) return false;
    if (stream)
        order(stream);
    else
        waitForAll(memory->context);
    becomeFree(memory);
    if (stream) enqueue(stream, 0, [memory] { static_cast<void>(memory); });
    return true;
}

namespace simulated {

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
    return call([&] {
        requireOutput(value);
        *static_cast<std::uint64_t*>(value) = counterOf(deviceAt(device), attribute);
    });
}
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
    return call([&] {
        requireOutput(value);
        Device& on = deviceAt(device);
        require((attribute == kGraphUsedHigh || attribute == kGraphReservedHigh) &&
                    *static_cast<std::uint64_t*>(value) == 0,
                CUDA_ERROR_INVALID_VALUE, "high marks can be set back to 0, and nothing else");
        counterOf(on, attribute) = counterOf(on, attribute - 1);
    });
}
CUresult cuDeviceGraphMemTrim(CUdevice device) {
    return call([&] { deviceAt(device); });
}

}  // namespace simulated
}  // namespace bulkhead::driver
