// Memory that host and devices share at one address: pinned, registered and managed.

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

constexpr unsigned kHostAllocFlags = 0x7, kHostRegisterFlags = 0xf;
constexpr unsigned kAttachGlobal = 1, kAttachHost = 2, kAttachSingle = 4;

void* pointerOf(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);
}

/// The owner of managed memory has device pages under it.
bool hasPages(const HostRange& range, CUcontext context) {
    return range.kind == HostRange::Kind::managed && context == range.owner;
}

/// Kernels may use the memory until they have ended.
void waitForEverybody() {
    for (const auto& context : state().contexts)
        if (!context->destroyed && !context->failed) waitForAll(context.get());
}

const HostRange& pinnedAt(const void* pointer, HostRange::Kind kind, CUresult code) {
    const auto found = state().hostRanges.find(reinterpret_cast<std::uintptr_t>(pointer));
    require(found != state().hostRanges.end() && found->second.kind == kind, code, "not the beginning of such memory");
    return found->second;
}

bool overlapsAny(std::uintptr_t address, Bytes bytes) {
    const auto after = state().hostRanges.lower_bound(address + bytes);
    if (after == state().hostRanges.begin()) return false;
    const auto& [base, range] = *std::prev(after);
    return base + range.bytes > address;
}

}  // namespace

void publishHostRange(CUdeviceptr address, const HostRange& range) {
    for (const auto& context : state().contexts)
        if (!context->destroyed && !hasPages(range, context.get()))
            memoryOf(context.get()).mapHost(pointerOf(address), range.bytes);
    state().hostRanges[address] = range;
}

void mapHostRanges(CUcontext context) {
    for (const auto& [address, range] : state().hostRanges) memoryOf(context).mapHost(pointerOf(address), range.bytes);
}

void withdrawHostRange(CUdeviceptr address) {
    const auto found = state().hostRanges.find(address);
    for (const auto& context : state().contexts)
        if (!context->destroyed && !hasPages(found->second, context.get()))
            memoryOf(context.get()).unmapHost(pointerOf(address));
    state().hostRanges.erase(found);
}

void dropHostRangesOf(CUcontext context) {
    std::vector<std::uintptr_t> gone;
    for (const auto& [address, range] : state().hostRanges)
        if (range.owner == context && range.kind != HostRange::Kind::allocated) gone.push_back(address);
    for (const std::uintptr_t address : gone) withdrawHostRange(address);
}

namespace simulated {

CUresult cuMemAllocHost(void** address, std::size_t bytes) {
    return cuMemHostAlloc(address, bytes, 0);
}
CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned flags) {
    return call([&] {
        CUcontext context = current();
        requireSafe();
        requireOutput(address);
        require(bytes > 0 && (flags & ~kHostAllocFlags) == 0, CUDA_ERROR_INVALID_VALUE,
                "an allocation of 0 bytes, or unknown flags");
        HostRange range = {bytes, flags, HostRange::Kind::allocated, context->root, state().nextId++, nullptr};
        try {
            range.memory = std::make_shared<sim::HostBacking>(bytes);
        } catch (const Error& error) {
            throw Failure{CUDA_ERROR_OUT_OF_MEMORY, error.what()};
        }
        *address = range.memory->data();
        publishHostRange(reinterpret_cast<std::uintptr_t>(*address), range);
    });
}
CUresult cuMemFreeHost(void* pointer) {
    return call([&] {
        current();
        requireSafe();
        pinnedAt(pointer, HostRange::Kind::allocated, CUDA_ERROR_INVALID_VALUE);
        waitForEverybody();
        withdrawHostRange(reinterpret_cast<std::uintptr_t>(pointer));
    });
}
CUresult cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
    return call([&] {
        CUcontext context = current();
        requireSafe();
        require(pointer && bytes > 0 && (flags & ~kHostRegisterFlags) == 0, CUDA_ERROR_INVALID_VALUE,
                "no memory, or unknown flags");
        const auto address = reinterpret_cast<std::uintptr_t>(pointer);
        require(!overlapsAny(address, bytes), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                "some of it is registered already");
        publishHostRange(address,
                         {bytes, flags, HostRange::Kind::registered, context->root, state().nextId++, nullptr});
    });
}
CUresult cuMemHostUnregister(void* pointer) {
    return call([&] {
        current();
        requireSafe();
        pinnedAt(pointer, HostRange::Kind::registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        waitForEverybody();
        withdrawHostRange(reinterpret_cast<std::uintptr_t>(pointer));
    });
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* pointer, unsigned flags) {
    return call([&] {
        CUcontext context = current();
        requireOutput(address);
        const auto value = reinterpret_cast<CUdeviceptr>(pointer);
        require(flags == 0 && pointer && locate(context, value).kind == MemoryKind::pinned, CUDA_ERROR_INVALID_VALUE,
                "not memory that is pinned");
        *address = value;
    });
}
CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
    return call([&] {
        current();
        requireOutput(flags);
        // All pinned memory is portable and mapped, as unified addressing has it.
        constexpr unsigned kPortable = 1, kMapped = 2;
        *flags = pinnedAt(pointer, HostRange::Kind::allocated, CUDA_ERROR_INVALID_VALUE).flags | kPortable | kMapped;
    });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
    return call([&] {
        CUcontext context = current();
        requireSafe();
        requireOutput(address);
        require(flags == kAttachGlobal || flags == kAttachHost || flags == kAttachSingle, CUDA_ERROR_INVALID_VALUE,
                "managed memory is attached to all, to the host, or to one stream");
        *address = allocateDevice(context, bytes, Allocation::Kind::managed);
        publishHostRange(*address, {bytes, flags, HostRange::Kind::managed, context->root, state().nextId++, nullptr});
    });
}

// Where managed memory lies does not change; advice is checked and has no effect.
namespace {

/// As calls of CUDA 12 say it: by a device, or a negative number for the host.
CUmemLocation placeOf(CUdevice device) {
    return device < 0 ? CUmemLocation{} : CUmemLocation{kDeviceLocation, device};
}

/// `unknown`: what an H200's driver calls a device that is not there.
CUresult acceptAdvice(CUdeviceptr address, std::size_t bytes, CUmemLocation about, CUresult unknown) {
    return call([&] {
        CUcontext context = current();
        require(about.type != kDeviceLocation || state().devices.count(about.id), unknown, "no such device");
        const Location at = locate(context, address);
        require(at.kind == MemoryKind::managed && bytes > 0 && address + bytes <= at.base + at.bytes,
                CUDA_ERROR_INVALID_VALUE, "not managed memory");
    });
}

}  // namespace

CUresult cuMemAdvise(CUdeviceptr address, std::size_t count, CUmem_advise, CUdevice device) {
    return acceptAdvice(address, count, placeOf(device), CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, std::size_t count, CUmem_advise, CUmemLocation about) {
    return acceptAdvice(address, count, about, CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, std::size_t count, CUdevice device, CUstream) {
    return acceptAdvice(address, count, placeOf(device), CUDA_ERROR_INVALID_DEVICE);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, std::size_t count, CUmemLocation to, unsigned, CUstream) {
    return acceptAdvice(address, count, to, CUDA_ERROR_INVALID_DEVICE);
}

}  // namespace simulated
}  // namespace bulkhead::driver
