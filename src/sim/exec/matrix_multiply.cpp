#include "sim/exec/matrix_multiply.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "sim/exec/compute_float.h"
#include "sim/exec/matrix_access.h"
#include "sim/exec/matrix_elements.h"
#include "sim/exec/matrix_fragment.h"
#include "sim/exec/matrix_numbers.h"
#include "sim/exec/warp.h"
#include "sim/exec/wide_registers.h"

namespace bulkhead::sim {

namespace {

/// Elements of D and C, as patterns.
struct Accumulators {
    alignas(64) std::uint32_t rows[kMostRows][kMostColumns];
};

/// What a host thread works in.
struct Scratch {
    MatrixElements factors;
    Accumulators sums, products;
    TensorProduct product;
    KnownB known;  ///< what is set in the product
    std::int16_t a[kMostRows][kMostDepth], b[kMostDepth][kMostColumns];
    std::uint8_t depths[kMostRows][kMostDepth];
};
[[gnu::noinline]] Scratch& scratch() {
    static thread_local Scratch scratch;
    return scratch;
}

std::uint32_t elementOf(std::uint32_t word, MatrixType type, int index) {
    const unsigned bits = bitsOf(type);
    return bits == 32 ? word : word >> (bits * static_cast<unsigned>(index)) & ((1u << bits) - 1);
}

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

/// Calls visit(row, element, depth) for each stored element of A: which row of B it multiplies.
template <class Visit>
void eachDepth(Warp& w, const MatrixSite& site, Visit visit) {
    const std::optional<Sparsity> sparsity = site.isSparse ? std::optional<Sparsity>({site, w}) : std::nullopt;
    for (int row = 0; row < rowsOf(site); ++row)
        for (int element = 0; element < storedDepth(site); ++element)
            visit(row, element, sparsity ? sparsity->depthOf(row, element) : element);
}

bool accumulates(Warp& w, const MatrixSite& site) {
    using Accumulation = MatrixSite::Accumulation;
    if (site.accumulation == Accumulation::always) return true;
    if (site.accumulation == Accumulation::never) return false;
    return ((w.predicate(site.accumulates) & 1) != 0) == (site.accumulation == Accumulation::where);
}

/// Calls visit(pair, even, odd) for neighbours in a row and the words of registers that hold them: one of both, and
/// then `odd` is null, or one of each.
template <class Visit>
void eachPair(Warp& w, const std::vector<Slot>& registers, MatrixType type, int rows, Accumulators& matrix,
              Visit visit) {
    const bool together = type == MatrixType::f16;
    for (std::size_t r = 0; r < registers.size(); r += together ? 1 : 2) {
        std::uint32_t* const even = w.lanes<std::uint32_t>(registers[r]);
        std::uint32_t* const odd = together ? nullptr : w.lanes<std::uint32_t>(registers[r + 1]);
        const MatrixPlace first = placeOfD(rows, type, 0, static_cast<int>(r), 0);
        for (int row = 0; row < 8; ++row) {
            std::uint32_t* const pairs = matrix.rows[first.row + row] + first.column;
            for (int p = 0; p < 4; ++p) visit(pairs + 2 * p, even + 4 * row + p, odd ? odd + 4 * row + p : nullptr);
        }
    }
}

void readC(Warp& w, const MatrixSite& site, Accumulators& c) {
    const int rows = rowsOf(site);
    if (!accumulates(w, site)) {
        for (int row = 0; row < rows; ++row) std::fill_n(c.rows[row], site.n, 0);
        return;
    }
    eachPair(w, site.cRegisters, site.c, rows, c,
             [](std::uint32_t* pair, const std::uint32_t* even, const std::uint32_t* odd) {
                 pair[0] = odd ? *even : *even & 0xffff;
                 pair[1] = odd ? *odd : *even >> 16;
             });
}

void writeD(Warp& w, const MatrixSite& site, Accumulators& d) {
    eachPair(w, site.dRegisters, site.d, rowsOf(site), d,
             [](const std::uint32_t* pair, std::uint32_t* even, std::uint32_t* odd) {
                 *even = odd ? pair[0] : pair[0] | pair[1] << 16;
                 if (odd) *odd = pair[1];
             });
}

/// Which products are summed up together. Most instructions form one sum; some are two, one after the other.
struct Parts {
    int count = 1;
    bool byPairs = false;  ///< the first part has the first two of every four stored elements

    bool has(int part, int element, int all) const {
        return count == 1 || (byPairs ? element % 4 / 2 : element / (all / 2)) == part;
    }
};

/// sums = A B + sums. `widens`: 8-bit floats are converted to f16 first, where none of them is subnormal.
void addProducts(const Instr& i, Warp& w, const MatrixSite& site, const Parts& parts, const TensorSum& how, bool half,
                 bool widens, Accumulators& sums) {
    Scratch& s = scratch();
    const int rows = rowsOf(site), stored = storedDepth(site);
    s.product.resize(rows, stored, site.n, site.k);
    if (!site.ofWarpgroup) s.known.forget();
    if (!site.ofWarpgroup || !s.known.isSame(i, w, site, widens)) {
        readB(i, w, site, s.factors);
        s.product.setB(s.factors, {site.b, site.negatesB, widens});
    }
    readA(i, w, site, s.factors);
    s.product.setA(s.factors, {site.a, site.negatesA, widens});
    eachDepth(w, site, [&](int row, int element, int depth) { s.product.setDepth(row, element, depth); });
    for (int part = 0; part < parts.count; ++part) {
        std::uint8_t terms[kMostTerms];
        std::size_t count = 0;
        for (int element = 0; element < stored; ++element)
            if (parts.has(part, element, stored)) terms[count++] = static_cast<std::uint8_t>(element);
        s.product.multiply({terms, count}, sums.rows, how, half);
    }
}

void multiplyFloats(const Instr& i, Warp& w, const MatrixSite& site) {
    Accumulators& c = scratch().sums;
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
    Accumulators& products = scratch().products;
    const bool half = site.d == MatrixType::f16;
    for (int row = 0; row < site.m; ++row) std::fill_n(products.rows[row], site.n, 0);
    addProducts(i, w, site, {2, true}, {}, half, true, products);
    Accumulators& c = scratch().sums;
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

/// Calls visit(register, lane, value) for registers of 64 bits.
template <class Visit>
void eachDouble(Warp& w, const std::vector<Slot>& registers, Visit visit) {
    for (std::size_t r = 0; r < registers.size(); ++r) {
        double* const lanes = w.lanes<double>(registers[r]);
        for (int lane = 0; lane < kLanes; ++lane) visit(static_cast<int>(r), lane, lanes[lane]);
    }
}

void multiplyDoubles(Warp& w, const MatrixSite& site) {
    DoubleMatrices m;
    eachDouble(w, site.aRegisters, [&](int reg, int lane, double value) {
        const MatrixPlace p = placeOfA(site.m, site.a, lane, reg, 0);
        m.a[p.row][p.column] = value;
    });
    eachDouble(w, site.bRegisters, [&](int reg, int lane, double value) {
        const MatrixPlace p = placeOfB(site.k, site.b, lane, reg, 0);
        m.b[p.row][p.column] = value;
    });
    const auto atD = [&](int reg, int lane) -> double& {
        const MatrixPlace p = placeOfD(site.m, site.c, lane, reg, 0);
        return m.d[p.row][p.column];
    };
    eachDouble(w, site.cRegisters, [&](int reg, int lane, double value) { atD(reg, lane) = value; });
    widely([&]() __attribute__((always_inline)) { multiplyAndAdd(m, site); });
    eachDouble(w, site.dRegisters, [&](int reg, int lane, double& value) { value = atD(reg, lane); });
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

void toIntegers(MatrixType type, const std::uint32_t* elements, int count, std::int16_t* integers) {
    for (int e = 0; e < count; ++e) integers[e] = integerOf(type, elements[e]);
}

void multiplyIntegers(const Instr& i, Warp& w, const MatrixSite& site) {
    Scratch& s = scratch();
    const int rows = rowsOf(site), stored = storedDepth(site);
    readA(i, w, site, s.factors);
    for (int row = 0; row < rows; ++row) toIntegers(site.a, s.factors.a[row], stored, s.a[row]);
    readB(i, w, site, s.factors);
    for (int depth = 0; depth < site.k; ++depth) toIntegers(site.b, s.factors.b[depth], site.n, s.b[depth]);
    eachDepth(w, site, [&](int row, int term, int depth) { s.depths[row][term] = static_cast<std::uint8_t>(depth); });
    readC(w, site, s.sums);
    widely([&]() __attribute__((always_inline)) {
        for (int row = 0; row < rows; ++row) {
            std::int32_t sums[kMostColumns];
            std::fill_n(sums, site.n, 0);
            for (int term = 0; term < stored; ++term) {
                const std::int16_t left = s.a[row][term];
                const std::int16_t* const right = s.b[s.depths[row][term]];
                for (int column = 0; column < site.n; ++column) sums[column] += left * right[column];
            }
            for (int column = 0; column < site.n; ++column)
                s.sums.rows[row][column] = accumulate(site, s.sums.rows[row][column], sums[column]);
        }
    });
    writeD(w, site, s.sums);
}

/// Bits, as words of 32: a matrix of words whose depth is a 32nd.
void multiplyBits(const Instr& i, Warp& w, const MatrixSite& site) {
    Scratch& s = scratch();
    MatrixSite words = site;
    words.a = words.b = MatrixType::s32;
    words.k = static_cast<std::uint16_t>(site.k / 32);
    readA(i, w, words, s.factors);
    readB(i, w, words, s.factors);
    readC(w, site, s.sums);
    for (int row = 0; row < rowsOf(site); ++row)
        for (int column = 0; column < site.n; ++column) {
            int sum = 0;
            for (int word = 0; word < words.k; ++word) {
                const std::uint32_t left = s.factors.a[row][word], right = s.factors.b[word][column];
                sum += std::popcount(site.intersects ? left & right : left ^ right);
            }
            s.sums.rows[row][column] = accumulate(site, s.sums.rows[row][column], sum);
        }
    writeD(w, site, s.sums);
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
