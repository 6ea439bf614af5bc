#include <algorithm>
#include <bit>

#include "operation.h"

namespace bulkhead::differential {
namespace {

using In = const std::uint64_t*;
using Word = std::uint64_t;

constexpr Source kWord{Width::b32, Literal::integer};
/// How far something is shifted. Of a literal NVIDIA's assembler takes the low half where the operand has 16 bits.
constexpr Source shiftOf(unsigned bits) {
    return {Width::b32, bits == 16 ? Literal::none : Literal::integer};
}
constexpr Source kPlace{Width::b32};  ///< of a bit field: NVIDIA's assembler takes no literals above 255

Width widthOf(unsigned bits) {
    return bits == 64 ? Width::b64 : bits == 16 ? Width::b16 : Width::b32;
}

Word reversed(Word value, unsigned bits) {
    Word result = 0;
    for (unsigned i = 0; i < bits; ++i) result |= (value >> i & 1) << (bits - 1 - i);
    return result;
}

/// Bit by bit, as the manual defines it.
Word extractField(Word a, Word b, Word c, unsigned bits, bool isSigned) {
    const unsigned last = bits - 1, position = b & 0xff, length = c & 0xff;
    const Word fill = !isSigned || length == 0 ? 0 : a >> std::min(position + length - 1, last) & 1;
    Word d = 0;
    for (unsigned i = 0; i < bits; ++i) d |= (i < length && position + i <= last ? a >> (position + i) & 1 : fill) << i;
    return d;
}
Word insertField(Word a, Word b, Word c, Word d, unsigned bits) {
    const unsigned position = c & 0xff, length = d & 0xff;
    Word f = b;
    for (unsigned i = 0; i < length && position + i < bits; ++i) {
        f &= ~(Word{1} << (position + i));
        f |= (a >> i & 1) << (position + i);
    }
    return f;
}

/// The last two sources are a position and a length. Beyond 255, where the manual takes their low bytes, hardware does
/// something else with 64 bits: programs do not go there.
void addField(Collector& c, const std::string& name, Width w, std::vector<Source> sources,
              std::function<Word(In)> value) {
    if (w != Width::b64) {
        c.op(name, w, std::move(sources), std::move(value));
        return;
    }
    const bool inserts = sources.size() == 4;
    c.add((inserts ? "and.b32 %y0, %c, 255; and.b32 %y1, %d, 255; " : "and.b32 %y0, %b, 255; and.b32 %y1, %c, 255; ") +
              name + (inserts ? " %o0, %a, %b, %y0, %y1;" : " %o0, %a, %y0, %y1;"),
          {w}, std::move(sources), [value = std::move(value)](Evaluation& e) { e.out[0] = value(e.in); });
}

/// The position of the most significant bit that is not the sign's, or all ones.
Word findBit(Word value, const IntegerType& t, bool shiftAmount) {
    if (t.isSigned && signExtend(value, t.bits) < 0) value = ~value & maskOf(t.bits);
    if (value == 0) return 0xffffffff;
    const auto position = static_cast<Word>(63 - std::countl_zero(value));
    return shiftAmount ? t.bits - 1 - position : position;
}

void addLogic(Collector& c, unsigned bits) {
    const Width w = widthOf(bits);
    const Source s{w, Literal::integer}, r{w};
    const std::string type = "b" + std::to_string(bits);
    c.op("and." + type, w, {s, s}, [](In in) { return in[0] & in[1]; });
    c.op("or." + type, w, {s, s}, [](In in) { return in[0] | in[1]; });
    c.op("xor." + type, w, {s, s}, [](In in) { return in[0] ^ in[1]; });
    c.op("not." + type, w, {r}, [](In in) { return ~in[0]; });
    c.op("cnot." + type, w, {r}, [](In in) { return Word{in[0] == 0}; });
    c.op("mov." + type, w, {s}, [](In in) { return in[0]; });
    c.op("shl." + type, w, {r, shiftOf(bits)}, [bits](In in) { return in[1] >= bits ? 0 : in[0] << in[1]; });
    c.op("shr." + type, w, {r, shiftOf(bits)}, [bits](In in) { return in[1] >= bits ? 0 : in[0] >> in[1]; });
}

void addShifts(Collector& c) {
    for (const IntegerType& t : kIntegerTypes)
        c.op(std::string("shr.") + t.name, t.width(), {{t.width()}, shiftOf(t.bits)}, [t](In in) {
            const auto by = std::min<Word>(in[1], t.isSigned ? t.bits - 1 : t.bits);
            return static_cast<Word>(t.value(in[0]) >> by);
        });
    const Source r{Width::b32};
    for (const bool wrap : {false, true}) {
        const std::string mode = wrap ? "wrap" : "clamp";
        const auto amount = [wrap](Word c) { return wrap ? c & 31 : std::min<Word>(c, 32); };
        // The two words as one; b is the upper half.
        c.op("shf.l." + mode + ".b32", Width::b32, {r, r, kWord},
             [amount](In in) { return (in[1] << 32 | in[0]) << amount(in[2]) >> 32; });
        c.op("shf.r." + mode + ".b32", Width::b32, {r, r, kWord},
             [amount](In in) { return (in[1] << 32 | in[0]) >> amount(in[2]); });
        c.op("bmsk." + mode + ".b32", Width::b32, {kWord, kWord}, [wrap](In in) {
            const Word a = wrap ? in[0] & 31 : in[0], b = wrap ? in[1] & 31 : in[1];
            if (a >= 32) return Word{0};
            const Word ones = b >= 32 ? ~Word{0} : (Word{1} << b) - 1;
            return ones << a;
        });
        for (const IntegerType& t : {kU32, kS32})
            c.op("szext." + mode + "." + t.name, Width::b32, {r, kWord}, [wrap, t](In in) {
                const Word bits = wrap ? in[1] & 31 : in[1];
                if (bits == 0) return Word{0};
                if (bits >= 32) return in[0];
                const IntegerType part{"", static_cast<unsigned>(bits), t.isSigned};
                return static_cast<Word>(part.value(in[0]));
            });
    }
}

Word permute(Word a, Word b, const unsigned (&selectors)[4]) {
    const Word bytes = b << 32 | a;
    Word result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const Word byte = bytes >> 8 * (selectors[i] & 7) & 0xff;
        result |= (selectors[i] & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
    }
    return result;
}

void addPermutations(Collector& c) {
    const Source r{Width::b32};
    c.op("prmt.b32", Width::b32, {r, r, kWord}, [](In in) {
        const auto nibble = [&](unsigned i) { return static_cast<unsigned>(in[2] >> 4 * i & 15); };
        return permute(in[0], in[1], {nibble(0), nibble(1), nibble(2), nibble(3)});
    });
    // The tables of the manual: for c = 0..3, which byte goes to bytes 0..3.
    struct Mode {
        const char* name;
        unsigned selectors[4][4];
    };
    static const Mode kModes[] = {{"f4e", {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}},
                                  {"b4e", {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}},
                                  {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                                  {"ecl", {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}},
                                  {"ecr", {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}},
                                  {"rc16", {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}};
    for (const Mode& mode : kModes)
        c.op(std::string("prmt.b32.") + mode.name, Width::b32, {r, r, kWord},
             [&mode](In in) { return permute(in[0], in[1], mode.selectors[in[2] & 3]); });
}

void addPacking(Collector& c) {
    const Source h{Width::b16}, r{Width::b32}, d{Width::b64};
    c.add("mov.b64 %o0, {%a, %b};", {Width::b64}, {r, r}, [](Evaluation& e) { e.out[0] = e.in[1] << 32 | e.in[0]; });
    c.add("mov.b32 %o0, {%a, %b};", {Width::b32}, {h, h}, [](Evaluation& e) { e.out[0] = e.in[1] << 16 | e.in[0]; });
    c.add("mov.b64 {%o0, %o1}, %a;", {Width::b32, Width::b32}, {d}, [](Evaluation& e) {
        e.out[0] = e.in[0];
        e.out[1] = e.in[0] >> 32;
    });
    c.add("mov.b32 {%o0, %o1}, %a;", {Width::b16, Width::b16}, {r}, [](Evaluation& e) {
        e.out[0] = e.in[0];
        e.out[1] = e.in[0] >> 16;
    });
    c.add("mov.b64 %o0, {%a, %b, %c, %d};", {Width::b64}, {h, h, h, h},
          [](Evaluation& e) { e.out[0] = e.in[3] << 48 | e.in[2] << 32 | e.in[1] << 16 | e.in[0]; });
}

void addLookup(Collector& c) {
    const Source r{Width::b32};
    Operation& lop3 = c.add("lop3.b32 %o0, %a, %b, %c, %k;", {Width::b32}, {r, r, r}, [](Evaluation& e) {
        e.out[0] = 0;
        for (unsigned i = 0; i < 32; ++i) {
            const Word index = (e.in[0] >> i & 1) << 2 | (e.in[1] >> i & 1) << 1 | (e.in[2] >> i & 1);
            e.out[0] |= (e.constant >> index & 1) << i;
        }
    });
    lop3.constantStep = 1;
    lop3.constantCount = 256;
    const Source p{Width::pred};
    c.op("and.pred", Width::pred, {p, p}, [](In in) { return in[0] & in[1]; });
    c.op("or.pred", Width::pred, {p, p}, [](In in) { return in[0] | in[1]; });
    c.op("xor.pred", Width::pred, {p, p}, [](In in) { return in[0] ^ in[1]; });
    c.op("not.pred", Width::pred, {p}, [](In in) { return in[0] ^ 1; });
}

}  // namespace

Family bitOperations() {
    Collector c("bits", 16);
    for (const unsigned bits : {16u, 32u, 64u}) addLogic(c, bits);
    for (const unsigned bits : {32u, 64u}) {
        const Width w = widthOf(bits);
        const Source r{w};
        const std::string type = "b" + std::to_string(bits);
        c.op("popc." + type, Width::b32, {r}, [](In in) { return static_cast<Word>(std::popcount(in[0])); });
        c.op("clz." + type, Width::b32, {r},
             [bits](In in) { return static_cast<Word>(std::countl_zero(in[0])) - (64 - bits); });
        c.op("brev." + type, w, {r}, [bits](In in) { return reversed(in[0], bits); });
        addField(c, "bfi." + type, w, {r, r, kPlace, kPlace},
                 [bits](In in) { return insertField(in[0], in[1], in[2], in[3], bits); });
    }
    for (const IntegerType& t : {kU32, kS32, kU64, kS64}) {
        const Source r{t.width()};
        c.op(std::string("bfind.") + t.name, Width::b32, {r}, [t](In in) { return findBit(in[0], t, false); });
        c.op(std::string("bfind.shiftamt.") + t.name, Width::b32, {r}, [t](In in) { return findBit(in[0], t, true); });
        addField(c, std::string("bfe.") + t.name, t.width(), {r, kPlace, kPlace},
                 [t](In in) { return extractField(in[0], in[1], in[2], t.bits, t.isSigned); });
    }
    addShifts(c);
    addPermutations(c);
    addPacking(c);
    addLookup(c);
    return c.take();
}

}  // namespace bulkhead::differential
