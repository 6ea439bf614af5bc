#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "sim/exec/instruction_details.h"
#include "sim/exec/pending_effects.h"
#include "sim/exec/places.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// Each lane's address into a.address, inactive lanes repeating the first active one's; a.pattern.
void fillAddresses(const Instr&, Warp&, Slot address, bool addressIs32, std::int64_t displacement, Access&);

/// Checks every lane's address (alignment, bounds, whether it may be written) and finds the bytes behind them.
void locate(const Instr&, Warp&, Access&, Places&, bool writes);

/// The lanes whose generic addresses lie outside all windows: global memory.
LaneMask globalLanes(const Access&);

/// Takes from `lanes` those whose generic address falls into the same window as the first one's. Makes `a` an access of
/// that space with addresses in it.
LaneMask takeOneSpace(const Instr&, Warp&, const std::uint64_t* generic, LaneMask lanes, Access& a);

/// The lanes whose .shared addresses lie in other blocks of the cluster.
LaneMask remoteLanes(const Access&, const Warp&);

/// Makes `a`, of shared memory, an access of those lanes alone.
void keepLanes(Access& a, LaneMask lanes);

/// Runs body(access, places) on an access whose space is known: twice, if some lanes are in the block's own shared
/// memory and others in another block's.
template <class Body>
inline void accessSpace(const Instr& i, Warp& w, Access& a, bool writes, Body body) {
    Places places;
    if (a.space == ptx::Space::shared && w.block().cluster) [[unlikely]] {
        if (const LaneMask remote = remoteLanes(a, w)) {
            if (const LaneMask own = a.lanes & ~remote) {
                Access& part = w.beginAccess(a.space, a.kind, a.cacheOp, a.bytes, own);
                std::memcpy(part.address, a.address, sizeof part.address);
                keepLanes(part, own);
                locate(i, w, part, places, writes);
                body(part, places);
            }
            keepLanes(a, remote);
            a.remote = true;
        }
    }
    locate(i, w, a, places, writes);
    body(a, places);
}

/// Runs body(access, places) on each space an instruction touches: one, unless it is generic and its lanes differ.
/// adjust(access) may change the addresses that the operand gave.
template <class Adjust, class Body>
inline void accessMemoryAt(const Instr& i, Warp& w, LaneMask mask, AccessKind kind, Adjust adjust, Body body) {
    const bool writes = kind != AccessKind::load;
    Access& a = w.beginAccess(i.space, kind, i.cacheOp, static_cast<unsigned>(i.elementBytes) * i.elements, mask);
    fillAddresses(i, w, i.src[0], i.addressIs32, i.immediate, a);
    adjust(a);
    if (i.space == ptx::Space::none) {
        if (globalLanes(a) != kAllLanes) [[unlikely]] {
            std::uint64_t generic[kLanes];
            std::memcpy(generic, a.address, sizeof generic);
            w.dropAccess();
            for (LaneMask rest = mask; rest;) {
                Access& part =
                    w.beginAccess(i.space, kind, i.cacheOp, static_cast<unsigned>(i.elementBytes) * i.elements, rest);
                rest &= ~takeOneSpace(i, w, generic, rest, part);
                accessSpace(i, w, part, writes, body);
            }
            return;
        }
        a.space = ptx::Space::global;
    }
    accessSpace(i, w, a, writes, body);
}

/// Whether others see an access at the end of the window only, and it sees theirs then: not of a block's own memory.
inline bool isShownLater(const Access& a, const Warp& w) {
    return (a.space == ptx::Space::global || a.remote) && !w.effects().showAtOnce();
}
/// Where such a store's bytes wait until then.
Places placesUntilShown(Warp&, const Access&, const Places&);

template <class Body>
inline void accessMemory(const Instr& i, Warp& w, LaneMask mask, AccessKind kind, Body body) {
    accessMemoryAt(
        i, w, mask, kind, [](Access&) {}, body);
}

template <class T>
inline T readAs(const void* p) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class T>
inline void writeAs(void* p, T v) {
    std::memcpy(p, &v, sizeof v);
}

/// Global memory of one thread: its bytes, all in one allocation. Fails the launch where there are none.
std::uint8_t* locateBytes(const Instr&, Warp&, unsigned lane, std::uint64_t address, std::uint32_t bytes, bool writes);

/// One thread's generic memory, as printf and assert read it. Fails the launch where an access would.
std::uint8_t readGenericByte(const Instr&, Warp&, unsigned lane, std::uint64_t address);
std::string readGenericString(const Instr&, Warp&, unsigned lane, std::uint64_t address);

// Handlers, chosen by the lowering.

/// ld: `memory` is the type in memory, `registerBits` the width of the destination. nullptr if there is none.
Handler loadHandler(ptx::Type memory, unsigned registerBits);
Handler storeHandler(ptx::Type memory, unsigned registerBits);
/// ld.param and st.param of a device function's formals and of calls: moves between registers on hardware.
Handler loadCallParamHandler(ptx::Type memory, unsigned registerBits);
Handler storeCallParamHandler(ptx::Type memory, unsigned registerBits);

/// cp.async: src[0] + immediate in shared memory from src[1] + extra (signed) in global memory, elementBytes long.
/// src[2] is how many bytes to read, the rest is zero (if srcCount > 2); src[3] a predicate: where true, read none (if
/// srcCount > 3; negated if Instr::type is pred).
void runAsyncCopy(const Instr&, Warp&, LaneMask);

}  // namespace bulkhead::sim
