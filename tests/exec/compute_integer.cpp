#include <limits>

#include "compute_reference.h"

// Integer and bit instructions against arithmetic in 128 bits, or bit by bit as the manual defines them.

namespace bulkhead::sim::test {
namespace {

__extension__ using Int = __int128;
__extension__ using Wide = unsigned __int128;
using Tuple = std::vector<std::uint64_t>;

struct IntType {
    const char* name;
    unsigned bits;
    bool isSigned;
    friend void PrintTo(const IntType& type, std::ostream* out) { *out << type.name; }
    Int value(std::uint64_t word) const {
        const Int v = static_cast<Int>(word & mask());
        return isSigned && (word >> (bits - 1) & 1) ? v - (Int{1} << bits) : v;
    }
    std::uint64_t mask() const { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
    std::uint64_t cut(Int v) const { return static_cast<std::uint64_t>(v) & mask(); }
    Int least() const { return isSigned ? -(Int{1} << (bits - 1)) : 0; }
    Int most() const { return (Int{1} << (isSigned ? bits - 1 : bits)) - 1; }
};
constexpr IntType kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                              {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

class Integer : public testing::TestWithParam<IntType> {
  protected:
    void binary(const std::string& name, const std::function<Int(Int, Int)>& f) {
        const IntType t = GetParam();
        expectMatches({name + "." + t.name + " %o0, %a, %b;", {t.bits, t.bits}, t.bits},
                      [&](const Tuple& x) { return t.cut(f(t.value(x[0]), t.value(x[1]))); });
    }
};

TEST_P(Integer, addAndSub) {
    binary("add", [](Int a, Int b) { return a + b; });
    binary("sub", [](Int a, Int b) { return a - b; });
}

TEST_P(Integer, mul) {
    const IntType t = GetParam();
    // The product of two u64 does not fit a signed 128-bit number.
    const auto product = [](Int a, Int b) { return static_cast<Int>(static_cast<Wide>(a) * static_cast<Wide>(b)); };
    binary("mul.lo", product);
    if (t.bits < 64) {
        binary("mul.hi", [&](Int a, Int b) { return (a * b) >> t.bits; });
        const unsigned wide = 2 * t.bits;
        expectMatches({std::string("mul.wide.") + t.name + " %o0, %a, %b;", {t.bits, t.bits}, wide},
                      [&](const Tuple& x) {
                          return IntType{"", wide, true}.cut(t.value(x[0]) * t.value(x[1]));
                      });
        expectMatches({std::string("mad.wide.") + t.name + " %o0, %a, %b, %c;", {t.bits, t.bits, wide}, wide},
                      [&](const Tuple& x) {
                          return IntType{"", wide, true}.cut(t.value(x[0]) * t.value(x[1]) + static_cast<Int>(x[2]));
                      });
    } else {
        // A product of 128 bits by halves: the high word of the unsigned product, corrected for the signs.
        binary("mul.hi", [&](Int a, Int b) {
            const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
            const std::uint64_t al = ua & 0xffffffff, ah = ua >> 32, bl = ub & 0xffffffff, bh = ub >> 32;
            const std::uint64_t middle = (al * bl >> 32) + (ah * bl & 0xffffffff) + (al * bh & 0xffffffff);
            const std::uint64_t unsignedHigh = ah * bh + (ah * bl >> 32) + (al * bh >> 32) + (middle >> 32);
            Int high = unsignedHigh;
            if (a < 0) high -= static_cast<Int>(ub);
            if (b < 0) high -= static_cast<Int>(ua);
            return high;
        });
    }
    expectMatches({std::string("mad.lo.") + t.name + " %o0, %a, %b, %c;", {t.bits, t.bits, t.bits}, t.bits},
                  [&](const Tuple& x) {
                      return t.cut(static_cast<Int>(static_cast<Wide>(product(t.value(x[0]), t.value(x[1]))) +
                                                    static_cast<Wide>(t.value(x[2]))));
                  });
}

TEST_P(Integer, divAndRemTruncate) {
    const IntType t = GetParam();
    // By zero every bit of the result is set; the least number by -1 wraps.
    binary("div", [](Int a, Int b) { return b == 0 ? Int{-1} : a / b; });
    binary("rem", [](Int a, Int b) { return b == 0 ? Int{-1} : a % b; });
    expectMatches(
        {std::string("div.") + t.name + " %o0, %a, %b;", {t.bits, t.bits}, t.bits},
        [&](const Tuple& x) {
            const Int b = t.value(x[1]);
            return t.cut(b == 0 ? Int{-1} : t.value(x[0]) / b);
        },
        4, [&](Words&, std::size_t operand) { return operand == 0 ? t.cut(t.least()) : t.mask(); });
}

TEST_P(Integer, minMaxAndSad) {
    const IntType t = GetParam();
    binary("min", [](Int a, Int b) { return a < b ? a : b; });
    binary("max", [](Int a, Int b) { return a > b ? a : b; });
    expectMatches({std::string("sad.") + t.name + " %o0, %a, %b, %c;", {t.bits, t.bits, t.bits}, t.bits},
                  [&](const Tuple& x) {
                      const Int a = t.value(x[0]), b = t.value(x[1]);
                      return t.cut((a < b ? b - a : a - b) + t.value(x[2]));
                  });
}

TEST_P(Integer, shiftsByTheWidthAndMore) {
    const IntType t = GetParam();
    const auto draw = [&](Words& words, std::size_t operand) {
        if (operand == 0) return words.next(t.bits);
        constexpr std::uint64_t kCounts[] = {0,  1,  15, 16,  17,  31,         32,        33,
                                             63, 64, 65, 255, 256, 0x80000000, 0xffffffff};
        return words.below(2) ? kCounts[words.below(std::size(kCounts))] : words.below(70);
    };
    expectMatches(
        {"shl.b" + std::to_string(t.bits) + " %o0, %a, %b;", {t.bits, 32}, t.bits},
        [&](const Tuple& x) { return x[1] >= t.bits ? 0 : t.cut(t.value(x[0]) << x[1]); }, 64, draw);
    expectMatches(
        {std::string("shr.") + t.name + " %o0, %a, %b;", {t.bits, 32}, t.bits},
        [&](const Tuple& x) {
            Int value = t.value(x[0]);
            for (std::uint64_t i = 0; i < std::min<std::uint64_t>(x[1], 64); ++i)
                value = value >= 0 ? value / 2 : -((-value + 1) / 2);
            return t.cut(value);
        },
        64, draw);
}

INSTANTIATE_TEST_SUITE_P(Compute, Integer, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(IntegerSaturation, staysWithinS32) {
    const IntType t = kTypes[3];
    const auto clamp = [&](Int v) { return t.cut(v < t.least() ? t.least() : v > t.most() ? t.most() : v); };
    expectMatches({"add.sat.s32 %o0, %a, %b;", {32, 32}, 32},
                  [&](const Tuple& x) { return clamp(t.value(x[0]) + t.value(x[1])); });
    expectMatches({"sub.sat.s32 %o0, %a, %b;", {32, 32}, 32},
                  [&](const Tuple& x) { return clamp(t.value(x[0]) - t.value(x[1])); });
    expectMatches({"mad.hi.sat.s32 %o0, %a, %b, %c;", {32, 32, 32}, 32},
                  [&](const Tuple& x) { return clamp(((t.value(x[0]) * t.value(x[1])) >> 32) + t.value(x[2])); });
}

TEST(IntegerCarry, carriesThrough128Bits) {
    // Two 64-bit limbs in four 32-bit words would do as well; here the limbs are the registers.
    Snippet snippet(".reg .b64 %a, %b, %c, %d, %o0, %o1;", "add.cc.u64 %o0, %a, %c; addc.u64 %o1, %b, %d;");
    Words words(7);
    for (int round = 0; round < 50; ++round) {
        for (int lane = 0; lane < kLanes; ++lane)
            for (const char* name : {"%a", "%b", "%c", "%d"}) snippet.set(name, lane, words.next(64));
        snippet.run();
        for (int lane = 0; lane < kLanes; ++lane) {
            const Wide a = Wide{snippet.get("%b", lane)} << 64 | snippet.get("%a", lane);
            const Wide b = Wide{snippet.get("%d", lane)} << 64 | snippet.get("%c", lane);
            EXPECT_EQ(snippet.get("%o0", lane), static_cast<std::uint64_t>(a + b));
            EXPECT_EQ(snippet.get("%o1", lane), static_cast<std::uint64_t>((a + b) >> 64));
        }
    }
}

TEST(IntegerCarry, borrowsThrough128Bits) {
    Snippet snippet(".reg .b64 %a, %b, %c, %d, %o0, %o1;", "sub.cc.s64 %o0, %a, %c; subc.s64 %o1, %b, %d;");
    Words words(8);
    for (int round = 0; round < 50; ++round) {
        for (int lane = 0; lane < kLanes; ++lane)
            for (const char* name : {"%a", "%b", "%c", "%d"}) snippet.set(name, lane, words.next(64));
        snippet.run();
        for (int lane = 0; lane < kLanes; ++lane) {
            const Wide a = Wide{snippet.get("%b", lane)} << 64 | snippet.get("%a", lane);
            const Wide b = Wide{snippet.get("%d", lane)} << 64 | snippet.get("%c", lane);
            EXPECT_EQ(snippet.get("%o0", lane), static_cast<std::uint64_t>(a - b));
            EXPECT_EQ(snippet.get("%o1", lane), static_cast<std::uint64_t>((a - b) >> 64));
        }
    }
}

bool bit(std::uint64_t word, std::uint64_t i) {
    return word >> i & 1;
}

TEST(Bits, lop3FollowsItsTable) {
    for (int table = 0; table < 256; ++table)
        expectMatches(
            {"lop3.b32 %o0, %a, %b, %c, " + std::to_string(table) + ";", {32, 32, 32}, 32},
            [&](const Tuple& x) {
                std::uint64_t result = 0;
                for (unsigned i = 0; i < 32; ++i) {
                    const int index = bit(x[0], i) * 4 + bit(x[1], i) * 2 + bit(x[2], i);
                    result |= std::uint64_t{bit(static_cast<std::uint64_t>(table), static_cast<std::uint64_t>(index))}
                              << i;
                }
                return result;
            },
            1);
}

TEST(Bits, prmtSelectsBytesAndSigns) {
    expectMatches({"prmt.b32 %o0, %a, %b, %c;", {32, 32, 32}, 32}, [](const Tuple& x) {
        std::uint64_t result = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned selector = x[2] >> (4 * i) & 15, from = selector & 7;
            const std::uint64_t byte = (from < 4 ? x[0] >> (8 * from) : x[1] >> (8 * (from - 4))) & 0xff;
            result |= (selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
        }
        return result;
    });
}

TEST(Bits, bfeAndBfiWalkTheField) {
    for (const IntType& t : {kTypes[2], kTypes[3]}) {
        expectMatches(
            {std::string("bfe.") + t.name + " %o0, %a, %b, %c;", {32, 32, 32}, 32},
            [&](const Tuple& x) {
                const std::uint64_t position = x[1] & 0xff, length = x[2] & 0xff;
                const bool sign = t.isSigned && length && bit(x[0], std::min<std::uint64_t>(position + length - 1, 31));
                std::uint64_t result = 0;
                for (std::uint64_t i = 0; i < 32; ++i)
                    result |= std::uint64_t{i < length && position + i < 32 ? bit(x[0], position + i) : sign} << i;
                return result;
            },
            64,
            [](Words& words, std::size_t operand) {
                return operand ? words.below(300) % (words.below(2) ? 40 : 300) : words.next(32);
            });
    }
    expectMatches(
        {"bfi.b32 %o0, %a, %b, %c, %d;", {32, 32, 32, 32}, 32},
        [](const Tuple& x) {
            const std::uint64_t position = x[2] & 0xff, length = x[3] & 0xff;
            std::uint64_t result = x[1];
            for (std::uint64_t i = 0; i < length && position + i < 32; ++i)
                result = (result & ~(std::uint64_t{1} << (position + i))) | std::uint64_t{bit(x[0], i)}
                                                                                << (position + i);
            return result;
        },
        64, [](Words& words, std::size_t operand) { return operand > 1 ? words.below(40) : words.next(32); });
}

TEST(Bits, countsAndReversals) {
    for (unsigned bits : {32u, 64u}) {
        const std::string type = ".b" + std::to_string(bits);
        const auto count = [bits](std::uint64_t word) {
            std::uint64_t ones = 0;
            for (unsigned i = 0; i < bits; ++i) ones += bit(word, i);
            return ones;
        };
        expectMatches({"popc" + type + " %o0, %a;", {bits}, 32}, [&](const Tuple& x) { return count(x[0]); });
        expectMatches({"clz" + type + " %o0, %a;", {bits}, 32}, [&](const Tuple& x) {
            std::uint64_t zeros = 0;
            while (zeros < bits && !bit(x[0], bits - 1 - zeros)) ++zeros;
            return zeros;
        });
        expectMatches({"brev" + type + " %o0, %a;", {bits}, bits}, [&](const Tuple& x) {
            std::uint64_t result = 0;
            for (unsigned i = 0; i < bits; ++i) result |= std::uint64_t{bit(x[0], i)} << (bits - 1 - i);
            return result;
        });
        for (const char* sign : {"u", "s"}) {
            const bool isSigned = *sign == 's';
            const auto find = [=](std::uint64_t word) -> std::uint64_t {
                for (unsigned i = bits; i-- > 0;)
                    if (bit(word, i) != (isSigned && bit(word, bits - 1))) return i;
                return 0xffffffff;
            };
            const std::string full = std::string(sign) + std::to_string(bits);
            expectMatches({"bfind." + full + " %o0, %a;", {bits}, 32}, [&](const Tuple& x) { return find(x[0]); });
            expectMatches({"bfind.shiftamt." + full + " %o0, %a;", {bits}, 32}, [&](const Tuple& x) {
                return find(x[0]) == 0xffffffff ? 0xffffffff : bits - 1 - find(x[0]);
            });
        }
    }
}

TEST(Bits, funnelShifts) {
    const auto draw = [](Words& words, std::size_t operand) {
        constexpr std::uint64_t kCounts[] = {0, 1, 31, 32, 33, 63, 64, 255, 0xffffffff};
        return operand == 2 ? kCounts[words.below(std::size(kCounts))] : words.next(32);
    };
    for (const std::string mode : {"wrap", "clamp"}) {
        const auto count = [=](std::uint64_t c) { return mode == "wrap" ? c % 32 : std::min<std::uint64_t>(c, 32); };
        expectMatches(
            {"shf.l." + mode + ".b32 %o0, %a, %b, %c;", {32, 32, 32}, 32},
            [&](const Tuple& x) {
                const std::uint64_t n = count(x[2]);
                return n == 0 ? x[1] : ((x[1] << n) | (x[0] >> (32 - n))) & 0xffffffff;
            },
            64, draw);
        expectMatches(
            {"shf.r." + mode + ".b32 %o0, %a, %b, %c;", {32, 32, 32}, 32},
            [&](const Tuple& x) {
                const std::uint64_t n = count(x[2]);
                return n == 0 ? x[0] : ((x[1] << (32 - n)) | (x[0] >> n)) & 0xffffffff;
            },
            64, draw);
    }
}

TEST(Bits, dotProducts) {
    for (const bool aSigned : {false, true})
        for (const bool bSigned : {false, true}) {
            const std::string types = std::string(aSigned ? "s32" : "u32") + (bSigned ? ".s32" : ".u32");
            const IntType a8{"", 8, aSigned}, b8{"", 8, bSigned}, a16{"", 16, aSigned}, word{"", 32, false};
            expectMatches({"dp4a." + types + " %o0, %a, %b, %c;", {32, 32, 32}, 32}, [&](const Tuple& x) {
                Int sum = static_cast<Int>(x[2]);
                for (int i = 0; i < 4; ++i) sum += a8.value(x[0] >> (8 * i)) * b8.value(x[1] >> (8 * i));
                return word.cut(sum);
            });
            for (const int half : {0, 1})
                expectMatches(
                    {std::string("dp2a.") + (half ? "hi." : "lo.") + types + " %o0, %a, %b, %c;", {32, 32, 32}, 32},
                    [&](const Tuple& x) {
                        Int sum = static_cast<Int>(x[2]);
                        for (int i = 0; i < 2; ++i)
                            sum += a16.value(x[0] >> (16 * i)) * b8.value(x[1] >> (8 * (2 * half + i)));
                        return word.cut(sum);
                    });
        }
}

}  // namespace
}  // namespace bulkhead::sim::test
