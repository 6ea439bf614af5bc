#include "sim/exec/matrix_access.h"

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
    for (int lane = 0; lane < kLanes; ++lane) {
        const MatrixPlace p = placeInFragment(site, lane, static_cast<int>(i.target), static_cast<int>(i.reconverge));
        const auto major = static_cast<std::uint64_t>(site.byColumn ? p.column : p.row);
        const auto minor = static_cast<std::uint64_t>(site.byColumn ? p.row : p.column);
        a.address[lane] += (major * stride[lane] + minor) * bitsOf(site.d) / 8;
    }
    a.pattern = AccessPattern::scattered;
}

std::uint64_t maskOf(unsigned bytes) {
    return bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
}

template <class Body>
void accessFragment(const Instr& i, Warp& w, LaneMask mask, AccessKind kind, Body body) {
    expectWholeWarp(i, w, mask);
    const MatrixSite& site = w.code().matrixSites[i.extra];
    accessMemoryAt(
        i, w, mask, kind, [&](Access& a) { addOffsets(i, w, site, a); },
        [&](const Access& a, const Places& p) {
            for (LaneMask m = a.lanes; m; m &= m - 1) {
                const auto lane = static_cast<unsigned>(std::countr_zero(m));
                body(lane, p.of(a, lane), static_cast<unsigned>(i.reconverge * bitsOf(site.d)));
            }
        });
}

}  // namespace

void runLoadFragment(const Instr& i, Warp& w, LaneMask mask) {
    const unsigned bytes = i.elementBytes;
    accessFragment(i, w, mask, AccessKind::load, [&](unsigned lane, const std::uint8_t* at, unsigned shift) {
        std::uint64_t value = 0;
        std::memcpy(&value, at, bytes);
        if (bytes == 8) {
            w.lanes<std::uint64_t>(i.dst[0])[lane] = value;
            return;
        }
        std::uint32_t& word = w.lanes<std::uint32_t>(i.dst[0])[lane];
        word = static_cast<std::uint32_t>((word & ~(maskOf(bytes) << shift)) | value << shift);
    });
}

void runStoreFragment(const Instr& i, Warp& w, LaneMask mask) {
    const unsigned bytes = i.elementBytes;
    accessFragment(i, w, mask, AccessKind::store, [&](unsigned lane, std::uint8_t* at, unsigned shift) {
        const std::uint64_t value = bytes == 8 ? w.lanes<const std::uint64_t>(i.src[1])[lane]
                                               : w.lanes<const std::uint32_t>(i.src[1])[lane] >> shift;
        std::memcpy(at, &value, bytes);
    });
}

}  // namespace bulkhead::sim
