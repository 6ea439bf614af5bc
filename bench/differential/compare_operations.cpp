#include <cmath>

#include "host_float.h"
#include "operation.h"

namespace bulkhead::differential {
namespace {

using In = const std::uint64_t*;
using Word = std::uint64_t;

/// less, equal, greater or, for floats, unordered.
enum class Order : std::uint8_t { less, equal, greater, unordered };

bool holds(const std::string& name, Order order) {
    if (name == "num") return order != Order::unordered;
    if (name == "nan") return order == Order::unordered;
    // The forms with u at the end hold for NaNs as well.
    if (order == Order::unordered) return name.size() == 3;
    const std::string base = name.substr(0, 2);
    if (base == "eq") return order == Order::equal;
    if (base == "ne") return order != Order::equal;
    if (base == "lt" || base == "lo") return order == Order::less;
    if (base == "le" || base == "ls") return order != Order::greater;
    if (base == "gt" || base == "hi") return order == Order::greater;
    return order != Order::less;  // ge, hs
}

template <class T>
Order orderOf(T a, T b) {
    return a < b ? Order::less : a == b ? Order::equal : a > b ? Order::greater : Order::unordered;
}

using Compare = std::function<Order(Word, Word)>;
using Names = std::vector<std::string>;

/// One type that can be compared.
struct Comparable {
    std::string type;    ///< as in the instruction, .ftz left out
    std::string before;  ///< .ftz or nothing
    Source source;
    Names names;
    Compare compare;
};

const Names kEquality = {"eq", "ne"};
const Names kOrdered = {"eq", "ne", "lt", "le", "gt", "ge"};
const Names kUnsigned = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
const Names kFloats = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

std::vector<Comparable> comparables() {
    std::vector<Comparable> all;
    for (const IntegerType& t : kIntegerTypes)
        all.push_back({t.name, "", t.source(), t.isSigned ? kOrdered : kUnsigned,
                       [t](Word a, Word b) { return orderOf(t.value(a), t.value(b)); }});
    for (const IntegerType& t : {kU16, kU32, kU64})
        all.push_back(
            {"b" + std::to_string(t.bits), "", t.source(), kEquality, [](Word a, Word b) { return orderOf(a, b); }});
    const auto add = [&](const char* name, FloatType type, Source source, bool ftz) {
        all.push_back({name, ftz ? ".ftz" : "", source, kFloats, [type, ftz](Word a, Word b) {
                           if (ftz) a = flushed(type, a), b = flushed(type, b);
                           return orderOf(valueOf(type, a), valueOf(type, b));
                       }});
    };
    for (const bool ftz : {false, true}) {
        add("f32", FloatType::f32, {Width::b32, Literal::f32}, ftz);
        add("f16", FloatType::f16, {Width::b16}, ftz);
    }
    add("f64", FloatType::f64, {Width::b64, Literal::f64}, false);
    add("bf16", FloatType::bf16, {Width::b16}, false);
    return all;
}

Word combined(const std::string& logic, Word a, Word b) {
    return logic == "and" ? a & b : logic == "or" ? a | b : a ^ b;
}

void addPredicates(Collector& c) {
    const Source p{Width::pred};
    for (const Comparable& one : comparables()) {
        const bool half = one.type == "f16" || one.type == "bf16";
        for (const std::string& name : one.names) {
            const auto test = [compare = one.compare, name](In in) { return Word{holds(name, compare(in[0], in[1]))}; };
            const std::string suffix = one.before + "." + one.type;
            c.op("setp." + name + suffix, Width::pred, {one.source, one.source}, test);
            if (name != "lt" && name != "ne" && name != "geu") continue;
            for (const std::string logic : {"and", "or", "xor"})
                for (const bool negated : {false, true}) {
                    const std::string last = negated ? ", !%c;" : ", %c;";
                    const auto both = [test, logic, negated](Evaluation& e) {
                        const Word t = test(e.in), q = e.in[2] ^ Word { negated };
                        e.out[0] = combined(logic, t, q);
                        e.out[1] = combined(logic, t ^ 1, q);
                    };
                    const std::string opcode = "setp." + name + "." + logic + suffix;
                    if (half)
                        c.add(opcode + " %o0, %a, %b" + last, {Width::pred}, {one.source, one.source, p}, both);
                    else
                        c.add(opcode + " %o0|%o1, %a, %b" + last, {Width::pred, Width::pred},
                              {one.source, one.source, p}, both);
                }
        }
    }
}

void addSets(Collector& c) {
    for (const Comparable& one : comparables()) {
        if (one.type == "f16" || one.type == "bf16") continue;
        for (const char* result : {"u32", "s32", "f32"})
            for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) {
                if (one.type[0] == 'b' && name[0] != 'e' && name[0] != 'n') continue;
                const Word yes = result[0] == 'f' ? 0x3f800000 : 0xffffffff;
                Operation& set =
                    c.op(std::string("set.") + name + one.before + "." + result + "." + one.type, Width::b32,
                         {one.source, one.source}, [compare = one.compare, name = std::string(name), yes](In in) {
                             return holds(name, compare(in[0], in[1])) ? yes : 0;
                         });
                set.noGuard = true;
                set.misassembled = result[0] == 'f';  // as the number 1 where an integer conversion follows
            }
    }
}

void addSelections(Collector& c) {
    const Source p{Width::pred}, r{Width::b32};
    struct Type {
        const char* name;
        Source source;
    };
    const Type types[] = {{"b16", kU16.source()},
                          {"b32", kU32.source()},
                          {"b64", kU64.source()},
                          {"u16", kU16.source()},
                          {"s16", kU16.source()},
                          {"u32", kU32.source()},
                          {"s32", kU32.source()},
                          {"u64", kU64.source()},
                          {"s64", kU64.source()},
                          {"f32", {Width::b32, Literal::f32}},
                          {"f64", {Width::b64, Literal::f64}}};
    for (const Type& type : types) {
        const Width w = type.source.width;
        c.op(std::string("selp.") + type.name, w, {type.source, type.source, p},
             [](In in) { return in[2] ? in[0] : in[1]; });
        c.op(std::string("slct.") + type.name + ".s32", w, {{w}, {w}, r},
             [](In in) { return signExtend(in[2], 32) >= 0 ? in[0] : in[1]; });
        for (const bool ftz : {false, true})
            c.op(std::string("slct.") + (ftz ? "ftz." : "") + type.name + ".f32", w, {{w}, {w}, r}, [ftz](In in) {
                const Word by = ftz ? flushed(FloatType::f32, in[2]) : in[2];
                return valueOf(FloatType::f32, by) >= 0 ? in[0] : in[1];
            });
    }
}

void addFloatTests(Collector& c) {
    struct Test {
        const char* name;
        bool (*holds)(FloatType, Word);
    };
    const Test tests[] = {
        {"finite", [](FloatType t, Word a) { return std::isfinite(valueOf(t, a)); }},
        {"infinite", [](FloatType t, Word a) { return std::isinf(valueOf(t, a)); }},
        {"number", [](FloatType t, Word a) { return !isNan(t, a); }},
        {"notanumber", [](FloatType t, Word a) { return isNan(t, a); }},
        // Zeros are normal by definition.
        {"normal", [](FloatType t, Word a) { return std::isfinite(valueOf(t, a)) && !isSubnormal(t, a); }},
        {"subnormal", [](FloatType t, Word a) { return isSubnormal(t, a); }},
    };
    for (const Test& test : tests) {
        const std::string name = std::string("testp.") + test.name;
        const auto holds = test.holds;
        c.op(name + ".f32", Width::pred, {{Width::b32}}, [holds](In in) {
             return Word{holds(FloatType::f32, in[0])};
         }).noGuard = true;
        c.op(name + ".f64", Width::pred, {{Width::b64}}, [holds](In in) {
             return Word{holds(FloatType::f64, in[0])};
         }).noGuard = true;
    }
}

}  // namespace

Family compareOperations() {
    Collector c("compare", 16);
    addPredicates(c);
    addSets(c);
    addSelections(c);
    addFloatTests(c);
    return c.take();
}

}  // namespace bulkhead::differential
