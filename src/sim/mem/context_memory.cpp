#include "sim/mem/context_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/error.h"

namespace bulkhead::sim {

namespace {

constexpr Bytes kLargePage = Bytes{2} << 20;

}  // namespace

HostBacking::HostBacking(Bytes bytes) : reservedBytes_(bytes + kLargePage) {
    if (bytes > Bytes{1} << 46) throw Error("cannot reserve {} bytes of host memory", bytes);
    // Only a hint: where the host has something else there, any place will do.
    static std::atomic<std::uintptr_t> nextHint{0x2000'0000'0000};
    const std::uintptr_t hint = nextHint.fetch_add((reservedBytes_ + kLargePage - 1) / kLargePage * kLargePage);
    reserved_ = mmap(reinterpret_cast<void*>(hint), reservedBytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved_ == MAP_FAILED)
        throw Error("cannot reserve {} bytes of host memory for simulated device memory", bytes);
    const auto first = (reinterpret_cast<std::uintptr_t>(reserved_) + kLargePage - 1) / kLargePage * kLargePage;
    data_ = reinterpret_cast<std::uint8_t*>(first);
}

HostBacking::~HostBacking() {
    munmap(reserved_, reservedBytes_);
}

PhysicalBlock::PhysicalBlock(PhysicalMemory& physical, const arch::DeviceProfile& profile, Bytes bytes,
                             const AllocationOptions& options)
    : physical_(physical),
      pageBytes_(options.pageBytes ? options.pageBytes : static_cast<Bytes>(profile.memory.pageBytes)),
      pages_(physical.allocate(bytes, pageBytes_, options.placementGiven ? options.placement : profile.memory.placement,
                               options.colors)) {
    try {
        backing_ = std::make_unique<HostBacking>(this->bytes());
    } catch (...) {
        physical_.release(pages_, pageBytes_);
        throw;
    }
}

PhysicalBlock::~PhysicalBlock() {
    physical_.release(pages_, pageBytes_);
}

ContextMemory::ContextMemory(PhysicalMemory& physical, const arch::DeviceProfile& profile, std::uint32_t index,
                             std::uint32_t place)
    : physical_(physical),
      profile_(profile),
      pageBytes_(static_cast<Bytes>(profile.memory.pageBytes)),
      nextBase_(kFirst + place * kPerGpu + index * kPerContext) {}

VirtualAddress ContextMemory::reserve(Bytes bytes, Bytes alignment) {
    alignment = std::max(alignment, kLargePage);
    const VirtualAddress base = (nextBase_ + alignment - 1) / alignment * alignment;
    // A free page behind it catches overruns.
    nextBase_ = base + (bytes + 2 * kLargePage - 1) / kLargePage * kLargePage;
    return base;
}

ContextMemory::Chunk& ContextMemory::newChunk(Bytes bytes, const AllocationOptions& options, bool atHostAddress) {
    Chunk chunk;
    chunk.block = std::make_unique<PhysicalBlock>(physical_, profile_, bytes, options);
    chunk.bytes = chunk.block->bytes();
    chunk.base = atHostAddress ? reinterpret_cast<VirtualAddress>(chunk.block->data()) : reserve(chunk.bytes, 0);
    return chunks_.emplace(chunk.base, std::move(chunk)).first->second;
}

VirtualAddress ContextMemory::place(Chunk& chunk, Bytes bytes) {
    const VirtualAddress base = chunk.base + chunk.used;
    map(base, *chunk.block, chunk.used, bytes, true);
    chunk.used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    ++chunk.allocations;
    chunkOf_[base] = chunk.base;
    return base;
}

VirtualAddress ContextMemory::allocate(Bytes bytes, const AllocationOptions& options) {
    if (bytes == 0) throw Error("an allocation of 0 bytes");
    const bool plain = !options.pageBytes && options.colors.empty() && !options.placementGiven;
    if (!plain || bytes > pageBytes_ / 2) return place(newChunk(bytes, options, false), bytes);
    const Bytes rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (!open_ || chunks_.at(open_).bytes - chunks_.at(open_).used < rounded)
        open_ = newChunk(pageBytes_, options, false).base;
    return place(chunks_.at(open_), bytes);
}

VirtualAddress ContextMemory::allocateManaged(Bytes bytes, const AllocationOptions& options) {
    if (bytes == 0) throw Error("an allocation of 0 bytes");
    return place(newChunk(bytes, options, true), bytes);
}

void ContextMemory::map(VirtualAddress base, const PhysicalBlock& block, Bytes offset, Bytes bytes, bool writable) {
    Mapping mapping;
    mapping.base = base;
    mapping.bytes = bytes;
    mapping.host = block.data() + offset;
    mapping.pageShift = static_cast<unsigned>(std::countr_zero(block.pageBytes()));
    mapping.frames = block.pages().data() + (offset >> mapping.pageShift);
    mapping.writable = writable;
    space_.map(mapping);
}

void ContextMemory::mapHost(void* host, Bytes bytes) {
    constexpr unsigned kShift = 12;
    const auto base = reinterpret_cast<VirtualAddress>(host);
    std::vector<arch::PhysicalAddress> pages;
    for (VirtualAddress page = base >> kShift; page <= (base + bytes - 1) >> kShift; ++page)
        pages.push_back((page << kShift) % physical_.totalBytes());
    Mapping mapping;
    mapping.base = base;
    mapping.bytes = bytes;
    mapping.host = static_cast<std::uint8_t*>(host);
    mapping.pageShift = kShift;
    mapping.frames = pages.data();
    space_.map(mapping);
    hostPages_[host] = std::move(pages);
}

void ContextMemory::unmapHost(void* host) {
    space_.unmap(reinterpret_cast<VirtualAddress>(host));
    hostPages_.erase(host);
}

void ContextMemory::free(VirtualAddress base) {
    const auto found = chunkOf_.find(base);
    if (found == chunkOf_.end()) throw Error("nothing was allocated at 0x{:x}", base);
    space_.unmap(base);
    const VirtualAddress chunkBase = found->second;
    chunkOf_.erase(found);
    Chunk& chunk = chunks_.at(chunkBase);
    if (--chunk.allocations) return;
    if (open_ == chunkBase) open_ = 0;
    chunks_.erase(chunkBase);
}

std::uint8_t* ContextMemory::host(VirtualAddress address, Bytes bytes) {
    std::uint8_t* at = space_.resolve(address, bytes);
    if (!at) throw Error("0x{:x} and {} bytes from there are not inside one allocation", address, bytes);
    return at;
}

}  // namespace bulkhead::sim
