#include "sim/exec/atomics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "sim/exec/compute_float.h"
#include "sim/exec/image_access.h"
#include "sim/exec/memory_access.h"
#include "sim/exec/pending_effects.h"

namespace bulkhead::sim {

using ptx::Type;

namespace {

// Floating-point values travel as their bits; these add the way the memory units do.

template <class Float, class Bits>
Float fromBits(Bits b) {
    static_assert(sizeof(Float) == sizeof(Bits));
    return std::bit_cast<Float>(b);
}

float flushed(float f) {
    return std::fpclassify(f) == FP_SUBNORMAL ? std::copysign(0.0f, f) : f;
}

/// Which NaN comes out must not depend on the host.
constexpr std::uint32_t kNan32 = 0x7FFF'FFFF;
constexpr std::uint64_t kNan64 = 0x7FFF'FFFF'FFFF'FFFF;

std::uint32_t addF32(std::uint32_t a, std::uint32_t b, bool flush) {
    float x = fromBits<float>(a), y = fromBits<float>(b);
    if (flush) {
        x = flushed(x);
        y = flushed(y);
    }
    const float sum = flush ? flushed(x + y) : x + y;
    return std::isnan(sum) ? kNan32 : std::bit_cast<std::uint32_t>(sum);
}

std::uint64_t addF64(std::uint64_t a, std::uint64_t b) {
    const double sum = fromBits<double>(a) + fromBits<double>(b);
    return std::isnan(sum) ? kNan64 : std::bit_cast<std::uint64_t>(sum);
}

/// Arithmetic on a 16-bit format kept as bits. Sums of two of them are added in f32 and rounded again, which is exact
/// rounding: f32 has more than twice their precision.
template <class Format, Format (*kRound)(float)>
struct Sixteen {
    static std::uint16_t add(std::uint16_t a, std::uint16_t b) {
        return kRound(toFloat(Format{a}) + toFloat(Format{b})).bits;
    }
    static std::uint16_t smaller(std::uint16_t a, std::uint16_t b) { return pick(a, b, true); }
    static std::uint16_t larger(std::uint16_t a, std::uint16_t b) { return pick(a, b, false); }

  private:
    static constexpr std::uint16_t kNan = 0x7FFF;

    /// A NaN loses against a number; -0 is below +0.
    static std::uint16_t pick(std::uint16_t a, std::uint16_t b, bool wantSmaller) {
        const float x = toFloat(Format{a}), y = toFloat(Format{b});
        if (std::isnan(x)) return std::isnan(y) ? kNan : b;
        if (std::isnan(y)) return a;
        const bool below = x < y || (x == y && std::signbit(x) && !std::signbit(y));
        return below == wantSmaller ? a : b;
    }
};
using HalfArithmetic = Sixteen<Half, toHalf>;
using BrainArithmetic = Sixteen<Brain, toBrain>;

template <class F>
std::uint32_t onPairs(std::uint32_t a, std::uint32_t b, F f) {
    const auto low = f(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b));
    const auto high = f(static_cast<std::uint16_t>(a >> 16), static_cast<std::uint16_t>(b >> 16));
    return low | static_cast<std::uint32_t>(high) << 16;
}

/// What an atomic needs to be executed, now or later.
/// Operation: what memory holds afterwards, given (old, operand, second operand, whether f32 subnormals are flushed).
template <class T, auto Operation, class Register>
struct Atomic {
    LaneMask lanes;
    unsigned elements;
    bool returns, hasSecond;
    bool flush;  ///< atom.add.f32 flushes subnormals in global memory but not in shared memory (PTX ISA, atom)
    Register* old[4];
    std::uint8_t* at[kLanes];
    Register operand[4][kLanes];
    Register second[kLanes];
    const Warp* warp;      ///< whose registers take the results
    std::uint32_t starts;  ///< its number then

    void take(const Instr& i, Warp& w, const Access& a, const Places& p) {
        lanes = a.lanes;
        elements = i.elements;
        returns = i.dstCount != 0;
        warp = &w;
        starts = w.starts();
        hasSecond = i.srcCount > 2;
        flush = a.space == ptx::Space::global;
        for (LaneMask m = lanes; m; m &= m - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(m));
            at[lane] = p.of(a, lane);
        }
        // Copies: a result may lie in the register of an operand.
        for (unsigned e = 0; e < elements; ++e) {
            std::memcpy(operand[e], w.lanes<Register>(i.src[1 + e]), sizeof operand[e]);
            if (returns) old[e] = w.lanes<Register>(i.dst[e]);
        }
        if (hasSecond) std::memcpy(second, w.lanes<Register>(i.src[2]), sizeof second);
    }

    static bool run(void* what) {
        const auto& atomic = *static_cast<const Atomic*>(what);
        // A warp need not wait for a result before it ends, and another may have begun in its place.
        const bool returns = atomic.returns && atomic.warp->starts() == atomic.starts;
        bool changed = false;
        for (LaneMask m = atomic.lanes; m; m &= m - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(m));
            const T second = atomic.hasSecond ? static_cast<T>(atomic.second[lane]) : T{};
            for (unsigned e = 0; e < atomic.elements; ++e) {
                std::uint8_t* at = atomic.at[lane] + e * sizeof(T);
                const T old = readAs<T>(at);
                const auto after =
                    static_cast<T>(Operation(old, static_cast<T>(atomic.operand[e][lane]), second, atomic.flush));
                writeAs(at, after);
                changed |= after != old;
                if (returns) atomic.old[e][lane] = static_cast<Register>(static_cast<std::make_unsigned_t<T>>(old));
            }
        }
        return changed;
    }
};

template <class T>
constexpr auto add = [](T old, T b, T, bool) { return static_cast<T>(old + b); };
template <class T>
constexpr auto min = [](T old, T b, T, bool) { return std::min(old, b); };
template <class T>
constexpr auto max = [](T old, T b, T, bool) { return std::max(old, b); };
template <class T>
constexpr auto bitAnd = [](T old, T b, T, bool) { return old & b; };
template <class T>
constexpr auto bitOr = [](T old, T b, T, bool) { return old | b; };
template <class T>
constexpr auto bitXor = [](T old, T b, T, bool) { return old ^ b; };
template <class T>
constexpr auto exchange = [](T, T b, T, bool) { return b; };
template <class T>
constexpr auto compareAndSwap = [](T old, T b, T c, bool) { return old == b ? c : old; };

/// Whether operations of several lanes on one address can be made one.
template <class T, auto Operation>
constexpr bool kCombines = [] {
    const auto is = []<class Other>(const Other&) {
        return std::is_same_v<std::remove_cv_t<decltype(Operation)>, Other>;
    };
    return is(add<T>) || is(min<T>) || is(max<T>) || is(bitAnd<T>) || is(bitOr<T>) || is(bitXor<T>);
}();

/// Executes an atomic, now or at the end of the window.
template <class Kind>
void perform(const Instr& i, Warp& w, const Access& a, const Places& p) {
    if (isShownLater(a, w)) {
        w.effects().defer<Kind>(a, Kind::run).take(i, w, a, p);
        return;
    }
    Kind atomic;
    atomic.take(i, w, a, p);
    if (Kind::run(&atomic)) w.noteChange();
}

template <class T, auto Operation, class Register = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>
void runAtomic(const Instr& i, Warp& w, LaneMask mask) {
    using Kind = Atomic<T, Operation, Register>;
    const AccessKind kind = i.dstCount ? AccessKind::atomic : AccessKind::reduction;
    accessMemory(i, w, mask, kind, [&](const Access& a, const Places& p) {
        w.lastAccess().combines = kCombines<T, Operation>;
        w.lastAccess().addsFloats = i.type == Type::f32 || i.type == Type::f64;
        perform<Kind>(i, w, a, p);
    });
}

template <class T, auto Operation>
void runSurfaceReduction(const Instr& i, Warp& w, LaneMask mask) {
    using Register = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    Places places;
    Access& a = locateSurface(i, w, mask, AccessKind::reduction, places);
    if (!a.lanes) return w.dropAccess();
    a.combines = kCombines<T, Operation>;
    perform<Atomic<T, Operation, Register>>(i, w, a, places);
}

/// sured.p: which of the two is said by the surface's format.
template <Handler kUnsigned, Handler kSigned>
void runFormattedReduction(const Instr& i, Warp& w, LaneMask mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const TexelFormat& format = surfaceFormat(i, w, lane);
    if (format.bytes() != 4 || format.channels != 1 || format.kind == TexelFormat::Kind::real)
        w.fail(LaunchError::Cause::illegalInstruction, i, lane,
               "sured.p on a surface whose texels are no 32-bit integers");
    constexpr Handler kBySign[] = {kUnsigned, kSigned};
    kBySign[format.kind == TexelFormat::Kind::signedInteger ? 1 : 0](i, w, mask);
}

struct Wide {
    std::uint64_t low, high;
    bool operator==(const Wide&) const = default;
};

/// Of 128 bits, whose halves lie in slots of their own. cas: compares with the first operand, writes the second.
template <bool kCompares>
struct WideAtomic {
    LaneMask lanes;
    bool returns;
    std::uint64_t *oldLow, *oldHigh;
    std::uint8_t* at[kLanes];
    Wide operand[kLanes], second[kLanes];
    const Warp* warp;
    std::uint32_t starts;

    void take(const Instr& i, Warp& w, const Access& a, const Places& p) {
        lanes = a.lanes;
        returns = i.dstCount != 0;
        warp = &w;
        starts = w.starts();
        if (returns) {
            oldLow = w.lanes<std::uint64_t>(i.dst[0]);
            oldHigh = w.lanes<std::uint64_t>(i.dst[1]);
        }
        const auto value = [&](int first, int lane) {
            return Wide{w.lanes<std::uint64_t>(i.src[first])[lane], w.lanes<std::uint64_t>(i.src[first + 1])[lane]};
        };
        for (LaneMask m = lanes; m; m &= m - 1) {
            const int lane = std::countr_zero(m);
            at[lane] = p.of(a, static_cast<unsigned>(lane));
            operand[lane] = value(1, lane);
            if (kCompares) second[lane] = value(3, lane);
        }
    }

    static bool run(void* what) {
        const auto& atomic = *static_cast<const WideAtomic*>(what);
        const bool returns = atomic.returns && atomic.warp->starts() == atomic.starts;
        bool changed = false;
        for (LaneMask m = atomic.lanes; m; m &= m - 1) {
            const int lane = std::countr_zero(m);
            const Wide old = readAs<Wide>(atomic.at[lane]);
            const Wide swapped = old == atomic.operand[lane] ? atomic.second[lane] : old;
            const Wide after = kCompares ? swapped : atomic.operand[lane];
            writeAs(atomic.at[lane], after);
            changed |= after != old;
            if (!returns) continue;
            atomic.oldLow[lane] = old.low;
            atomic.oldHigh[lane] = old.high;
        }
        return changed;
    }
};

template <bool kCompares>
void runWideAtomic(const Instr& i, Warp& w, LaneMask mask) {
    const AccessKind kind = i.dstCount ? AccessKind::atomic : AccessKind::reduction;
    accessMemory(i, w, mask, kind,
                 [&](const Access& a, const Places& p) { perform<WideAtomic<kCompares>>(i, w, a, p); });
}

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

constexpr auto increment = [](u32 old, u32 b, u32, bool) { return old >= b ? 0u : old + 1; };
constexpr auto decrement = [](u32 old, u32 b, u32, bool) { return old == 0 || old > b ? b : old - 1; };

constexpr auto addFloat = [](u32 old, u32 b, u32, bool flush) { return addF32(old, b, flush); };
constexpr auto addDouble = [](u64 old, u64 b, u64, bool) { return addF64(old, b); };

template <class F>
constexpr auto halfAdd = [](u16 old, u16 b, u16, bool) { return F::add(old, b); };
template <class F>
constexpr auto halfMin = [](u16 old, u16 b, u16, bool) { return F::smaller(old, b); };
template <class F>
constexpr auto halfMax = [](u16 old, u16 b, u16, bool) { return F::larger(old, b); };
template <class F>
constexpr auto pairAdd = [](u32 old, u32 b, u32, bool) { return onPairs(old, b, F::add); };
template <class F>
constexpr auto pairMin = [](u32 old, u32 b, u32, bool) { return onPairs(old, b, F::smaller); };
template <class F>
constexpr auto pairMax = [](u32 old, u32 b, u32, bool) { return onPairs(old, b, F::larger); };

struct Entry {
    std::string_view operation;
    Type type;
    Handler handler;
};

constexpr Entry kAtomics[] = {
    {"add", Type::u32, runAtomic<u32, add<u32>>},
    {"add", Type::s32, runAtomic<u32, add<u32>>},
    {"add", Type::u64, runAtomic<u64, add<u64>>},
    {"add", Type::s64, runAtomic<u64, add<u64>>},
    {"add", Type::f32, runAtomic<u32, addFloat>},
    {"add", Type::f64, runAtomic<u64, addDouble>},
    {"add", Type::f16, runAtomic<u16, halfAdd<HalfArithmetic>>},
    {"add", Type::bf16, runAtomic<u16, halfAdd<BrainArithmetic>>},
    {"add", Type::f16x2, runAtomic<u32, pairAdd<HalfArithmetic>>},
    {"add", Type::bf16x2, runAtomic<u32, pairAdd<BrainArithmetic>>},
    {"min", Type::u32, runAtomic<u32, min<u32>>},
    {"min", Type::s32, runAtomic<s32, min<s32>>},
    {"min", Type::u64, runAtomic<u64, min<u64>>},
    {"min", Type::s64, runAtomic<s64, min<s64>>},
    {"min", Type::f16, runAtomic<u16, halfMin<HalfArithmetic>>},
    {"min", Type::bf16, runAtomic<u16, halfMin<BrainArithmetic>>},
    {"min", Type::f16x2, runAtomic<u32, pairMin<HalfArithmetic>>},
    {"min", Type::bf16x2, runAtomic<u32, pairMin<BrainArithmetic>>},
    {"max", Type::u32, runAtomic<u32, max<u32>>},
    {"max", Type::s32, runAtomic<s32, max<s32>>},
    {"max", Type::u64, runAtomic<u64, max<u64>>},
    {"max", Type::s64, runAtomic<s64, max<s64>>},
    {"max", Type::f16, runAtomic<u16, halfMax<HalfArithmetic>>},
    {"max", Type::bf16, runAtomic<u16, halfMax<BrainArithmetic>>},
    {"max", Type::f16x2, runAtomic<u32, pairMax<HalfArithmetic>>},
    {"max", Type::bf16x2, runAtomic<u32, pairMax<BrainArithmetic>>},
    {"inc", Type::u32, runAtomic<u32, increment>},
    {"dec", Type::u32, runAtomic<u32, decrement>},
    {"and", Type::b32, runAtomic<u32, bitAnd<u32>>},
    {"and", Type::b64, runAtomic<u64, bitAnd<u64>>},
    {"or", Type::b32, runAtomic<u32, bitOr<u32>>},
    {"or", Type::b64, runAtomic<u64, bitOr<u64>>},
    {"xor", Type::b32, runAtomic<u32, bitXor<u32>>},
    {"xor", Type::b64, runAtomic<u64, bitXor<u64>>},
    {"exch", Type::b32, runAtomic<u32, exchange<u32>>},
    {"exch", Type::b64, runAtomic<u64, exchange<u64>>},
    {"exch", Type::b128, runWideAtomic<false>},
    {"cas", Type::b16, runAtomic<u16, compareAndSwap<u16>>},
    {"cas", Type::b32, runAtomic<u32, compareAndSwap<u32>>},
    {"cas", Type::b64, runAtomic<u64, compareAndSwap<u64>>},
    {"cas", Type::b128, runWideAtomic<true>},
};

constexpr Entry kSurfaceReductions[] = {
    {"add", Type::u32, runSurfaceReduction<u32, add<u32>>},  {"add", Type::s32, runSurfaceReduction<u32, add<u32>>},
    {"add", Type::u64, runSurfaceReduction<u64, add<u64>>},  {"min", Type::u32, runSurfaceReduction<u32, min<u32>>},
    {"min", Type::s32, runSurfaceReduction<s32, min<s32>>},  {"min", Type::u64, runSurfaceReduction<u64, min<u64>>},
    {"min", Type::s64, runSurfaceReduction<s64, min<s64>>},  {"max", Type::u32, runSurfaceReduction<u32, max<u32>>},
    {"max", Type::s32, runSurfaceReduction<s32, max<s32>>},  {"max", Type::u64, runSurfaceReduction<u64, max<u64>>},
    {"max", Type::s64, runSurfaceReduction<s64, max<s64>>},  {"and", Type::b32, runSurfaceReduction<u32, bitAnd<u32>>},
    {"or", Type::b32, runSurfaceReduction<u32, bitOr<u32>>},
};

constexpr Entry kFormattedReductions[] = {
    {"add", Type::b32, runFormattedReduction<runSurfaceReduction<u32, add<u32>>, runSurfaceReduction<u32, add<u32>>>},
    {"min", Type::b32, runFormattedReduction<runSurfaceReduction<u32, min<u32>>, runSurfaceReduction<s32, min<s32>>>},
    {"max", Type::b32, runFormattedReduction<runSurfaceReduction<u32, max<u32>>, runSurfaceReduction<s32, max<s32>>>},
    {"and", Type::b32,
     runFormattedReduction<runSurfaceReduction<u32, bitAnd<u32>>, runSurfaceReduction<u32, bitAnd<u32>>>},
    {"or", Type::b32,
     runFormattedReduction<runSurfaceReduction<u32, bitOr<u32>>, runSurfaceReduction<u32, bitOr<u32>>>},
};

template <class T, auto Operation>
void reduceEach(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
    for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T))
        writeAs(to + at, static_cast<T>(Operation(readAs<T>(to + at), readAs<T>(from + at), T{}, true)));
}

struct BulkEntry {
    std::string_view operation;
    Type type;
    BulkReduction reduction;
};

constexpr BulkEntry kBulkReductions[] = {
    {"add", Type::u32, reduceEach<u32, add<u32>>},
    {"add", Type::s32, reduceEach<u32, add<u32>>},
    {"add", Type::u64, reduceEach<u64, add<u64>>},
    {"add", Type::f32, reduceEach<u32, addFloat>},
    {"add", Type::f64, reduceEach<u64, addDouble>},
    {"add", Type::f16, reduceEach<u16, halfAdd<HalfArithmetic>>},
    {"add", Type::bf16, reduceEach<u16, halfAdd<BrainArithmetic>>},
    {"min", Type::u32, reduceEach<u32, min<u32>>},
    {"min", Type::s32, reduceEach<s32, min<s32>>},
    {"min", Type::u64, reduceEach<u64, min<u64>>},
    {"min", Type::s64, reduceEach<s64, min<s64>>},
    {"min", Type::f16, reduceEach<u16, halfMin<HalfArithmetic>>},
    {"min", Type::bf16, reduceEach<u16, halfMin<BrainArithmetic>>},
    {"max", Type::u32, reduceEach<u32, max<u32>>},
    {"max", Type::s32, reduceEach<s32, max<s32>>},
    {"max", Type::u64, reduceEach<u64, max<u64>>},
    {"max", Type::s64, reduceEach<s64, max<s64>>},
    {"max", Type::f16, reduceEach<u16, halfMax<HalfArithmetic>>},
    {"max", Type::bf16, reduceEach<u16, halfMax<BrainArithmetic>>},
    {"inc", Type::u32, reduceEach<u32, increment>},
    {"dec", Type::u32, reduceEach<u32, decrement>},
    {"and", Type::b32, reduceEach<u32, bitAnd<u32>>},
    {"and", Type::b64, reduceEach<u64, bitAnd<u64>>},
    {"or", Type::b32, reduceEach<u32, bitOr<u32>>},
    {"or", Type::b64, reduceEach<u64, bitOr<u64>>},
    {"xor", Type::b32, reduceEach<u32, bitXor<u32>>},
    {"xor", Type::b64, reduceEach<u64, bitXor<u64>>},
    // Tensors have no untyped elements.
    {"and", Type::u32, reduceEach<u32, bitAnd<u32>>},
    {"or", Type::u32, reduceEach<u32, bitOr<u32>>},
    {"xor", Type::u32, reduceEach<u32, bitXor<u32>>},
    {"and", Type::u64, reduceEach<u64, bitAnd<u64>>},
    {"or", Type::u64, reduceEach<u64, bitOr<u64>>},
    {"xor", Type::u64, reduceEach<u64, bitXor<u64>>},
};

}  // namespace

BulkReduction bulkReduction(std::string_view operation, Type type) {
    for (const BulkEntry& e : kBulkReductions)
        if (e.operation == operation && e.type == type) return e.reduction;
    return nullptr;
}

Handler surfaceReduction(std::string_view operation, Type type, bool formatted) {
    const auto find = [&](const auto& table) -> Handler {
        for (const Entry& e : table)
            if (e.operation == operation && e.type == type) return e.handler;
        return nullptr;
    };
    return formatted ? find(kFormattedReductions) : find(kSurfaceReductions);
}

Handler atomicHandler(std::string_view operation, Type type) {
    for (const Entry& e : kAtomics)
        if (e.operation == operation && e.type == type) return e.handler;
    return nullptr;
}

}  // namespace bulkhead::sim
