// half, bfloat16 and the 8-bit formats, on both sides, against their definitions in double.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"

/// The value of a code by the format's definition.
double valueOf(unsigned code, int exponentBits, int mantissaBits, bool hasInfinity) {
    const unsigned sign = 1u << (exponentBits + mantissaBits), rest = code & (sign - 1);
    const int exponent = (int)(rest >> mantissaBits), top = (1 << exponentBits) - 1, bias = top / 2;
    const double mantissa = rest & ((1u << mantissaBits) - 1);
    double size = exponent == 0 ? ldexp(mantissa, 1 - bias - mantissaBits)
                                : ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
    if (hasInfinity ? exponent == top : rest == sign - 1) size = hasInfinity && mantissa == 0 ? INFINITY : NAN;
    return code & sign ? -size : size;
}

/// The code nearest to a number, by search among all; ties go to the even code. Rounding 1, 2, 3: to zero, down, up.
unsigned nearest(double x, int exponentBits, int mantissaBits, bool hasInfinity, int rounding, bool saturate) {
    const unsigned sign = 1u << (exponentBits + mantissaBits), nan = sign - 1;
    if (x != x) return nan;
    const unsigned s = signbit(x) ? sign : 0;
    const unsigned infinity = hasInfinity ? ((1u << exponentBits) - 1) << mantissaBits : nan;
    const double size = fabs(x);
    if (std::isinf(x)) return s | (saturate ? infinity - 1 : infinity);
    // Codes of one sign are in order; the last stands for the next power of two.
    const auto value = [&](unsigned c) {
        return c < infinity  ? valueOf(c, exponentBits, mantissaBits, hasInfinity)
               : hasInfinity ? ldexp(1, 1 << (exponentBits - 1))
                             : 480.0;
    };
    unsigned low = 0, high = infinity;
    while (low + 1 < high) {
        const unsigned middle = (low + high) / 2;
        (value(middle) <= size ? low : high) = middle;
    }
    unsigned code = low;
    if (size >= value(high)) {
        code = high;
    } else if (size != value(low)) {
        const double below = size - value(low), above = value(high) - size;
        const bool away = rounding == 0   ? below > above || (below == above && (low & 1))
                          : rounding == 1 ? false
                          : rounding == 2 ? s != 0
                                          : s == 0;
        code = away ? high : low;
    }
    if (code == infinity && (rounding == 1 || (rounding == 2 && s == 0) || (rounding == 3 && s != 0) || saturate))
        code = infinity - 1;
    return s | code;
}

__host__ __device__ unsigned bitsOf(__half h) {
    return __half_as_ushort(h);
}
__host__ __device__ unsigned bitsOf(__nv_bfloat16 h) {
    return __bfloat16_as_ushort(h);
}
__host__ __device__ unsigned pairOf(unsigned low, unsigned high) {
    return low | high << 16;
}
template <class T2>
__host__ __device__ unsigned bitsOf2(T2 h) {
    return pairOf(bitsOf(h.x), bitsOf(h.y));
}

constexpr int kArithmetic = 34;

template <class T, class T2>
__host__ __device__ void arithmetic(T a, T b, T c, unsigned* row) {
    const T2 aa(a, b), bb(b, c), cc(c, a);
    *row++ = bitsOf(a + b);
    *row++ = bitsOf(a - b);
    *row++ = bitsOf(a * b);
    *row++ = bitsOf(a / b);
    *row++ = bitsOf(__hfma(a, b, c));
    *row++ = bitsOf(__hadd_sat(a, b));
    *row++ = bitsOf(__hmul_sat(a, b));
    *row++ = bitsOf(__hfma_relu(a, b, c));
    *row++ = bitsOf(__hmax(a, b));
    *row++ = bitsOf(__hmin(a, b));
    *row++ = bitsOf(__hmax_nan(a, b));
    *row++ = bitsOf(__hmin_nan(a, b));
    *row++ = bitsOf(__hneg(a));
    *row++ = bitsOf(__habs(a));
    *row++ = (unsigned)(a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5;
    *row++ = (unsigned)__heq(a, b) | __hne(a, b) << 1 | __hequ(a, b) << 2 | __hneu(a, b) << 3 | __hltu(a, b) << 4 |
             __hleu(a, b) << 5 | __hgtu(a, b) << 6 | __hgeu(a, b) << 7 | __hisnan(a) << 8;
    *row++ = (unsigned)__hisinf(a);
    // Pairs: each lane as alone.
    *row++ = bitsOf2(aa + bb);
    *row++ = pairOf(bitsOf(a + b), bitsOf(b + c));
    *row++ = bitsOf2(__h2div(aa, bb));
    *row++ = pairOf(bitsOf(a / b), bitsOf(b / c));
    *row++ = bitsOf2(__hfma2(aa, bb, cc));
    *row++ = pairOf(bitsOf(__hfma(a, b, c)), bitsOf(__hfma(b, c, a)));
    *row++ = bitsOf2(__hmin2(aa, bb));
    *row++ = pairOf(bitsOf(__hmin(a, b)), bitsOf(__hmin(b, c)));
    *row++ = bitsOf2(__hmul2_sat(aa, bb));
    *row++ = pairOf(bitsOf(__hmul_sat(a, b)), bitsOf(__hmul_sat(b, c)));
    *row++ = bitsOf2(__hlt2(aa, bb));
    *row++ = pairOf(__hlt(a, b) ? bitsOf(T(1)) : 0, __hlt(b, c) ? bitsOf(T(1)) : 0);
    *row++ = __hgeu2_mask(aa, bb);
    *row++ = pairOf(__hgeu(a, b) ? 0xffffu : 0, __hgeu(b, c) ? 0xffffu : 0);
    *row++ = (unsigned)(aa <= bb);
    *row++ = (unsigned)(__hle(a, b) && __hle(b, c));
    T d = a;
    d++, --d, d -= T(0.0f);
    *row++ = bitsOf(d);
}

template <class T, class T2, class Raw>
__global__ void onDevice(const unsigned short* in, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        arithmetic<T, T2>(T(Raw{in[3 * i]}), T(Raw{in[3 * i + 1]}), T(Raw{in[3 * i + 2]}),
                          out + (size_t)kArithmetic * i);
}

/// a * b + c as a whole number of units, then cut to 53 bits of which the last is set if anything was lost: rounding
/// that once more gives what the exact number gives. False where the operands are too far apart for 128 bits.
bool exactFused(double a, double b, double c, double& result) {
    const double product = a * b;
    result = product + c;
    if (!std::isfinite(product) || !std::isfinite(c) || product == 0 || c == 0) return true;
    int ofProduct, ofC;
    const long mantissa = (long)ldexp(frexp(product, &ofProduct), 22), mantissaC = (long)ldexp(frexp(c, &ofC), 12);
    const int low = ofProduct - 22 < ofC - 12 ? ofProduct - 22 : ofC - 12;
    if ((ofProduct > ofC ? ofProduct : ofC) - low > 120) return false;
    const __int128 sum = ((__int128)mantissa << (ofProduct - 22 - low)) + ((__int128)mantissaC << (ofC - 12 - low));
    if (sum == 0) return true;
    unsigned __int128 size = sum < 0 ? -sum : sum;
    int dropped = 0;
    bool lost = false;
    for (; size >> 53 != 0; ++dropped, size >>= 1) lost = lost || (size & 1) != 0;
    const double cut = ldexp((double)(size | (lost ? 1 : 0)), low + dropped);
    result = sum < 0 ? -cut : cut;
    return true;
}

template <class T, class T2, class Raw>
void checkArithmetic(const char* name, int e, int m) {
    constexpr int n = 1536;
    unsigned short* const in = shared<unsigned short>(3 * n);
    unsigned* const out = shared<unsigned>(kArithmetic * n);
    const unsigned short inf = (unsigned short)(((1u << e) - 1) << m),
                         one = (unsigned short)(((1u << (e - 1)) - 1) << m);
    const unsigned short edges[] = {0,      0x8000,
                                    1,      0x8001,
                                    inf,    (unsigned short)(inf | 0x8000),
                                    0x7fff, (unsigned short)(inf - 1),
                                    one,    (unsigned short)(1u << m)};
    Random random;
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 3; ++k)
            in[3 * i + k] = i < 1000 ? edges[(k == 0   ? i
                                              : k == 1 ? i / 10
                                                       : i / 100) %
                                             10]
                                     : (unsigned short)random.next();
    // Near each other, so that sums cancel and products round.
    for (int i = 1200; i < n; ++i)
        for (int k = 0; k < 3; ++k) in[3 * i + k] = (unsigned short)(one - 200 + random.next() % 1200);
    onDevice<T, T2, Raw><<<n / 128, 128>>>(in, out, n);
    synchronize();
    const auto code = [&](double x) { return nearest(x, e, m, true, 0, false); };
    const auto value = [&](unsigned c) { return valueOf(c, e, m, true); };
    for (int i = 0; i < n; ++i) {
        const unsigned ca = in[3 * i], cb = in[3 * i + 1], cc = in[3 * i + 2];
        const double a = value(ca), b = value(cb), c = value(cc);
        double fused;
        const bool known = exactFused(a, b, c, fused);
        const unsigned sum = code(a + b), times = code(a * b), fma = code(fused);
        const auto within = [&](unsigned x) { return value(x) > 0 ? (value(x) < 1 ? x : (unsigned)one) : 0u; };
        const bool nan = a != a || b != b;
        const unsigned largest = a != a   ? (b != b ? 0x7fffu : cb)
                                 : b != b ? ca
                                 : a == b ? (ca & 0x8000 ? cb : ca)
                                 : a > b  ? ca
                                          : cb;
        const unsigned smallest = a != a   ? (b != b ? 0x7fffu : cb)
                                  : b != b ? ca
                                  : a == b ? (ca & 0x8000 ? ca : cb)
                                  : a < b  ? ca
                                           : cb;
        const unsigned want[17] = {
            sum,
            code(a - b),
            times,
            code(a / b),
            fma,
            within(sum),
            within(times),
            value(fma) > 0             ? fma
            : value(fma) != value(fma) ? 0x7fffu
                                       : 0u,
            largest,
            smallest,
            nan ? 0x7fffu : largest,
            nan ? 0x7fffu : smallest,
            ca ^ 0x8000u,
            ca & 0x7fffu,
            (unsigned)(a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5,
            (unsigned)(a == b) | (a < b || a > b) << 1 | (nan || a == b) << 2 | (nan || a != b) << 3 |
                (nan || a < b) << 4 | (nan || a <= b) << 5 | (nan || a > b) << 6 | (nan || a >= b) << 7 | (a != a) << 8,
            (unsigned)(std::isinf(a) ? (a > 0 ? 1 : -1) : 0)};
        unsigned host[kArithmetic];
        arithmetic<T, T2>(T(Raw{in[3 * i]}), T(Raw{in[3 * i + 1]}), T(Raw{in[3 * i + 2]}), host);
        for (const unsigned* row : {(const unsigned*)host, (const unsigned*)(out + kArithmetic * i)}) {
            for (int k = 0; k < 17; ++k)
                expect(((k == 4 || k == 7) && !known) || row[k] == want[k],
                       "%s %s, %d of %04x %04x %04x: %04x, not %04x", name, row == host ? "host" : "device", k, ca, cb,
                       cc, row[k], want[k]);
            for (int k = 17; k < 33; k += 2)
                expect(row[k] == row[k + 1], "%s pair, %d of %04x %04x %04x: %08x, not %08x", name, k, ca, cb, cc,
                       row[k], row[k + 1]);
        }
    }
}

// Conversions, by every rounding.
constexpr int kConversions = 20;
__host__ __device__ void conversions(double x, unsigned* row) {
    const float f = (float)x;
    *row++ = bitsOf(__float2half_rn(f));
    *row++ = bitsOf(__float2half_rz(f));
    *row++ = bitsOf(__float2half_rd(f));
    *row++ = bitsOf(__float2half_ru(f));
    *row++ = bitsOf(__float2bfloat16_rn(f));
    *row++ = bitsOf(__float2bfloat16_rz(f));
    *row++ = bitsOf(__float2bfloat16_rd(f));
    *row++ = bitsOf(__float2bfloat16_ru(f));
    *row++ = bitsOf(__double2half(x));
    *row++ = bitsOf(__double2bfloat16(x));
    *row++ = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3);
    *row++ = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E4M3);
    *row++ = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2);
    *row++ = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E5M2);
    *row++ = __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
    *row++ = __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E5M2);
    *row++ = __nv_fp8_e4m3(f).__x;
    *row++ = __nv_fp8x2_e5m2(float2{f, f}).__x & 0xff;
    *row++ = __nv_fp8x4_e4m3(float4{0, 0, 0, f}).__x >> 24;
    *row++ = __nv_cvt_halfraw_to_fp8(__float2half(f), __NV_SATFINITE, __NV_E5M2);
}
__global__ void convert(const double* in, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) conversions(in[i], out + (size_t)kConversions * i);
}
void checkConversions() {
    constexpr int n = 4096;
    double* const in = shared<double>(n);
    unsigned* const out = shared<unsigned>(kConversions * n);
    Random random;
    int k = 0;
    for (const double edge : {0.0,
                              -0.0,
                              (double)INFINITY,
                              -(double)INFINITY,
                              (double)NAN,
                              65504.0,
                              65519.99,
                              65520.0,
                              65536.0,
                              448.0,
                              464.0,
                              464.0001,
                              480.0,
                              57344.0,
                              61440.0,
                              61439.0,
                              1e30,
                              -1e30,
                              3.4e38,
                              1e-40,
                              5e-324,
                              0x1p-25,
                              0x1.0000001p-25,
                              0x1p-10,
                              0x1p-17,
                              0x1p-9,
                              0x1p-133,
                              0x1p-134,
                              1 + 0x1p-11,
                              1 + 0x1p-11 + 0x1p-40,
                              1 + 3 * 0x1p-11,
                              1 + 0x1p-8,
                              1 + 0x1p-4,
                              1 + 3 * 0x1p-4})
        in[k++] = edge;
    for (; k < n; ++k) {
        const double mantissa = 1 + (double)(random.next() >> 12) * 0x1p-52;
        // Half of them with few bits, so that ties occur.
        const double fewer = k % 2 ? mantissa : 1 + floor((mantissa - 1) * 4096) / 4096;
        const int exponent = k % 5 == 0 ? (int)(random.next() % 290) - 150 : (int)(random.next() % 44) - 26;
        in[k] = ldexp(random.next() & 1 ? fewer : -fewer, exponent);
    }
    convert<<<n / 128, 128>>>(in, out, n);
    synchronize();
    for (int i = 0; i < n; ++i) {
        const double x = in[i];
        const float f = (float)x;
        const double viaHalf = valueOf(nearest(f, 5, 10, true, 0, false), 5, 10, true);
        const unsigned want[kConversions] = {
            nearest(f, 5, 10, true, 0, false), nearest(f, 5, 10, true, 1, false),    nearest(f, 5, 10, true, 2, false),
            nearest(f, 5, 10, true, 3, false), nearest(f, 8, 7, true, 0, false),     nearest(f, 8, 7, true, 1, false),
            nearest(f, 8, 7, true, 2, false),  nearest(f, 8, 7, true, 3, false),     nearest(x, 5, 10, true, 0, false),
            nearest(x, 8, 7, true, 0, false),  nearest(f, 4, 3, false, 0, true),     nearest(f, 4, 3, false, 0, false),
            nearest(f, 5, 2, true, 0, true),   nearest(f, 5, 2, true, 0, false),     nearest(x, 4, 3, false, 0, true),
            nearest(x, 5, 2, true, 0, false),  nearest(f, 4, 3, false, 0, true),     nearest(f, 5, 2, true, 0, true),
            nearest(f, 4, 3, false, 0, true),  nearest(viaHalf, 5, 2, true, 0, true)};
        unsigned host[kConversions];
        conversions(x, host);
        for (int c = 0; c < kConversions; ++c)
            expect(host[c] == want[c] && out[kConversions * i + c] == want[c],
                   "conversion %d of %a: %04x on the host, %04x, not %04x", c, x, host[c], out[kConversions * i + c],
                   want[c]);
    }
}

// Back, for every code.
__global__ void values(float* halves, float* bfloats, float* e4m3, float* e5m2) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    halves[i] = __half2float(__ushort_as_half((unsigned short)i));
    bfloats[i] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
    if (i >= 256) return;
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = (unsigned char)i;
    e4m3[i] = (float)a;
    e5m2[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)i, __NV_E5M2)));
}
bool same(float x, double y) {
    return x != x ? y != y : x == (float)y && signbit(x) == signbit(y);
}
void checkValues() {
    float* const v = shared<float>(2 * 65536 + 512);
    values<<<256, 256>>>(v, v + 65536, v + 2 * 65536, v + 2 * 65536 + 256);
    synchronize();
    for (unsigned i = 0; i < 65536; ++i) {
        expect(same(v[i], valueOf(i, 5, 10, true)) && same((float)__ushort_as_half((unsigned short)i), v[i]),
               "half %04x is %g", i, v[i]);
        expect(same(v[65536 + i], valueOf(i, 8, 7, true)), "bfloat16 %04x is %g", i, v[65536 + i]);
    }
    for (unsigned i = 0; i < 256; ++i) {
        expect(same(v[2 * 65536 + i], valueOf(i, 4, 3, false)), "e4m3 %02x is %g", i, v[2 * 65536 + i]);
        expect(same(v[2 * 65536 + 256 + i], valueOf(i, 5, 2, true)), "e5m2 %02x is %g", i, v[2 * 65536 + 256 + i]);
    }
}

// Whole numbers, both ways.
__host__ __device__ void wholes(long long whole, float real, long long* row) {
    const __half h(real);
    const __nv_bfloat16 b(real);
    *row++ = bitsOf(__half(whole));
    *row++ = bitsOf(__nv_bfloat16(whole));
    *row++ = bitsOf(__ull2bfloat16_rz((unsigned long long)whole));
    *row++ = bitsOf(__int2half_ru((int)whole));
    *row++ = __half2int_rn(h);
    *row++ = __half2int_rz(h);
    *row++ = __half2uint_rd(h);
    *row++ = __half2short_ru(h);
    *row++ = __bfloat162ll_rn(b);
    *row++ = (long long)__bfloat162ull_rz(b);
    *row++ = __half2char_rz(h);
}
__global__ void wholesOnDevice(const long long* whole, const float* real, long long* out) {
    wholes(whole[threadIdx.x], real[threadIdx.x], out + 11 * threadIdx.x);
}
void checkWholes() {
    constexpr int n = 256;
    long long* const whole = shared<long long>(n);
    float* const real = shared<float>(n);
    long long* const out = shared<long long>(11 * n);
    Random random;
    const float edges[] = {0,        0.5f,  1.5f,   2.5f,     -0.5f,     -2.5f, 127,    128, -129,
                           32767.5f, 65504, -65504, INFINITY, -INFINITY, 1e20f, -1e20f, NAN};
    for (int i = 0; i < n; ++i) {
        whole[i] = (long long)random.next() >> (i % 64);
        real[i] = i < 17 ? edges[i] : (float)((long long)random.next() >> (i % 60)) / 8;
    }
    wholesOnDevice<<<1, n>>>(whole, real, out);
    synchronize();
    for (int i = 0; i < n; ++i) {
        // To odd, as a double cannot hold all.
        const auto odd = [](bool negative, unsigned long long size) {
            const unsigned long long cut = size >> 52 ? (size & ~4095ull) | (size & 4095 ? 4096 : 0) : size;
            return negative ? -(double)cut : (double)cut;
        };
        const long long w = whole[i];
        const double asDouble = odd(w < 0, w < 0 ? 0ull - (unsigned long long)w : (unsigned long long)w);
        const double h = valueOf(nearest(real[i], 5, 10, true, 0, false), 5, 10, true);
        const double b = valueOf(nearest(real[i], 8, 7, true, 0, false), 8, 7, true);
        const auto held = [](double x, double low, double high) {
            return x != x ? 0 : x < low ? low : x > high ? high : x;
        };
        const bool nan = b != b;
        const long long want[11] = {nearest(asDouble, 5, 10, true, 0, false),
                                    nearest(asDouble, 8, 7, true, 0, false),
                                    nearest(odd(false, (unsigned long long)w), 8, 7, true, 1, false),
                                    nearest((int)w, 5, 10, true, 3, false),
                                    (int)held(nearbyint(h), INT32_MIN, INT32_MAX),
                                    (int)held(trunc(h), INT32_MIN, INT32_MAX),
                                    (unsigned)held(floor(h), 0, UINT32_MAX),
                                    (short)held(ceil(h), INT16_MIN, INT16_MAX),
                                    nan           ? INT64_MIN
                                    : b >= 0x1p63 ? INT64_MAX
                                    : b < -0x1p63 ? INT64_MIN
                                                  : (long long)nearbyint(b),
                                    nan ? INT64_MIN
                                        : (long long)(b >= 0x1p64 ? UINT64_MAX
                                                      : b <= 0    ? 0
                                                                  : (unsigned long long)b),
                                    (signed char)held(trunc(h), -128, 127)};
        long long host[11];
        wholes(w, real[i], host);
        for (int k = 0; k < 11; ++k)
            expect(host[k] == want[k] && out[11 * i + k] == want[k],
                   "whole %d of %lld, %g: %llx on the host, %llx, not %llx", k, w, (double)real[i], host[k],
                   out[11 * i + k], want[k]);
    }
}

// What only the device has.
__global__ void exchange(__half* halves, __half2* pairs, __nv_bfloat16* bfloats, unsigned* out) {
    const unsigned i = threadIdx.x;
    out[4 * i] = bitsOf(__shfl_xor_sync(~0u, __half((int)i), 5));
    out[4 * i + 1] = bitsOf2(__shfl_down_sync(~0u, __half2(__half(i), __half(2 * i)), 1));
    out[4 * i + 2] = bitsOf(hsqrt(__half(i * i))) | bitsOf(__ldg(halves + 2)) << 16;
    out[4 * i + 3] = bitsOf2(h2exp2(__half2(__half((int)i - 16), hrint(__half(i + 0.25f)))));
    atomicAdd(halves + i % 2, __half(1));
    atomicAdd(pairs, __half2(__half(1), __half(2)));
    atomicAdd(bfloats, __nv_bfloat16(0.5f));
}
void checkExchange() {
    __half* const halves = shared<__half>(4);
    __half2* const pairs = shared<__half2>(1);
    __nv_bfloat16* const bfloats = shared<__nv_bfloat16>(2);
    unsigned* const out = shared<unsigned>(128);
    halves[2] = 7;
    exchange<<<1, 32>>>(halves, pairs, bfloats, out);
    synchronize();
    expect((float)halves[0] == 16 && (float)halves[1] == 16, "atomic sums of halves");
    expect((float)pairs->x == 32 && (float)pairs->y == 64, "atomic sums of pairs");
    expect((float)bfloats[0] == 16 && (float)bfloats[1] == 0, "atomic sums of bfloat16");
    const auto code = [](double x) { return nearest(x, 5, 10, true, 0, false); };
    for (unsigned i = 0; i < 32; ++i) {
        const unsigned from = i < 31 ? i + 1 : i;
        expect(out[4 * i] == code(i ^ 5), "half from lane %u", i ^ 5);
        expect(out[4 * i + 1] == pairOf(code(from), code(2 * from)), "pair from lane %u", from);
        expect(out[4 * i + 2] == pairOf(code(i), code(7)), "square root of %u, and a load", i * i);
        expect(out[4 * i + 3] == pairOf(code(ldexp(1, (int)i - 16)), code(ldexp(1, (int)i))), "power %u: %08x", i,
               out[4 * i + 3]);
    }
}

/// Powers of two: the code of a number, down and up, without and with a largest one.
__host__ __device__ void powersOf(double x, unsigned* row) {
    row[0] = __nv_cvt_double_to_e8m0(x, __NV_NOSAT, cudaRoundZero);
    row[1] = __nv_cvt_double_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf);
    row[2] = __nv_cvt_float_to_e8m0((float)x, __NV_NOSAT, cudaRoundPosInf);
    row[3] = __nv_fp8_e8m0(x).__x;
    row[4] = __nv_fp8x2_e8m0(double2{0, x}).__x >> 8;
    row[5] = __nv_fp8x4_e8m0(double4{x, 0, 0, 0}).__x & 0xff;
}

__global__ void powers(const double* x, unsigned* out, float* values) {
    powersOf(x[threadIdx.x], out + 6 * threadIdx.x);
    __nv_fp8_e8m0 power;
    power.__x = (unsigned char)threadIdx.x;
    values[threadIdx.x] = (float)power;
    values[256 + threadIdx.x] = (float)(__nv_bfloat16)power;
}

void checkPowers() {
    double* const x = shared<double>(256);
    unsigned* const out = shared<unsigned>(6 * 256);
    float* const values = shared<float>(512);
    Random random;
    for (int i = 0; i < 256; ++i) {
        const double mantissa = i % 3 == 0 ? 1 : 1 + ldexp((double)(random.next() >> 40), -24);
        x[i] = ldexp(i % 2 == 0 ? mantissa : -mantissa, i - 128);
    }
    x[250] = 0;
    x[251] = INFINITY;
    x[252] = NAN;
    powers<<<1, 256>>>(x, out, values);
    synchronize();
    for (int i = 0; i < 256; ++i) {
        // A number is a part of [1/2, 1) times a power of two.
        int exponent = 0;
        const double part = frexp(fabs(x[i]), &exponent);
        const auto code = [&](bool up, unsigned beyond) {
            if (x[i] != x[i]) return 0xffu;
            if (std::isinf(x[i])) return beyond;
            const int power = (part == 0 ? -1000 : exponent - 1 + (up && part != 0.5 ? 1 : 0)) + 127;
            return power < 0 ? 0u : power > 254 ? beyond : (unsigned)power;
        };
        const unsigned down = code(false, 0xff), up = code(true, 0xfe);
        unsigned host[6];
        powersOf(x[i], host);
        const unsigned expected[] = {down, up, code(true, 0xff), up, up, up};
        for (int k = 0; k < 6; ++k) {
            expect(out[6 * i + k] == expected[k], "power %d of %g: %02x, not %02x", k, x[i], out[6 * i + k],
                   expected[k]);
            expect(host[k] == expected[k], "power %d of %g on the host: %02x, not %02x", k, x[i], host[k], expected[k]);
        }
        for (int k = 0; k < 2; ++k) {
            const float value = values[256 * k + i];
            expect(i == 255 ? value != value : value == ldexpf(1, i - 127), "e8m0 %02x is %g", i, value);
        }
    }
}

int main() {
    checkPowers();
    checkValues();
    checkConversions();
    checkWholes();
    checkArithmetic<__half, __half2, __half_raw>("half", 5, 10);
    checkArithmetic<__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw>("bfloat16", 8, 7);
    checkExchange();
    return finished();
}
