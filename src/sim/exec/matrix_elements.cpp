#include "sim/exec/matrix_elements.h"

#include <cstring>
#include <utility>

#include "sim/exec/matrix_fragment.h"
#include "sim/exec/matrix_operand.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

namespace {

/// Elements lie in pieces of 16 bytes: what four lanes hold of a row of A or a column of B in one register each, or
/// what lies side by side in shared memory.
constexpr unsigned kPieceBytes = 16, kPieceWords = 4;

template <class Element>
void widen(const void* piece, std::uint32_t* to) {
    constexpr unsigned kCount = kPieceBytes / sizeof(Element);
    Element elements[kCount];
    std::memcpy(elements, piece, sizeof elements);
    for (unsigned e = 0; e < kCount; ++e) to[e] = elements[e];
}

/// All of a piece, one after the other.
void takeApart(const void* piece, MatrixType type, std::uint32_t* to) {
    switch (bitsOf(type)) {
        case 32:
            return widen<std::uint32_t>(piece, to);
        case 16:
            return widen<std::uint16_t>(piece, to);
        case 8:
            return widen<std::uint8_t>(piece, to);
        default: {
            std::uint32_t bytes[kPieceBytes];
            widen<std::uint8_t>(piece, bytes);
            for (unsigned e = 0; e < 2 * kPieceBytes; ++e) to[e] = bytes[e / 2] >> (e % 2 * 4) & 15;
        }
    }
}

/// Of pieces that are columns, with so many elements in a word of theirs: each row by itself.
template <int kInWord>
void turn(const std::uint32_t (&words)[kPieceWords][8], std::uint32_t (*rows)[kMostColumns], int column) {
    constexpr unsigned kBits = 32 / kInWord;
    constexpr std::uint32_t kMask = ~std::uint32_t{0} >> (32 - kBits);
    for (unsigned word = 0; word < kPieceWords; ++word)
        for (unsigned e = 0; e < kInWord; ++e)
            for (unsigned c = 0; c < 8; ++c)
                rows[word * kInWord + e][static_cast<unsigned>(column) + c] = words[word][c] >> (kBits * e) & kMask;
}

/// A register of a fragment of A: eight rows, of four lanes each.
void readRows(const std::uint32_t* lanes, MatrixType type, MatrixPlace first, MatrixElements& to) {
    for (int row = 0; row < 8; ++row) takeApart(lanes + row * kPieceWords, type, to.a[first.row + row] + first.column);
}

/// Of B: eight columns.
void readColumns(const std::uint32_t* lanes, MatrixType type, MatrixPlace first, MatrixElements& to) {
    std::uint32_t words[kPieceWords][8];
    for (unsigned column = 0; column < 8; ++column)
        for (unsigned word = 0; word < kPieceWords; ++word) words[word][column] = lanes[column * kPieceWords + word];
    switch (packed(type)) {
        case 1:
            return turn<1>(words, to.b + first.row, first.column);
        case 2:
            return turn<2>(words, to.b + first.row, first.column);
        case 4:
            return turn<4>(words, to.b + first.row, first.column);
        default:
            return turn<8>(words, to.b + first.row, first.column);
    }
}

const std::uint8_t* sharedPiece(const Instr& i, Warp& w, std::uint32_t address) {
    const auto& shared = w.block().shared;
    if (std::size_t{address} + kPieceBytes > shared.size())
        w.failAddress(LaunchError::Cause::illegalAddress, i, 0, address, "a matrix reaches beyond shared memory");
    return shared.data() + address;
}

/// Visits the pieces that hold elements [from, from + count) across and all of the depth: visit(piece, across, depth),
/// of its first element.
template <class Visit>
void eachPiece(const Instr& i, Warp& w, Slot descriptor, bool isTransposed, MatrixType type, unsigned from,
               unsigned count, unsigned depth, Visit visit) {
    const MatrixOperand operand(w.lanes<const std::uint64_t>(descriptor)[0]);
    const unsigned inPiece = 8 * kPieceBytes / bitsOf(type);
    if (isTransposed) {
        for (unsigned d = 0; d < depth; ++d)
            for (unsigned across = from; across < from + count; across += inPiece)
                visit(sharedPiece(i, w, operand.acrossDepth(d, across / inPiece)), across - from, d);
        return;
    }
    for (unsigned across = from; across < from + count; ++across)
        for (unsigned p = 0; p < depth / inPiece; ++p)
            visit(sharedPiece(i, w, operand.alongDepth(across, p)), across - from, p * inPiece);
}

/// Puts elements [from, from + count) across and all of the depth where at(across, depth) says.
template <class At>
void readOperand(const Instr& i, Warp& w, Slot descriptor, bool isTransposed, MatrixType type, unsigned from,
                 unsigned count, unsigned depth, At at) {
    const unsigned inPiece = 8 * kPieceBytes / bitsOf(type);
    std::uint32_t elements[2 * kPieceBytes];
    eachPiece(i, w, descriptor, isTransposed, type, from, count, depth,
              [&](const std::uint8_t* piece, unsigned across, unsigned d) {
                  takeApart(piece, type, elements);
                  for (unsigned e = 0; e < inPiece; ++e)
                      at(isTransposed ? across + e : across, isTransposed ? d : d + e) = elements[e];
              });
}

}  // namespace

void readA(const Instr& i, Warp& w, const MatrixSite& site, MatrixElements& to) {
    const int rows = rowsOf(site), stored = storedDepth(site);
    if (site.aRegisters.empty()) {
        readOperand(i, w, site.aDescriptor, site.aTransposed, site.a, w.indexInBlock() % 4 * 16, 16,
                    static_cast<unsigned>(stored),
                    [&](unsigned row, unsigned depth) -> std::uint32_t& { return to.a[row][depth]; });
        return;
    }
    // Fragments may hold every element twice (wmma in f16).
    for (int reg = 0; reg < distinctRegisters(rows * stored, site.a); ++reg)
        readRows(w.lanes<const std::uint32_t>(site.aRegisters[static_cast<std::size_t>(reg)]), site.a,
                 placeOfA(rows, site.a, 0, reg, 0), to);
}

void readB(const Instr& i, Warp& w, const MatrixSite& site, MatrixElements& to) {
    if (site.ofWarpgroup) {
        readOperand(i, w, site.bDescriptor, site.bTransposed, site.b, 0, site.n, site.k,
                    [&](unsigned column, unsigned depth) -> std::uint32_t& { return to.b[depth][column]; });
        return;
    }
    for (int reg = 0; reg < distinctRegisters(site.k * site.n, site.b); ++reg)
        readColumns(w.lanes<const std::uint32_t>(site.bRegisters[static_cast<std::size_t>(reg)]), site.b,
                    placeOfB(site.k, site.b, 0, reg, 0), to);
}

bool KnownB::isSame(const Instr& i, Warp& w, const MatrixSite& site, bool widens) {
    const Form form{site.b, site.n, site.k, site.bTransposed, site.negatesB, widens};
    const bool wasKnown = std::exchange(isKnown_, false);
    next_.clear();
    eachPiece(
        i, w, site.bDescriptor, site.bTransposed, site.b, 0, site.n, site.k,
        [&](const std::uint8_t* piece, unsigned, unsigned) { next_.insert(next_.end(), piece, piece + kPieceBytes); });
    const bool isSame = wasKnown && form == form_ && next_ == bytes_;
    form_ = form;
    next_.swap(bytes_);
    isKnown_ = true;
    return isSame;
}

}  // namespace bulkhead::sim
