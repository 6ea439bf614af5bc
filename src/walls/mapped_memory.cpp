#include "walls/mapped_memory.h"

#include <algorithm>
#include <bit>

#include "walls/walled_context.h"

namespace bulkhead::walls {
namespace {

using driver::CUdeviceptr;

[[noreturn]] void refuse(const char* why) {
    throw Failure{driver::CUDA_ERROR_INVALID_VALUE, why};
}

/// The entry of a map of ranges that covers an address; the end where there is none.
template <class Ranges>
auto covering(Ranges& ranges, CUdeviceptr address) {
    auto found = ranges.upper_bound(address);
    if (found == ranges.begin()) return ranges.end();
    --found;
    return address - found->first < found->second.bytes ? found : ranges.end();
}

}  // namespace

CUdeviceptr MappedMemory::reserve(Bytes bytes, Bytes alignment) {
    if (alignment == 0) alignment = ColoredHeap::kAlignment;
    if (bytes == 0 || !std::has_single_bit(alignment)) refuse("addresses of no size or alignment");
    const Bytes more = alignment > ColoredHeap::kAlignment ? alignment : 0;
    const CUdeviceptr allocation = walled_.allocate(bytes + more);
    const CUdeviceptr address = (allocation + alignment - 1) / alignment * alignment;
    reserved_[address] = {bytes, allocation};
    return address;
}

void MappedMemory::free(CUdeviceptr address, Bytes bytes) {
    const auto found = reserved_.find(address);
    if (found == reserved_.end() || found->second.bytes != bytes) refuse("addresses that were not reserved");
    const auto next = mapped_.lower_bound(address);
    if (next != mapped_.end() && next->first < address + bytes) refuse("addresses at which memory is mapped");
    walled_.free(found->second.allocation);
    reserved_.erase(found);
}

MappedMemory::Handle MappedMemory::create(Bytes bytes) {
    if (bytes == 0) refuse("memory of no size");
    created_[++last_].bytes = bytes;
    return last_;
}

void MappedMemory::forgetUnused(Handle handle) {
    const bool isMapped = std::any_of(mapped_.begin(), mapped_.end(),
                                      [&](const auto& mapping) { return mapping.second.handle == handle; });
    if (!isMapped && created_.at(handle).released) created_.erase(handle);
}

void MappedMemory::release(Handle handle) {
    const auto found = created_.find(handle);
    if (found == created_.end() || found->second.released) refuse("memory that was not created, or was released");
    found->second.released = true;
    forgetUnused(handle);
}

void MappedMemory::map(CUdeviceptr address, Bytes bytes, Bytes offset, Handle handle) {
    const auto memory = created_.find(handle);
    const auto range = covering(reserved_, address);
    if (memory == created_.end() || memory->second.released) refuse("memory that was not created, or was released");
    if (range == reserved_.end() || bytes == 0 || bytes > range->first + range->second.bytes - address)
        refuse("addresses that were not reserved");
    if (offset > memory->second.bytes || bytes > memory->second.bytes - offset) refuse("more than was created");
    const auto next = mapped_.lower_bound(address);
    if (covering(mapped_, address) != mapped_.end() || (next != mapped_.end() && next->first < address + bytes))
        refuse("addresses at which memory is mapped");
    Created& created = memory->second;
    if (created.place != 0 && created.place != address - offset)
        throw Failure{driver::CUDA_ERROR_NOT_SUPPORTED,
                      "memory that is mapped to a second address cannot be had behind a memory wall"};
    created.place = address - offset;
    mapped_[address] = {bytes, handle};
}

void MappedMemory::unmap(CUdeviceptr address, Bytes bytes) {
    // Several mappings that follow each other can go at once, but none in part.
    std::vector<CUdeviceptr> whole;
    CUdeviceptr at = address;
    while (at < address + bytes) {
        const auto found = mapped_.find(at);
        if (found == mapped_.end() || at + found->second.bytes > address + bytes)
            refuse("addresses that are not mapped");
        whole.push_back(at);
        at += found->second.bytes;
    }
    for (const CUdeviceptr each : whole) {
        const Handle handle = mapped_.at(each).handle;
        mapped_.erase(each);
        forgetUnused(handle);
    }
}

void MappedMemory::forget() {
    reserved_.clear();
    created_.clear();
    mapped_.clear();
}

bool MappedMemory::isMapped(CUdeviceptr address, Bytes bytes) const {
    for (CUdeviceptr at = address; at < address + bytes;) {
        const auto found = covering(mapped_, at);
        if (found == mapped_.end()) return false;
        at = found->first + found->second.bytes;
    }
    return bytes > 0;
}

}  // namespace bulkhead::walls
