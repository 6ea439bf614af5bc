#include "sim/exec/compute.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;
using ptx::Operand;
using ptx::Type;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

// The lanes that execute together are those of the handler's mask. A member mask that names others is taken to mean
// those of them that are here: on hardware the instruction would wait for the rest, which this warp's reconvergence
// has already brought along where it can.

// shfl ---------------------------------------------------------------------------------------------------------------

enum class Shuffle : std::uint8_t { up, down, butterfly, index };

/// src: value, b, c and, of shfl.sync, the member mask. dst[1], where present, tells whether the source lane was within
/// the segment. PTX leaves open what a lane that takes no part gives; an H200 gives 0, and programs rest on it.
template <Shuffle kMode, bool kSync>
void runShuffle(const Instr& instr, Warp& warp, LaneMask mask) {
    const U32 *value = warp.lanes<U32>(instr.src[0]), *b = warp.lanes<U32>(instr.src[1]),
              *c = warp.lanes<U32>(instr.src[2]);
    const U32* const members = kSync ? warp.lanes<U32>(instr.src[3]) : nullptr;
    const LaneMask elsewhere = warp.live() & ~mask;
    U32 result[kLanes];
    LaneMask within = 0;
    forLanes(mask, [&](int lane) {
        const int distance = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31);
        const int segment = static_cast<int>(c[lane] >> 8 & 31);
        const int first = lane & segment, limit = first | (clamp & ~segment);
        int from = 0;
        bool ok = false;
        switch (kMode) {
            case Shuffle::up:
                from = lane - distance;
                ok = from >= limit;
                break;
            case Shuffle::down:
                from = lane + distance;
                ok = from <= limit;
                break;
            case Shuffle::butterfly:
                from = lane ^ distance;
                ok = from <= limit;
                break;
            case Shuffle::index:
                from = first | (distance & ~segment);
                ok = from <= limit;
                break;
        }
        const LaneMask giving = mask | (kSync ? elsewhere & members[lane] : 0);
        result[lane] = !ok ? value[lane] : (giving >> from & 1) != 0 ? value[from] : 0;
        within |= LaneMask{ok} << lane;
    });
    U32* const out = warp.lanes<U32>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = result[lane]; });
    if (instr.dstCount == 2) setPredicate(warp.predicate(instr.dst[1]), mask, within);
}

/// d|p, or d alone.
void lowerPairResult(const ptx::Instruction& instruction, Operands& operands, Instr& instr, Type type) {
    const Operand& result = instruction.operands[0];
    if (result.kind != Operand::Kind::pair) {
        addResult(instr, operands.result(result, type));
        return;
    }
    addResult(instr, operands.result(result.parts[0], type));
    addResult(instr, operands.predicateResult(result.parts[1]));
}

template <bool kSync>
void lowerShuffle(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form&) {
    constexpr std::size_t kOperands = kSync ? 5 : 4;
    expectOperands(instruction, operands, kOperands, kOperands);
    lowerPairResult(instruction, operands, instr, Type::b32);
    addSource(instr, operands.source(instruction.operands[1], Type::b32));
    addSource(instr, operands.source(instruction.operands[2], Type::u32));
    addSource(instr, operands.source(instruction.operands[3], Type::u32));
    if (kSync) addSource(instr, operands.source(instruction.operands[4], Type::u32));
}

// vote ---------------------------------------------------------------------------------------------------------------

enum class Vote : std::uint8_t { all, any, uniform, ballot };

/// Calls body(group, lanes) for each set of lanes that gave the same member mask; `group` are those that take part.
/// Nearly always there is one.
template <class Body>
void forGroups(const U32* members, LaneMask mask, Body body) {
    for (LaneMask rest = mask; rest;) {
        const U32 named = members[std::countr_zero(rest)];
        LaneMask lanes = 0;
        forLanes(rest, [&](int lane) { lanes |= LaneMask{members[lane] == named} << lane; });
        body(mask & named, lanes);
        rest &= ~lanes;
    }
}

template <Vote kMode, bool kSync>
void runVote(const Instr& instr, Warp& warp, LaneMask mask) {
    const LaneMask votes = predicateOf(instr, warp, 0);
    const auto decide = [&](LaneMask group, LaneMask lanes) {
        const LaneMask yes = votes & group;
        if constexpr (kMode == Vote::ballot) {
            U32* const out = warp.lanes<U32>(instr.dst[0]);
            forLanes(lanes, [&](int lane) { out[lane] = yes; });
        } else {
            const bool result = kMode == Vote::all   ? yes == group
                                : kMode == Vote::any ? yes != 0
                                                     : yes == 0 || yes == group;
            setPredicate(warp.predicate(instr.dst[0]), lanes, result ? kAllLanes : 0);
        }
    };
    if constexpr (kSync)
        forGroups(warp.lanes<U32>(instr.src[1]), mask, decide);
    else
        decide(mask, mask);
}

template <Vote kMode>
void addVote(Forms& forms, const std::string& mode) {
    constexpr Type kResult = kMode == Vote::ballot ? Type::b32 : Type::pred;
    const std::string type = kMode == Vote::ballot ? ".b32" : ".pred";
    forms.add("vote." + mode + type, &runVote<kMode, false>, OpClass::shuffle, kResult, {Type::pred});
    forms.add("vote.sync." + mode + type, &runVote<kMode, true>, OpClass::shuffle, kResult, {Type::pred, Type::b32});
}

// match --------------------------------------------------------------------------------------------------------------

template <class T>
LaneMask equalTo(const T* values, T value, LaneMask among) {
    LaneMask equal = 0;
    forLanes(among, [&](int lane) { equal |= LaneMask{values[lane] == value} << lane; });
    return equal;
}

template <class T>
void runMatchAny(const Instr& instr, Warp& warp, LaneMask mask) {
    const T* values = warp.lanes<T>(instr.src[0]);
    U32 result[kLanes];
    forGroups(warp.lanes<U32>(instr.src[1]), mask, [&](LaneMask group, LaneMask lanes) {
        for (LaneMask rest = lanes; rest;) {
            const T value = values[std::countr_zero(rest)];
            const LaneMask equal = equalTo(values, value, group);
            const LaneMask same = equalTo(values, value, rest);
            forLanes(same, [&](int lane) { result[lane] = equal; });
            rest &= ~same;
        }
    });
    U32* const out = warp.lanes<U32>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = result[lane]; });
}

template <class T>
void runMatchAll(const Instr& instr, Warp& warp, LaneMask mask) {
    const T* values = warp.lanes<T>(instr.src[0]);
    U32 result[kLanes];
    LaneMask all = 0;
    forGroups(warp.lanes<U32>(instr.src[1]), mask, [&](LaneMask group, LaneMask lanes) {
        const bool same = group != 0 && equalTo(values, values[std::countr_zero(group)], group) == group;
        forLanes(lanes, [&](int lane) { result[lane] = same ? group : 0; });
        if (same) all |= lanes;
    });
    U32* const out = warp.lanes<U32>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = result[lane]; });
    if (instr.dstCount == 2) setPredicate(warp.predicate(instr.dst[1]), mask, all);
}

void lowerMatch(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    expectOperands(instruction, operands, 3, 3);
    lowerPairResult(instruction, operands, instr, Type::b32);
    addSource(instr, operands.source(instruction.operands[1], form.arguments[0]));
    addSource(instr, operands.source(instruction.operands[2], Type::b32));
}

// redux, activemask, elect -------------------------------------------------------------------------------------------

template <class T, class Op>
void runReduce(const Instr& instr, Warp& warp, LaneMask mask) {
    const T* values = warp.lanes<T>(instr.src[0]);
    T result[kLanes];
    forGroups(warp.lanes<U32>(instr.src[1]), mask, [&](LaneMask group, LaneMask lanes) {
        T total{};
        LaneMask rest = group;
        if (rest) total = values[std::countr_zero(rest)];
        forLanes(rest & (rest - 1), [&](int lane) { total = Op{}(total, values[lane]); });
        forLanes(lanes, [&](int lane) { result[lane] = total; });
    });
    T* const out = warp.lanes<T>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = result[lane]; });
}

template <class T, class Op>
void addReduce(Forms& forms, const std::string& name, Type type, Op) {
    forms.add("redux.sync." + name, &runReduce<T, Op>, OpClass::shuffle, type, {type, Type::b32});
}

void runActiveMask(const Instr& instr, Warp& warp, LaneMask mask) {
    U32* const out = warp.lanes<U32>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = mask; });
}

/// The lowest lane of the member mask is elected: its number to all, the predicate to it alone.
void runElect(const Instr& instr, Warp& warp, LaneMask mask) {
    const U32* members = warp.lanes<U32>(instr.src[0]);
    U32 result[kLanes];
    LaneMask leaders = 0;
    forGroups(members, mask, [&](LaneMask group, LaneMask lanes) {
        const auto leader = static_cast<U32>(std::countr_zero(group ? group : lanes));
        forLanes(lanes, [&](int lane) { result[lane] = leader; });
        leaders |= LaneMask{1} << leader;
    });
    U32* const out = warp.lanes<U32>(instr.dst[0]);
    forLanes(mask, [&](int lane) { out[lane] = result[lane]; });
    if (instr.dstCount == 2) setPredicate(warp.predicate(instr.dst[1]), mask, leaders);
}

void lowerElect(const ptx::Instruction& instruction, Operands& operands, Instr& instr, const Form&) {
    expectOperands(instruction, operands, 2, 2);
    lowerPairResult(instruction, operands, instr, Type::b32);
    addSource(instr, operands.source(instruction.operands[1], Type::b32));
}

template <Shuffle kMode>
void addShuffle(Forms& forms, const std::string& mode) {
    forms.add("shfl." + mode + ".b32", &runShuffle<kMode, false>, OpClass::shuffle, Type::b32, {},
              &lowerShuffle<false>);
    forms.add("shfl.sync." + mode + ".b32", &runShuffle<kMode, true>, OpClass::shuffle, Type::b32, {},
              &lowerShuffle<true>);
}

}  // namespace

void addWarpForms(Forms& forms) {
    addShuffle<Shuffle::up>(forms, "up");
    addShuffle<Shuffle::down>(forms, "down");
    addShuffle<Shuffle::butterfly>(forms, "bfly");
    addShuffle<Shuffle::index>(forms, "idx");
    addVote<Vote::all>(forms, "all");
    addVote<Vote::any>(forms, "any");
    addVote<Vote::uniform>(forms, "uni");
    addVote<Vote::ballot>(forms, "ballot");
    forms.add("match.any.sync.b32", &runMatchAny<U32>, OpClass::shuffle, Type::b32, {Type::b32}, &lowerMatch);
    forms.add("match.any.sync.b64", &runMatchAny<U64>, OpClass::shuffle, Type::b32, {Type::b64}, &lowerMatch);
    forms.add("match.all.sync.b32", &runMatchAll<U32>, OpClass::shuffle, Type::b32, {Type::b32}, &lowerMatch);
    forms.add("match.all.sync.b64", &runMatchAll<U64>, OpClass::shuffle, Type::b32, {Type::b64}, &lowerMatch);

    using S32 = std::int32_t;
    addReduce<U32>(forms, "add.u32", Type::u32, [](U32 a, U32 b) { return a + b; });
    addReduce<U32>(forms, "add.s32", Type::s32, [](U32 a, U32 b) { return a + b; });
    addReduce<U32>(forms, "min.u32", Type::u32, [](U32 a, U32 b) { return b < a ? b : a; });
    addReduce<S32>(forms, "min.s32", Type::s32, [](S32 a, S32 b) { return b < a ? b : a; });
    addReduce<U32>(forms, "max.u32", Type::u32, [](U32 a, U32 b) { return a < b ? b : a; });
    addReduce<S32>(forms, "max.s32", Type::s32, [](S32 a, S32 b) { return a < b ? b : a; });
    addReduce<U32>(forms, "and.b32", Type::b32, [](U32 a, U32 b) { return a & b; });
    addReduce<U32>(forms, "or.b32", Type::b32, [](U32 a, U32 b) { return a | b; });
    addReduce<U32>(forms, "xor.b32", Type::b32, [](U32 a, U32 b) { return a ^ b; });
    forms.add("activemask.b32", &runActiveMask, OpClass::shuffle, Type::b32, {});
    forms.add("elect.sync", &runElect, OpClass::shuffle, Type::b32, {}, &lowerElect);
}

}  // namespace bulkhead::sim
