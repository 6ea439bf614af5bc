#include "sim/exec/matrix_multiply.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/exec/compute_float.h"
#include "sim/exec/matrix_access.h"
#include "sim/exec/matrix_fragment.h"
#include "sim/exec/matrix_numbers.h"
#include "sim/exec/matrix_operand.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

namespace {

constexpr int kMostIntegerTerms = 128;

/// Elements of the matrices of one instruction, as patterns.
struct Accumulators {
    alignas(64) std::uint32_t rows[kMostRows][kMostColumns];
};

std::uint32_t elementOf(std::uint32_t word, MatrixType type, int index) {
    const unsigned bits = bitsOf(type);
    return bits == 32 ? word : word >> (bits * static_cast<unsigned>(index)) & ((1u << bits) - 1);
}

int rowsOf(const MatrixSite& site) {
    return site.ofWarpgroup ? 16 : site.m;
}

/// Fragments of A and B: calls take(first, across, along, pattern), where first(register) is the place of the
/// register's first element, and the others' are so far from it, across and along the depth. Fragments may hold every
/// element twice (wmma in f16).
template <class First, class Take>
void readFragment(Warp& w, const std::vector<Slot>& registers, MatrixType type, int distinct, First first, Take take) {
    const int elements = packed(type);
    for (int r = 0; r < distinct; ++r) {
        const std::uint32_t* const words = w.lanes<const std::uint32_t>(registers[static_cast<std::size_t>(r)]);
        const MatrixPlace at = first(r);
        for (int lane = 0; lane < kLanes; ++lane)
            for (int e = 0; e < elements; ++e)
                take(at, lane / 4, lane % 4 * elements + e, elementOf(words[lane], type, e));
    }
}

const std::uint8_t* sharedPiece(const Instr& i, Warp& w, std::uint32_t address) {
    const auto& shared = w.block().shared;
    if (std::size_t{address} + 16 > shared.size())
        w.failAddress(LaunchError::Cause::illegalAddress, i, 0, address, "a matrix reaches beyond shared memory");
    return shared.data() + address;
}

std::uint32_t elementAt(const std::uint8_t* piece, MatrixType type, unsigned index) {
    const unsigned bits = bitsOf(type), at = index * bits;
    std::uint32_t word;
    std::memcpy(&word, piece + at / 32 * 4, sizeof word);
    return elementOf(word, type, static_cast<int>(at % 32 / bits));
}

/// Visits the pieces of 16 bytes that hold elements [from, from + count) across and all of the depth: visit(piece,
/// across, depth), of its first element.
template <class Visit>
void eachPiece(const Instr& i, Warp& w, Slot descriptor, bool isTransposed, MatrixType type, unsigned from,
               unsigned count, unsigned depth, Visit visit) {
    const MatrixOperand operand(w.lanes<const std::uint64_t>(descriptor)[0]);
    const unsigned inPiece = 128 / bitsOf(type);
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

/// Calls take(across, depth, pattern) for elements [from, from + count) across and all of the depth.
template <class Take>
void readOperand(const Instr& i, Warp& w, Slot descriptor, bool isTransposed, MatrixType type, unsigned from,
                 unsigned count, unsigned depth, Take take) {
    const unsigned inPiece = 128 / bitsOf(type);
    eachPiece(i, w, descriptor, isTransposed, type, from, count, depth,
              [&](const std::uint8_t* piece, unsigned across, unsigned d) {
                  for (unsigned e = 0; e < inPiece; ++e)
                      take(isTransposed ? across + e : across, isTransposed ? d : d + e, elementAt(piece, type, e));
              });
}

/// What B of the last product was. The four warps of a warpgroup come one after the other and have the same: it need
/// not be taken apart again.
class KnownB {
  public:
    void forget() { isKnown_ = false; }
    /// Whether it is that of the product before; it is this from now on.
    bool isSame(const Instr& i, Warp& w, const MatrixSite& site, bool widens) {
        const Form form{site.b, site.n, site.k, site.bTransposed, site.negatesB, widens};
        const bool wasKnown = std::exchange(isKnown_, false);
        next_.clear();
        eachPiece(i, w, site.bDescriptor, site.bTransposed, site.b, 0, site.n, site.k,
                  [&](const std::uint8_t* piece, unsigned, unsigned) { next_.insert(next_.end(), piece, piece + 16); });
        const bool isSame = wasKnown && form == form_ && next_ == bytes_;
        form_ = form;
        next_.swap(bytes_);
        isKnown_ = true;
        return isSame;
    }

  private:
    struct Form {
        MatrixType type;
        std::uint16_t columns, depth;
        bool isTransposed, negates, widens;
        bool operator==(const Form&) const = default;
    };
    bool isKnown_ = false;
    Form form_{};
    std::vector<std::uint8_t> bytes_, next_;
};

/// Which of B's rows the stored elements of a row of a sparse A multiply: of each four elements two are stored, of two
/// of tf32 one, of eight of 4 bits two pairs.
class Sparsity {
  public:
    Sparsity(const MatrixSite& site, Warp& w) : site_(site), words_(w.lanes<const std::uint32_t>(site.metadata)) {}

    int depthOf(int row, int stored) const {
        switch (bitsOf(site_.a)) {
            case 32:
                return 2 * stored + (indexOf(row, 2 * stored) >> 1);
            case 4:
                return stored / 4 * 8 + 2 * indexOf(row, stored / 2) + stored % 2;
            default:
                return stored / 2 * 4 + indexOf(row, stored);
        }
    }

  private:
    /// The two bits of an index. A pair of lanes, or one, has those of a row and of the one eight below: 16 bits each
    /// in one word, or of narrow types a word each. A second pair goes on where there are more.
    int indexOf(int row, int index) const {
        const bool isLower = row % 16 >= 8;
        const std::uint32_t* const words = words_ + row % 8 * 4;
        if (bitsOf(site_.a) <= 8)
            return static_cast<int>(words[2 * (site_.selector + index / 16) + isLower] >> (2 * (index % 16)) & 3);
        const int first = metadataBits(site_) == 16 ? site_.selector : 2 * site_.selector;
        return static_cast<int>(words[first + index / 8] >> ((isLower ? 16 : 0) + 2 * (index % 8)) & 3);
    }

    const MatrixSite& site_;
    const std::uint32_t* words_;
};

/// Calls take(row, stored, pattern) for A, stored elements being all of them or half of a sparse row.
template <class Take>
void readA(const Instr& i, Warp& w, const MatrixSite& site, Take take) {
    const int rows = rowsOf(site), stored = storedDepth(site);
    if (!site.aRegisters.empty()) {
        readFragment(
            w, site.aRegisters, site.a, distinctRegisters(rows * stored, site.a),
            [&](int reg) { return placeOfA(rows, site.a, 0, reg, 0); },
            [&](MatrixPlace first, int across, int along, std::uint32_t bits) {
                take(first.row + across, first.column + along, bits);
            });
        return;
    }
    readOperand(i, w, site.aDescriptor, site.aTransposed, site.a, w.indexInBlock() % 4 * 16, 16,
                static_cast<unsigned>(stored), [&](unsigned row, unsigned depth, std::uint32_t bits) {
                    take(static_cast<int>(row), static_cast<int>(depth), bits);
                });
}

/// Calls take(depth, column, pattern).
template <class Take>
void readB(const Instr& i, Warp& w, const MatrixSite& site, Take take) {
    if (site.ofWarpgroup) {
        readOperand(i, w, site.bDescriptor, site.bTransposed, site.b, 0, site.n, site.k,
                    [&](unsigned column, unsigned depth, std::uint32_t bits) {
                        take(static_cast<int>(depth), static_cast<int>(column), bits);
                    });
        return;
    }
    readFragment(
        w, site.bRegisters, site.b, distinctRegisters(site.k * site.n, site.b),
        [&](int reg) { return placeOfB(site.k, site.b, 0, reg, 0); },
        [&](MatrixPlace first, int across, int along, std::uint32_t bits) {
            take(first.row + along, first.column + across, bits);
        });
}

bool accumulates(Warp& w, const MatrixSite& site) {
    using Accumulation = MatrixSite::Accumulation;
    if (site.accumulation == Accumulation::always) return true;
    if (site.accumulation == Accumulation::never) return false;
    return ((w.predicate(site.accumulates) & 1) != 0) == (site.accumulation == Accumulation::where);
}

void readC(Warp& w, const MatrixSite& site, Accumulators& c) {
    const int rows = rowsOf(site);
    if (!accumulates(w, site)) {
        for (int row = 0; row < rows; ++row) std::fill_n(c.rows[row], site.n, 0);
        return;
    }
    for (std::size_t r = 0; r < site.cRegisters.size(); ++r) {
        const std::uint32_t* const words = w.lanes<const std::uint32_t>(site.cRegisters[r]);
        const MatrixPlace first = placeOfD(rows, site.c, 0, static_cast<int>(r), 0);
        for (int lane = 0; lane < kLanes; ++lane) {
            std::uint32_t* const at = c.rows[first.row + lane / 4] + first.column + lane % 4 * 2;
            if (site.c == MatrixType::f16) {
                at[0] = words[lane] & 0xffff;
                at[1] = words[lane] >> 16;
            } else {
                at[0] = words[lane];
            }
        }
    }
}

void writeD(Warp& w, const MatrixSite& site, const Accumulators& d) {
    const int rows = rowsOf(site);
    for (std::size_t r = 0; r < site.dRegisters.size(); ++r) {
        std::uint32_t* const words = w.lanes<std::uint32_t>(site.dRegisters[r]);
        const MatrixPlace first = placeOfD(rows, site.d, 0, static_cast<int>(r), 0);
        for (int lane = 0; lane < kLanes; ++lane) {
            const std::uint32_t* const at = d.rows[first.row + lane / 4] + first.column + lane % 4 * 2;
            words[lane] = site.d == MatrixType::f16 ? at[0] | at[1] << 16 : at[0];
        }
    }
}

/// Scratch of a host thread.
Accumulators& accumulators() {
    static thread_local Accumulators matrix;
    return matrix;
}

/// Which products are summed up together. Most instructions form one sum; some are two, one after the other.
struct Parts {
    int count = 1;
    bool byPairs = false;  ///< the first part has the first two of every four stored elements

    int of(int stored, int all) const { return count == 1 ? 0 : byPairs ? stored % 4 / 2 : stored / (all / 2); }
    int termOf(int stored, int all) const {
        return count == 1 ? stored : byPairs ? stored / 4 * 2 + stored % 2 : stored % (all / 2);
    }
};

/// sums = A B + sums, rows of them. `widens`: 8-bit floats are converted to f16 first, where none of them is subnormal.
void addProducts(const Instr& i, Warp& w, const MatrixSite& site, const Parts& parts, const TensorSum& how, bool half,
                 bool widens, Accumulators& sums) {
    static thread_local TensorProduct product;
    static thread_local KnownB known;  // what is set in the product
    const int rows = rowsOf(site), stored = storedDepth(site);
    const auto number = [&](MatrixType type, std::uint32_t bits, bool negates) {
        TensorNumber n = tensorNumber(type, bits);
        if (widens) n = normalized(n);
        if (negates) n.value = -n.value;
        return n;
    };
    product.resize(rows, site.n, site.k, stored / parts.count);
    if (!site.ofWarpgroup) known.forget();
    if (!site.ofWarpgroup || !known.isSame(i, w, site, widens)) {
        readB(i, w, site, [&](int depth, int column, std::uint32_t bits) {
            product.setB(depth, column, number(site.b, bits, site.negatesB));
        });
        product.prepareB();
    }
    const std::optional<Sparsity> sparsity = site.isSparse ? std::optional<Sparsity>({site, w}) : std::nullopt;
    for (int part = 0; part < parts.count; ++part) {
        readA(i, w, site, [&](int row, int column, std::uint32_t bits) {
            if (parts.of(column, stored) != part) return;
            const int depth = sparsity ? sparsity->depthOf(row, column) : column;
            product.setA(row, parts.termOf(column, stored), number(site.a, bits, site.negatesA), depth);
        });
        product.prepareA();
        for (int row = 0; row < rows; ++row) product.multiplyRow(row, sums.rows[row], sums.rows[row], how, half);
    }
}

void multiplyFloats(const Instr& i, Warp& w, const MatrixSite& site) {
    Accumulators& c = accumulators();
    readC(w, site, c);
    const int rows = rowsOf(site);
    const bool half = site.d == MatrixType::f16, isWmma = site.n > 8 && !site.ofWarpgroup;
    TensorSum how;
    if (bitsOf(site.a) == 8) how = {13, 13};
    Parts parts;
    if (site.a == MatrixType::tf32 && isWmma) parts.count = 2;
    // wmma may have accumulators of the other type: sums are formed in f32.
    const bool converts = site.c != site.d;
    const auto convert = [&](auto conversion) {
        for (int row = 0; row < rows; ++row) std::transform(c.rows[row], c.rows[row] + site.n, c.rows[row], conversion);
    };
    if (converts && !half) convert([](std::uint32_t bits) { return bitsOf(canonical(halfToFloat(bits))); });
    addProducts(i, w, site, parts, how, half && !converts, false, c);
    if (converts && half) convert([](std::uint32_t bits) { return floatToHalf(floatOf(bits)); });
    writeD(w, site, c);
}

/// mma of 8-bit floats: they are converted to f16 and multiplied in two parts, and the accumulators are added at the
/// end, rounded as any addition.
void multiplyQuarters(const Instr& i, Warp& w, const MatrixSite& site) {
    static thread_local Accumulators products;
    const bool half = site.d == MatrixType::f16;
    for (int row = 0; row < site.m; ++row) std::fill_n(products.rows[row], site.n, 0);
    addProducts(i, w, site, {2, true}, {}, half, true, products);
    Accumulators& c = accumulators();
    readC(w, site, c);
    for (int row = 0; row < site.m; ++row)
        for (int column = 0; column < site.n; ++column) {
            std::uint32_t& bits = c.rows[row][column];
            const std::uint32_t added = products.rows[row][column];
            bits = half ? floatToHalf(halfToFloat(bits) + halfToFloat(added))
                        : bitsOf(canonical(floatOf(bits) + floatOf(added)));
        }
    writeD(w, site, c);
}

/// mma.m8n8k4 in f16, which tensor cores since Turing's do not have: eight lanes each make a product of their own, out
/// of multiplications and additions in f32.
void multiplyOctets(Warp& w, const MatrixSite& site) {
    const auto halfAt = [&](const std::vector<Slot>& registers, int lane, int element) {
        const std::uint32_t word = w.lanes<const std::uint32_t>(registers[static_cast<std::size_t>(element / 2)])[lane];
        return halfToFloat(elementOf(word, MatrixType::f16, element % 2));
    };
    const auto accumulatorPlace = [](MatrixType type, int lane, int element) -> MatrixPlace {
        const int lower = lane >= 16 ? 4 : 0;
        if (type == MatrixType::f16) return {lane % 4 + lower, element};
        return {(lane & 1) + (element & 2) + lower, (element & 4) + (lane & 2) + (element & 1)};
    };
    for (int octet = 0; octet < 4; ++octet) {
        float a[8][4], b[4][8], c[8][8], d[8][8];
        for (int member = 0; member < 8; ++member) {
            const int lane = 4 * octet + member % 4 + (member >= 4 ? 16 : 0), lower = member >= 4 ? 4 : 0;
            for (int e = 0; e < 4; ++e) {
                const float left = halfAt(site.aRegisters, lane, e), right = halfAt(site.bRegisters, lane, e);
                (site.aByColumn ? a[e + lower][lane % 4] : a[lane % 4 + lower][e]) = left;
                (site.bByRow ? b[lane % 4][e + lower] : b[e][lane % 4 + lower]) = right;
            }
            for (int e = 0; e < 8; ++e) {
                const MatrixPlace p = accumulatorPlace(site.c, lane, e);
                c[p.row][p.column] = site.c == MatrixType::f16
                                         ? halfAt(site.cRegisters, lane, e)
                                         : w.lanes<const float>(site.cRegisters[static_cast<std::size_t>(e)])[lane];
            }
        }
        for (int row = 0; row < 8; ++row)
            for (int column = 0; column < 8; ++column) {
                const auto then = [&](int k, float sum) { return std::fma(a[row][k], b[k][column], sum); };
                const auto first = [&](int k) { return a[row][k] * b[k][column]; };
                d[row][column] = site.d == MatrixType::f16 ? (c[row][column] + then(1, first(0))) + then(3, first(2))
                                                           : then(3, then(2, then(1, first(0)))) + c[row][column];
            }
        for (int member = 0; member < 8; ++member) {
            const int lane = 4 * octet + member % 4 + (member >= 4 ? 16 : 0);
            for (int e = 0; e < 8; ++e) {
                const MatrixPlace p = accumulatorPlace(site.d, lane, e);
                const float value = canonical(d[p.row][p.column]);
                if (site.d == MatrixType::f32) {
                    w.lanes<float>(site.dRegisters[static_cast<std::size_t>(e)])[lane] = value;
                    continue;
                }
                std::uint32_t& word = w.lanes<std::uint32_t>(site.dRegisters[static_cast<std::size_t>(e / 2)])[lane];
                word = e % 2 ? (word & 0xffff) | floatToHalf(value) << 16 : (word & 0xffff0000) | floatToHalf(value);
            }
        }
    }
}

struct DoubleMatrices {
    double a[16][16], b[16][8], d[16][8];
};

/// One fused multiplication and addition after the other.
[[gnu::always_inline]] inline void multiplyAndAdd(DoubleMatrices& m, const MatrixSite& site) {
    for (int row = 0; row < site.m; ++row)
        for (int k = 0; k < site.k; ++k)
            for (int column = 0; column < site.n; ++column) {
                double& d = m.d[row][column];
                d = orNan(__builtin_fma(m.a[row][k], m.b[k][column], d), m.b[k][column], d, m.a[row][k]);
            }
}

#if defined(__x86_64__) && !defined(__FMA__)
__attribute__((target("avx2,fma"))) void multiplyAndAddWide(DoubleMatrices& m, const MatrixSite& site) {
    multiplyAndAdd(m, site);
}

void sumUp(DoubleMatrices& m, const MatrixSite& site) {
    hasFused() ? multiplyAndAddWide(m, site) : multiplyAndAdd(m, site);
}
#else
void sumUp(DoubleMatrices& m, const MatrixSite& site) {
    multiplyAndAdd(m, site);
}
#endif

void multiplyDoubles(Warp& w, const MatrixSite& site) {
    DoubleMatrices m;
    for (std::size_t r = 0; r < site.aRegisters.size(); ++r)
        for (int lane = 0; lane < kLanes; ++lane) {
            const MatrixPlace p = placeOfA(site.m, site.a, lane, static_cast<int>(r), 0);
            m.a[p.row][p.column] = w.lanes<const double>(site.aRegisters[r])[lane];
        }
    for (std::size_t r = 0; r < site.bRegisters.size(); ++r)
        for (int lane = 0; lane < kLanes; ++lane) {
            const MatrixPlace p = placeOfB(site.k, site.b, lane, static_cast<int>(r), 0);
            m.b[p.row][p.column] = w.lanes<const double>(site.bRegisters[r])[lane];
        }
    for (std::size_t r = 0; r < site.cRegisters.size(); ++r)
        for (int lane = 0; lane < kLanes; ++lane) {
            const MatrixPlace p = placeOfD(site.m, site.c, lane, static_cast<int>(r), 0);
            m.d[p.row][p.column] = w.lanes<const double>(site.cRegisters[r])[lane];
        }
    sumUp(m, site);
    for (std::size_t r = 0; r < site.dRegisters.size(); ++r)
        for (int lane = 0; lane < kLanes; ++lane) {
            const MatrixPlace p = placeOfD(site.m, site.d, lane, static_cast<int>(r), 0);
            w.lanes<double>(site.dRegisters[r])[lane] = m.d[p.row][p.column];
        }
}

std::int16_t integerOf(MatrixType type, std::uint32_t bits) {
    switch (type) {
        case MatrixType::s8:
            return static_cast<std::int8_t>(bits);
        case MatrixType::s4:
            return static_cast<std::int16_t>(static_cast<std::int16_t>(bits ^ 8) - 8);
        default:
            return static_cast<std::int16_t>(bits);
    }
}

/// Integers are exact; their sum wraps round, or is as near as 32 bits can be.
std::uint32_t accumulate(const MatrixSite& site, std::uint32_t c, std::int64_t sum) {
    const std::int64_t exact = static_cast<std::int32_t>(c) + sum;
    using Limits = std::numeric_limits<std::int32_t>;
    if (!site.saturates) return static_cast<std::uint32_t>(exact);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(exact, Limits::min(), Limits::max()));
}

void multiplyIntegers(const Instr& i, Warp& w, const MatrixSite& site) {
    static thread_local std::int16_t a[kMostRows][kMostIntegerTerms], b[kMostIntegerTerms][kMostColumns];
    static thread_local std::uint8_t depths[kMostRows][kMostIntegerTerms];
    Accumulators& c = accumulators();
    const int rows = rowsOf(site), stored = storedDepth(site);
    readA(i, w, site, [&](int row, int term, std::uint32_t bits) {
        a[row][term] = integerOf(site.a, bits);
        depths[row][term] = static_cast<std::uint8_t>(term);
    });
    if (site.isSparse) {
        const Sparsity sparsity(site, w);
        for (int row = 0; row < rows; ++row)
            for (int term = 0; term < stored; ++term)
                depths[row][term] = static_cast<std::uint8_t>(sparsity.depthOf(row, term));
    }
    readB(i, w, site, [&](int depth, int column, std::uint32_t bits) { b[depth][column] = integerOf(site.b, bits); });
    readC(w, site, c);
    for (int row = 0; row < rows; ++row) {
        std::int32_t sums[kMostColumns] = {};
        for (int term = 0; term < stored; ++term) {
            const std::int16_t left = a[row][term];
            const std::int16_t* const right = b[depths[row][term]];
            for (int column = 0; column < site.n; ++column) sums[column] += left * right[column];
        }
        for (int column = 0; column < site.n; ++column)
            c.rows[row][column] = accumulate(site, c.rows[row][column], sums[column]);
    }
    writeD(w, site, c);
}

/// Bits, as words of 32: a matrix of words whose depth is a 32nd.
void multiplyBits(const Instr& i, Warp& w, const MatrixSite& site) {
    static thread_local std::uint32_t a[kMostRows][8], b[8][kMostColumns];
    Accumulators& c = accumulators();
    MatrixSite words = site;
    words.a = words.b = MatrixType::s32;
    words.k = static_cast<std::uint16_t>(site.k / 32);
    readA(i, w, words, [&](int row, int word, std::uint32_t bits) { a[row][word] = bits; });
    readB(i, w, words, [&](int word, int column, std::uint32_t bits) { b[word][column] = bits; });
    readC(w, site, c);
    for (int row = 0; row < rowsOf(site); ++row)
        for (int column = 0; column < site.n; ++column) {
            int sum = 0;
            for (int word = 0; word < words.k; ++word) {
                const std::uint32_t left = a[row][word], right = b[word][column];
                sum += std::popcount(site.intersects ? left & right : left ^ right);
            }
            c.rows[row][column] = accumulate(site, c.rows[row][column], sum);
        }
    writeD(w, site, c);
}

}  // namespace

void runMatrixMultiply(const Instr& i, Warp& w, LaneMask mask) {
    expectWholeWarp(i, w, mask);
    const MatrixSite& site = w.code().matrixSites[i.extra];
    if (site.a == MatrixType::f64) return multiplyDoubles(w, site);
    if (site.a == MatrixType::b1) return multiplyBits(i, w, site);
    if (!isTensorFloat(site.a)) return multiplyIntegers(i, w, site);
    if (site.m == 8 && site.n == 8) return multiplyOctets(w, site);
    if (bitsOf(site.a) == 8 && !site.ofWarpgroup) return multiplyQuarters(i, w, site);
    multiplyFloats(i, w, site);
}

}  // namespace bulkhead::sim
