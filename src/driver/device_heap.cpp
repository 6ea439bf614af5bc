#include "driver/device_heap.h"

#include <algorithm>

#include "device_heap.ptx.h"
#include "driver/device_heap_layout.h"
#include "ptx/call_graph.h"

namespace bulkhead::driver {
namespace {

constexpr std::string_view kHeapVariable = "bulkhead_device_heap";

/// DeviceHeap as device code sees it: addresses are the GPU's.
struct HeapImage {
    std::uint32_t pageCount, roomWords;
    CUdeviceptr pages, bits, rooms, hints, data;
};
static_assert(sizeof(HeapImage) == sizeof(DeviceHeap));

bool isOfHeap(const ptx::Function& function) {
    return function.name == "malloc" || function.name == "free";
}

CUdeviceptr makeHeap(CUcontext root) {
    const auto pages = static_cast<std::uint32_t>(
        std::max<Bytes>((root->limits.at(kHeapBytes) + kHeapPageBytes - 1) / kHeapPageBytes, 1));
    const std::uint32_t roomWords = (pages + 31) / 32;
    const Bytes words = Bytes{pages} * (1 + kHeapBitWords) + Bytes{kHeapKinds} * (roomWords + kHeapHints);
    const Bytes tables =
        (sizeof(HeapImage) + sizeof(std::uint32_t) * words + kHeapPageBytes - 1) / kHeapPageBytes * kHeapPageBytes;
    const CUdeviceptr address = memoryOf(root).allocate(tables + Bytes{pages} * kHeapPageBytes);

    std::vector<std::uint8_t> bytes(tables);
    CUdeviceptr next = address + sizeof(HeapImage);
    const auto table = [&](Bytes count) { return std::exchange(next, next + sizeof(std::uint32_t) * count); };
    HeapImage heap = {pages, roomWords, 0, 0, 0, 0, address + tables};
    heap.pages = table(pages);
    heap.bits = table(Bytes{pages} * kHeapBitWords);
    heap.rooms = table(Bytes{kHeapKinds} * roomWords);
    heap.hints = table(Bytes{kHeapKinds} * kHeapHints);
    std::memcpy(bytes.data(), &heap, sizeof heap);
    for (std::uint32_t page = 0; page < pages; ++page)
        bytes[heap.rooms - address + page / 8] |= static_cast<std::uint8_t>(1u << page % 8);
    writeDevice(root, address, bytes.data(), bytes.size());
    return address;
}

}  // namespace

ptx::Module deviceHeapCode() {
    return ptx::parse(kDeviceHeapPtx, "malloc and free");
}

std::set<std::string> heapUsers(const ptx::Module& module) {
    std::set<std::string> users;
    const auto isHeap = [](const ptx::Variable& v) { return v.name == kHeapVariable; };
    if (std::none_of(module.variables.begin(), module.variables.end(), isHeap)) return users;
    const ptx::CallGraph calls(module);
    for (const ptx::Function& kernel : module.functions) {
        if (!kernel.isKernel) continue;
        const auto reached = calls.reachable(kernel);
        if (std::any_of(reached.begin(), reached.end(), [](const ptx::Function* f) { return isOfHeap(*f); }))
            users.insert(kernel.name);
    }
    return users;
}

void giveHeap(CUmodule module) {
    CUcontext root = module->context;
    if (module->hasHeap) return;
    if (!root->heap) root->heap = makeHeap(root);
    for (const sim::Program::Global& global : module->loaded.program->globals)
        if (global.name == kHeapVariable) writeDevice(root, global.address, &root->heap, sizeof root->heap);
    module->hasHeap = true;
}

}  // namespace bulkhead::driver
