// The device's mathematics on a simulated GPU against the host's library in a wider type.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.h"
#include "gpu/gpu.h"
#include "math_kernels.ptx.h"

namespace bulkhead {
namespace {

/// Wider than the type under test: double for float, long double (quad precision on aarch64) for double.
template <class T>
struct Wider;
template <>
struct Wider<float> {
    using Type = double;
};
template <>
struct Wider<double> {
    using Type = long double;
};

struct Device {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    gpu::Module module = gpu.context().load(kMathKernelsPtx);
    template <class T>
    std::vector<T> run(const std::string& kernel, const std::vector<T>& x, const std::vector<T>& y) {
        gpu::Context& context = gpu.context();
        auto dx = context.array<T>(x), dy = context.array<T>(y), out = context.array<T>(x.size());
        gpu::Stream stream = context.createStream();
        const auto n = static_cast<int>(x.size());
        module.kernel(kernel).launch(stream, {static_cast<unsigned>((n + 127) / 128)}, {128}, 0, dx, dy, out, n);
        stream.synchronize();
        return out.download();
    }
};

/// Distance in units in the last place of the type at the true value (the smallest denormal's near zero).
template <class T>
double ulps(T got, typename Wider<T>::Type want) {
    using Wide = typename Wider<T>::Type;
    const T rounded = static_cast<T>(want);
    if (std::isnan(rounded) || std::isinf(rounded) || std::isnan(got) || std::isinf(got)) {
        if (std::isnan(rounded) && std::isnan(got)) return 0;
        if (rounded == got) return 0;
        // A result that just overflows counts by how far it is from the largest number.
        if (std::isinf(got) && std::fabs(want) > std::numeric_limits<T>::max() * Wide(0.999999)) return 1;
        if (std::isinf(rounded) && std::fabs(got) == std::numeric_limits<T>::max()) return 1;
        return std::numeric_limits<double>::infinity();
    }
    int exponent;
    std::frexp(want, &exponent);
    exponent = std::max(exponent - std::numeric_limits<T>::digits,
                        std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits);
    return static_cast<double>(std::fabs(std::ldexp(static_cast<Wide>(got) - want, -exponent)));
}

/// Values that break range reductions and special cases: everything of a kind, then a sweep.
template <class T>
std::vector<T> sweep(double low, double high, std::size_t count) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values = {T(0),
                             -T(0),
                             T(1),
                             T(-1),
                             T(0.5),
                             T(-0.5),
                             Limits::denorm_min(),
                             -Limits::denorm_min(),
                             Limits::min(),
                             -Limits::min(),
                             Limits::min() / 4,
                             Limits::max(),
                             -Limits::max(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN(),
                             T(1) + Limits::epsilon(),
                             T(1) - Limits::epsilon() / 2,
                             T(2),
                             T(-2),
                             T(3),
                             T(10),
                             T(1e5),
                             T(-7)};
    Random random(11);
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<T>(low + (high - low) * random.uniform()));
    // Every magnitude, in particular tiny ones and those next to 1.
    const double top = std::min(std::fabs(high), double(Limits::max()));
    for (std::size_t i = 0; i < count; ++i) {
        const double exponent =
            Limits::min_exponent - 20 + (std::log2(top) - Limits::min_exponent + 20) * random.uniform();
        const T size = static_cast<T>(std::exp2(exponent) * (1 + random.uniform()));
        if (size <= top) values.push_back(low < 0 && random.uniform() < 0.5 ? -size : size);
        const T near = static_cast<T>(1 + std::exp2(-30 * random.uniform()) * (random.uniform() - 0.5));
        if (near >= low && near <= high) values.push_back(near);
    }
    return values;
}

struct Function {
    std::string name;
    std::function<double(double, double)> ofDouble;
    std::function<long double(long double, long double)> ofLong;
    double low, high;  ///< interval that is swept
    double floatUlps, doubleUlps;
    bool two = false;
    double yLow = 0, yHigh = 0;
};

/// A function of the host's library, for either wide type.
#define HOST(name, expression)                                                      \
    name, [](double x, [[maybe_unused]] double y) -> double { return expression; }, \
        [](long double x, [[maybe_unused]] long double y) -> long double { return expression; }

template <class W>
W sinPi(W x) {
    if (!(std::fabs(x) < W(1e30)))
        return std::fabs(x) <= std::numeric_limits<W>::max() ? std::copysign(W(0), x) : W(NAN);
    const W r = std::remainder(x, W(2));
    const W s = std::fabs(r) <= W(0.5) ? r : std::copysign(W(1) - std::fabs(r), r);
    if (s == 0) return std::copysign(s, x);
    return std::sin(std::numbers::pi_v<W> * s);
}

template <class W>
W cosPi(W x) {
    if (!(std::fabs(x) <= std::numeric_limits<W>::max())) return W(NAN);
    const W r = std::fabs(std::remainder(x, W(2)));
    return r <= W(0.25)   ? std::cos(std::numbers::pi_v<W> * r)
           : r <= W(0.75) ? std::sin(std::numbers::pi_v<W> * (W(0.5) - r))
                          : -std::cos(std::numbers::pi_v<W> * (W(1) - r));
}

template <class W>
W pow10(W x) {
    return std::pow(W(10), x);
}

template <class W>
W normalDistribution(W x) {
    return std::erfc(-x * std::sqrt(W(0.5))) / 2;
}

/// e^(x^2) erfc(x); far out by the first terms of its expansion, of which the next is too small to count.
template <class W>
W scaledErfc(W x) {
    if (x < 20) return std::exp(x * x) * std::erfc(x);
    const W r = 1 / (2 * x * x);
    return 1 / (x * std::sqrt(std::numbers::pi_v<W>)) *
           (1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r * (1 - 11 * r * (1 - 13 * r * (1 - 15 * r))))))));
}

/// Newton's method from the left of the root, which it cannot pass: the functions are convex there.
template <class W>
W inverseErfc(W q) {
    W x = 0;
    for (int i = 0; i < 5000; ++i) {
        const W step = (std::erfc(x) - q) * std::sqrt(std::numbers::pi_v<W>) / 2 * std::exp(x * x);
        x += step;
        if (std::fabs(step) <= x * std::numeric_limits<W>::epsilon()) break;
    }
    return x;
}
template <class W>
W inverseErf(W y) {
    const W size = std::fabs(y);
    if (!(size <= 1)) return W(NAN);
    if (size == 1) return std::copysign(std::numeric_limits<W>::infinity(), y);
    if (size > W(0.5)) return std::copysign(inverseErfc(1 - size), y);
    W x = 0;
    for (int i = 0; i < 100; ++i) {
        const W step = (size - std::erf(x)) * std::sqrt(std::numbers::pi_v<W>) / 2 * std::exp(x * x);
        x += step;
        if (std::fabs(step) <= x * std::numeric_limits<W>::epsilon()) break;
    }
    return std::copysign(x, y);
}
template <class W>
W inverseErfcOf(W q) {
    if (!(q >= 0 && q <= 2)) return W(NAN);
    if (q == 0 || q == 2) return (1 - q) * std::numeric_limits<W>::infinity();
    return q <= W(0.5) ? inverseErfc(q) : inverseErf(1 - q);
}

/// The power series, whose terms are all positive.
template <class W>
W besselI(int order, W x) {
    if (!(std::fabs(x) < 1000)) return (order == 1 ? x : std::fabs(x)) * W(INFINITY);
    W term = order == 1 ? x / 2 : W(1), sum = term;
    for (int k = 1; std::fabs(term) > std::fabs(sum) * std::numeric_limits<W>::epsilon() / 4; ++k) {
        term *= x * x / 4 / k / (k + order);
        sum += term;
    }
    return sum;
}

/// A number as an exponent; math_kernels.cu has the same.
template <class W>
int exponentOf(W y) {
    return y > 5000 ? 5000 : y > -5000 ? static_cast<int>(y) : -5000;
}

void PrintTo(const Function& f, std::ostream* out) {
    *out << f.name;
}

const double kAll = 1e300;

const std::vector<Function>& functions() {
    static const std::vector<Function> all = {
        {HOST("exp", std::exp(x)), -120, 100, 1, 1},
        {HOST("exp2", std::exp2(x)), -160, 140, 1, 1},
        {HOST("exp10", pow10(x)), -50, 42, 1.5, 1},
        {HOST("expm1", std::expm1(x)), -60, 100, 1, 1},
        {HOST("log", std::log(x)), -1, kAll, 1, 1},
        {HOST("log2", std::log2(x)), -1, kAll, 1, 1},
        {HOST("log10", std::log10(x)), -1, kAll, 1.5, 1},
        {HOST("log1p", std::log1p(x)), -1.5, kAll, 1, 1},
        {HOST("sin", std::sin(x)), -kAll, kAll, 1.5, 1},
        {HOST("cos", std::cos(x)), -kAll, kAll, 1.5, 1},
        {HOST("tan", std::tan(x)), -kAll, kAll, 2, 2},
        {HOST("sinpi", sinPi(x)), -1e6, 1e6, 1, 1},
        {HOST("cospi", cosPi(x)), -1e6, 1e6, 1, 1},
        {HOST("asin", std::asin(x)), -1.01, 1.01, 2, 1.5},
        {HOST("acos", std::acos(x)), -1.01, 1.01, 1.5, 1.5},
        {HOST("atan", std::atan(x)), -kAll, kAll, 1.5, 2},
        {HOST("sinh", std::sinh(x)), -720, 720, 1, 2},
        {HOST("cosh", std::cosh(x)), -720, 720, 1, 2},
        {HOST("tanh", std::tanh(x)), -30, 30, 1.5, 1.5},
        {HOST("asinh", std::asinh(x)), -kAll, kAll, 1, 2},
        {HOST("acosh", std::acosh(x)), 0.5, kAll, 1, 2},
        {HOST("atanh", std::atanh(x)), -1.01, 1.01, 1, 2},
        {HOST("sqrt", std::sqrt(x)), -1, kAll, 0.5, 0.5},
        {HOST("rsqrt", 1 / std::sqrt(x)), -1, kAll, 2, 1.5},
        {HOST("cbrt", std::cbrt(x)), -kAll, kAll, 1, 1},
        {HOST("rcbrt", 1 / std::cbrt(x)), -kAll, kAll, 1, 2},
        {HOST("erf", std::erf(x)), -7, 7, 1.5, 1.5},
        {HOST("erfc", std::erfc(x)), -7, 28, 1, 3},
        {HOST("normcdf", normalDistribution(x)), -39, 9, 1, 4},
        {HOST("tgamma", std::tgamma(x)), -185, 172, 1, 4},
        {HOST("lgamma", std::lgamma(x)), 0, kAll, 1, 4},
        {HOST("erfcx", scaledErfc(x)), -10, 1e6, 1, 4},
        {HOST("erfinv", inverseErf(x)), -1.01, 1.01, 1, 4},
        {HOST("erfcinv", inverseErfcOf(x)), -0.01, 2.01, 1, 4},
        {HOST("normcdfinv", -std::sqrt(decltype(x)(2)) * inverseErfcOf(2 * x)), -0.01, 1.01, 1, 5},
        {HOST("cyl_bessel_i0", besselI(0, x)), -705, 705, 1, 6},
        {HOST("cyl_bessel_i1", besselI(1, x)), -705, 705, 1, 6},
        {HOST("norm4d", std::hypot(std::hypot(x, x), std::hypot(y, y))), -kAll, kAll, 0.501, 1, true, -kAll, kAll},
        {HOST("rnorm3d", 1 / std::hypot(x, y)), -kAll, kAll, 0.501, 2, true, -kAll, kAll},
        {HOST("floor", std::floor(x)), -1e6, 1e6, 0, 0},
        {HOST("ceil", std::ceil(x)), -1e6, 1e6, 0, 0},
        {HOST("trunc", std::trunc(x)), -1e6, 1e6, 0, 0},
        {HOST("round", std::round(x)), -1e6, 1e6, 0, 0},
        {HOST("rint", std::rint(x)), -1e6, 1e6, 0, 0},
        {HOST("logb", std::logb(x)), -kAll, kAll, 0, 0},
        {HOST("fabs", std::fabs(x)), -kAll, kAll, 0, 0},
        {HOST("pow", std::pow(x, y)), -20, 1000, 2, 1, true, -40, 40},
        {HOST("atan2", std::atan2(x, y)), -kAll, kAll, 2, 2, true, -kAll, kAll},
        {HOST("hypot", std::hypot(x, y)), -kAll, kAll, 0.501, 1, true, -kAll, kAll},
        {HOST("fmod", std::fmod(x, y)), -1e9, 1e9, 0, 0, true, -10, 10},
        {HOST("remainder", std::remainder(x, y)), -1e9, 1e9, 0, 0, true, -10, 10},
        {HOST("fmin", x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y)), -9, 9, 0, 0, true, -9, 9},
        {HOST("fmax", x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y)), -9, 9, 0, 0, true, -9, 9},
        {HOST("fdim", std::fdim(x, y)), -9, 9, 0.5, 0.5, true, -9, 9},
        {HOST("ldexp", std::ldexp(x, exponentOf(y))), -9, 9, 0.5, 0.5, true, -300, 300},
        {HOST("copysign", std::copysign(x, y)), -9, 9, 0, 0, true, -9, 9},
    };
    return all;
}

class Math : public ::testing::TestWithParam<Function> {
  protected:
    static inline std::unique_ptr<Device> device;  ///< one for all: loading the module takes longest

    static void SetUpTestSuite() { device = std::make_unique<Device>(); }
    static void TearDownTestSuite() { device.reset(); }

    template <class T>
    void check(const std::function<typename Wider<T>::Type(typename Wider<T>::Type, typename Wider<T>::Type)>& wide,
               const char* type, double bound) {
        const Function& f = GetParam();
        std::vector<T> x = sweep<T>(f.low, f.high, 3000), y(x.size());
        if (f.two) {
            y = sweep<T>(f.yLow, f.yHigh, 3000);
            const std::size_t specials = 24;
            std::vector<T> px, py;
            for (std::size_t i = 0; i < specials; ++i)
                for (std::size_t k = 0; k < specials; ++k) px.push_back(x[i]), py.push_back(y[k]);
            for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
                px.push_back(x[i]), py.push_back(y[(i * 7919) % y.size()]);
                px.push_back(x[i]), py.push_back(y[i]);
            }
            x = px, y = py;
        }
        const std::vector<T> got = device->run<T>(f.name + "_" + type, x, y);
        double worst = 0;
        std::size_t at = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = ulps<T>(got[i], wide(x[i], y[i]));
            if (error > worst) worst = error, at = i;
            if (got[i] == 0 && wide(x[i], y[i]) == 0) {
                ASSERT_EQ(std::signbit(got[i]), std::signbit(wide(x[i], y[i])))
                    << "of a zero, at " << x[i] << ", " << y[i];
            }
        }
        RecordProperty(std::string(type) + "_max_ulp", std::to_string(worst));
        EXPECT_LE(worst, bound) << "at x = " << std::hexfloat << x[at] << ", y = " << y[at] << ": got " << got[at]
                                << ", want " << wide(x[at], y[at]);
    }
};

TEST_P(Math, FloatIsWithinItsBound) {
    check<float>(GetParam().ofDouble, "float", GetParam().floatUlps);
}

TEST_P(Math, DoubleIsWithinItsBound) {
    check<double>(GetParam().ofLong, "double", GetParam().doubleUlps);
}

/// Functions that oscillate: an error counts against their amplitude, as where they cross zero no number of digits is
/// kept.
struct Oscillating {
    const char* name;
    long double (*ofHost)(long double);
    double low, high, floatUnits, doubleUnits;
};

template <class T>
double worstOf(Device& device, const Oscillating& f, const char* type) {
    Random random(5);
    std::vector<T> x;
    for (int i = 0; i < 1000; ++i) {
        const double u = random.uniform();
        x.push_back(static_cast<T>(i % 2 == 0 ? f.low + (f.high - f.low) * u : f.high * std::exp(-20 * u)));
    }
    const std::vector<T> got = device.run<T>(std::string(f.name) + "_" + type, x, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double want = f.ofHost(x[i]);
        const long double amplitude =
            std::sqrt(2 / (std::numbers::pi_v<long double> * std::max<long double>(1, std::fabs(x[i]))));
        const long double unit = std::max(std::fabs(want), amplitude) * std::numeric_limits<T>::epsilon();
        worst = std::max(worst, static_cast<double>(std::fabs(got[i] - want) / unit));
    }
    return worst;
}

TEST(Amplitudes, OfBesselsFunctionsAndOfGammaBelowZeroBoundTheirErrors) {
    Device device;
    const Oscillating functions[] = {
        {"j0", [](long double x) { return ::j0l(x); }, -60, 60, 1, 4},
        {"j1", [](long double x) { return ::j1l(x); }, -60, 60, 1, 4},
        {"y0", [](long double x) { return ::y0l(x); }, 0, 60, 1, 4},
        {"y1", [](long double x) { return ::y1l(x); }, 0, 60, 1, 4},
        {"j3", [](long double x) { return ::jnl(3, x); }, -60, 60, 1, 8},
        {"j50", [](long double x) { return ::jnl(50, x); }, -100, 100, 1, 16},
        {"y3", [](long double x) { return ::ynl(3, x); }, 0, 60, 1, 8},
        {"lgamma", [](long double x) { return std::lgamma(x); }, -30, 0, 1, 8},
    };
    for (const Oscillating& f : functions) {
        const double single = worstOf<float>(device, f, "float"), wide = worstOf<double>(device, f, "double");
        RecordProperty(std::string(f.name) + "_float", std::to_string(single));
        RecordProperty(std::string(f.name) + "_double", std::to_string(wide));
        EXPECT_LE(single, f.floatUnits) << f.name;
        EXPECT_LE(wide, f.doubleUnits) << f.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Functions, Math, ::testing::ValuesIn(functions()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bulkhead
