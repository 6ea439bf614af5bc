// cuComplex.h on both sides against std::complex of a wider type, and the vectors' layouts.

#include <cuComplex.h>

#include <complex>

#include "check.h"

constexpr int kCount = 256, kResults = 8;

template <class Z>
__host__ __device__ void evaluate(Z a, Z b, Z c, Z* row);
template <>
__host__ __device__ void evaluate(cuFloatComplex a, cuFloatComplex b, cuFloatComplex c, cuFloatComplex* row) {
    row[0] = cuCaddf(a, b);
    row[1] = cuCsubf(a, b);
    row[2] = cuCmulf(a, b);
    row[3] = cuCdivf(a, b);
    row[4] = cuCfmaf(a, b, c);
    row[5] = cuConjf(a);
    row[6] = make_cuFloatComplex(cuCabsf(a), cuCrealf(b));
    row[7] = cuComplexDoubleToFloat(cuComplexFloatToDouble(make_cuComplex(cuCimagf(a), cuCimagf(b))));
}
template <>
__host__ __device__ void evaluate(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c, cuDoubleComplex* row) {
    row[0] = cuCadd(a, b);
    row[1] = cuCsub(a, b);
    row[2] = cuCmul(a, b);
    row[3] = cuCdiv(a, b);
    row[4] = cuCfma(a, b, c);
    row[5] = cuConj(a);
    row[6] = make_cuDoubleComplex(cuCabs(a), cuCreal(b));
    row[7] = make_cuDoubleComplex(cuCimag(a), cuCimag(b));
}
template <class Z>
__global__ void onDevice(const Z* in, Z* out) {
    const int i = threadIdx.x;
    evaluate(in[i], in[(i + 1) % kCount], in[(i + 2) % kCount], out + i * kResults);
}

template <class Z, class T>
void check(double epsilon, T huge) {
    typedef std::complex<long double> Wide;
    Z* const in = shared<Z>(kCount);
    Z* const out = shared<Z>(kCount * kResults);
    Random random;
    for (int i = 0; i < kCount; ++i) {
        in[i].x = (T)((double)(std::int64_t)random.next() * 0x1p-60);
        in[i].y = (T)((double)(std::int64_t)random.next() * 0x1p-60);
    }
    onDevice<<<1, kCount>>>(in, out);
    synchronize();
    const auto wide = [](Z z) { return Wide(z.x, z.y); };
    for (int i = 0; i < kCount; ++i) {
        const Z za = in[i], zb = in[(i + 1) % kCount], zc = in[(i + 2) % kCount];
        const Wide a = wide(za), b = wide(zb), c = wide(zc);
        const Wide want[kResults] = {
            a + b, a - b, a * b, a / b, a * b + c, std::conj(a), {std::abs(a), b.real()}, {a.imag(), b.imag()}};
        Z host[kResults];
        evaluate(za, zb, zc, host);
        for (int k = 0; k < kResults; ++k) {
            // Parts may cancel, so that errors count against the operands' size.
            const long double size = std::abs(want[k]) + (k == 4 ? std::abs(a * b) : k < 2 ? std::abs(a) : 0);
            for (const Z got : {out[i * kResults + k], host[k]})
                expect(std::abs(wide(got) - want[k]) <= 4 * epsilon * size, "result %d of pair %d: %g %g", k, i,
                       (double)got.x, (double)got.y);
        }
    }
    // Neither overflows on the way.
    in[0].x = huge, in[0].y = huge;
    in[1].x = huge, in[1].y = -huge;
    onDevice<<<1, kCount>>>(in, out);
    synchronize();
    expect(out[3].x == 0 && std::fabs(out[3].y - 1) < 1e-5, "a quotient of large numbers: %g %g", (double)out[3].x,
           (double)out[3].y);
    expect(std::fabs(out[6].x / huge - std::sqrt((T)2)) < 1e-5, "the modulus of a large number: %g", (double)out[6].x);
}

template <class V, class T>
void layout(const char* name, std::size_t components, std::size_t alignment) {
    expect(sizeof(V) == components * sizeof(T) && alignof(V) == alignment, "%s has %zu bytes, aligned to %zu", name,
           sizeof(V), alignof(V));
}
#define LAYOUTS(T, name)                                                                                         \
    layout<name##1, T>(#name "1", 1, sizeof(T));                                                                 \
    layout<name##2, T>(#name "2", 2, 2 * sizeof(T));                                                             \
    layout<name##3, T>(#name "3", 3, sizeof(T));                                                                 \
    layout<name##4, T>(#name "4", 4, 4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16);                                   \
    {                                                                                                            \
        const name##4 v = make_##name##4((T)1, (T)2, (T)3, (T)4);                                                \
        const name##3 w = make_##name##3((T)5, (T)6, (T)7);                                                      \
        const name##2 u = make_##name##2((T)8, (T)9);                                                            \
        expect(v.x == 1 && v.y == 2 && v.z == 3 && v.w == 4 && w.x == 5 && w.z == 7 && u.y == 9, "make_" #name); \
    }

int main() {
    check<cuFloatComplex, float>(0x1p-23, 0x1p126f);
    check<cuDoubleComplex, double>(0x1p-52, 0x1p1022);
    LAYOUTS(signed char, char)
    LAYOUTS(unsigned char, uchar)
    LAYOUTS(short, short)
    LAYOUTS(unsigned short, ushort)
    LAYOUTS(int, int)
    LAYOUTS(unsigned, uint)
    LAYOUTS(long, long)
    LAYOUTS(unsigned long, ulong)
    LAYOUTS(long long, longlong)
    LAYOUTS(unsigned long long, ulonglong)
    LAYOUTS(float, float)
    LAYOUTS(double, double)
    layout<double4_16a, double>("double4_16a", 4, 16);
    layout<double4_32a, double>("double4_32a", 4, 32);
    layout<ulonglong4_32a, unsigned long long>("ulonglong4_32a", 4, 32);
    return finished();
}
