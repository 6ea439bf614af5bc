#include "sim/exec/matrix_access.h"

#include <bit>
#include <utility>

#include "sim/exec/compute.h"
#include "sim/exec/matrix_fragment.h"
#include "sim/exec/memory_access.h"

namespace bulkhead::sim {

void expectWholeWarp(const Instr& i, Warp& w, LaneMask mask) {
    if (mask != kAllLanes)
        w.fail(LaunchError::Cause::illegalInstruction, i, 0,
               "not all threads of the warp execute a matrix instruction");
}

namespace {

LaneMask rowLanes(unsigned matrices) {
    return matrices >= 4 ? kAllLanes : (LaneMask{1} << (8 * matrices)) - 1;
}

/// A row of a matrix: eight elements.
struct Row {
    std::uint16_t elements[8];
};

/// What a lane's register holds of a matrix: two elements of a row, or of a column.
std::uint32_t wordOf(const Row* rows, unsigned lane, bool transposed) {
    const unsigned across = lane / 4, along = lane % 4 * 2;
    return transposed
               ? rows[along].elements[across] | static_cast<std::uint32_t>(rows[along + 1].elements[across]) << 16
               : rows[across].elements[along] | static_cast<std::uint32_t>(rows[across].elements[along + 1]) << 16;
}
void putWord(Row* rows, unsigned lane, bool transposed, std::uint32_t word) {
    const unsigned across = lane / 4, along = lane % 4 * 2;
    const auto low = static_cast<std::uint16_t>(word), high = static_cast<std::uint16_t>(word >> 16);
    (transposed ? rows[along].elements[across] : rows[across].elements[along]) = low;
    (transposed ? rows[along + 1].elements[across] : rows[across].elements[along + 1]) = high;
}

bool transposes(const Instr& i) {
    return i.target != 0;
}

template <class Body>
void accessRows(const Instr& i, Warp& w, LaneMask lanes, AccessKind kind, Body body) {
    accessMemory(i, w, lanes, kind, [&](const Access& a, const Places& p) {
        for (LaneMask m = a.lanes; m; m &= m - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(m));
            if (a.space != ptx::Space::shared)
                w.fail(LaunchError::Cause::illegalAddress, i, lane,
                       "matrices of ldmatrix and stmatrix lie in shared memory");
            body(lane, p.of(a, lane));
        }
    });
}

}  // namespace

void runLoadMatrices(const Instr& i, Warp& w, LaneMask mask) {
    expectWholeWarp(i, w, mask);
    Row rows[kLanes];
    accessRows(i, w, rowLanes(i.dstCount), AccessKind::load,
               [&](unsigned lane, const std::uint8_t* at) { std::memcpy(&rows[lane], at, sizeof(Row)); });
    for (unsigned matrix = 0; matrix < i.dstCount; ++matrix) {
        std::uint32_t* const words = w.lanes<std::uint32_t>(i.dst[matrix]);
        for (unsigned lane = 0; lane < kLanes; ++lane) words[lane] = wordOf(rows + 8 * matrix, lane, transposes(i));
    }
}

void runStoreMatrices(const Instr& i, Warp& w, LaneMask mask) {
    expectWholeWarp(i, w, mask);
    Row rows[kLanes];
    const unsigned matrices = i.srcCount - 1u;
    for (unsigned matrix = 0; matrix < matrices; ++matrix) {
        const std::uint32_t* const words = w.lanes<const std::uint32_t>(i.src[1 + matrix]);
        for (unsigned lane = 0; lane < kLanes; ++lane) putWord(rows + 8 * matrix, lane, transposes(i), words[lane]);
    }
    accessRows(i, w, rowLanes(matrices), AccessKind::store,
               [&](unsigned lane, std::uint8_t* at) { std::memcpy(at, &rows[lane], sizeof(Row)); });
}

void runTransposeMatrix(const Instr& i, Warp& w, LaneMask mask) {
    expectWholeWarp(i, w, mask);
    Row rows[8];
    const std::uint32_t* const from = w.lanes<const std::uint32_t>(i.src[0]);
    for (unsigned lane = 0; lane < kLanes; ++lane) putWord(rows, lane, false, from[lane]);
    std::uint32_t* const to = w.lanes<std::uint32_t>(i.dst[0]);
    for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = wordOf(rows, lane, true);
}

namespace {

/// Where the elements of the part lie in the matrix, from the address that the operand gives.
void addOffsets(const Instr& i, Warp& w, const MatrixSite& site, Access& a) {
    const std::uint32_t* const stride = w.lanes<const std::uint32_t>(site.stride);
    // Four lanes share a row, or of B a column, and the others follow at equal distances.
    const auto placeOf = [&](int lane) {
        return placeInFragment(site, lane, static_cast<int>(i.target), static_cast<int>(i.reconverge));
    };
    const MatrixPlace first = placeOf(0), next = placeOf(1), below = placeOf(4);
    const auto wayOf = [&](int rows, int columns) {
        return std::pair(static_cast<std::uint32_t>(site.byColumn ? columns : rows),
                         static_cast<std::uint32_t>(site.byColumn ? rows : columns));
    };
    const auto [major, minor] = wayOf(first.row, first.column);
    const auto [majorAlong, minorAlong] = wayOf(next.row - first.row, next.column - first.column);
    const auto [majorAcross, minorAcross] = wayOf(below.row - first.row, below.column - first.column);
    const int shift = std::countr_zero(bitsOf(site.d));
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t across = lane / 4, along = lane % 4;
        const std::uint32_t lines = major + across * majorAcross + along * majorAlong;
        const std::uint32_t elements = minor + across * minorAcross + along * minorAlong;
        a.address[lane] += (std::uint64_t{lines} * stride[lane] + elements) << shift >> 3;
    }
    a.pattern = AccessPattern::scattered;
}

/// Calls body(access, places): of an element, or of several that lie side by side.
template <class Body>
void accessFragment(const Instr& i, Warp& w, LaneMask mask, AccessKind kind, Body body) {
    expectWholeWarp(i, w, mask);
    const MatrixSite& site = w.code().matrixSites[i.extra];
    accessMemoryAt(
        i, w, mask, kind, [&](Access& a) { addOffsets(i, w, site, a); }, body);
}

/// An element in the register that it is a part of, or that it is.
template <class Part, class Register>
struct PlaceInRegister {
    Register* lanes;
    unsigned shift;

    PlaceInRegister(const Instr& i, Warp& w, Slot slot)
        : lanes(w.lanes<Register>(slot)),
          shift(sizeof(Part) == sizeof(Register)
                    ? 0
                    : static_cast<unsigned>(i.reconverge * bitsOf(w.code().matrixSites[i.extra].d))) {}
    void set(int lane, Part value) const {
        constexpr auto kAll = static_cast<Part>(~Part{0});
        lanes[lane] = (lanes[lane] & ~(Register{kAll} << shift)) | Register{value} << shift;
    }
    Part get(int lane) const { return static_cast<Part>(lanes[lane] >> shift); }
};

/// A load of what an atomic of its own SM is about to change, or of another block of the cluster.
template <class Part, class Register>
struct LaterFragment {
    PlaceInRegister<Part, Register> to;
    LaneMask lanes;
    const std::uint8_t* from[kLanes];
    const Warp* warp;
    std::uint32_t starts;

    static bool run(void* what) {
        const auto& load = *static_cast<const LaterFragment*>(what);
        if (load.warp->starts() == load.starts)
            forLanes(load.lanes, [&](int lane) { load.to.set(lane, readAs<Part>(load.from[lane])); });
        return false;
    }
};

template <class Part, class Register>
void loadFragment(const Instr& i, Warp& w, LaneMask mask) {
    const PlaceInRegister<Part, Register> to(i, w, i.dst[0]);
    accessFragment(i, w, mask, AccessKind::load, [&](const Access& a, const Places& p) {
        using Seen = PendingEffects::Seen;
        const Seen seen = !isShownLater(a, w) ? Seen::memory : a.remote ? Seen::atomics : w.effects().seenBy(a, p);
        if (seen == Seen::memory) {
            forLanes(a.lanes, [&](int lane) { to.set(lane, readAs<Part>(p.of(a, static_cast<unsigned>(lane)))); });
        } else if (seen == Seen::stores) {
            forLanes(a.lanes, [&](int lane) {
                std::uint8_t bytes[sizeof(Part)];
                w.effects().read(a.address[lane], p.of(a, static_cast<unsigned>(lane)), sizeof bytes, bytes);
                to.set(lane, readAs<Part>(bytes));
            });
        } else {
            using Later = LaterFragment<Part, Register>;
            auto& load = w.effects().defer<Later>(a, Later::run);
            load = {to, a.lanes, {}, &w, w.starts()};
            forLanes(a.lanes, [&](int lane) { load.from[lane] = p.of(a, static_cast<unsigned>(lane)); });
            w.deferLoad();
        }
    });
}

template <class Part, class Register>
void storeFragment(const Instr& i, Warp& w, LaneMask mask) {
    const PlaceInRegister<Part, Register> from(i, w, i.src[1]);
    accessFragment(i, w, mask, AccessKind::store, [&](const Access& a, const Places& p) {
        const auto write = [&](const Places& to) {
            forLanes(a.lanes, [&](int lane) { writeAs(to.of(a, static_cast<unsigned>(lane)), from.get(lane)); });
        };
        isShownLater(a, w) ? write(placesUntilShown(w, a, p)) : write(p);
    });
}

}  // namespace

void runLoadFragment(const Instr& i, Warp& w, LaneMask mask) {
    switch (i.elementBytes) {
        case 1:
            return loadFragment<std::uint8_t, std::uint32_t>(i, w, mask);
        case 2:
            return loadFragment<std::uint16_t, std::uint32_t>(i, w, mask);
        case 4:
            return loadFragment<std::uint32_t, std::uint32_t>(i, w, mask);
        default:
            return loadFragment<std::uint64_t, std::uint64_t>(i, w, mask);
    }
}

void runStoreFragment(const Instr& i, Warp& w, LaneMask mask) {
    switch (i.elementBytes) {
        case 1:
            return storeFragment<std::uint8_t, std::uint32_t>(i, w, mask);
        case 2:
            return storeFragment<std::uint16_t, std::uint32_t>(i, w, mask);
        case 4:
            return storeFragment<std::uint32_t, std::uint32_t>(i, w, mask);
        default:
            return storeFragment<std::uint64_t, std::uint64_t>(i, w, mask);
    }
}

}  // namespace bulkhead::sim
