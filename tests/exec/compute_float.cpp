#include <cmath>

#include "compute_reference.h"

// Floating point against the host's own arithmetic in each rounding mode, which the simulator does not use for the
// directed ones, and against a search among all f16 numbers in exact integers.

namespace bulkhead::sim::test {
namespace {

using Tuple = std::vector<std::uint64_t>;

float f32(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
double f64(std::uint64_t bits) {
    return std::bit_cast<double>(bits);
}
/// Hardware's only NaN.
std::uint64_t bits32(float value) {
    return std::isnan(value) ? 0x7fffffff : std::bit_cast<std::uint32_t>(value);
}

class Rounding : public testing::TestWithParam<Mode> {
  protected:
    /// f on the host in the parameter's rounding mode. The operands are volatile, so that nothing is folded.
    template <class F, class Function>
    F hosted(Function function, F a, F b = 0, F c = 0) {
        const HostRounding rounding(GetParam().host);
        volatile F x = a, y = b, z = c;
        volatile F result = function(x, y, z);
        return result;
    }
    template <class Function>
    void single(const std::string& name, unsigned count, Function function) {
        static const char* const kOperands[] = {"", " %o0, %a;", " %o0, %a, %b;", " %o0, %a, %b, %c;"};
        const std::string rounding = GetParam().name;
        const auto flush = [](float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v; };
        for (const bool ftz : {false, true})
            expectMatches(
                {name + "." + rounding + (ftz ? ".ftz" : "") + ".f32" + kOperands[count],
                 std::vector<unsigned>(count, 32), 32},
                [&](const Tuple& x) {
                    float v[3] = {};
                    for (std::size_t i = 0; i < x.size(); ++i) v[i] = ftz ? flush(f32(x[i])) : f32(x[i]);
                    const float result = hosted<float>(function, v[0], v[1], v[2]);
                    return bits32(ftz ? flush(result) : result);
                },
                400);
    }
    template <class Function>
    void twice(const std::string& name, unsigned count, Function function) {
        static const char* const kOperands[] = {"", " %o0, %a;", " %o0, %a, %b;", " %o0, %a, %b, %c;"};
        // Numbers only: what becomes of NaNs is hardware's own, and recorded.
        const auto draw = [](Words& words, std::size_t) {
            std::uint64_t word;
            do word = words.next(64);
            while (std::isnan(f64(word)));
            return word;
        };
        expectMatches(
            {name + "." + GetParam().name + ".f64" + kOperands[count], std::vector<unsigned>(count, 64), 64},
            [&](const Tuple& x) {
                double v[3] = {};
                for (std::size_t i = 0; i < x.size(); ++i) v[i] = f64(x[i]);
                const double result = hosted<double>(function, v[0], v[1], v[2]);
                return std::isnan(result) ? 0xfff8000000000000 : std::bit_cast<std::uint64_t>(result);
            },
            400, draw);
    }
};

TEST_P(Rounding, add) {
    single("add", 2, [](float a, float b, float) { return a + b; });
    twice("add", 2, [](double a, double b, double) { return a + b; });
}
TEST_P(Rounding, sub) {
    single("sub", 2, [](float a, float b, float) { return a - b; });
    twice("sub", 2, [](double a, double b, double) { return a - b; });
}
TEST_P(Rounding, mul) {
    single("mul", 2, [](float a, float b, float) { return a * b; });
    twice("mul", 2, [](double a, double b, double) { return a * b; });
}
TEST_P(Rounding, fma) {
    single("fma", 3, [](float a, float b, float c) { return std::fma(a, b, c); });
    twice("fma", 3, [](double a, double b, double c) { return std::fma(a, b, c); });
}
TEST_P(Rounding, div) {
    single("div", 2, [](float a, float b, float) { return a / b; });
    twice("div", 2, [](double a, double b, double) { return a / b; });
}
TEST_P(Rounding, rcp) {
    single("rcp", 1, [](float a, float, float) { return 1.0f / a; });
    twice("rcp", 1, [](double a, double, double) { return 1.0 / a; });
}
TEST_P(Rounding, sqrt) {
    single("sqrt", 1, [](float a, float, float) { return std::sqrt(a); });
    twice("sqrt", 1, [](double a, double, double) { return std::sqrt(a); });
}

/// A product that nearly cancels the addend, and sums at ties: where a fused operation differs from two.
TEST_P(Rounding, fmaNearCancellation) {
    std::mt19937_64 random(5);
    Snippet snippet(".reg .b32 %a, %b, %c, %o0;", std::string("fma.") + GetParam().name + ".f32 %o0, %a, %b, %c;");
    for (int round = 0; round < 200; ++round) {
        float a[kLanes], b[kLanes], c[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            a[lane] = f32(0x3f800000 | (random() & 0x7fffff));
            b[lane] = f32(0x3f800000 | (random() & 0x7fffff));
            c[lane] = f32(std::bit_cast<std::uint32_t>(-(a[lane] * b[lane])) + random() % 3 - 1);
            snippet.set("%a", lane, std::bit_cast<std::uint32_t>(a[lane]));
            snippet.set("%b", lane, std::bit_cast<std::uint32_t>(b[lane]));
            snippet.set("%c", lane, std::bit_cast<std::uint32_t>(c[lane]));
        }
        snippet.run();
        for (int lane = 0; lane < kLanes; ++lane)
            ASSERT_EQ(snippet.get("%o0", lane),
                      bits32(hosted<float>([](float x, float y, float z) { return std::fma(x, y, z); }, a[lane],
                                           b[lane], c[lane])));
    }
}

INSTANTIATE_TEST_SUITE_P(Compute, Rounding, testing::ValuesIn(kModes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FloatSaturation, clampsToTheUnitInterval) {
    expectMatches({"add.sat.f32 %o0, %a, %b;", {32, 32}, 32}, [](const Tuple& x) -> std::uint64_t {
        const float sum = f32(x[0]) + f32(x[1]);
        return sum > 0 ? (sum < 1 ? bits32(sum) : 0x3f800000) : 0;
    });
}

// f16 in exact integers ----------------------------------------------------------------------------------------------

__extension__ using Int = __int128;

/// A finite f16 in units of 2^-24.
Int unitsOf(std::uint64_t bits) {
    const Int fraction = static_cast<Int>(bits & 0x3ff);
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const Int magnitude = exponent ? (fraction + 1024) << (exponent - 1) : fraction;
    return bits & 0x8000 ? -magnitude : magnitude;
}

bool isFinite16(std::uint64_t bits) {
    return (bits & 0x7c00) != 0x7c00;
}

/// The f16 nearest to value * 2^-48, ties to even, found by bisection among all of them.
std::uint64_t nearest16(Int value, bool negativeZero) {
    if (value == 0) return negativeZero ? 0x8000 : 0;
    const std::uint64_t sign = value < 0 ? 0x8000 : 0;
    const Int magnitude = value < 0 ? -value : value;
    const auto at = [](std::uint64_t bits) {
        // Infinity stands where the next number would.
        return (bits == 0x7c00 ? Int{65536} << 24 : unitsOf(bits)) << 24;
    };
    std::uint64_t low = 0, high = 0x7c00;
    if (magnitude >= at(high)) return sign | high;
    while (high - low > 1) {
        const std::uint64_t middle = (low + high) / 2;
        (at(middle) <= magnitude ? low : high) = middle;
    }
    const Int below = magnitude - at(low), above = at(high) - magnitude;
    return sign | (below < above || (below == above && !(low & 1)) ? low : high);
}

TEST(Half, roundsOnce) {
    const auto draw = [](Words& words, std::size_t) {
        std::uint64_t word;
        do word = words.next(16);
        while (!isFinite16(word));
        return word;
    };
    expectMatches(
        {"add.f16 %o0, %a, %b;", {16, 16}, 16},
        [](const Tuple& x) {
            return nearest16((unitsOf(x[0]) + unitsOf(x[1])) << 24, x[0] == 0x8000 && x[1] == 0x8000);
        },
        2000, draw);
    expectMatches(
        {"sub.rn.f16 %o0, %a, %b;", {16, 16}, 16},
        [](const Tuple& x) { return nearest16((unitsOf(x[0]) - unitsOf(x[1])) << 24, x[0] == 0x8000 && x[1] == 0); },
        2000, draw);
    expectMatches(
        {"mul.f16 %o0, %a, %b;", {16, 16}, 16},
        [](const Tuple& x) {
            return nearest16(unitsOf(x[0]) * unitsOf(x[1]), (x[0] ^ x[1]) & 0x8000) | ((x[0] ^ x[1]) & 0x8000);
        },
        2000, draw);
    expectMatches(
        {"fma.rn.f16 %o0, %a, %b, %c;", {16, 16, 16}, 16},
        [](const Tuple& x) {
            const Int product = unitsOf(x[0]) * unitsOf(x[1]);
            // A sum of zeros is negative if both are.
            const bool negativeZero = product == 0 && ((x[0] ^ x[1]) & 0x8000) && x[2] == 0x8000;
            const std::uint64_t sum = nearest16(product + (unitsOf(x[2]) << 24), negativeZero);
            return sum;
        },
        4000, draw);
}

TEST(Half, pairsAreTwoOfOne) {
    Snippet pair(".reg .b32 %a, %b, %c, %o0;", "fma.rn.f16x2 %o0, %a, %b, %c;");
    Snippet one(".reg .b16 %a, %b, %c, %o0;", "fma.rn.f16 %o0, %a, %b, %c;");
    Words words(3);
    for (int round = 0; round < 100; ++round) {
        for (int lane = 0; lane < kLanes; ++lane)
            for (const char* name : {"%a", "%b", "%c"}) pair.set(name, lane, words.next(16) | words.next(16) << 16);
        pair.run();
        for (const unsigned shift : {0u, 16u}) {
            for (int lane = 0; lane < kLanes; ++lane)
                for (const char* name : {"%a", "%b", "%c"}) one.set(name, lane, pair.get(name, lane) >> shift & 0xffff);
            one.run();
            for (int lane = 0; lane < kLanes; ++lane)
                ASSERT_EQ(pair.get("%o0", lane) >> shift & 0xffff, one.get("%o0", lane));
        }
    }
}

// bf16: exact in f64 but for the last rounding, whose direction the host reports
// ----------------------------------------

std::uint64_t nearestBrain(double truncated, bool inexact) {
    if (std::isnan(truncated)) return 0x7fff;
    const std::uint64_t sign = std::signbit(truncated) ? 0x8000 : 0;
    const double magnitude = std::abs(truncated);
    const auto at = [](std::uint64_t bits) { return bits == 0x7f80 ? 0x1p128 : static_cast<double>(f32(bits << 16)); };
    std::uint64_t low = 0, high = 0x7f80;
    if (magnitude >= at(high)) return sign | high;
    while (high - low > 1) {
        const std::uint64_t middle = (low + high) / 2;
        (at(middle) <= magnitude ? low : high) = middle;
    }
    const double half = (at(low) + at(high)) / 2;
    if (magnitude < half) return sign | low;
    if (magnitude > half || inexact) return sign | high;
    return sign | (low & 1 ? high : low);
}

TEST(Brain, roundsOnce) {
    expectMatches(
        {"fma.rn.bf16 %o0, %a, %b, %c;", {16, 16, 16}, 16},
        [](const Tuple& x) {
            const double a = f32(x[0] << 16), b = f32(x[1] << 16), c = f32(x[2] << 16);
            // Zeros by the rule of the mode that counts.
            volatile double va = a, vb = b, vc = c;
            if (va * vb + vc == 0 && std::fma(va, vb, vc) == 0) return nearestBrain(std::fma(va, vb, vc), false);
            const HostRounding rounding(FE_TOWARDZERO);
            std::feclearexcept(FE_INEXACT);
            volatile double result = std::fma(va, vb, vc);
            const bool inexact = std::fetestexcept(FE_INEXACT);
            return nearestBrain(result, inexact);
        },
        3000);
    expectMatches(
        {"mul.rn.bf16 %o0, %a, %b;", {16, 16}, 16},
        [](const Tuple& x) {
            return nearestBrain(static_cast<double>(f32(x[0] << 16)) * static_cast<double>(f32(x[1] << 16)), false);
        },
        1000);
    expectMatches(
        {"add.rn.bf16 %o0, %a, %b;", {16, 16}, 16},
        [](const Tuple& x) {
            const double a = f32(x[0] << 16), b = f32(x[1] << 16);
            volatile double va = a, vb = b;
            volatile double plain = va + vb;
            if (plain == 0 || std::isnan(plain)) return nearestBrain(plain, false);
            const HostRounding rounding(FE_TOWARDZERO);
            std::feclearexcept(FE_INEXACT);
            volatile double result = va + vb;
            const bool inexact = std::fetestexcept(FE_INEXACT);
            return nearestBrain(result, inexact);
        },
        1000);
}

// Minimum, maximum, comparison
// -----------------------------------------------------------------------------------------

TEST(FloatExtremes, nanGivesWayAndZerosAreOrdered) {
    const auto reference = [](bool max, bool nan) {
        return [=](const Tuple& x) -> std::uint64_t {
            const float a = f32(x[0]), b = f32(x[1]);
            if (std::isnan(a) || std::isnan(b)) {
                if (nan || (std::isnan(a) && std::isnan(b))) return 0x7fffffff;
                return std::isnan(a) ? x[1] : x[0];
            }
            if (a == b) return std::signbit(a) == max ? x[1] : x[0];
            return (a < b) == max ? x[1] : x[0];
        };
    };
    expectMatches({"min.f32 %o0, %a, %b;", {32, 32}, 32}, reference(false, false), 300);
    expectMatches({"max.f32 %o0, %a, %b;", {32, 32}, 32}, reference(true, false), 300);
    expectMatches({"min.NaN.f32 %o0, %a, %b;", {32, 32}, 32}, reference(false, true), 300);
    expectMatches({"max.NaN.f32 %o0, %a, %b;", {32, 32}, 32}, reference(true, true), 300);
}

TEST(FloatCompare, everyOperatorByCases) {
    enum Outcome { less, equal, greater, unordered };
    const auto outcome = [](float a, float b) {
        if (std::isnan(a) || std::isnan(b)) return unordered;
        return a < b ? less : a > b ? greater : equal;
    };
    const std::map<std::string, std::vector<Outcome>> holds = {{"eq", {equal}},
                                                               {"ne", {less, greater}},
                                                               {"lt", {less}},
                                                               {"le", {less, equal}},
                                                               {"gt", {greater}},
                                                               {"ge", {greater, equal}},
                                                               {"equ", {equal, unordered}},
                                                               {"neu", {less, greater, unordered}},
                                                               {"ltu", {less, unordered}},
                                                               {"leu", {less, equal, unordered}},
                                                               {"gtu", {greater, unordered}},
                                                               {"geu", {greater, equal, unordered}},
                                                               {"num", {less, equal, greater}},
                                                               {"nan", {unordered}}};
    for (const auto& [name, outcomes] : holds)
        expectMatches({"setp." + name + ".f32 %p, %a, %b; selp.u32 %o0, 1, 0, %p;", {32, 32}, 32},
                      [&, &list = outcomes](const Tuple& x) -> std::uint64_t {
                          const Outcome is = outcome(f32(x[0]), f32(x[1]));
                          return std::find(list.begin(), list.end(), is) != list.end();
                      });
}

}  // namespace
}  // namespace bulkhead::sim::test
