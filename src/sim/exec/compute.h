#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/exec/lowering.h"
#include "sim/exec/program.h"
#include "sim/exec/warp.h"

// Lanes are independent of one another, but a result may lie in a source's own lanes, which restrict would deny.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // some loops do not vectorise; they say so as if it were an error
#define BULKHEAD_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define BULKHEAD_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

namespace bulkhead::sim {

/// 16-bit floats and pairs of them are kept as bits; compute_half does the arithmetic.
struct Half {
    std::uint16_t bits;
};
struct Brain {
    std::uint16_t bits;
};
struct HalfPair {
    std::uint32_t bits;
};
struct BrainPair {
    std::uint32_t bits;
};

/// What a value of type T is kept as in a register's lane.
template <class T>
using LaneWord = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
inline T fromLane(LaneWord<T> word) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(word);
    else if constexpr (sizeof(T) == 2)
        return T{static_cast<std::uint16_t>(word)};
    else
        return std::bit_cast<T>(word);
}

/// Narrow values are zero-extended, signed ones too.
template <class T>
inline LaneWord<T> toLane(T value) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<std::make_unsigned_t<T>>(value);
    else if constexpr (sizeof(T) == 2)
        return value.bits;
    else
        return std::bit_cast<LaneWord<T>>(value);
}

template <class T>
constexpr ptx::Type typeOf() {
    using ptx::Type;
    if constexpr (std::is_same_v<T, Half>) return Type::f16;
    if constexpr (std::is_same_v<T, Brain>) return Type::bf16;
    if constexpr (std::is_same_v<T, HalfPair>) return Type::f16x2;
    if constexpr (std::is_same_v<T, BrainPair>) return Type::bf16x2;
    if constexpr (std::is_same_v<T, float>) return Type::f32;
    if constexpr (std::is_same_v<T, double>) return Type::f64;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        return sizeof(T) == 1 ? Type::s8 : sizeof(T) == 2 ? Type::s16 : sizeof(T) == 4 ? Type::s32 : Type::s64;
    if constexpr (std::is_integral_v<T> && !std::is_signed_v<T>)
        return sizeof(T) == 1 ? Type::u8 : sizeof(T) == 2 ? Type::u16 : sizeof(T) == 4 ? Type::u32 : Type::u64;
    return Type::none;
}

/// Calls body(lane) for each lane of the mask.
template <class Body>
inline void forLanes(LaneMask mask, Body body) {
    for (; mask; mask &= mask - 1) body(std::countr_zero(mask));
}

/// dst[0] = Op(src[0], src[1], ...) in each lane of the mask, one by one.
template <class Op, class R, class... A, std::size_t... I>
inline __attribute__((always_inline)) void applyOneByOne(const Instr& instr, Warp& warp, LaneMask mask,
                                                         std::index_sequence<I...>) {
    LaneWord<R>* const out = warp.lanes<LaneWord<R>>(instr.dst[0]);
    [&](auto*... in) {
        forLanes(mask, [&](int lane) { out[lane] = toLane<R>(static_cast<R>(Op{}(fromLane<A>(in[lane])...))); });
    }(warp.lanes<const LaneWord<A>>(instr.src[I])...);
}

template <class Op, class R, class... A, std::size_t... I>
inline __attribute__((always_inline)) void applyLanewise(const Instr& instr, Warp& warp, LaneMask mask,
                                                         std::index_sequence<I...>) {
    if (mask != kAllLanes) return applyOneByOne<Op, R, A...>(instr, warp, mask, std::index_sequence<I...>{});
    LaneWord<R>* const out = warp.lanes<LaneWord<R>>(instr.dst[0]);
    [&](auto*... in) {
        BULKHEAD_INDEPENDENT_LANES
        for (int lane = 0; lane < kLanes; ++lane) out[lane] = toLane<R>(static_cast<R>(Op{}(fromLane<A>(in[lane])...)));
    }(warp.lanes<const LaneWord<A>>(instr.src[I])...);
}

/// dst[0] = Op(src[0], src[1], ...) in each lane. Op is stateless.
template <class Op, class R, class... A>
void lanewise(const Instr& instr, Warp& warp, LaneMask mask) {
    applyLanewise<Op, R, A...>(instr, warp, mask, std::index_sequence_for<A...>{});
}

/// The same without a vectorised loop, which takes several times as long to compile.
template <class Op, class R, class... A>
void lanewiseRare(const Instr& instr, Warp& warp, LaneMask mask) {
    applyOneByOne<Op, R, A...>(instr, warp, mask, std::index_sequence_for<A...>{});
}

/// A predicate result: lanes of the mask take `value`, the others keep what they had.
inline void setPredicate(LaneMask& predicate, LaneMask mask, LaneMask value) {
    predicate = (predicate & ~mask) | (value & mask);
}

/// Gathers a condition of each lane of the mask into a LaneMask.
template <class Condition>
inline __attribute__((always_inline)) LaneMask gather(LaneMask mask, Condition condition) {
    if (mask != kAllLanes) {
        LaneMask bits = 0;
        forLanes(mask, [&](int lane) { bits |= LaneMask{condition(lane)} << lane; });
        return bits;
    }
    // A byte a lane first: that loop vectorises. The product then moves eight such bytes into one.
    alignas(32) std::uint8_t flags[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) flags[lane] = condition(lane);
    LaneMask bits = 0;
    for (int group = 0; group < 4; ++group) {
        std::uint64_t bytes;
        std::memcpy(&bytes, flags + 8 * group, sizeof bytes);
        bits |= static_cast<LaneMask>(bytes * 0x0102040810204080 >> 56) << (8 * group);
    }
    return bits;
}

struct Form;
using Lower = void (*)(const ptx::Instruction&, Operands&, Instr&, const Form&);

/// One row of the table: an instruction with its modifiers and types, and how it is lowered.
struct Form {
    Handler run = nullptr;
    arch::OpClass opClass = arch::OpClass::integer;
    ptx::Type result = ptx::Type::none;  ///< pred: a predicate
    std::vector<ptx::Type> arguments;    ///< pred: a predicate, negated if the bit of Instr::immediate is set
    Lower lower = nullptr;
    std::int64_t immediate = 0;  ///< put into Instr::immediate
    /// Conversions: one lane, for registers wider than the type. Takes the source's low bits, returns the result
    /// sign- or zero-extended by its type.
    std::uint64_t (*scalar)(std::uint64_t) = nullptr;

    /// Registers of any type will do, as for the b types.
    Form& untyped();
};

/// Every instruction that lowerCompute knows, by its name as written, for example "mad.lo.s32". The order of
/// modifiers that are not types does not matter. Functions that add many are cold: optimised, the
/// code that puts names together would take a sixth of the time that they take to compile.
class Forms {
  public:
    Form& add(std::string_view name, Handler, arch::OpClass, ptx::Type result,
              std::initializer_list<ptx::Type> arguments, Lower = nullptr);

    /// A lane-wise operation: R op(A...).
    template <class R, class... A, class Op>
    Form& def(std::string_view name, arch::OpClass opClass, Op) {
        return add(name, &lanewise<Op, R, A...>, opClass, typeOf<R>(), {typeOf<A>()...});
    }

    /// One of many that compilers do not emit for ordinary code.
    template <class R, class... A, class Op>
    Form& defRare(std::string_view name, arch::OpClass opClass, Op) {
        return add(name, &lanewiseRare<Op, R, A...>, opClass, typeOf<R>(), {typeOf<A>()...});
    }

    const Form* find(const ptx::Instruction&) const;
    bool knowsOpcode(std::string_view) const;

  private:
    std::unordered_map<std::string, Form> forms_;
    std::unordered_map<std::string, int> opcodes_;  ///< how many forms each has
};

/// Lowers `d, a, b, ...` by the types of the form.
void lowerPlain(const ptx::Instruction&, Operands&, Instr&, const Form&);

/// Refuses the instruction unless it has this many operands.
void expectOperands(const ptx::Instruction&, Operands&, std::size_t least, std::size_t most);

// For the lowering of forms that lowerPlain cannot do: each appends to src or dst.
void addSource(Instr&, Slot);
void addResult(Instr&, Slot);
/// Appends a predicate and notes in bit `index of the source` of Instr::immediate whether it is negated.
void addPredicateSource(const ptx::Operand&, Operands&, Instr&);
/// The value of a predicate source appended by addPredicateSource.
inline LaneMask predicateOf(const Instr& instr, Warp& warp, int source) {
    const LaneMask value = warp.predicate(instr.src[source]);
    return instr.immediate >> source & 1 ? ~value : value;
}

void addIntegerForms(Forms&);
void addBitForms(Forms&);
void addMoveForms(Forms&);
void addCompareForms(Forms&);
void addFloatForms(Forms&);
void addHalfForms(Forms&);
void addApproxForms(Forms&);
void addConvertForms(Forms&);
void addWarpForms(Forms&);
void addVideoForms(Forms&);

}  // namespace bulkhead::sim
