// Addresses and memory apart: reserve, create, map, grant access.

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

constexpr CUmemAllocationType kPinned = 1;
constexpr CUmemAllocationHandleType kFileDescriptor = 1;
constexpr Bytes kGranularity = Bytes{2} << 20;

Device& deviceOf(const CUmemAllocationProp* properties) {
    requireOutput(properties);
    require(properties->type == kPinned && properties->location.type == kDeviceLocation, CUDA_ERROR_INVALID_VALUE,
            "only pinned memory of a device can be created");
    require(properties->requestedHandleTypes == 0 || properties->requestedHandleTypes == kFileDescriptor,
            CUDA_ERROR_NOT_SUPPORTED, "memory is shared by file descriptors alone");
    return deviceAt(properties->location.id);
}

std::shared_ptr<PhysicalHandle>& physicalAt(CUmemGenericAllocationHandle handle) {
    const auto found = state().physical.find(handle);
    require(found != state().physical.end(), CUDA_ERROR_INVALID_VALUE, "no such allocation handle");
    return found->second;
}

/// The reservation that holds all of a range.
Reservation& reservationOf(CUcontext root, CUdeviceptr address, Bytes bytes) {
    auto found = root->reservations.upper_bound(address);
    const bool inside = found != root->reservations.begin() &&
                        address - std::prev(found)->first < std::prev(found)->second.bytes &&
                        bytes <= std::prev(found)->second.bytes - (address - std::prev(found)->first);
    require(inside, CUDA_ERROR_INVALID_VALUE, "addresses that were not reserved");
    return std::prev(found)->second;
}

/// Mapped pieces that lie in a range, which must consist of whole ones.
std::vector<CUdeviceptr> piecesIn(const Reservation& reservation, CUdeviceptr address, Bytes bytes) {
    std::vector<CUdeviceptr> found;
    CUdeviceptr next = address;
    for (auto it = reservation.pieces.find(address); next < address + bytes; ++it) {
        require(it != reservation.pieces.end() && it->first == next, CUDA_ERROR_INVALID_VALUE,
                "not all of the range is mapped");
        found.push_back(next);
        next += it->second.bytes;
    }
    require(next == address + bytes, CUDA_ERROR_INVALID_VALUE, "a part of what was mapped at once");
    return found;
}

/// The contexts of a device that get access: the one that the addresses are reserved in, or all of another device's.
std::vector<CUcontext> rootsOn(const Device& device, CUcontext reserving) {
    if (reserving->device == &device) return {reserving};
    std::vector<CUcontext> roots;
    for (const auto& context : state().contexts)
        if (!context->destroyed && context->root == context.get() && context->device == &device)
            roots.push_back(context.get());
    return roots;
}

void grant(CUcontext root, CUdeviceptr address, Reservation::Piece& piece, CUmemAccess_flags flags) {
    if (piece.access.count(root)) memoryOf(root).unmap(address);
    piece.access.erase(root);
    if (flags == kNoAccess) return;
    memoryOf(root).map(address, *piece.memory->block, piece.offset, piece.bytes, flags == kReadWrite);
    piece.access[root] = flags == kReadWrite;
}

/// The handle that memory has, held once more, or a new one.
CUmemGenericAllocationHandle anotherHandle(const std::shared_ptr<PhysicalHandle>& memory) {
    const auto known = std::find_if(state().physical.begin(), state().physical.end(),
                                    [&](const auto& entry) { return entry.second == memory; });
    if (known != state().physical.end()) {
        ++memory->references;
        return known->first;
    }
    memory->references = 1;
    state().physical[state().nextId] = memory;
    return state().nextId++;
}

void requireMultiple(Bytes bytes) {
    require(bytes > 0 && bytes % kGranularity == 0, CUDA_ERROR_INVALID_VALUE, "sizes are multiples of 2 MB");
}

}  // namespace

namespace simulated {

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
    return call([&] {
        requireOutput(granularity);
        deviceOf(properties);
        require(option == 0 || option == 1, CUDA_ERROR_INVALID_VALUE, "minimum or recommended granularity");
        *granularity = kGranularity;
    });
}
CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr,
                             unsigned long long flags) {
    return call([&] {
        CUcontext root = current()->root;
        requireOutput(address);
        requireMultiple(bytes);
        require((alignment & (alignment - 1)) == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE,
                "an alignment that is no power of 2, or unknown flags");
        require(bytes < (Bytes{1} << 39) && alignment < (Bytes{1} << 39), CUDA_ERROR_OUT_OF_MEMORY,
                "no room for so many addresses");
        // The address that is asked for is a wish.
        *address = memoryOf(root).reserve(bytes, alignment);
        root->reservations[*address].bytes = bytes;
    });
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
    return call([&] {
        CUcontext root = current()->root;
        const auto found = root->reservations.find(address);
        require(found != root->reservations.end() && found->second.bytes == bytes, CUDA_ERROR_INVALID_VALUE,
                "not a range that was reserved");
        require(found->second.pieces.empty(), CUDA_ERROR_INVALID_VALUE, "memory is still mapped there");
        root->reservations.erase(found);
    });
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
    return call([&] {
        requireOutput(handle);
        Device& device = deviceOf(properties);
        requireMultiple(bytes);
        require(flags == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags");
        auto made = std::make_shared<PhysicalHandle>();
        made->device = device.ordinal;
        made->properties = *properties;
        sim::AllocationOptions options;
        if (!contextStack().empty() && !contextStack().back()->destroyed)
            options = contextStack().back()->root->placement;
        try {
            made->block = std::make_unique<sim::PhysicalBlock>(device.gpu->physicalMemory(), device.gpu->profile(),
                                                               bytes, options);
        } catch (const Error& error) {
            throw Failure{CUDA_ERROR_OUT_OF_MEMORY, error.what()};
        }
        *handle = state().nextId++;
        state().physical[*handle] = std::move(made);
    });
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return call([&] {
        requireInitialized();
        if (--physicalAt(handle)->references == 0) state().physical.erase(handle);
    });
}
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* wanted) {
    return call([&] {
        CUcontext root = current()->root;
        requireOutput(handle);
        const auto address = reinterpret_cast<CUdeviceptr>(wanted);
        Reservation& reservation = reservationOf(root, address, 1);
        const auto after = reservation.pieces.upper_bound(address);
        const bool mapped =
            after != reservation.pieces.begin() && address - std::prev(after)->first < std::prev(after)->second.bytes;
        require(mapped, CUDA_ERROR_INVALID_VALUE, "nothing is mapped there");
        *handle = anotherHandle(std::prev(after)->second.memory);
    });
}
CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    return call([&] {
        requireInitialized();
        requireOutput(shareable);
        const std::shared_ptr<PhysicalHandle>& memory = physicalAt(handle);
        require(type == kFileDescriptor && flags == 0 && memory->properties.requestedHandleTypes == type,
                CUDA_ERROR_INVALID_VALUE, "a kind of sharing that the memory was not made for");
        const int descriptor = memfd_create("bulkhead-memory", MFD_CLOEXEC);
        struct stat file = {};
        require(descriptor >= 0 && fstat(descriptor, &file) == 0, CUDA_ERROR_OPERATING_SYSTEM,
                "no more files can be opened");
        state().shared[file.st_ino] = memory;
        *static_cast<int*>(shareable) = descriptor;
    });
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
    return call([&] {
        requireInitialized();
        requireOutput(handle);
        require(type == kFileDescriptor, CUDA_ERROR_INVALID_VALUE, "memory is shared by file descriptors alone");
        struct stat file = {};
        const auto descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
        require(fstat(descriptor, &file) == 0, CUDA_ERROR_INVALID_VALUE, "not an open file");
        const auto found = state().shared.find(file.st_ino);
        const std::shared_ptr<PhysicalHandle> memory = found == state().shared.end() ? nullptr : found->second.lock();
        require(memory != nullptr, CUDA_ERROR_INVALID_VALUE,
                "not memory of this process's simulated GPUs, or all of its handles were released");
        *handle = anotherHandle(memory);
    });
}
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
    return call([&] {
        requireInitialized();
        requireOutput(properties);
        *properties = physicalAt(handle)->properties;
    });
}
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    return call([&] {
        CUcontext root = current()->root;
        requireMultiple(bytes);
        require(address % kGranularity == 0 && offset % kGranularity == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE,
                "addresses and offsets are multiples of 2 MB");
        const std::shared_ptr<PhysicalHandle>& memory = physicalAt(handle);
        require(offset <= memory->block->bytes() && bytes <= memory->block->bytes() - offset, CUDA_ERROR_INVALID_VALUE,
                "more than was created");
        Reservation& reservation = reservationOf(root, address, bytes);
        for (const auto& [base, piece] : reservation.pieces)
            require(address + bytes <= base || base + piece.bytes <= address, CUDA_ERROR_INVALID_VALUE,
                    "something is mapped there already");
        reservation.pieces[address] = {bytes, offset, memory, {}};
    });
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
    return call([&] {
        CUcontext root = current()->root;
        Reservation& reservation = reservationOf(root, address, bytes);
        const std::vector<CUdeviceptr> pieces = piecesIn(reservation, address, bytes);
        waitForAll(root);
        for (const CUdeviceptr base : pieces) {
            for (const auto& [user, writable] : reservation.pieces.at(base).access) {
                if (user != root && !user->failed) waitForAll(user);
                memoryOf(user).unmap(base);
            }
            reservation.pieces.erase(base);
        }
    });
}
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* description, std::size_t count) {
    return call([&] {
        CUcontext root = current()->root;
        requireOutput(description);
        Reservation& reservation = reservationOf(root, address, bytes);
        const std::vector<CUdeviceptr> pieces = piecesIn(reservation, address, bytes);
        for (std::size_t i = 0; i < count; ++i) {
            const CUmemAccess_flags flags = description[i].flags;
            require(description[i].location.type == kDeviceLocation, CUDA_ERROR_INVALID_DEVICE,
                    "only devices are given access");
            require(flags == kNoAccess || flags == kReadOnly || flags == kReadWrite, CUDA_ERROR_INVALID_VALUE,
                    "no such kind of access");
            const Device& user = deviceAt(description[i].location.id);
            for (const CUdeviceptr base : pieces) {
                Reservation::Piece& piece = reservation.pieces.at(base);
                const Device& owner = deviceAt(piece.memory->device);
                require(&user == &owner || canReach(user, owner), CUDA_ERROR_INVALID_DEVICE,
                        "a device that cannot reach the memory's");
                for (CUcontext given : rootsOn(user, root)) grant(given, base, piece, flags);
            }
        }
    });
}
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
    return call([&] {
        CUcontext root = current()->root;
        requireOutput(flags, location);
        Reservation& reservation = reservationOf(root, address, 1);
        const auto after = reservation.pieces.upper_bound(address);
        *flags = kNoAccess;
        if (after == reservation.pieces.begin() || location->type != kDeviceLocation) return;
        const auto& [base, piece] = *std::prev(after);
        if (address - base >= piece.bytes) return;
        for (const auto& [user, writable] : piece.access)
            if (user->device->ordinal == location->id)
                *flags = static_cast<unsigned long long>(writable ? kReadWrite : kReadOnly);
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
