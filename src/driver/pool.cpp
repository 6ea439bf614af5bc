// Stream-ordered allocation. A pool keeps nothing back: what is freed is free at its point of the stream.

#include <cstring>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// CUmemPool_attribute: 1 to 3 are switches of reuse.
constexpr CUmemPool_attribute kLastReuse = 3, kReleaseThreshold = 4, kReservedNow = 5, kReservedHigh = 6, kUsedNow = 7,
                              kUsedHigh = 8;

CUmemoryPool defaultPool(Device& device) {
    if (!device.defaultPool) {
        device.defaultPool = std::make_unique<CUmemPoolHandle_st>();
        device.defaultPool->device = &device;
        remember(device.defaultPool.get());
    }
    return device.defaultPool.get();
}
CUmemoryPool currentPool(Device& device) {
    return device.pool ? device.pool : defaultPool(device);
}

std::uint64_t& counterOf(CUmemoryPool pool, CUmemPool_attribute attribute) {
    switch (attribute) {
        case kReleaseThreshold:
            return pool->releaseThreshold;
        case kReservedNow:
        case kUsedNow:
            return pool->used;
        case kReservedHigh:
        case kUsedHigh:
            return pool->usedHigh;
        default:
            throw Failure{CUDA_ERROR_INVALID_VALUE, "no such attribute of a pool"};
    }
}

/// Lets kernels of a context of another device use an allocation of the pool, as far as the pool says.
void share(CUcontext user, CUcontext owner, CUdeviceptr address, Allocation& allocation) {
    if (std::erase(allocation.sharedWith, user) != 0) memoryOf(user).unmap(address);
    const auto given = allocation.pool->access.find(user->device->ordinal);
    if (given == allocation.pool->access.end() || given->second == kNoAccess) return;
    sim::Mapping mapping = *memoryOf(owner).space().find(address);
    mapping.writable = given->second == kReadWrite;
    memoryOf(user).space().map(mapping);
    allocation.sharedWith.push_back(user);
}

template <class Body>
void forEachRoot(Body&& body) {
    for (const auto& context : state().contexts)
        if (!context->destroyed && context->root == context.get()) body(context.get());
}

/// Of what the pool has given and will give. Kernels that may use it as they could before are done first.
void setAccess(CUmemoryPool pool, CUdevice user, CUmemAccess_flags flags) {
    pool->access[user] = flags;
    forEachRoot([&](CUcontext context) {
        if (context->device->ordinal != user) return;
        waitForAll(context);
        forEachRoot([&](CUcontext owner) {
            for (auto& [address, allocation] : owner->allocations)
                if (allocation.pool == pool) share(context, owner, address, allocation);
        });
    });
}

void allocateFrom(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
    CUcontext context = current();
    requireOutput(address);
    CUstream on = streamOf(context, stream);
    if (!pool) pool = currentPool(*context->device);
    require(known(pool)->device == context->device, CUDA_ERROR_INVALID_VALUE, "a pool of another device");
    if (const std::optional<CUdeviceptr> captured = captureAllocation(context, on, bytes))
        *address = *captured;
    else
        *address = allocateDevice(context, bytes, Allocation::Kind::pooled, pool);
    if (pool->access.empty()) return;
    CUcontext owner = context->root;
    if (const auto made = owner->allocations.find(*address); made != owner->allocations.end() && made->second.pool)
        forEachRoot([&](CUcontext user) {
            if (user->device != owner->device) share(user, owner, *address, made->second);
        });
}

}  // namespace

void withdrawPooled(CUdeviceptr address, Allocation& allocation) {
    for (CUcontext user : allocation.sharedWith) memoryOf(user).unmap(address);
    allocation.sharedWith.clear();
}

void takePooled(CUcontext root) {
    forEachRoot([&](CUcontext owner) {
        for (auto& [address, allocation] : owner->allocations)
            if (allocation.pool && owner->device != root->device) share(root, owner, address, allocation);
    });
}

namespace simulated {

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    return call([&] {
        requireOutput(pool);
        *pool = defaultPool(deviceAt(device));
    });
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    return call([&] {
        requireOutput(pool);
        *pool = currentPool(deviceAt(device));
    });
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    return call([&] {
        Device& on = deviceAt(device);
        require(known(pool)->device == &on, CUDA_ERROR_INVALID_VALUE, "a pool of another device");
        on.pool = pool;
    });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
    return call([&] { allocateFrom(address, bytes, nullptr, stream); });
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
    return call([&] { allocateFrom(address, bytes, known(pool), stream); });
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return call([&] {
        CUcontext context = current();
        CUstream on = streamOf(context, stream);
        if (address == 0 || captureRelease(context, on, address) || freeGraphMemory(context, address, on)) return;
        require(context->root->allocations.count(address) != 0, CUDA_ERROR_INVALID_VALUE,
                "nothing was allocated there");
        require(!state().hostRanges.count(address), CUDA_ERROR_INVALID_VALUE, "managed memory is freed by cuMemFree");
        order(on);
        enqueue(on, 0, [context, address] {
            if (context->root->allocations.count(address)) freeDevice(context, address);
        });
    });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    return call([&] {
        requireOutput(pool, properties);
        require(properties->location.type == kDeviceLocation && properties->handleTypes == 0, CUDA_ERROR_NOT_SUPPORTED,
                "pools hold device memory of this process only");
        auto made = std::make_unique<CUmemPoolHandle_st>();
        made->device = &deviceAt(properties->location.id);
        *pool = remember(made.get());
        state().pools[*pool] = std::move(made);
    });
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return call([&] {
        requireInitialized();
        require(known(pool) != pool->device->defaultPool.get(), CUDA_ERROR_INVALID_VALUE,
                "a device's default pool stays");
        require(pool->used == 0, CUDA_ERROR_INVALID_VALUE, "the pool has allocations left");
        if (pool->device->pool == pool) pool->device->pool = nullptr;
        forget(pool);
        state().pools.erase(pool);
    });
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    return call([&] {
        requireOutput(value);
        known(pool);
        if (attribute >= 1 && attribute <= kLastReuse) {
            const auto found = pool->reuse.find(attribute);
            const int answer = found == pool->reuse.end() ? 1 : found->second;
            std::memcpy(value, &answer, sizeof answer);
            return;
        }
        const std::uint64_t answer = counterOf(pool, attribute);
        std::memcpy(value, &answer, sizeof answer);
    });
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
    return call([&] {
        requireOutput(value);
        known(pool);
        if (attribute >= 1 && attribute <= kLastReuse) {
            std::memcpy(&pool->reuse[attribute], value, sizeof(int));
            return;
        }
        std::uint64_t wanted = 0;
        std::memcpy(&wanted, value, sizeof wanted);
        const bool isHigh = attribute == kReservedHigh || attribute == kUsedHigh;
        require(attribute == kReleaseThreshold || (isHigh && wanted == 0), CUDA_ERROR_INVALID_VALUE,
                "only thresholds can be set, and high marks back to 0");
        if (isHigh) wanted = pool->used;
        counterOf(pool, attribute) = wanted;
    });
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
    return call([&] {
        requireInitialized();
        known(pool);
    });
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) {
    return call([&] {
        requireOutput(access);
        known(pool);
        for (std::size_t i = 0; i < count; ++i) {
            require(access[i].location.type == kDeviceLocation, CUDA_ERROR_INVALID_DEVICE,
                    "only devices are given access");
            const CUmemAccess_flags flags = access[i].flags;
            require(flags == kNoAccess || flags == kReadOnly || flags == kReadWrite, CUDA_ERROR_INVALID_VALUE,
                    "no such kind of access");
            const Device& user = deviceAt(access[i].location.id);
            const bool isOwn = &user == pool->device;
            require(isOwn ? flags == kReadWrite : canReach(user, *pool->device), CUDA_ERROR_INVALID_DEVICE,
                    isOwn ? "a pool's memory is its own device's" : "a device that cannot reach the pool's");
        }
        for (std::size_t i = 0; i < count; ++i)
            if (access[i].location.id != pool->device->ordinal) setAccess(pool, access[i].location.id, access[i].flags);
    });
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
    return call([&] {
        requireOutput(flags, location);
        known(pool);
        require(location->type == kDeviceLocation, CUDA_ERROR_INVALID_VALUE, "only devices are given access");
        const auto given = pool->access.find(deviceAt(location->id).ordinal);
        const bool isOwn = location->id == pool->device->ordinal;
        *flags = isOwn ? kReadWrite : given == pool->access.end() ? kNoAccess : given->second;
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
