#include <cmath>

#include "compute_reference.h"

// The approximate functions against the host's mathematical library in double precision, within the error that the PTX
// manual allows.

namespace bulkhead::sim::test {
namespace {

float f32(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// The distance to the next number of f32 at a value.
double ulp(double value) {
    const double magnitude = std::max(std::abs(value), 0x1p-126);
    return std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

struct Function {
    const char* name;
    double (*exact)(double);
    double low, high;                           ///< where it is tried
    double (*allowed)(double x, double value);  ///< the manual's bound
};

const Function kFunctions[] = {
    {"rcp.approx", [](double x) { return 1 / x; }, 0x1p-120, 0x1p120, [](double, double y) { return ulp(y); }},
    {"sqrt.approx", [](double x) { return std::sqrt(x); }, 0, 0x1p127,
     [](double, double y) { return y * 0x1p-23 + ulp(y) / 2; }},
    {"rsqrt.approx", [](double x) { return 1 / std::sqrt(x); }, 0x1p-126, 0x1p127,
     [](double, double y) { return y * std::exp2(-22.9); }},
    {"ex2.approx", [](double x) { return std::exp2(x); }, -125, 127,
     [](double, double y) { return y * std::exp2(-22.5); }},
    {"lg2.approx", [](double x) { return std::log2(x); }, 0.5, 2, [](double, double) { return 0x1p-22; }},
    {"lg2.approx", [](double x) { return std::log2(x); }, 2, 0x1p127, [](double, double y) { return y * 0x1p-22; }},
    {"sin.approx", [](double x) { return std::sin(x); }, -6.2831850, 6.2831850,
     [](double, double) { return std::exp2(-20.5); }},
    {"cos.approx", [](double x) { return std::cos(x); }, -6.2831850, 6.2831850,
     [](double, double) { return std::exp2(-20.5); }},
    {"tanh.approx", [](double x) { return std::tanh(x); }, -12, 12,
     [](double, double y) { return std::abs(y) * 0x1p-11; }},
};

TEST(Approx, staysWithinTheManualsBounds) {
    std::mt19937_64 random(11);
    for (const Function& function : kFunctions) {
        Snippet snippet(".reg .b32 %a, %o0;", std::string(function.name) + ".f32 %o0, %a;");
        for (int round = 0; round < 2000; ++round) {
            for (int lane = 0; lane < kLanes; ++lane) {
                const double unit = std::ldexp(static_cast<double>(random() >> 11), -53);
                // Evenly, or evenly in the exponent where the range is wide.
                double x = function.low + unit * (function.high - function.low);
                if (function.high > 1000)
                    x = std::exp2(std::log2(std::max(function.low, 0x1p-126)) * (1 - unit) +
                                  std::log2(function.high) * unit);
                snippet.set("%a", lane, std::bit_cast<std::uint32_t>(static_cast<float>(x)));
            }
            snippet.run();
            for (int lane = 0; lane < kLanes; ++lane) {
                const double x = f32(snippet.get("%a", lane)), exact = function.exact(x);
                ASSERT_NEAR(f32(snippet.get("%o0", lane)), exact, function.allowed(x, exact))
                    << function.name << " of " << x;
            }
        }
    }
}

std::uint64_t evaluate(const std::string& name, std::uint64_t operand, unsigned bits = 32) {
    const std::string type = std::to_string(bits);
    Snippet snippet(".reg .b" + type + " %a, %o0;", name + " %o0, %a;");
    snippet.set("%a", 0, operand);
    snippet.run(1);
    return snippet.get("%o0", 0);
}

TEST(Approx, specialValues) {
    constexpr std::uint64_t kInfinity = 0x7f800000, kMinus = 0x80000000, kNan = 0x7fffffff, kOne = 0x3f800000;
    for (const char* name : {"rcp.approx.f32", "sqrt.approx.f32", "rsqrt.approx.f32", "ex2.approx.f32",
                             "lg2.approx.f32", "sin.approx.f32", "cos.approx.f32", "tanh.approx.f32"})
        EXPECT_EQ(evaluate(name, 0xffc12345), kNan) << name;
    EXPECT_EQ(evaluate("rcp.approx.f32", kMinus), kInfinity | kMinus);
    EXPECT_EQ(evaluate("rcp.approx.f32", kInfinity | kMinus), kMinus);
    EXPECT_EQ(evaluate("rcp.approx.ftz.f32", 1), kInfinity);
    EXPECT_EQ(evaluate("sqrt.approx.f32", kMinus), kMinus);
    EXPECT_EQ(evaluate("sqrt.approx.f32", kOne | kMinus), kNan);
    EXPECT_EQ(evaluate("rsqrt.approx.f32", kMinus), kInfinity | kMinus);
    EXPECT_EQ(evaluate("rsqrt.approx.f32", kInfinity), 0u);
    EXPECT_EQ(evaluate("ex2.approx.f32", kInfinity | kMinus), 0u);
    EXPECT_EQ(evaluate("ex2.approx.f32", kInfinity), kInfinity);
    EXPECT_EQ(evaluate("ex2.approx.f32", 0), kOne);
    EXPECT_EQ(evaluate("ex2.approx.f32", 0xc3150000), 1u);  // 2^-149
    EXPECT_EQ(evaluate("lg2.approx.f32", 0), kInfinity | kMinus);
    EXPECT_EQ(evaluate("lg2.approx.f32", kMinus), kInfinity | kMinus);
    EXPECT_EQ(evaluate("lg2.approx.f32", kOne | kMinus), kNan);
    EXPECT_EQ(evaluate("lg2.approx.f32", 1), 0xc3150000u);  // log2(2^-149)
    EXPECT_EQ(evaluate("lg2.approx.f32", kInfinity), kInfinity);
    EXPECT_EQ(evaluate("sin.approx.f32", kInfinity), kNan);
    EXPECT_EQ(evaluate("sin.approx.f32", kMinus), kMinus);
    EXPECT_EQ(evaluate("tanh.approx.f32", kInfinity | kMinus), kOne | kMinus);
}

TEST(Approx, farOutSineStaysASine) {
    for (const std::uint64_t bits : {0x4e7fffffu, 0x60000001u, 0x7f7fffffu}) {
        EXPECT_LE(std::abs(f32(evaluate("sin.approx.f32", bits))), 1.0f);
        EXPECT_LE(std::abs(f32(evaluate("cos.approx.f32", bits))), 1.0f);
    }
}

}  // namespace
}  // namespace bulkhead::sim::test
