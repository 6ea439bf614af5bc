#include "sim/exec/special_registers.h"

#include <algorithm>
#include <bit>

#include "sim/exec/cluster.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

namespace {

/// value(lane) into the lanes of the mask.
template <class Register, class Value>
void fill(Warp& w, Slot slot, LaneMask mask, Value value) {
    Register* d = w.lanes<Register>(slot);
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        d[lane] = static_cast<Register>(value(lane));
    }
}

std::uint64_t now(const Warp& w) {
    return *w.block().now;
}
std::uint64_t nanoseconds(const Warp& w) {
    return static_cast<std::uint64_t>(static_cast<double>(now(w)) * w.launch().nsPerCycle);
}

using Reader = std::uint64_t (*)(const Warp&, unsigned lane);

template <Reader read, class Register, class Value>
void runSpecial(const Instr& i, Warp& w, LaneMask mask) {
    fill<Register>(w, i.dst[0], mask, [&w](unsigned lane) { return static_cast<Value>(read(w, lane)); });
}

struct SpecialRegister {
    std::string_view name;
    Handler into16, into32, into64;
};

template <Reader read>
constexpr SpecialRegister entry(std::string_view name) {
    return {name, runSpecial<read, std::uint32_t, std::uint16_t>, runSpecial<read, std::uint32_t, std::uint32_t>,
            runSpecial<read, std::uint64_t, std::uint64_t>};
}

constexpr std::uint64_t zero(const Warp&, unsigned) {
    return 0;
}

// A grid without clusters is a grid of clusters of one block.
constexpr SpecialRegister kSpecialRegisters[] = {
    entry<[](const Warp& w, unsigned lane) -> std::uint64_t { return w.tid(0)[lane]; }>("tid.x"),
    entry<[](const Warp& w, unsigned lane) -> std::uint64_t { return w.tid(1)[lane]; }>("tid.y"),
    entry<[](const Warp& w, unsigned lane) -> std::uint64_t { return w.tid(2)[lane]; }>("tid.z"),
    entry<zero>("tid.w"),
    // Where cooperative groups find what a grid synchronises by: the address's upper half, then the lower.
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return (w.launch().gridWorkspace >> 32); }>("envreg1"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().gridWorkspace & 0xffff'ffff; }>("envreg2"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().block.x; }>("ntid.x"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().block.y; }>("ntid.y"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().block.z; }>("ntid.z"),
    entry<zero>("ntid.w"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.x; }>("ctaid.x"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.y; }>("ctaid.y"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.z; }>("ctaid.z"),
    entry<zero>("ctaid.w"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().grid.x; }>("nctaid.x"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().grid.y; }>("nctaid.y"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().grid.z; }>("nctaid.z"),
    entry<zero>("nctaid.w"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.x / w.launch().cluster.x; }>(
        "clusterid.x"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.y / w.launch().cluster.y; }>(
        "clusterid.y"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.z / w.launch().cluster.z; }>(
        "clusterid.z"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().grid.x / w.launch().cluster.x; }>(
        "nclusterid.x"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().grid.y / w.launch().cluster.y; }>(
        "nclusterid.y"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().grid.z / w.launch().cluster.z; }>(
        "nclusterid.z"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.x % w.launch().cluster.x; }>(
        "cluster_ctaid.x"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.y % w.launch().cluster.y; }>(
        "cluster_ctaid.y"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().index.z % w.launch().cluster.z; }>(
        "cluster_ctaid.z"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().cluster.x; }>("cluster_nctaid.x"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().cluster.y; }>("cluster_nctaid.y"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().cluster.z; }>("cluster_nctaid.z"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().rank; }>("cluster_ctarank"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().cluster.count(); }>("cluster_nctarank"),
    entry<[](const Warp&, unsigned lane) -> std::uint64_t { return lane; }>("laneid"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.hardwareSlot(); }>("warpid"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().warpsPerSm; }>("nwarpid"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().smId; }>("smid"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().smCount; }>("nsmid"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().gridId; }>("gridid"),
    entry<[](const Warp&, unsigned lane) -> std::uint64_t { return 1u << lane; }>("lanemask_eq"),
    entry<[](const Warp&, unsigned lane) -> std::uint64_t { return (2u << lane) - 1; }>("lanemask_le"),
    entry<[](const Warp&, unsigned lane) -> std::uint64_t { return (1u << lane) - 1; }>("lanemask_lt"),
    entry<[](const Warp&, unsigned lane) -> std::uint64_t { return ~((1u << lane) - 1); }>("lanemask_ge"),
    entry<[](const Warp&, unsigned lane) -> std::uint64_t { return ~((2u << lane) - 1); }>("lanemask_gt"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return now(w) & 0xFFFF'FFFF; }>("clock"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return (now(w) >> 32); }>("clock_hi"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return now(w); }>("clock64"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return nanoseconds(w); }>("globaltimer"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return nanoseconds(w) & 0xFFFF'FFFF; }>("globaltimer_lo"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return (nanoseconds(w) >> 32); }>("globaltimer_hi"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().shared.size(); }>("total_smem_size"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.block().shared.size(); }>("aggr_smem_size"),
    entry<[](const Warp& w, unsigned) -> std::uint64_t { return w.launch().dynamicShared; }>("dynamic_smem_size"),
};

template <class T>
void copyLanes(const Instr& i, Warp& w, LaneMask mask) {
    const T* s = w.lanes<T>(i.src[0]);
    T* d = w.lanes<T>(i.dst[0]);
    if (mask == kAllLanes)
        std::copy(s, s + kLanes, d);
    else
        for (LaneMask m = mask; m; m &= m - 1) d[std::countr_zero(m)] = s[std::countr_zero(m)];
}

void fillAddress(const Instr& i, Warp& w, LaneMask mask, std::uint64_t value) {
    if (i.elementBytes == 4)
        fill<std::uint32_t>(w, i.dst[0], mask, [value](unsigned) { return value; });
    else
        fill<std::uint64_t>(w, i.dst[0], mask, [value](unsigned) { return value; });
}

template <class Inside>
void testAddress(const Instr& i, Warp& w, LaneMask mask, Inside inside) {
    const std::uint64_t* a = w.lanes<std::uint64_t>(i.src[0]);
    LaneMask result = 0;
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        if (inside(a[lane])) result |= LaneMask{1} << lane;
    }
    LaneMask& p = w.predicate(i.dst[0]);
    p = (p & ~mask) | result;
}

template <std::uint64_t window>
void runIsWindow(const Instr& i, Warp& w, LaneMask mask) {
    testAddress(i, w, mask, [](std::uint64_t a) { return a - window < kWindowBytes; });
}

/// .shared::cta
void runIsOwnShared(const Instr& i, Warp& w, LaneMask mask) {
    const std::uint32_t own = w.block().rank;
    testAddress(i, w, mask, [own](std::uint64_t a) {
        return a - kSharedWindow < kWindowBytes && ClusterAddress::rankIn(a, own) == own;
    });
}

/// Constant variables have places among the global ones; which is which, the program knows.
bool isConstant(const Warp& w, std::uint64_t a) {
    for (const Program::Global& g : w.launch().program->globals)
        if (g.space == ptx::Space::constant && a - g.address < g.bytes) return true;
    return false;
}
void runIsConstant(const Instr& i, Warp& w, LaneMask mask) {
    testAddress(i, w, mask, [&w](std::uint64_t a) { return isConstant(w, a); });
}
void runIsGlobal(const Instr& i, Warp& w, LaneMask mask) {
    testAddress(i, w, mask, [&w](std::uint64_t a) {
        return (a < kSharedWindow || a >= kCodeWindow + kSharedWindow) && !isConstant(w, a);
    });
}

}  // namespace

Handler specialRegisterHandler(std::string_view name, unsigned bits) {
    // Set by OpenCL drivers, by profilers, or by the system; nobody does here.
    if ((name.starts_with("envreg") && name != "envreg1" && name != "envreg2") || name.starts_with("pm") ||
        name.starts_with("reserved_smem_offset") || name == "current_graph_exec")
        name = "tid.w";
    for (const SpecialRegister& r : kSpecialRegisters)
        if (r.name == name) return bits == 16 ? r.into16 : bits == 32 ? r.into32 : bits == 64 ? r.into64 : nullptr;
    return nullptr;
}

unsigned specialRegisterBits(std::string_view name) {
    const bool wide = name.ends_with("64") || name == "globaltimer" || name == "gridid" || name == "current_graph_exec";
    return wide ? 64 : 32;
}

bool tellsTimeOrPlace(std::string_view name) {
    return name.starts_with("clock") || name.starts_with("globaltimer") || name == "smid" || name == "warpid";
}

void runCopy32(const Instr& i, Warp& w, LaneMask mask) {
    copyLanes<std::uint32_t>(i, w, mask);
}
void runCopy64(const Instr& i, Warp& w, LaneMask mask) {
    copyLanes<std::uint64_t>(i, w, mask);
}

void runAddImmediate(const Instr& i, Warp& w, LaneMask mask) {
    const std::uint64_t* s = w.lanes<std::uint64_t>(i.src[0]);
    std::uint64_t* d = w.lanes<std::uint64_t>(i.dst[0]);
    const auto add = static_cast<std::uint64_t>(i.immediate);
    if (mask == kAllLanes)
        for (unsigned lane = 0; lane < kLanes; ++lane) d[lane] = s[lane] + add;
    else
        fill<std::uint64_t>(w, i.dst[0], mask, [s, add](unsigned lane) { return s[lane] + add; });
}
void runLocalAddress(const Instr& i, Warp& w, LaneMask mask) {
    fillAddress(i, w, mask, w.localBase() + static_cast<std::uint64_t>(i.immediate));
}
void runDynamicShared(const Instr& i, Warp& w, LaneMask mask) {
    fillAddress(i, w, mask, w.launch().code->sharedBytes + static_cast<std::uint64_t>(i.immediate));
}
void runIsExplicitCluster(const Instr& i, Warp& w, LaneMask mask) {
    LaneMask& p = w.predicate(i.dst[0]);
    p = w.launch().explicitCluster ? p | mask : p & ~mask;
}

Handler isSpaceHandler(ptx::Space space, bool ofCluster) {
    switch (space) {
        case ptx::Space::global:
            return runIsGlobal;
        case ptx::Space::constant:
            return runIsConstant;
        case ptx::Space::shared:
            return ofCluster ? runIsWindow<kSharedWindow> : runIsOwnShared;
        case ptx::Space::local:
            return runIsWindow<kLocalWindow>;
        case ptx::Space::param:
            return runIsWindow<kParamWindow>;
        default:
            return nullptr;
    }
}

}  // namespace bulkhead::sim
