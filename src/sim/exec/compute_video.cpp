#include <algorithm>
#include <type_traits>

#include "sim/exec/compute.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Type;
using S64 = std::int64_t;
using U32 = std::uint32_t;
using S32 = std::int32_t;

// The video instructions: operands are extended to more bits than the result needs, the result is saturated or cut off,
// then a second operation with c may follow. The SIMD forms do so for two halves or four bytes. There are 184 of them
// and programs hardly use them, so that one handler does them all.

struct VideoOperation {
    const char* name;
    S64 (*of)(S64, S64);
    bool simdOnly = false;
};
constexpr VideoOperation kVideoOperations[] = {
    {"vadd", [](S64 a, S64 b) { return a + b; }},
    {"vsub", [](S64 a, S64 b) { return a - b; }},
    {"vabsdiff", [](S64 a, S64 b) { return a < b ? b - a : a - b; }},
    {"vmin", [](S64 a, S64 b) { return std::min(a, b); }},
    {"vmax", [](S64 a, S64 b) { return std::max(a, b); }},
    // Rounded away from zero, as hardware does for halves of either sign.
    {"vavrg", [](S64 a, S64 b) { return (a + b + (a + b >= 0)) >> 1; }, true},
    // One where the comparison holds.
    {"eq", [](S64 a, S64 b) { return S64{a == b}; }},
    {"ne", [](S64 a, S64 b) { return S64{a != b}; }},
    {"lt", [](S64 a, S64 b) { return S64{a < b}; }},
    {"le", [](S64 a, S64 b) { return S64{a <= b}; }},
    {"gt", [](S64 a, S64 b) { return S64{a > b}; }},
    {"ge", [](S64 a, S64 b) { return S64{a >= b}; }},
};
constexpr int kArithmeticCount = 6, kVideoCount = std::size(kVideoOperations);

/// An operation on the elements of registers, as Instr::immediate holds it.
struct Video {
    std::uint8_t operation;
    std::uint8_t bits;  ///< of an element: 32, 16 or 8
    bool isSigned;
    bool saturates = false;
    bool accumulates = false;  ///< .add: d is the sum of the elements and c
    std::uint8_t unused[3] = {};

    S64 low() const { return isSigned ? -(S64{1} << (bits - 1)) : 0; }
    S64 high() const { return (S64{1} << (isSigned ? bits - 1 : bits)) - 1; }
    U32 mask() const { return static_cast<U32>((S64{1} << bits) - 1); }

    S64 element(U32 value, int i) const {
        const U32 cut = value >> (bits * i) & mask();
        return isSigned ? S64{static_cast<S32>(cut << (32 - bits)) >> (32 - bits)} : S64{cut};
    }

    U32 apply(U32 a, U32 b, U32 c) const {
        U32 packed = 0, total = c;
        for (int i = 0; i < 32 / bits; ++i) {
            S64 value = kVideoOperations[operation].of(element(a, i), element(b, i));
            if (saturates) value = std::clamp(value, low(), high());
            packed |= (static_cast<U32>(value) & mask()) << (bits * i);
            // Without .sat the sum takes the element before it is cut off.
            total += static_cast<U32>(value);
        }
        return accumulates ? total : packed;
    }
};

void runVideo(const Instr& instr, Warp& warp, LaneMask mask) {
    const auto video = std::bit_cast<Video>(instr.immediate);
    const U32 *a = warp.lanes<const U32>(instr.src[0]), *b = warp.lanes<const U32>(instr.src[1]);
    const U32* const c = video.accumulates ? warp.lanes<const U32>(instr.src[2]) : a;
    U32* const out = warp.lanes<U32>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = video.apply(a[lane], b[lane], c[lane]); });
}

/// The third operand of a SIMD form gives the elements a mask would leave out; without a mask there are none.
void addVideo(Forms& forms, const std::string& name, Type result, Type operand, const Video& video) {
    const bool takesThree = video.accumulates || video.bits < 32;
    Form& form = takesThree ? forms.add(name, &runVideo, OpClass::integer, result, {operand, operand, result})
                            : forms.add(name, &runVideo, OpClass::integer, result, {operand, operand});
    form.immediate = std::bit_cast<std::int64_t>(video);
}

/// How many elements there are, as names of instructions say it.
const char* countOf(std::uint8_t bits) {
    return bits == 32 ? "" : bits == 16 ? "2" : "4";
}

void addArithmetic(Forms& forms, std::uint8_t operation, std::uint8_t bits, bool isSigned) {
    const Type type = isSigned ? Type::s32 : Type::u32;
    const std::string name =
        std::string(kVideoOperations[operation].name) + countOf(bits) + (isSigned ? ".s32.s32.s32" : ".u32.u32.u32");
    addVideo(forms, name, type, type, {operation, bits, isSigned});
    addVideo(forms, name + ".sat", type, type, {operation, bits, isSigned, true});
    addVideo(forms, name + ".add", type, type, {operation, bits, isSigned, false, true});
    if (bits == 32) addVideo(forms, name + ".sat.add", type, type, {operation, bits, isSigned, true, true});
}

void addVset(Forms& forms, std::uint8_t operation, std::uint8_t bits, bool isSigned) {
    const Type type = isSigned ? Type::s32 : Type::u32;
    const std::string name =
        std::string("vset") + countOf(bits) + (isSigned ? ".s32.s32." : ".u32.u32.") + kVideoOperations[operation].name;
    addVideo(forms, name, Type::u32, type, {operation, bits, isSigned});
    addVideo(forms, name + ".add", Type::u32, type, {operation, bits, isSigned, false, true});
}

template <class T>
void addShifts(Forms& forms) {
    const std::string types = std::is_signed_v<T> ? ".s32.s32.u32" : ".u32.u32.u32";
    forms.def<T, T, U32>("vshl" + types + ".clamp", OpClass::integer,
                         [](T a, U32 b) { return b > 31 ? 0 : U32(a) << b; });
    forms.def<T, T, U32>("vshl" + types + ".wrap", OpClass::integer, [](T a, U32 b) { return U32(a) << (b & 31); });
    forms.def<T, T, U32>("vshr" + types + ".clamp", OpClass::integer,
                         [](T a, U32 b) { return S64{a} >> std::min<U32>(b, 32); });
    forms.def<T, T, U32>("vshr" + types + ".wrap", OpClass::integer, [](T a, U32 b) { return S64{a} >> (b & 31); });
}

}  // namespace

void addVideoForms(Forms& forms) {
    for (const bool isSigned : {false, true})
        for (const std::uint8_t bits : {32, 16, 8})
            for (std::uint8_t operation = 0; operation < kVideoCount; ++operation) {
                if (operation >= kArithmeticCount)
                    addVset(forms, operation, bits, isSigned);
                else if (bits < 32 || !kVideoOperations[operation].simdOnly)
                    addArithmetic(forms, operation, bits, isSigned);
            }
    addShifts<U32>(forms);
    addShifts<S32>(forms);
}

}  // namespace bulkhead::sim
