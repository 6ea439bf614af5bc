// mma.h: products of small matrices in every shape and type, against sums on the host. The numbers are small and whole,
// so that every format has them and every order of summing gives the same.

#include <mma.h>

#include "check.h"

using namespace nvcuda;
using wmma::accumulator;
using wmma::col_major;
using wmma::fragment;
using wmma::matrix_a;
using wmma::matrix_b;
using wmma::row_major;

template <class Layout>
struct By;
template <>
struct By<row_major> {
    static int place(int row, int column, int, int columns) { return row * columns + column; }
    static int lead(int, int columns) { return columns; }
    static constexpr wmma::layout_t layout = wmma::mem_row_major;
    static constexpr const char* name = "rows";
};
template <>
struct By<col_major> {
    static int place(int row, int column, int rows, int) { return column * rows + row; }
    static int lead(int rows, int) { return rows; }
    static constexpr wmma::layout_t layout = wmma::mem_col_major;
    static constexpr const char* name = "columns";
};

template <int m, int n, int k, class T, class ALayout, class BLayout, class C, class D, class Memory>
__global__ void multiply(const Memory* a, const Memory* b, const C* c, D* d, int aLead, int bLead, int dLead,
                         wmma::layout_t layout) {
    fragment<matrix_a, m, n, k, T, ALayout> left;
    fragment<matrix_b, m, n, k, T, BLayout> right;
    fragment<accumulator, m, n, k, C> before;
    fragment<accumulator, m, n, k, D> after;
    wmma::load_matrix_sync(left, a, aLead);
    wmma::load_matrix_sync(right, b, bLead);
    wmma::load_matrix_sync(before, c, dLead, layout);
    wmma::mma_sync(after, left, right, before);
    // A fragment's elements may be changed one by one.
    for (int i = 0; i < after.num_elements; ++i) after.x[i] = after.x[i] + after.x[i];
    wmma::store_matrix_sync(d, after, dLead, layout);
}

template <class Memory>
Memory small(Random& random) {
    return (Memory)(float)(random.next() % 8);
}

template <int m, int n, int k, class T, class Memory, class ALayout, class BLayout, class C, class D>
void tryProduct(const char* type) {
    Random random;
    Memory *a = shared<Memory>(m * k), *b = shared<Memory>(k * n);
    C* c = shared<C>(m * n);
    D* d = shared<D>(m * n);
    for (int i = 0; i < m * k; ++i) a[i] = small<Memory>(random);
    for (int i = 0; i < k * n; ++i) b[i] = small<Memory>(random);
    for (int i = 0; i < m * n; ++i) c[i] = small<C>(random);
    using Out = By<BLayout>;
    multiply<m, n, k, T, ALayout, BLayout, C, D, Memory>
        <<<1, 32>>>(a, b, c, d, By<ALayout>::lead(m, k), By<BLayout>::lead(k, n), Out::lead(m, n), Out::layout);
    synchronize();
    for (int row = 0; row < m; ++row)
        for (int column = 0; column < n; ++column) {
            const int at = Out::place(row, column, m, n);
            double sum = (double)(float)c[at];
            for (int i = 0; i < k; ++i)
                sum += (double)(float)a[By<ALayout>::place(row, i, m, k)] *
                       (double)(float)b[By<BLayout>::place(i, column, k, n)];
            expect((double)(float)d[at] == 2 * sum, "%s m%dn%dk%d by %s and %s: %d, %d is %g, not %g", type, m, n, k,
                   By<ALayout>::name, By<BLayout>::name, row, column, (double)(float)d[at], 2 * sum);
        }
    for (void* p : {(void*)a, (void*)b, (void*)c, (void*)d}) cudaFree(p);
}

template <int m, int n, int k, class T, class Memory, class C, class D>
void tryLayouts(const char* type) {
    tryProduct<m, n, k, T, Memory, row_major, col_major, C, D>(type);
    tryProduct<m, n, k, T, Memory, col_major, row_major, C, D>(type);
    tryProduct<m, n, k, T, Memory, row_major, row_major, C, D>(type);
    tryProduct<m, n, k, T, Memory, col_major, col_major, C, D>(type);
}

template <int m, int n, int k>
void tryShape() {
    tryLayouts<m, n, k, half, half, float, float>("half");
    tryLayouts<m, n, k, half, half, half, half>("half, summed in half");
    tryLayouts<m, n, k, half, half, half, float>("half, from half to float");
    tryLayouts<m, n, k, half, half, float, half>("half, from float to half");
    tryLayouts<m, n, k, __nv_bfloat16, __nv_bfloat16, float, float>("bfloat16");
    tryLayouts<m, n, k, signed char, signed char, int, int>("signed char");
    tryLayouts<m, n, k, unsigned char, unsigned char, int, int>("unsigned char");
}

/// 4-bit integers and bits lie packed in words.
template <int k, class T, int bits>
__global__ void multiplyPacked(const int* a, const int* b, int* d, int operation) {
    fragment<matrix_a, 8, 8, k, T, row_major> left;
    fragment<matrix_b, 8, 8, k, T, col_major> right;
    fragment<accumulator, 8, 8, k, int> sum;
    wmma::fill_fragment(sum, 3);
    wmma::load_matrix_sync(left, a, k);
    wmma::load_matrix_sync(right, b, k);
    if constexpr (bits == 4)
        wmma::mma_sync(sum, left, right, sum);
    else if (operation == 0)
        wmma::bmma_sync(sum, left, right, sum);
    else
        wmma::bmma_sync(sum, left, right, sum, wmma::experimental::bmmaBitOpAND);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

template <int k, class T, int bits>
void tryPacked(const char* type, bool isSigned, int operation) {
    Random random;
    const int words = k * bits / 32;
    int *a = shared<int>(8 * words), *b = shared<int>(8 * words), *d = shared<int>(64);
    for (int i = 0; i < 8 * words; ++i) {
        a[i] = (int)random.next();
        b[i] = (int)random.next();
    }
    multiplyPacked<k, T, bits><<<1, 32>>>(a, b, d, operation);
    synchronize();
    const auto element = [&](const int* matrix, int line, int i) {
        const int at = i * bits, value = (int)((unsigned)matrix[line * words + at / 32] >> at % 32) & ((1 << bits) - 1);
        return isSigned && value >= 8 ? value - 16 : value;
    };
    for (int row = 0; row < 8; ++row)
        for (int column = 0; column < 8; ++column) {
            int sum = 3;
            for (int i = 0; i < k; ++i) {
                const int x = element(a, row, i), y = element(b, column, i);
                sum += bits == 4 ? x * y : operation == 0 ? x ^ y : x & y;
            }
            expect(d[row * 8 + column] == sum, "%s: %d, %d is %d, not %d", type, row, column, d[row * 8 + column], sum);
        }
    for (int* p : {a, b, d}) cudaFree(p);
}

__global__ void roundToTf32(const float* in, float* out) {
    out[threadIdx.x] = wmma::__float_to_tf32(in[threadIdx.x]);
}

int main() {
    tryShape<16, 16, 16>();
    tryShape<32, 8, 16>();
    tryShape<8, 32, 16>();
    tryLayouts<16, 16, 8, wmma::precision::tf32, float, float, float>("tf32");
    tryLayouts<8, 8, 4, double, double, double, double>("double");
    tryPacked<32, wmma::experimental::precision::s4, 4>("s4", true, 0);
    tryPacked<32, wmma::experimental::precision::u4, 4>("u4", false, 0);
    tryPacked<128, wmma::experimental::precision::b1, 1>("bits that differ", false, 0);
    tryPacked<128, wmma::experimental::precision::b1, 1>("bits in common", false, 1);

    float *in = shared<float>(32), *out = shared<float>(32);
    for (int i = 0; i < 32; ++i) in[i] = 1.0f + (float)i * 0x1p-12f;
    roundToTf32<<<1, 32>>>(in, out);
    synchronize();
    // Ten bits of fraction, halves away from zero.
    for (int i = 0; i < 32; ++i) {
        const float rounded = 1.0f + floorf((float)i / 4 + 0.5f) * 0x1p-10f;
        expect(out[i] == rounded, "tf32 of %.9g is %.9g, not %.9g", in[i], out[i], rounded);
    }
    return finished();
}
