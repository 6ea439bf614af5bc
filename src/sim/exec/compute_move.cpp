#include <fmt/format.h>

#include "sim/exec/compute_float.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Operand;
using ptx::Type;

/// mov.b64 d, {a, b} and the like: the first element is the least significant.
template <class Whole, class Part, int kParts>
void pack(const Instr& instr, Warp& warp, LaneMask mask) {
    LaneWord<Whole>* const out = warp.lanes<LaneWord<Whole>>(instr.dst[0]);
    const LaneWord<Part>* in[kParts];
    for (int i = 0; i < kParts; ++i) in[i] = warp.lanes<const LaneWord<Part>>(instr.src[i]);
    forLanes(mask, [&](int lane) {
        Whole whole = 0;
        for (int i = 0; i < kParts; ++i)
            whole |= static_cast<Whole>(Whole{static_cast<Part>(in[i][lane])} << (8 * sizeof(Part) * i));
        out[lane] = whole;
    });
}

template <class Whole, class Part, int kParts>
void unpack(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneWord<Whole>* const in = warp.lanes<const LaneWord<Whole>>(instr.src[0]);
    LaneWord<Part>* out[kParts];
    for (int i = 0; i < kParts; ++i) out[i] = warp.lanes<LaneWord<Part>>(instr.dst[i]);
    forLanes(mask, [&](int lane) {
        const auto whole = static_cast<Whole>(in[lane]);  // read before it may be overwritten
        for (int i = 0; i < kParts; ++i) out[i][lane] = static_cast<Part>(whole >> (8 * sizeof(Part) * i));
    });
}

struct Packing {
    unsigned bits, parts;
    Type partType;
    Handler pack, unpack;
};
constexpr Packing kPackings[] = {
    {64, 2, Type::b32, &pack<std::uint64_t, std::uint32_t, 2>, &unpack<std::uint64_t, std::uint32_t, 2>},
    {64, 4, Type::b16, &pack<std::uint64_t, std::uint16_t, 4>, &unpack<std::uint64_t, std::uint16_t, 4>},
    {32, 2, Type::b16, &pack<std::uint32_t, std::uint16_t, 2>, &unpack<std::uint32_t, std::uint16_t, 2>},
    {32, 4, Type::b8, &pack<std::uint32_t, std::uint8_t, 4>, &unpack<std::uint32_t, std::uint8_t, 4>},
    {16, 2, Type::b8, &pack<std::uint16_t, std::uint8_t, 2>, &unpack<std::uint16_t, std::uint8_t, 2>},
};

void lowerMove(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    expectOperands(instruction, operands, 2, 2);
    const Operand &to = instruction.operands[0], &from = instruction.operands[1];
    const bool packs = from.kind == Operand::Kind::vector, unpacks = to.kind == Operand::Kind::vector;
    if (!packs && !unpacks) return lowerPlain(instruction, operands, instr, form);
    if (packs && unpacks) operands.refuse(instruction, "only one side of a mov may be a vector");
    const std::vector<Operand>& parts = packs ? from.parts : to.parts;
    const unsigned bits = ptx::bitsOf(form.result);
    for (const Packing& packing : kPackings) {
        if (packing.bits != bits || packing.parts != parts.size()) continue;
        if (packs) {
            addResult(instr, operands.result(to, form.result));
            for (const Operand& part : parts) addSource(instr, operands.source(part, packing.partType));
            instr.run = packing.pack;
        } else {
            addSource(instr, operands.source(from, form.result));
            for (const Operand& part : parts) addResult(instr, operands.result(part, packing.partType));
            instr.run = packing.unpack;
        }
        return;
    }
    operands.refuse(instruction, fmt::format("{} elements do not make {} bits", parts.size(), bits));
}

/// Each part of 64 bits from its own.
template <int kParts>
void copyParts(const Instr& instr, Warp& warp, LaneMask mask) {
    for (int i = 0; i < kParts; ++i) {
        const std::uint64_t* const in = warp.lanes<const std::uint64_t>(instr.src[i]);
        std::uint64_t* const out = warp.lanes<std::uint64_t>(instr.dst[i]);
        forLanes(mask, [&](int lane) { out[lane] = in[lane]; });
    }
}

/// mov.b128: registers of 128 bits are kept as halves, so what is packed is only copied.
void lowerWideMove(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form&) {
    expectOperands(instruction, operands, 2, 2);
    const Operand &to = instruction.operands[0], &from = instruction.operands[1];
    const bool packs = from.kind == Operand::Kind::vector, unpacks = to.kind == Operand::Kind::vector;
    if (packs && unpacks) operands.refuse(instruction, "only one side of a mov may be a vector");
    if ((packs && from.parts.size() != 2) || (unpacks && to.parts.size() != 2))
        operands.refuse(instruction, "128 bits are made of 2 elements");
    const Halves source =
        packs ? Halves{operands.source(from.parts[0], Type::b64), operands.source(from.parts[1], Type::b64)}
              : operands.wideSource(from);
    addSource(instr, source.low);
    addSource(instr, source.high);
    const Halves result = unpacks
                              ? Halves{operands.result(to.parts[0], Type::b64), operands.result(to.parts[1], Type::b64)}
                              : operands.wideResult(to);
    addResult(instr, result.low);
    addResult(instr, result.high);
    instr.run = &copyParts<2>;
}

template <class T>
void runSelect(const Instr& instr, Warp& warp, LaneMask mask) {
    LaneWord<T>* const out = warp.lanes<LaneWord<T>>(instr.dst[0]);
    const LaneWord<T>*a = warp.lanes<LaneWord<T>>(instr.src[0]), *b = warp.lanes<LaneWord<T>>(instr.src[1]);
    const LaneMask choose = predicateOf(instr, warp, 2);
    if (mask == kAllLanes) {
        BULKHEAD_INDEPENDENT_LANES
        for (int lane = 0; lane < kLanes; ++lane) {
            // Not `choose >> lane`: with one bit picked out by a constant the loop vectorises everywhere.
            const auto all = static_cast<LaneWord<T>>(0) - static_cast<LaneWord<T>>((choose & (1u << lane)) != 0);
            out[lane] = (a[lane] & all) | (b[lane] & ~all);
        }
    } else {
        forLanes(mask, [&](int lane) { out[lane] = choose >> lane & 1 ? a[lane] : b[lane]; });
    }
}

template <class T>
void addType(Forms& forms, const std::string& type, Type t) {
    forms.add("mov." + type, &lanewise<decltype([](T a) { return a; }), T, T>, OpClass::integer, t, {t}, &lowerMove);
    forms.add("selp." + type, &runSelect<T>, OpClass::integer, t, {t, t, Type::pred});
    forms.add("slct." + type + ".s32",
              &lanewise<decltype([](T a, T b, std::int32_t c) { return c >= 0 ? a : b; }), T, T, T, std::int32_t>,
              OpClass::integer, t, {t, t, Type::s32});
    // A NaN selects b, -0 selects a; so does a negative subnormal that is flushed.
    forms.add("slct." + type + ".f32",
              &lanewise<decltype([](T a, T b, float c) { return c >= 0 ? a : b; }), T, T, T, float>, OpClass::integer,
              t, {t, t, Type::f32});
    forms.add("slct.ftz." + type + ".f32",
              &lanewise<decltype([](T a, T b, float c) { return flush<true>(c) >= 0 ? a : b; }), T, T, T, float>,
              OpClass::integer, t, {t, t, Type::f32});
}

}  // namespace

void addMoveForms(Forms& forms) {
    using U16 = std::uint16_t;
    using U32 = std::uint32_t;
    using U64 = std::uint64_t;
    addType<U16>(forms, "b16", Type::b16);
    addType<U16>(forms, "u16", Type::u16);
    addType<U16>(forms, "s16", Type::s16);
    addType<U32>(forms, "b32", Type::b32);
    addType<U32>(forms, "u32", Type::u32);
    addType<U32>(forms, "s32", Type::s32);
    addType<U32>(forms, "f32", Type::f32);
    addType<U64>(forms, "b64", Type::b64);
    addType<U64>(forms, "u64", Type::u64);
    addType<U64>(forms, "s64", Type::s64);
    addType<U64>(forms, "f64", Type::f64);
    forms.add("mov.b128", nullptr, OpClass::integer, Type::b128, {Type::b128}, &lowerWideMove);
    for (const auto& [name, type] : {std::pair{"f16", Type::f16}, {"bf16", Type::bf16}}) {
        forms.add(std::string("mov.") + name, &lanewise<decltype([](U16 a) { return a; }), U16, U16>, OpClass::integer,
                  type, {type}, &lowerMove);
        forms.add(std::string("selp.") + name, &runSelect<U16>, OpClass::integer, type, {type, type, Type::pred});
    }
}

}  // namespace bulkhead::sim
