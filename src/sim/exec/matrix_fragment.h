#pragma once

#include "sim/exec/program.h"

namespace bulkhead::sim {

/// Where an element of a fragment lies in its matrix.
struct MatrixPlace {
    int row, column;
};

/// Elements of a 32-bit register, or one of a 64-bit register.
constexpr int packed(MatrixType type) {
    const int bits = static_cast<int>(bitsOf(type));
    return bits >= 32 ? 1 : 32 / bits;
}

/// Registers of a lane that hold a matrix once.
constexpr int distinctRegisters(int elements, MatrixType type) {
    const int registers = elements / kLanes / packed(type);
    return registers > 0 ? registers : 1;
}

/// Elements of a row of A that are stored: of a sparse one, half.
constexpr int storedDepth(const MatrixSite& site) {
    return site.k / (site.isSparse ? 2 : 1);
}
/// Bits that say which ones, of each row.
constexpr int metadataBits(const MatrixSite& site) {
    const unsigned bits = bitsOf(site.a);
    return site.k * (bits == 32 ? 2 : 1) / (bits == 4 ? 2 : 1);
}

// The fragments of PTX's mma, lane by lane: four lanes share a row of A or of D and a column of B, and a register holds
// neighbours along the depth, or along a row of D. Larger matrices follow the same pattern, eight rows and columns at a
// time.

constexpr MatrixPlace placeOfA(int rows, MatrixType type, int lane, int reg, int element) {
    const int blocks = rows / 8, elements = packed(type);
    return {lane / 4 + 8 * (reg % blocks), (reg / blocks * 4 + lane % 4) * elements + element};
}
constexpr MatrixPlace placeOfB(int depth, MatrixType type, int lane, int reg, int element) {
    const int elements = packed(type), along = depth / (4 * elements);
    return {(reg % along * 4 + lane % 4) * elements + element, lane / 4 + 8 * (reg / along)};
}
constexpr MatrixPlace placeOfD(int rows, MatrixType type, int lane, int reg, int element) {
    const int blocks = rows / 8;
    if (type == MatrixType::f16) return {lane / 4 + 8 * (reg % blocks), 8 * (reg / blocks) + lane % 4 * 2 + element};
    return {lane / 4 + 8 * (reg / 2 % blocks), 8 * (reg / (2 * blocks)) + lane % 4 * 2 + reg % 2};
}

/// Of a fragment that wmma loads or stores. In f16, fragments of A and B hold every element twice.
constexpr MatrixPlace placeInFragment(const MatrixSite& site, int lane, int reg, int element) {
    switch (site.role) {
        case MatrixSite::Role::a:
            return placeOfA(site.m, site.d, lane, reg % distinctRegisters(site.m * site.k, site.d), element);
        case MatrixSite::Role::b:
            return placeOfB(site.k, site.d, lane, reg % distinctRegisters(site.k * site.n, site.d), element);
        default:
            return placeOfD(site.m, site.d, lane, reg, element);
    }
}

}  // namespace bulkhead::sim
