#include <algorithm>
#include <bit>

#include "operation.h"

namespace bulkhead::differential {
namespace {

using Value = IntegerType::Value;

std::uint64_t word(Value value) {
    return static_cast<std::uint64_t>(value);
}

std::string named(const char* name, const IntegerType& type) {
    return std::string(name) + type.name;
}

void addArithmetic(Collector& c, IntegerType t) {
    using In = const std::uint64_t*;
    const Width w = t.width();
    const Source s = t.source();
    c.op(named("add.", t), w, {s, s}, [](In in) { return in[0] + in[1]; });
    c.op(named("sub.", t), w, {s, s}, [](In in) { return in[0] - in[1]; });
    c.op(named("min.", t), w, {s, s}, [t](In in) { return word(std::min(t.value(in[0]), t.value(in[1]))); });
    c.op(named("max.", t), w, {s, s}, [t](In in) { return word(std::max(t.value(in[0]), t.value(in[1]))); });
    c.op(named("mul.lo.", t), w, {s, s}, [](In in) { return in[0] * in[1]; });
    const auto high = [t](In in) { return word(t.value(in[0]) * t.value(in[1]) >> t.bits); };
    if (t.bits == 64 && !t.isSigned) {
        // The product of two 64-bit numbers does not fit into a signed word of 128 bits.
        const auto high64 = [](In in) {
            __extension__ using Wide = unsigned __int128;
            return static_cast<std::uint64_t>(Wide{in[0]} * in[1] >> 64);
        };
        c.op(named("mul.hi.", t), w, {s, s}, high64);
        c.op(named("mad.hi.", t), w, {s, s, s}, [high64](In in) { return high64(in) + in[2]; });
    } else {
        c.op(named("mul.hi.", t), w, {s, s}, high);
        c.op(named("mad.hi.", t), w, {s, s, s}, [high](In in) { return high(in) + in[2]; });
    }
    c.op(named("mad.lo.", t), w, {s, s, s}, [](In in) { return in[0] * in[1] + in[2]; });
    c.op(named("sad.", t), w, {s, s, s}, [t](In in) {
        const Value a = t.value(in[0]), b = t.value(in[1]);
        return word(a < b ? b - a : a - b) + in[2];
    });
    c.op(named("div.", t), w, {s, s}, [t](In in) { return word(t.value(in[0]) / t.value(in[1])); }).divides = true;
    c.op(named("rem.", t), w, {s, s}, [t](In in) { return word(t.value(in[0]) % t.value(in[1])); }).divides = true;
    if (t.isSigned) {
        // Of -32768, a division that follows gets 32768.
        c.op(named("abs.", t), w, {s}, [t](In in) {
             return word(t.value(in[0]) < 0 ? -t.value(in[0]) : in[0]);
         }).misassembled = t.bits == 16;
        c.op(named("neg.", t), w, {s}, [](In in) { return 0 - in[0]; }).misassembled = t.bits == 16;
    }
    if (t.bits < 64) {
        const Width wide = t.bits == 16 ? Width::b32 : Width::b64;
        const auto product = [t](In in) { return word(t.value(in[0]) * t.value(in[1])); };
        c.op(named("mul.wide.", t), wide, {s, s}, product);
        c.op(named("mad.wide.", t), wide, {s, s, {wide, Literal::integer}},
             [product](In in) { return product(in) + in[2]; });
    }
}

void addWords(Collector& c) {
    using In = const std::uint64_t*;
    const Width w = Width::b32;
    for (const IntegerType& t : {kU32, kS32}) {
        const Source s = t.source();
        const auto product = [t](In in) {
            const IntegerType low{"", 24, t.isSigned};
            return low.value(in[0]) * low.value(in[1]);
        };
        c.op(named("mul24.lo.", t), w, {s, s}, [product](In in) { return word(product(in)); });
        c.op(named("mul24.hi.", t), w, {s, s}, [product](In in) { return word(product(in) >> 16); });
        c.op(named("mad24.lo.", t), w, {s, s, s}, [product](In in) { return word(product(in)) + in[2]; });
        c.op(named("mad24.hi.", t), w, {s, s, s}, [product](In in) { return word(product(in) >> 16) + in[2]; });
    }
    const Source s = kS32.source();
    const auto at = [](In in, int i) { return kS32.value(in[i]); };
    c.op("add.sat.s32", w, {s, s}, [at](In in) { return word(kS32.clamp(at(in, 0) + at(in, 1))); });
    c.op("sub.sat.s32", w, {s, s}, [at](In in) { return word(kS32.clamp(at(in, 0) - at(in, 1))); });
    c.op("mad.hi.sat.s32", w, {s, s, s},
         [at](In in) { return word(kS32.clamp((at(in, 0) * at(in, 1) >> 32) + at(in, 2))); });
}

/// Three steps of a sum over several words, with the carry from each to the next.
void addCarryChains(Collector& c, IntegerType t) {
    __extension__ using Wide = unsigned __int128;
    const Width w = t.width();
    const Source s = {w};
    const std::string type = t.name;
    const unsigned bits = t.bits;
    const std::vector<Width> results = {w, w, w};
    c.add("add.cc." + type + " %o0, %a, %b; addc.cc." + type + " %o1, %c, %d; addc." + type + " %o2, 7, 3;", results,
          {s, s, s, s},
          [bits](Evaluation& e) {
              const Wide first = Wide{e.in[0]} + e.in[1];
              const Wide second = Wide{e.in[2]} + e.in[3] + (first >> bits & 1);
              e.out[0] = static_cast<std::uint64_t>(first);
              e.out[1] = static_cast<std::uint64_t>(second);
              e.out[2] = 10 + static_cast<std::uint64_t>(second >> bits & 1);
          })
        .ownResults = true;
    c.add("sub.cc." + type + " %o0, %a, %b; subc.cc." + type + " %o1, %c, %d; subc." + type + " %o2, 7, 3;", results,
          {s, s, s, s},
          [](Evaluation& e) {
              const bool borrow = e.in[0] < e.in[1];
              e.out[0] = e.in[0] - e.in[1];
              e.out[1] = e.in[2] - e.in[3] - borrow;
              e.out[2] = 4 - std::uint64_t{Wide{e.in[2]} < Wide{e.in[3]} + borrow};
          })
        .ownResults = true;
    for (const bool high : {false, true}) {
        const auto half = [t, high](std::uint64_t a, std::uint64_t b) -> std::uint64_t {
            if (t.bits == 64 && !t.isSigned) return static_cast<std::uint64_t>(Wide{a} * b >> (high ? 64 : 0));
            return word(t.value(a) * t.value(b) >> (high ? t.bits : 0)) & maskOf(t.bits);
        };
        const std::string name = std::string(high ? "hi." : "lo.");
        c.add("mad." + name + "cc." + type + " %o0, %a, %b, %c; madc." + name + "cc." + type +
                  " %o1, %b, %c, %d; madc." + name + type + " %o2, %a, %d, %b;",
              results, {s, s, s, s},
              [half, bits](Evaluation& e) {
                  const Wide first = Wide{half(e.in[0], e.in[1])} + e.in[2];
                  const Wide second = Wide{half(e.in[1], e.in[2])} + e.in[3] + (first >> bits & 1);
                  e.out[0] = static_cast<std::uint64_t>(first);
                  e.out[1] = static_cast<std::uint64_t>(second);
                  e.out[2] = half(e.in[0], e.in[3]) + e.in[1] + static_cast<std::uint64_t>(second >> bits & 1);
              })
            .ownResults = true;
    }
}

void addDotProducts(Collector& c) {
    const Source s = kU32.source();
    for (const IntegerType& a : {kU32, kS32})
        for (const IntegerType& b : {kU32, kS32}) {
            const std::string types = std::string(a.name) + "." + b.name;
            const auto part = [](std::uint64_t word, unsigned from, unsigned bits, bool isSigned) {
                return IntegerType{"", bits, isSigned}.value(word >> from);
            };
            c.op("dp4a." + types, Width::b32, {s, s, s}, [a, b, part](const std::uint64_t* in) {
                Value sum = static_cast<Value>(in[2]);
                for (unsigned i = 0; i < 32; i += 8)
                    sum += part(in[0], i, 8, a.isSigned) * part(in[1], i, 8, b.isSigned);
                return word(sum);
            });
            for (const unsigned from : {0u, 16u})
                c.op((from ? "dp2a.hi." : "dp2a.lo.") + types, Width::b32, {s, s, s},
                     [a, b, part, from](const std::uint64_t* in) {
                         Value sum = static_cast<Value>(in[2]);
                         for (unsigned i = 0; i < 2; ++i)
                             sum += part(in[0], 16 * i, 16, a.isSigned) * part(in[1], from + 8 * i, 8, b.isSigned);
                         return word(sum);
                     });
        }
}

}  // namespace

Family integerOperations() {
    Collector c("integer", 20);
    for (const IntegerType& type : kIntegerTypes) addArithmetic(c, type);
    addWords(c);
    for (const IntegerType& type : {kU32, kS32, kU64, kS64}) addCarryChains(c, type);
    addDotProducts(c);
    return c.take();
}

}  // namespace bulkhead::differential
