#include "sim/exec/memory_access.h"

#include <algorithm>
#include <type_traits>

#include "sim/exec/cluster.h"

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

namespace {

constexpr LaneMask bit(unsigned lane) {
    return LaneMask{1} << lane;
}
unsigned firstOf(LaneMask m) {
    return static_cast<unsigned>(std::countr_zero(m));
}

/// All ones for lanes in the mask: loops over all lanes with a blend vectorise, loops over set bits do not.
constexpr std::uint64_t select(LaneMask m, unsigned lane) {
    return -static_cast<std::uint64_t>((m >> lane) & 1);
}

/// Two lanes' addresses: every host has registers for that. Left to themselves compilers do the 64-bit loops below one
/// lane at a time.
using Pair __attribute__((vector_size(16))) = std::uint64_t;
using Quad __attribute__((vector_size(16))) = std::uint32_t;

/// 0, or the window's number; windows are 2^40 bytes apart.
constexpr unsigned kWindowShift = 40;
static_assert(kSharedWindow == 1ull << kWindowShift && kLocalWindow == 2ull << kWindowShift &&
              kParamWindow == 3ull << kWindowShift && kCodeWindow == 4ull << kWindowShift);
constexpr std::uint64_t kWindows = 4ull << kWindowShift;  ///< bytes from the first window to the end of the last

std::string distanceNote(const AddressSpace& memory, std::uint64_t address, unsigned size) {
    const Mapping* m = memory.nearest(address);
    if (!m) return "nothing is allocated";
    const std::uint64_t end = m->base + m->bytes;
    const std::string range = fmt::format("[{:#x}, {:#x})", m->base, end);
    if (address < m->base) return fmt::format("{} bytes before the nearest allocation {}", m->base - address, range);
    if (address >= end) return fmt::format("{} bytes past the nearest allocation {}", address - end, range);
    return fmt::format("the last {} of {} bytes lie past the allocation {}", address + size - end, size, range);
}

/// Bytes that lie outside of every allocation, but in a page that one of them is in: hardware knows no finer bounds.
/// Null where it would fault.
std::uint8_t* besideAllocation(const AddressSpace& memory, std::uint64_t address, unsigned bytes) {
    const Mapping* m = memory.nearest(address);
    if (!m) return nullptr;
    const std::uint64_t page = std::uint64_t{1} << m->pageShift;
    const std::uint64_t begin = m->base & ~(page - 1), end = ((m->base + m->bytes - 1) | (page - 1)) + 1;
    return address >= begin && address + bytes <= end ? m->host + (address - m->base) : nullptr;
}

/// One lane's bytes, aligned to `align`.
std::uint8_t* locateGlobalLane(const Instr& i, Warp& w, unsigned lane, std::uint64_t address, unsigned bytes,
                               unsigned align, bool writes) {
    const AddressSpace& memory = *w.launch().memory;
    if (address % align) w.failAddress(LaunchError::Cause::misalignedAddress, i, lane, address);
    const Mapping* mapping = memory.find(address, w.mappingHint());
    if (!mapping || !mapping->contains(address, bytes)) {
        std::uint8_t* const beside =
            w.launch().overruns && !writes ? besideAllocation(memory, address, bytes) : nullptr;
        if (beside) {
            w.noteOverrun(i, distanceNote(memory, address, bytes));
            return beside;
        }
        w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address, distanceNote(memory, address, bytes));
    }
    if (writes && !mapping->writable)
        w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address, "memory that may only be read");
    return mapping->host + (address - mapping->base);
}

/// Each lane on its own: lanes may be in different mappings, and the first one that is wrong is named.
void locateGlobalLanes(const Instr& i, Warp& w, Access& a, Places& p, bool writes) {
    p.linear = false;
    for (LaneMask m = a.lanes; m; m &= m - 1) {
        const unsigned lane = firstOf(m);
        p.lane[lane] = locateGlobalLane(i, w, lane, a.address[lane], a.bytes, a.bytes, writes);
    }
}

struct Span {
    std::uint64_t low, high, all;  ///< all: every address ORed together
};
Span spanOf(const Access& a) {
    constexpr unsigned kChains = 4;
    Pair low[kChains], high[kChains], all[kChains] = {};
    for (unsigned c = 0; c < kChains; ++c) std::memcpy(&low[c], a.address + 2 * c, sizeof low[c]);
    std::copy(low, low + kChains, high);
    for (unsigned lane = 0; lane < kLanes; lane += 2 * kChains) {
        for (unsigned c = 0; c < kChains; ++c) {
            Pair pair;
            std::memcpy(&pair, a.address + lane + 2 * c, sizeof pair);
            low[c] = pair < low[c] ? pair : low[c];
            high[c] = pair > high[c] ? pair : high[c];
            all[c] |= pair;
        }
    }
    Span s{low[0][0], high[0][0], 0};
    for (unsigned c = 0; c < kChains; ++c) {
        for (unsigned k = 0; k < 2; ++k) {
            s.low = std::min<std::uint64_t>(s.low, low[c][k]);
            s.high = std::max<std::uint64_t>(s.high, high[c][k]);
            s.all |= all[c][k];
        }
    }
    return s;
}

void locateGlobal(const Instr& i, Warp& w, Access& a, Places& p, bool writes) {
    const AddressSpace& memory = *w.launch().memory;
    std::uint64_t low = a.address[0], bytes = a.bytes, all = low;
    if (a.pattern == AccessPattern::consecutive) {
        bytes *= kLanes;
    } else if (a.pattern == AccessPattern::scattered) {
        const Span s = spanOf(a);
        low = s.low;
        all = s.all;
        bytes += s.high - s.low;
    }
    const Mapping* mapping = memory.find(low, w.mappingHint());
    if (!mapping || !mapping->contains(low, bytes) || (all & (a.bytes - 1u)) || (writes && !mapping->writable))
        [[unlikely]]
        return locateGlobalLanes(i, w, a, p, writes);
    p.layLinear(reinterpret_cast<std::uintptr_t>(mapping->host) - mapping->base);
}

/// Of an address of an SM's own memory, hardware takes 32 bits: `shared[threadIdx.x - 1]` may add 2^34 - 4 in a 64-bit
/// register.
void wrapAddresses(Access& a) {
    for (std::uint64_t& address : a.address) address = static_cast<std::uint32_t>(address);
    a.pattern = AccessPattern::scattered;
}

/// The same, of shared memory, where an address may name its own block.
void wrapShared(Access& a, std::uint32_t own) {
    wrapAddresses(a);
    for (std::uint64_t& address : a.address)
        if (address == ClusterAddress::of(ClusterAddress::offsetIn(address), own))
            address = ClusterAddress::offsetIn(address);
}

/// Memory that begins at offset 0 and is one piece for all lanes.
void locateFlat(const Instr& i, Warp& w, Access& a, Places& p, std::uint8_t* bytes, std::uint64_t size,
                const char* what) {
    Span s{a.address[0], a.address[0], a.address[0]};
    if (a.pattern == AccessPattern::consecutive)
        s.high = a.address[kLanes - 1];
    else if (a.pattern == AccessPattern::scattered)
        s = spanOf(a);
    if (s.high >= size || size - s.high < a.bytes || (s.all & (a.bytes - 1u))) [[unlikely]] {
        if (a.space == Space::shared) wrapShared(a, w.block().rank);
        for (LaneMask m = a.lanes; m; m &= m - 1) {
            const unsigned lane = firstOf(m);
            const std::uint64_t address = a.address[lane];
            if (address % a.bytes) w.failAddress(LaunchError::Cause::misalignedAddress, i, lane, address);
            if (address >= size || size - address < a.bytes)
                w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address,
                              fmt::format("outside the {} bytes of {}", size, what));
        }
    }
    p.layLinear(reinterpret_cast<std::uintptr_t>(bytes));
}

/// The lanes' own memory: local memory and the parameter areas of calls.
template <class Place>
void locatePrivate(const Instr& i, Warp& w, Access& a, Places& p, std::uint64_t size, const char* what, Place place) {
    p.linear = false;
    for (LaneMask m = a.lanes; m; m &= m - 1) {
        const unsigned lane = firstOf(m);
        if (a.address[lane] >= size) [[unlikely]]
            wrapAddresses(a);
        const std::uint64_t address = a.address[lane];
        if (address % a.bytes) w.failAddress(LaunchError::Cause::misalignedAddress, i, lane, address);
        if (address >= size || size - address < a.bytes)
            w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address,
                          fmt::format("outside the {} bytes of {}", size, what));
        p.lane[lane] = place(lane, address);
    }
}

/// Shared memory of other blocks of the cluster.
void locateRemote(const Instr& i, Warp& w, const Access& a, Places& p) {
    Cluster& cluster = *w.block().cluster;
    p.linear = false;
    for (LaneMask m = a.lanes; m; m &= m - 1) {
        const unsigned lane = firstOf(m);
        const std::uint64_t address = a.address[lane];
        const std::uint32_t rank = ClusterAddress::rankIn(address, w.block().rank);
        const std::uint32_t offset = ClusterAddress::offsetIn(address);
        if (rank >= cluster.size())
            w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address,
                          fmt::format("there is no block {} in a cluster of {}", rank, cluster.size()));
        const std::span<std::uint8_t> shared = cluster.sharedOf(rank);
        if (offset % a.bytes) w.failAddress(LaunchError::Cause::misalignedAddress, i, lane, address);
        if (offset >= shared.size() || shared.size() - offset < a.bytes)
            w.failAddress(
                LaunchError::Cause::illegalAddress, i, lane, address,
                fmt::format("outside the {} bytes of shared memory of block {} of the cluster", shared.size(), rank));
        if (cluster.hasEnded(rank))
            w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address,
                          fmt::format("block {} of the cluster has ended", rank));
        p.lane[lane] = shared.data() + offset;
    }
}

void locateParam(const Instr& i, Warp& w, Access& a, Places& p, bool writes) {
    const std::vector<std::uint8_t>& block = w.launch().params;
    const unsigned first = firstOf(a.lanes);
    if (a.address[first] >= kCallParamBase) {
        for (LaneMask m = a.lanes; m; m &= m - 1) a.address[firstOf(m)] -= kCallParamBase;
        locatePrivate(i, w, a, p, w.code().paramBytes, "the function's parameters",
                      [&w](unsigned lane, std::uint64_t offset) { return w.callParams(lane) + offset; });
        w.dropAccess();  // registers on hardware: nothing for the memory system
        return;
    }
    if (writes)
        w.failAddress(LaunchError::Cause::illegalAddress, i, first, a.address[first],
                      "a kernel's parameters cannot be written");
    // Loads do not write through this pointer.
    locateFlat(i, w, a, p, const_cast<std::uint8_t*>(block.data()), block.size(), "the kernel's parameters");
}

}  // namespace

namespace {

/// Fills the addresses from next(lane), which gives those of lanes `lane` and `lane + 1`, and finds their pattern while
/// they are in registers: reading back what has just been written stalls some hosts. Four chains of dependent
/// operations side by side, because one would be as slow.
template <class Next>
inline __attribute__((always_inline)) void fillWith(Access& a, Next next) {
    constexpr unsigned kChains = 4;
    const std::uint64_t base = next(0)[0], bytes = a.bytes;
    const Pair first = {base, base}, step = {2 * kChains * bytes, 2 * kChains * bytes};
    Pair notUniform[kChains] = {}, notConsecutive[kChains] = {}, expected[kChains];
    for (unsigned c = 0; c < kChains; ++c) expected[c] = Pair{base + 2 * c * bytes, base + (2 * c + 1) * bytes};
    for (unsigned lane = 0; lane < kLanes; lane += 2 * kChains) {
        for (unsigned c = 0; c < kChains; ++c) {
            const Pair pair = next(lane + 2 * c);
            std::memcpy(a.address + lane + 2 * c, &pair, sizeof pair);
            notUniform[c] |= pair ^ first;
            notConsecutive[c] |= pair ^ expected[c];
            expected[c] += step;
        }
    }
    const auto any = [](const Pair(&p)[kChains]) {
        const Pair all = (p[0] | p[1]) | (p[2] | p[3]);
        return (all[0] | all[1]) != 0;
    };
    a.pattern = !any(notConsecutive) ? AccessPattern::consecutive
                : !any(notUniform)   ? AccessPattern::uniform
                                     : AccessPattern::scattered;
}

/// As next, but lanes outside the mask repeat the first one inside.
template <class Next>
inline __attribute__((always_inline)) void fillMasked(Access& a, Next next) {
    if (a.lanes == kAllLanes) return fillWith(a, next);
    const unsigned leader = firstOf(a.lanes);
    const std::uint64_t value = next(leader & ~1u)[leader & 1];
    const Pair first = {value, value};
    fillWith(a, [&](unsigned lane) {
        const Pair keep = {select(a.lanes, lane), select(a.lanes, lane + 1)};
        return first ^ ((next(lane) ^ first) & keep);
    });
}

}  // namespace

void fillAddresses(const Instr& i, Warp& w, Slot slot, bool addressIs32, std::int64_t displacement, Access& a) {
    const auto offset = static_cast<std::uint64_t>(displacement);
    if (!i.hasAddress) {
        const std::uint64_t address = offset + (i.frameRelative ? w.localBase() : 0);
        for (std::uint64_t& lane : a.address) lane = address;
        a.pattern = AccessPattern::uniform;
    } else if (addressIs32) {
        const std::uint32_t* r = w.lanes<std::uint32_t>(slot);
        const auto offset32 = static_cast<std::uint32_t>(offset);
        const Quad add = {offset32, offset32, 0, 0};
        // Spelled out: what compilers make of a conversion of two words goes by way of memory, and waits for it.
        fillMasked(a, [=](unsigned lane) {
            const auto sum = std::bit_cast<Quad>(Pair{readAs<std::uint64_t>(r + lane), 0}) + add;
            return std::bit_cast<Pair>(__builtin_shufflevector(sum, Quad{}, 0, 4, 1, 5));
        });
    } else {
        const std::uint64_t* r = w.lanes<std::uint64_t>(slot);
        const Pair add = {offset, offset};
        fillMasked(a, [=](unsigned lane) { return readAs<Pair>(r + lane) + add; });
    }
}

void locate(const Instr& i, Warp& w, Access& a, Places& p, bool writes) {
    switch (a.space) {
        case Space::shared: {
            if (a.remote) return locateRemote(i, w, a, p);
            const std::span<std::uint8_t> shared = w.block().shared;
            return locateFlat(i, w, a, p, shared.data(), shared.size(), "the block's shared memory");
        }
        case Space::local:
            return locatePrivate(i, w, a, p, w.localEnd(), "the thread's local memory",
                                 [&w](unsigned lane, std::uint64_t offset) { return w.local(lane, offset); });
        case Space::param:
            return locateParam(i, w, a, p, writes);
        default:
            return locateGlobal(i, w, a, p, writes);
    }
}

LaneMask remoteLanes(const Access& a, const Warp& w) {
    const std::uint32_t own = w.block().rank;
    LaneMask remote = 0;
    for (LaneMask m = a.lanes; m; m &= m - 1)
        if (ClusterAddress::rankIn(a.address[firstOf(m)], own) != own) remote |= bit(firstOf(m));
    return remote;
}

void keepLanes(Access& a, LaneMask lanes) {
    a.lanes = lanes;
    a.pattern = AccessPattern::scattered;
    const std::uint64_t first = a.address[firstOf(lanes)];
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if (!(lanes & bit(lane))) a.address[lane] = first;
}

LaneMask globalLanes(const Access& a) {
    std::uint64_t inWindow = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) inWindow |= a.address[lane] - kSharedWindow < kWindows;
    if (!inWindow) return kAllLanes;
    LaneMask global = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if (a.address[lane] - kSharedWindow >= kWindows) global |= bit(lane);
    return global;
}

LaneMask takeOneSpace(const Instr& i, Warp& w, const std::uint64_t* generic, LaneMask lanes, Access& a) {
    const auto windowOf = [](std::uint64_t address) {
        return address - kSharedWindow < kWindows ? address >> kWindowShift : 0;
    };
    const unsigned first = firstOf(lanes);
    const std::uint64_t window = windowOf(generic[first]), base = window << kWindowShift;
    // Mostly all in one: of windows they differ above its bits.
    std::uint64_t difference = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) difference |= (generic[lane] ^ generic[first]) & select(lanes, lane);
    LaneMask taken = lanes;
    if (difference >> kWindowShift)
        for (LaneMask m = lanes; m; m &= m - 1)
            if (windowOf(generic[firstOf(m)]) != window) taken &= ~bit(firstOf(m));
    switch (window) {
        case 0:
            a.space = Space::global;
            break;
        case kSharedWindow >> kWindowShift:
            a.space = Space::shared;
            break;
        case kLocalWindow >> kWindowShift:
            a.space = Space::local;
            break;
        case kParamWindow >> kWindowShift:
            a.space = Space::param;
            break;
        default:
            w.failAddress(LaunchError::Cause::illegalAddress, i, first, generic[first], "code, not data, lies there");
    }
    a.lanes = taken;
    const Pair windowBase = {base, base};
    fillMasked(a, [&](unsigned lane) { return readAs<Pair>(generic + lane) - windowBase; });
    return taken;
}

std::uint8_t* locateBytes(const Instr& i, Warp& w, unsigned lane, std::uint64_t address, std::uint32_t bytes,
                          bool writes) {
    return locateGlobalLane(i, w, lane, address, bytes, 1, writes);
}

std::uint8_t readGenericByte(const Instr& i, Warp& w, unsigned lane, std::uint64_t address) {
    std::uint64_t generic[kLanes];
    std::fill(generic, generic + kLanes, address);
    Access a{};
    a.bytes = 1;
    takeOneSpace(i, w, generic, bit(lane), a);
    if (a.space == Space::param && a.address[lane] >= kCallParamBase)
        w.fail(LaunchError::Cause::illegalAddress, i, lane, "a call's parameters");
    Places p;
    locate(i, w, a, p, false);
    std::uint8_t byte = *p.of(a, lane);
    if (a.space == Space::global) w.effects().read(a.address[lane], p.of(a, lane), 1, &byte);
    return byte;
}

std::string readGenericString(const Instr& i, Warp& w, unsigned lane, std::uint64_t address) {
    std::string s;
    while (const std::uint8_t c = readGenericByte(i, w, lane, address++)) s += static_cast<char>(c);
    return s;
}

namespace {

/// Stores to other blocks of the cluster, until they show.
struct RemoteStore {
    LaneMask lanes;
    unsigned bytes;
    std::uint8_t* to[kLanes];
    std::uint8_t data[kLanes][16];

    /// Where the bytes go until then.
    static Places of(Warp& w, const Access& a, const Places& p) {
        auto& store = w.effects().defer<RemoteStore>(RemoteStore::run);
        Places places;
        store.lanes = a.lanes;
        store.bytes = a.bytes;
        for (LaneMask m = a.lanes; m; m &= m - 1) {
            const unsigned lane = firstOf(m);
            store.to[lane] = p.of(a, lane);
            places.lane[lane] = store.data[lane];
        }
        return places;
    }
    static bool run(void* what) {
        const auto& store = *static_cast<const RemoteStore*>(what);
        for (LaneMask m = store.lanes; m; m &= m - 1)
            std::memcpy(store.to[firstOf(m)], store.data[firstOf(m)], store.bytes);
        return true;
    }
};

}  // namespace

Places placesUntilShown(Warp& w, const Access& a, const Places& p) {
    return a.remote ? RemoteStore::of(w, a, p) : w.effects().store(a, p);
}

namespace {

/// A value from memory as it stands in a register: extended from Memory to Extended by its sign, then with zeros.
template <class Memory, class Extended, class Register>
Register widen(Memory v) {
    return static_cast<Register>(static_cast<std::make_unsigned_t<Extended>>(static_cast<Extended>(v)));
}

template <class Memory, class Extended, class Register>
void loadElement(const Access& a, const Places& p, unsigned offset, Register* d) {
    using Mask = std::make_unsigned_t<Register>;
    const auto value = [offset](const std::uint8_t* at) {
        return widen<Memory, Extended, Register>(readAs<Memory>(at + offset));
    };
    if (!p.linear) {
        for (LaneMask m = a.lanes; m; m &= m - 1) d[firstOf(m)] = value(p.lane[firstOf(m)]);
    } else if (a.pattern == AccessPattern::uniform) {
        const Register v = value(p.of(a, 0));
        if (a.lanes == kAllLanes)
            std::fill(d, d + kLanes, v);
        else
            for (unsigned lane = 0; lane < kLanes; ++lane)
                d[lane] ^= (d[lane] ^ v) & static_cast<Mask>(select(a.lanes, lane));
    } else if (a.pattern == AccessPattern::consecutive) {
        const std::uint8_t* from = p.of(a, 0);
        if (a.bytes == sizeof(Memory)) {
            if constexpr (sizeof(Memory) == sizeof(Register))
                std::memcpy(d, from, sizeof(Register) * kLanes);
            else
                for (unsigned lane = 0; lane < kLanes; ++lane) d[lane] = value(from + lane * sizeof(Memory));
        } else {
            for (unsigned lane = 0; lane < kLanes; ++lane) d[lane] = value(from + lane * std::size_t{a.bytes});
        }
    } else if (a.lanes == kAllLanes) {
        for (unsigned lane = 0; lane < kLanes; ++lane)
            d[lane] = value(reinterpret_cast<const std::uint8_t*>(p.distance + a.address[lane]));
    } else {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const Register v = value(reinterpret_cast<const std::uint8_t*>(p.distance + a.address[lane]));
            d[lane] ^= (d[lane] ^ v) & static_cast<Mask>(select(a.lanes, lane));
        }
    }
}

template <class Memory, class Extended, class Register>
void loadElements(const Instr& i, Warp& w, const Access& a, const Places& p) {
    for (unsigned e = 0; e < i.elements; ++e)
        loadElement<Memory, Extended, Register>(a, p, e * sizeof(Memory), w.lanes<Register>(i.dst[e]));
}

/// A load of what an atomic of its own SM is about to change.
template <class Memory, class Extended, class Register>
struct DeferredLoad {
    unsigned elements;
    LaneMask lanes;
    Register* to[4];
    std::uint8_t* from[kLanes];
    const Warp* warp;
    std::uint32_t starts;

    static bool run(void* what) {
        const auto& load = *static_cast<const DeferredLoad*>(what);
        if (load.warp->starts() != load.starts) return false;  // another warp has begun in its place
        for (unsigned e = 0; e < load.elements; ++e)
            for (LaneMask m = load.lanes; m; m &= m - 1)
                load.to[e][firstOf(m)] =
                    widen<Memory, Extended, Register>(readAs<Memory>(load.from[firstOf(m)] + e * sizeof(Memory)));
        return false;
    }
};

/// A load of something that its SM has pending effects on.
template <class Memory, class Extended, class Register>
void loadPending(const Instr& i, Warp& w, const Access& a, const Places& p, bool atomics) {
    if (!atomics) {
        std::uint8_t bytes[kLanes][16];
        Places copy;
        for (LaneMask m = a.lanes; m; m &= m - 1) {
            const unsigned lane = firstOf(m);
            w.effects().read(a.address[lane], p.of(a, lane), a.bytes, bytes[lane]);
            copy.lane[lane] = bytes[lane];
        }
        return loadElements<Memory, Extended, Register>(i, w, a, copy);
    }
    using Deferred = DeferredLoad<Memory, Extended, Register>;
    auto& load = w.effects().defer<Deferred>(a, Deferred::run);
    load.elements = i.elements;
    load.lanes = a.lanes;
    load.warp = &w;
    load.starts = w.starts();
    for (unsigned e = 0; e < i.elements; ++e) load.to[e] = w.lanes<Register>(i.dst[e]);
    for (LaneMask m = a.lanes; m; m &= m - 1) load.from[firstOf(m)] = p.of(a, firstOf(m));
    w.deferLoad();
}

template <class Memory, class Extended, class Register>
void runLoad(const Instr& i, Warp& w, LaneMask mask) {
    accessMemory(i, w, mask, AccessKind::load, [&](const Access& a, const Places& p) {
        if (a.remote && !w.effects().showAtOnce()) [[unlikely]]
            return loadPending<Memory, Extended, Register>(i, w, a, p, true);
        if (a.space == Space::global) {
            const auto seen = w.effects().seenBy(a, p);
            if (seen != PendingEffects::Seen::memory) [[unlikely]]
                return loadPending<Memory, Extended, Register>(i, w, a, p, seen == PendingEffects::Seen::atomics);
        }
        loadElements<Memory, Extended, Register>(i, w, a, p);
    });
}

template <class Memory, class Register>
void storeElement(const Access& a, const Places& p, unsigned offset, const Register* s) {
    if (p.linear && a.pattern == AccessPattern::uniform) {
        // Lanes write in ascending order: the last one stays.
        const auto last = static_cast<unsigned>(std::bit_width(a.lanes)) - 1;
        writeAs(p.of(a, 0) + offset, static_cast<Memory>(s[last]));
    } else if (p.linear && a.pattern == AccessPattern::consecutive) {
        std::uint8_t* to = p.of(a, 0);
        if (sizeof(Memory) == sizeof(Register) && a.bytes == sizeof(Memory))
            std::memcpy(to, s, sizeof(Register) * kLanes);
        else
            for (unsigned lane = 0; lane < kLanes; ++lane)
                writeAs(to + offset + lane * std::size_t{a.bytes}, static_cast<Memory>(s[lane]));
    } else {
        for (LaneMask m = a.lanes; m; m &= m - 1) {
            const unsigned lane = firstOf(m);
            writeAs(p.of(a, lane) + offset, static_cast<Memory>(s[lane]));
        }
    }
}

template <class Memory, class Register>
void runStore(const Instr& i, Warp& w, LaneMask mask) {
    accessMemory(i, w, mask, AccessKind::store, [&](const Access& a, const Places& p) {
        const auto write = [&](const Places& to) {
            for (unsigned e = 0; e < i.elements; ++e)
                storeElement<Memory, Register>(a, to, e * sizeof(Memory), w.lanes<Register>(i.src[1 + e]));
        };
        isShownLater(a, w) ? write(placesUntilShown(w, a, p)) : write(p);
    });
}

template <class Memory, class Extended, class Register>
void runLoadCallParam(const Instr& i, Warp& w, LaneMask mask) {
    for (unsigned e = 0; e < i.elements; ++e) {
        Register* d = w.lanes<Register>(i.dst[e]);
        for (LaneMask m = mask; m; m &= m - 1) {
            const unsigned lane = firstOf(m);
            const std::uint8_t* from = w.callParams(lane) + i.immediate + e * sizeof(Memory);
            d[lane] = widen<Memory, Extended, Register>(readAs<Memory>(from));
        }
    }
}

template <class Memory, class Register>
void runStoreCallParam(const Instr& i, Warp& w, LaneMask mask) {
    for (unsigned e = 0; e < i.elements; ++e) {
        const Register* s = w.lanes<Register>(i.src[1 + e]);
        for (LaneMask m = mask; m; m &= m - 1) {
            const unsigned lane = firstOf(m);
            writeAs(w.callParams(lane) + i.immediate + e * sizeof(Memory), static_cast<Memory>(s[lane]));
        }
    }
}

template <class Memory, class Extended, class Register>
struct Load {
    static constexpr Handler memory = runLoad<Memory, Extended, Register>;
    static constexpr Handler callParam = runLoadCallParam<Memory, Extended, Register>;
};
template <class Memory, class Register>
struct Store {
    static constexpr Handler memory = runStore<Memory, Register>;
    static constexpr Handler callParam = runStoreCallParam<Memory, Register>;
};

using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Which load it is; choose(Load<...>{}) makes a handler of it.
template <class Choose>
Handler chooseLoad(Type memory, unsigned registerBits, Choose choose) {
    const unsigned bits = ptx::bitsOf(memory);
    if (registerBits < bits || registerBits > 64) return nullptr;
    const bool negative = ptx::isSigned(memory), wide = registerBits == 64;
    switch (bits) {
        case 8:
            if (!negative) return wide ? choose(Load<u8, u64, u64>{}) : choose(Load<u8, u32, u32>{});
            if (registerBits == 8) return choose(Load<u8, u32, u32>{});
            if (registerBits == 16) return choose(Load<s8, s16, u32>{});
            return wide ? choose(Load<s8, s64, u64>{}) : choose(Load<s8, s32, u32>{});
        case 16:
            if (!negative || registerBits == 16)
                return wide ? choose(Load<u16, u64, u64>{}) : choose(Load<u16, u32, u32>{});
            return wide ? choose(Load<s16, s64, u64>{}) : choose(Load<s16, s32, u32>{});
        case 32:
            if (!wide) return choose(Load<u32, u32, u32>{});
            return negative ? choose(Load<s32, s64, u64>{}) : choose(Load<u32, u64, u64>{});
        case 64:
            return choose(Load<u64, u64, u64>{});
        default:
            return nullptr;
    }
}

template <class Choose>
Handler chooseStore(Type memory, unsigned registerBits, Choose choose) {
    const unsigned bits = ptx::bitsOf(memory);
    if (registerBits < bits || registerBits > 64) return nullptr;
    const bool wide = registerBits == 64;
    switch (bits) {
        case 8:
            return wide ? choose(Store<u8, u64>{}) : choose(Store<u8, u32>{});
        case 16:
            return wide ? choose(Store<u16, u64>{}) : choose(Store<u16, u32>{});
        case 32:
            return wide ? choose(Store<u32, u64>{}) : choose(Store<u32, u32>{});
        case 64:
            return choose(Store<u64, u64>{});
        default:
            return nullptr;
    }
}

}  // namespace

Handler loadHandler(Type memory, unsigned registerBits) {
    return chooseLoad(memory, registerBits, [](auto load) { return load.memory; });
}
Handler loadCallParamHandler(Type memory, unsigned registerBits) {
    return chooseLoad(memory, registerBits, [](auto load) { return load.callParam; });
}
Handler storeHandler(Type memory, unsigned registerBits) {
    return chooseStore(memory, registerBits, [](auto store) { return store.memory; });
}
Handler storeCallParamHandler(Type memory, unsigned registerBits) {
    return chooseStore(memory, registerBits, [](auto store) { return store.callParam; });
}

void runAsyncCopy(const Instr& i, Warp& w, LaneMask mask) {
    std::uint8_t data[kLanes][16] = {};
    std::uint32_t bytes[kLanes];
    LaneMask reading = mask;
    if (i.srcCount > 3) {
        const LaneMask ignore = w.predicate(i.src[3]);
        reading &= i.type == Type::pred ? ignore : ~ignore;
    }
    const std::uint32_t* size = i.srcCount > 2 ? w.lanes<std::uint32_t>(i.src[2]) : nullptr;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        bytes[lane] = size ? size[lane] : i.elementBytes;
        if (!(reading & bit(lane)) || bytes[lane] == 0) {
            reading &= ~bit(lane);
        } else if (bytes[lane] > i.elementBytes) {
            w.fail(LaunchError::Cause::illegalInstruction, i, lane,
                   fmt::format("a source of {} bytes for a copy of {}", bytes[lane], i.elementBytes));
        }
    }
    if (reading) {
        Access& from = w.beginAccess(Space::global, AccessKind::asyncCopy, i.cacheOp, i.elementBytes, reading);
        fillAddresses(i, w, i.src[1], false, static_cast<std::int32_t>(i.extra), from);
        // Only what is read must be there: the last copy of an array may reach past its end and be cut short.
        for (LaneMask m = reading; m; m &= m - 1) {
            const unsigned lane = firstOf(m);
            const std::uint8_t* at =
                locateGlobalLane(i, w, lane, from.address[lane], bytes[lane], i.elementBytes, false);
            w.effects().read(from.address[lane], at, bytes[lane], data[lane]);
        }
    }
    Access& to = w.beginAccess(Space::shared, AccessKind::asyncCopy, i.cacheOp, i.elementBytes, mask);
    fillAddresses(i, w, i.src[0], i.addressIs32, i.immediate, to);
    Places places;
    locate(i, w, to, places, true);
    for (LaneMask m = mask; m; m &= m - 1) {
        const unsigned lane = firstOf(m);
        std::memcpy(places.of(to, lane), data[lane], i.elementBytes);
    }
}

}  // namespace bulkhead::sim
