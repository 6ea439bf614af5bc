#include <algorithm>
#include <limits>

#include "sim/exec/compute.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Type;
using S64 = std::int64_t;
using U32 = std::uint32_t;
using S32 = std::int32_t;

// The video instructions: operands are extended to more bits than the result needs, the result is saturated or cut off,
// then a second operation with c may follow. The SIMD forms do so for two halves or four bytes.

template <class T>
inline S64 wide(U32 value) {
    return std::is_signed_v<T> ? S64{static_cast<S32>(value)} : S64{value};
}

template <int kBits, bool kSigned>
inline S64 clampTo(S64 value) {
    constexpr S64 kLow = kSigned ? -(S64{1} << (kBits - 1)) : 0;
    constexpr S64 kHigh = kSigned ? (S64{1} << (kBits - 1)) - 1 : (S64{1} << kBits) - 1;
    return std::clamp(value, kLow, kHigh);
}

/// Element i of a register of `32 / kBits` elements.
template <int kBits, bool kSigned>
inline S64 elementOf(U32 value, int i) {
    const U32 bits = value >> (kBits * i) & static_cast<U32>((S64{1} << kBits) - 1);
    return kSigned ? S64{static_cast<S32>(bits << (32 - kBits)) >> (32 - kBits)} : S64{bits};
}

struct Sum {
    static S64 of(S64 a, S64 b) { return a + b; }
};
struct Difference {
    static S64 of(S64 a, S64 b) { return a - b; }
};
struct Distance {
    static S64 of(S64 a, S64 b) { return a < b ? b - a : a - b; }
};
struct Least {
    static S64 of(S64 a, S64 b) { return std::min(a, b); }
};
struct Most {
    static S64 of(S64 a, S64 b) { return std::max(a, b); }
};
/// Rounded away from zero, as hardware does for halves of either sign.
struct Average {
    static S64 of(S64 a, S64 b) {
        const S64 sum = a + b;
        return (sum + (sum >= 0)) >> 1;
    }
};

/// d = op(a, b), element by element; .add adds up the elements and c.
template <class Op, class T, int kBits, bool kSaturate, bool kAccumulate>
inline U32 elements(U32 a, U32 b, U32 c) {
    constexpr bool kSigned = std::is_signed_v<T>;
    constexpr U32 kMask = static_cast<U32>((S64{1} << kBits) - 1);
    U32 packed = 0, total = c;
    for (int i = 0; i < 32 / kBits; ++i) {
        S64 value = Op::of(elementOf<kBits, kSigned>(a, i), elementOf<kBits, kSigned>(b, i));
        if (kSaturate) value = clampTo<kBits, kSigned>(value);
        packed |= (static_cast<U32>(value) & kMask) << (kBits * i);
        // Without .sat the sum takes the element before it is cut off.
        total += static_cast<U32>(value);
    }
    return kAccumulate ? total : packed;
}

template <class T>
std::string typesOf() {
    return std::is_signed_v<T> ? ".s32.s32.s32" : ".u32.u32.u32";
}

template <class Op, class T, int kBits>
void addOperation(Forms& forms, std::string name) {
    name += typesOf<T>();
    const auto two = [&]<class F>(const std::string& full, F f) { forms.def<T, T, T>(full, OpClass::integer, f); };
    const auto three = [&]<class F>(const std::string& full, F f) { forms.def<T, T, T, T>(full, OpClass::integer, f); };
    if constexpr (kBits == 32) {
        two(name, [](T a, T b) { return elements<Op, T, kBits, false, false>(U32(a), U32(b), 0); });
        two(name + ".sat", [](T a, T b) { return elements<Op, T, kBits, true, false>(U32(a), U32(b), 0); });
        three(name + ".sat.add",
              [](T a, T b, T c) { return elements<Op, T, kBits, true, true>(U32(a), U32(b), U32(c)); });
    } else {
        // The third operand gives the elements a mask would leave out; without a mask there are none.
        three(name, [](T a, T b, T) { return elements<Op, T, kBits, false, false>(U32(a), U32(b), 0); });
        three(name + ".sat", [](T a, T b, T) { return elements<Op, T, kBits, true, false>(U32(a), U32(b), 0); });
    }
    three(name + ".add", [](T a, T b, T c) { return elements<Op, T, kBits, false, true>(U32(a), U32(b), U32(c)); });
}

template <class Op, class T>
void addWidths(Forms& forms, const std::string& name) {
    addOperation<Op, T, 32>(forms, name);
    addOperation<Op, T, 16>(forms, name + "2");
    addOperation<Op, T, 8>(forms, name + "4");
}

// vset: one where the comparison holds.
template <class T, int kBits, class Compare>
void addCompare(Forms& forms, const std::string& name, Compare) {
    struct One {
        static S64 of(S64 a, S64 b) { return Compare{}(a, b); }
    };
    if constexpr (kBits == 32) {
        forms.def<U32, T, T>(name, OpClass::integer,
                             [](T a, T b) { return elements<One, T, kBits, false, false>(U32(a), U32(b), 0); });
    } else {
        forms.def<U32, T, T, U32>(name, OpClass::integer, [](T a, T b, U32) {
            return elements<One, T, kBits, false, false>(U32(a), U32(b), 0);
        });
    }
    forms.def<U32, T, T, U32>(name + ".add", OpClass::integer,
                              [](T a, T b, U32 c) { return elements<One, T, kBits, false, true>(U32(a), U32(b), c); });
}

template <class T, int kBits>
void addCompares(Forms& forms, const std::string& lanes) {
    const std::string name = "vset" + lanes + (std::is_signed_v<T> ? ".s32.s32." : ".u32.u32.");
    addCompare<T, kBits>(forms, name + "eq", [](S64 a, S64 b) { return a == b; });
    addCompare<T, kBits>(forms, name + "ne", [](S64 a, S64 b) { return a != b; });
    addCompare<T, kBits>(forms, name + "lt", [](S64 a, S64 b) { return a < b; });
    addCompare<T, kBits>(forms, name + "le", [](S64 a, S64 b) { return a <= b; });
    addCompare<T, kBits>(forms, name + "gt", [](S64 a, S64 b) { return a > b; });
    addCompare<T, kBits>(forms, name + "ge", [](S64 a, S64 b) { return a >= b; });
}

template <class T>
void addShifts(Forms& forms) {
    const std::string types = std::is_signed_v<T> ? ".s32.s32.u32" : ".u32.u32.u32";
    forms.def<T, T, U32>("vshl" + types + ".clamp", OpClass::integer,
                         [](T a, U32 b) { return b > 31 ? 0 : U32(a) << b; });
    forms.def<T, T, U32>("vshl" + types + ".wrap", OpClass::integer, [](T a, U32 b) { return U32(a) << (b & 31); });
    forms.def<T, T, U32>("vshr" + types + ".clamp", OpClass::integer,
                         [](T a, U32 b) { return wide<T>(U32(a)) >> std::min<U32>(b, 32); });
    forms.def<T, T, U32>("vshr" + types + ".wrap", OpClass::integer,
                         [](T a, U32 b) { return wide<T>(U32(a)) >> (b & 31); });
}

template <class T>
void addType(Forms& forms) {
    addWidths<Sum, T>(forms, "vadd");
    addWidths<Difference, T>(forms, "vsub");
    addWidths<Distance, T>(forms, "vabsdiff");
    addWidths<Least, T>(forms, "vmin");
    addWidths<Most, T>(forms, "vmax");
    addOperation<Average, T, 16>(forms, "vavrg2");
    addOperation<Average, T, 8>(forms, "vavrg4");
    addCompares<T, 32>(forms, "");
    addCompares<T, 16>(forms, "2");
    addCompares<T, 8>(forms, "4");
    addShifts<T>(forms);
}

}  // namespace

void addVideoForms(Forms& forms) {
    addType<U32>(forms);
    addType<S32>(forms);
}

}  // namespace bulkhead::sim
