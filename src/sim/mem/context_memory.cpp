#include "sim/mem/context_memory.h"

#include <sys/mman.h>

#include <bit>

#include "base/error.h"

namespace bulkhead::sim {

HostBacking::HostBacking(Bytes bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw Error("cannot reserve {} bytes of host memory for simulated device memory", bytes);
    data_ = static_cast<std::uint8_t*>(at);
}

HostBacking::~HostBacking() {
    munmap(data_, bytes_);
}

ContextMemory::ContextMemory(PhysicalMemory& physical, const arch::DeviceProfile& profile)
    : physical_(physical), profile_(profile) {}

ContextMemory::~ContextMemory() {
    for (const auto& [base, chunk] : chunks_) physical_.release(chunk.pages, chunk.pageBytes);
}

ContextMemory::Chunk& ContextMemory::newChunk(Bytes bytes, const AllocationOptions& options) {
    Chunk chunk;
    chunk.pageBytes = options.pageBytes ? options.pageBytes : static_cast<Bytes>(profile_.memory.pageBytes);
    chunk.pages = physical_.allocate(
        bytes, chunk.pageBytes, options.placementGiven ? options.placement : profile_.memory.placement, options.color);
    chunk.bytes = chunk.pages.size() * chunk.pageBytes;
    try {
        chunk.host = std::make_unique<HostBacking>(chunk.bytes);
    } catch (...) {
        physical_.release(chunk.pages, chunk.pageBytes);
        throw;
    }
    // A free page between chunks catches overruns.
    chunk.base = nextBase_;
    nextBase_ += (chunk.bytes + 2 * chunk.pageBytes + (2u << 20)) / (2u << 20) * (2u << 20);
    return chunks_.emplace(chunk.base, std::move(chunk)).first->second;
}

VirtualAddress ContextMemory::allocate(Bytes bytes, const AllocationOptions& options) {
    if (bytes == 0) throw Error("an allocation of 0 bytes");
    const bool plain = !options.pageBytes && options.color == PhysicalMemory::kAnyColor && !options.placementGiven;
    const Bytes rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    Chunk* chunk = nullptr;
    if (plain && rounded <= static_cast<Bytes>(profile_.memory.pageBytes) / 2) {
        if (open_ && chunks_.at(open_).bytes - chunks_.at(open_).used >= rounded) {
            chunk = &chunks_.at(open_);
        } else {
            chunk = &newChunk(static_cast<Bytes>(profile_.memory.pageBytes), options);
            open_ = chunk->base;
        }
    } else {
        chunk = &newChunk(bytes, options);
    }
    const VirtualAddress base = chunk->base + chunk->used;
    Mapping mapping;
    mapping.base = base;
    mapping.bytes = bytes;
    mapping.host = chunk->host->data() + chunk->used;
    mapping.pageShift = static_cast<unsigned>(std::countr_zero(chunk->pageBytes));
    mapping.frames = chunk->pages.data() + ((base >> mapping.pageShift) - (chunk->base >> mapping.pageShift));
    space_.map(mapping);
    chunk->used += rounded;
    ++chunk->allocations;
    chunkOf_[base] = chunk->base;
    return base;
}

void ContextMemory::free(VirtualAddress base) {
    const auto found = chunkOf_.find(base);
    if (found == chunkOf_.end()) throw Error("nothing was allocated at 0x{:x}", base);
    space_.unmap(base);
    const VirtualAddress chunkBase = found->second;
    chunkOf_.erase(found);
    Chunk& chunk = chunks_.at(chunkBase);
    if (--chunk.allocations) return;
    physical_.release(chunk.pages, chunk.pageBytes);
    if (open_ == chunkBase) open_ = 0;
    chunks_.erase(chunkBase);
}

Bytes ContextMemory::sizeOf(VirtualAddress base) const {
    const Mapping* mapping = space_.find(base);
    return mapping && mapping->base == base ? mapping->bytes : 0;
}

std::uint8_t* ContextMemory::host(VirtualAddress address, Bytes bytes) {
    std::uint8_t* at = space_.resolve(address, bytes);
    if (!at) throw Error("0x{:x} and {} bytes from there are not inside one allocation", address, bytes);
    return at;
}

}  // namespace bulkhead::sim
