#include "driver/pointer_attributes.h"

#include <cstring>
#include <type_traits>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

unsigned long long bufferIdOf(const Location& at) {
    if (at.kind != MemoryKind::device) return state().hostRanges.at(at.base).id;
    const auto found = at.context->allocations.find(at.base);
    return found == at.context->allocations.end() ? 0 : found->second.id;
}

CUmemoryPool poolOf(const Location& at) {
    if (at.kind != MemoryKind::device) return nullptr;
    const auto found = at.context->allocations.find(at.base);
    return found == at.context->allocations.end() ? nullptr : found->second.pool;
}

/// A pointer that is not the driver's has the attribute zero each time, and is no error.
Location locateAny(CUcontext context, CUdeviceptr address) {
    try {
        return locate(context, address);
    } catch (const Failure&) {
        return {};
    }
}

template <class T>
void put(void* to, T value) {
    if constexpr (std::is_pointer_v<T>)
        put(to, reinterpret_cast<std::uintptr_t>(value));
    else
        std::memcpy(to, &value, sizeof value);
}

void answer(void* data, PointerAttribute attribute, CUdeviceptr pointer, const Location& at) {
    using A = PointerAttribute;
    switch (attribute) {
        case A::context:
            return put(data, at.context);
        case A::memoryType:
            return put(data, at.kind == MemoryKind::pinned ? kHostMemory : kDeviceMemory);
        case A::devicePointer:
            return put(data, pointer);
        case A::hostPointer:
            require(at.kind != MemoryKind::device, CUDA_ERROR_INVALID_VALUE, "the host cannot reach device memory");
            return put(data, reinterpret_cast<void*>(pointer));
        case A::syncMemops:
        case A::isIpcCapable:
        case A::isRdmaCapable:
            return put(data, 0);
        case A::bufferId:
            return put(data, bufferIdOf(at));
        case A::isManaged:
            return put(data, at.kind == MemoryKind::managed ? 1 : 0);
        case A::deviceOrdinal:
            return put(data, at.context->destroyed ? 0 : at.context->device->ordinal);
        case A::rangeStart:
        case A::mappingBase:
            return put(data, at.base);
        case A::rangeBytes:
        case A::mappingBytes:
            return put(data, static_cast<std::size_t>(at.bytes));
        case A::mapped:
            return put(data, 1);
        case A::allowedHandles:
            return put(data, 0ull);
        case A::accessFlags:
            return put(data, 3u);  // read and write
        case A::pool:
            return put(data, poolOf(at));
    }
    throw Failure{CUDA_ERROR_INVALID_VALUE, "no such attribute of a pointer"};
}

}  // namespace

namespace simulated {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    return call([&] {
        CUcontext context = currentContext();
        requireOutput(data);
        const Location at = locate(context, address);
        require(at.kind != MemoryKind::pageable, CUDA_ERROR_INVALID_VALUE, "not memory of the driver's");
        answer(data, static_cast<PointerAttribute>(attribute), address, at);
    });
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    return call([&] {
        CUcontext context = currentContext();
        requireOutput(attributes, data);
        const Location at = locateAny(context, address);
        for (unsigned i = 0; i < count; ++i) {
            const auto attribute = static_cast<PointerAttribute>(attributes[i]);
            const bool isWide = attribute == PointerAttribute::context || attribute == PointerAttribute::pool ||
                                attribute == PointerAttribute::devicePointer ||
                                attribute == PointerAttribute::hostPointer ||
                                attribute == PointerAttribute::rangeStart || attribute == PointerAttribute::rangeBytes;
            const bool none = at.kind == MemoryKind::pageable ||
                              (attribute == PointerAttribute::hostPointer && at.kind == MemoryKind::device);
            if (!none)
                answer(data[i], attribute, address, at);
            else if (attribute == PointerAttribute::deviceOrdinal)
                put(data[i], -2);
            else
                std::memset(data[i], 0, isWide ? sizeof(void*) : sizeof(int));
        }
    });
}
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    return call([&] {
        requireOutput(value);
        locate(current(), address);
        // Copies are ordered as if they were synchronous already.
        require(static_cast<PointerAttribute>(attribute) == PointerAttribute::syncMemops, CUDA_ERROR_INVALID_VALUE,
                "only CU_POINTER_ATTRIBUTE_SYNC_MEMOPS can be set");
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
