#include <algorithm>
#include <cstring>

#include "driver/shared_machine.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// Device addresses begin here: no pointer of the host's is as high.
bool isDeviceAddress(CUdeviceptr address) {
    return address >> 48 != 0;
}

const sim::Mapping* mappingIn(CUcontext context, CUdeviceptr address) {
    return context->destroyed || context->root != context ? nullptr : memoryOf(context).space().find(address);
}

/// Calls body(bytes, count) for each stretch of host memory behind a range of device addresses.
template <class Body>
void forEachPiece(CUcontext context, CUdeviceptr address, Bytes bytes, Body&& body) {
    while (bytes > 0) {
        const sim::Mapping* mapping = mappingIn(context, address);
        if (!mapping) throw Error("there is no device memory at 0x{:x}", address);
        const Bytes count = std::min(bytes, mapping->base + mapping->bytes - address);
        body(mapping->host + (address - mapping->base), count);
        address += count;
        bytes -= count;
    }
}

/// Whose allocation an address begins; throws if it begins none.
CUcontext allocatedBy(CUcontext context, CUdeviceptr address) {
    if (context->root->allocations.count(address)) return context->root;
    for (const auto& other : state().contexts)
        if (other->allocations.count(address)) return other.get();
    throw Failure{CUDA_ERROR_INVALID_VALUE, fmt::format("nothing was allocated at 0x{:x}", address)};
}

}  // namespace

Location locate(CUcontext current, CUdeviceptr address) {
    auto host = state().hostRanges.upper_bound(address);
    if (host != state().hostRanges.begin() && address - (--host)->first < host->second.bytes) {
        const HostRange& range = host->second;
        return {range.kind == HostRange::Kind::managed ? MemoryKind::managed : MemoryKind::pinned, range.owner,
                host->first, range.bytes};
    }
    if (!isDeviceAddress(address)) {
        require(!state().machine || HostWindow::holds(address), CUDA_ERROR_INVALID_VALUE,
                "memory of the process that has the GPU");
        return {};
    }
    if (const sim::Mapping* mapping = mappingIn(current->root, address))
        return {MemoryKind::device, current->root, mapping->base, mapping->bytes};
    for (const auto& other : state().contexts)
        if (const sim::Mapping* mapping = mappingIn(other.get(), address))
            return {MemoryKind::device, other.get(), mapping->base, mapping->bytes};
    throw Failure{CUDA_ERROR_INVALID_VALUE, fmt::format("there is no device memory at 0x{:x}", address)};
}

void readDevice(CUcontext context, CUdeviceptr address, void* to, Bytes bytes) {
    auto* target = static_cast<std::uint8_t*>(to);
    forEachPiece(context, address, bytes, [&](const std::uint8_t* piece, Bytes count) {
        std::memmove(target, piece, count);
        target += count;
    });
    gpuOf(context).copiedFrom(context->root->id, address, bytes);
}

namespace {

void putBytes(CUcontext context, CUdeviceptr address, const void* from, Bytes bytes) {
    const auto* source = static_cast<const std::uint8_t*>(from);
    forEachPiece(context, address, bytes, [&](std::uint8_t* piece, Bytes count) {
        std::memmove(piece, source, count);
        source += count;
    });
}

}  // namespace

void writeDevice(CUcontext context, CUdeviceptr address, const void* from, Bytes bytes) {
    putBytes(context, address, from, bytes);
    gpuOf(context).copiedTo(context->root->id, address, bytes);
}

void fillDevice(CUcontext context, CUdeviceptr address, const void* from, Bytes bytes) {
    putBytes(context, address, from, bytes);
    gpuOf(context).filled(context->root->id, address, bytes);
}

void moveDevice(CUcontext toContext, CUdeviceptr to, CUcontext fromContext, CUdeviceptr from, Bytes bytes) {
    forEachPiece(fromContext, from, bytes, [&](const std::uint8_t* piece, Bytes count) {
        writeDevice(toContext, to, piece, count);
        to += count;
    });
    gpuOf(fromContext).copiedFrom(fromContext->root->id, from, bytes);
}

void requireDeviceRange(CUcontext context, CUdeviceptr address, Bytes bytes) {
    try {
        forEachPiece(context, address, bytes, [](std::uint8_t*, Bytes) {});
    } catch (const Error& error) {
        throw Failure{CUDA_ERROR_INVALID_VALUE, error.what()};
    }
}

double deviceSeconds(CUcontext context, Bytes moved) {
    return static_cast<double>(moved) / (gpuOf(context).profile().dramGBps() * 1e9);
}
double linkSeconds(CUcontext context, Bytes moved) {
    return static_cast<double>(moved) / (static_cast<double>(gpuOf(context).profile().hostLink.mbPerS) * 1e6);
}

CUdeviceptr allocateDevice(CUcontext context, Bytes bytes, Allocation::Kind kind, CUmemoryPool pool) {
    require(bytes > 0, CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
    CUcontext root = context->root;
    try {
        const CUdeviceptr address = kind == Allocation::Kind::managed
                                        ? memoryOf(root).allocateManaged(bytes, root->placement)
                                        : memoryOf(root).allocate(bytes, root->placement);
        root->allocations[address] = {kind, bytes, state().nextId++, pool, {}, {}};
        if (pool) pool->usedHigh = std::max(pool->usedHigh, pool->used += bytes);
        return address;
    } catch (const Error& error) {
        throw Failure{CUDA_ERROR_OUT_OF_MEMORY, error.what()};
    }
}

void freeDevice(CUcontext context, CUdeviceptr address) {
    CUcontext owner = allocatedBy(context, address);
    const auto found = owner->allocations.find(address);
    if (found->second.pool) found->second.pool->used -= found->second.bytes;
    withdrawPooled(address, found->second);
    owner->allocations.erase(found);
    memoryOf(owner).free(address);
}

namespace simulated {

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
    return call([&] {
        CUcontext context = current();
        const sim::PhysicalMemory& memory = gpuOf(context).physicalMemory();
        if (free) *free = memory.freeBytes();
        if (total) *total = memory.totalBytes();
    });
}
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
    return call([&] {
        requireOutput(address);
        CUcontext context = current();
        requireSafe();
        *address = allocateDevice(context, bytes, Allocation::Kind::device);
    });
}
CUresult cuMemAllocPitch(CUdeviceptr* address, std::size_t* pitch, std::size_t widthBytes, std::size_t height,
                         unsigned elementBytes) {
    return call([&] {
        CUcontext context = current();
        requireOutput(address, pitch);
        requireSafe();
        require(elementBytes == 4 || elementBytes == 8 || elementBytes == 16, CUDA_ERROR_INVALID_VALUE,
                "elements of 4, 8 or 16 bytes");
        require(widthBytes > 0 && height > 0, CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
        constexpr std::size_t kRowAlignment = 512;
        require(widthBytes <= (std::size_t{1} << 31) && height <= (std::size_t{1} << 31), CUDA_ERROR_INVALID_VALUE,
                "rows too long, or too many");
        const std::size_t row = (widthBytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
        *address = allocateDevice(context, row * height, Allocation::Kind::device);
        *pitch = row;
    });
}
CUresult cuMemFree(CUdeviceptr address) {
    return call([&] {
        CUcontext context = current();
        requireSafe();
        if (address == 0 || freeGraphMemory(context, address, nullptr)) return;
        CUcontext owner = allocatedBy(context, address);
        waitForUsersOf(owner);
        if (state().hostRanges.count(address)) withdrawHostRange(address);
        freeDevice(context, address);
    });
}
CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
    return call([&] {
        CUcontext context = current();
        const Location at = locate(context, address);
        require(at.kind != MemoryKind::pageable, CUDA_ERROR_NOT_FOUND, "not memory of the driver's");
        if (base) *base = at.base;
        if (bytes) *bytes = at.bytes;
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
