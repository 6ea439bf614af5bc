#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// nvcuda::wmma: products of small matrices that a warp makes together. Fragments hold what wmma.load of PTX puts into
// registers; which element is where is the GPU's secret.

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32;
}
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

namespace detail {

/// What a program sees of an element, what a fragment keeps, and what lies in memory.
template <class T>
struct Element {
    using Type = T;
    using Storage = T;
    using Memory = T;
    static constexpr int packed = 1;
};
template <>
struct Element<precision::tf32> {
    using Type = float;
    using Storage = float;
    using Memory = float;
    static constexpr int packed = 1;
};
template <int n>
struct PackedElement {
    using Type = int;
    using Storage = int;
    using Memory = void;
    static constexpr int packed = n;
};
template <>
struct Element<experimental::precision::u4> : PackedElement<8> {};
template <>
struct Element<experimental::precision::s4> : PackedElement<8> {};
template <>
struct Element<experimental::precision::b1> : PackedElement<32> {};

/// Elements of a fragment that a thread keeps: a 32nd of the matrix, or in half, of A and B, two.
template <class Use, int m, int n, int k, class T>
struct Count;
template <int m, int n, int k, class T>
struct Count<matrix_a, m, n, k, T> {
    static constexpr int value = m * k / 32;
};
template <int m, int n, int k, class T>
struct Count<matrix_b, m, n, k, T> {
    static constexpr int value = n * k / 32;
};
template <int m, int n, int k>
struct Count<matrix_a, m, n, k, half> {
    static constexpr int value = 16;
};
template <int m, int n, int k>
struct Count<matrix_b, m, n, k, half> {
    static constexpr int value = 16;
};
template <int m, int n, int k, class T>
struct Count<accumulator, m, n, k, T> {
    static constexpr int value = m * n / 32;
};

/// As wmma's instructions number them.
template <class Layout>
struct LayoutNumber;
template <>
struct LayoutNumber<row_major> {
    static constexpr int value = 0;
};
template <>
struct LayoutNumber<col_major> {
    static constexpr int value = 1;
};
template <class ALayout, class BLayout>
constexpr int layouts() {
    return LayoutNumber<ALayout>::value * 2 + LayoutNumber<BLayout>::value;
}

}  // namespace detail

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
  public:
    using element_type = typename detail::Element<T>::Type;
    using storage_element_type = typename detail::Element<T>::Storage;
    enum {
        num_elements = detail::Count<Use, m, n, k, T>::value,
        num_storage_elements = num_elements / detail::Element<T>::packed,
    };
    storage_element_type x[num_storage_elements];
};

template <class Use, int m, int n, int k, class T, class Layout>
__device__ inline void fill_fragment(fragment<Use, m, n, k, T, Layout>& f,
                                     const typename detail::Element<T>::Storage& value) {
#pragma unroll
    for (int i = 0; i < f.num_storage_elements; ++i) f.x[i] = value;
}

__device__ inline float __float_to_tf32(float value) {
    int bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return __int_as_float(bits);
}

// The compiler's functions for each shape and type. Their names are clang's and nvcc's.

#define BULKHEAD_WMMA_FACTOR(use, m, n, k, type, memory, word, builtin)                                               \
    template <class Layout>                                                                                           \
    __device__ inline void load_matrix_sync(fragment<use, m, n, k, type, Layout>& f, const memory* p, unsigned ldm) { \
        builtin((word*)f.x, (const word*)p, ldm, detail::LayoutNumber<Layout>::value);                                \
    }
#define BULKHEAD_WMMA_ACCUMULATOR(m, n, k, type, word, load, store)                                                \
    __device__ inline void load_matrix_sync(fragment<accumulator, m, n, k, type>& f, const type* p, unsigned ldm,  \
                                            layout_t layout) {                                                     \
        if (layout == mem_row_major)                                                                               \
            load((word*)f.x, (const word*)p, ldm, 0);                                                              \
        else                                                                                                       \
            load((word*)f.x, (const word*)p, ldm, 1);                                                              \
    }                                                                                                              \
    __device__ inline void store_matrix_sync(type* p, const fragment<accumulator, m, n, k, type>& f, unsigned ldm, \
                                             layout_t layout) {                                                    \
        if (layout == mem_row_major)                                                                               \
            store((word*)p, (const word*)f.x, ldm, 0);                                                             \
        else                                                                                                       \
            store((word*)p, (const word*)f.x, ldm, 1);                                                             \
    }
/// The layouts and whether to saturate are numbers that the compiler must know.
#define BULKHEAD_WMMA_PRODUCT(m, n, k, dType, abType, cType, dWord, abWord, cWord, builtin)                          \
    template <class A, class B>                                                                                      \
    __device__ inline void mma_sync(fragment<accumulator, m, n, k, dType>& d,                                        \
                                    const fragment<matrix_a, m, n, k, abType, A>& a,                                 \
                                    const fragment<matrix_b, m, n, k, abType, B>& b,                                 \
                                    const fragment<accumulator, m, n, k, cType>& c, bool satf = false) {             \
        if (satf)                                                                                                    \
            builtin((dWord*)d.x, (const abWord*)a.x, (const abWord*)b.x, (const cWord*)c.x, detail::layouts<A, B>(), \
                    1);                                                                                              \
        else                                                                                                         \
            builtin((dWord*)d.x, (const abWord*)a.x, (const abWord*)b.x, (const cWord*)c.x, detail::layouts<A, B>(), \
                    0);                                                                                              \
    }
#define BULKHEAD_WMMA_PLAIN_PRODUCT(m, n, k, dType, abType, abWord, dWord, builtin)                                  \
    template <class A, class B>                                                                                      \
    __device__ inline void mma_sync(                                                                                 \
        fragment<accumulator, m, n, k, dType>& d, const fragment<matrix_a, m, n, k, abType, A>& a,                   \
        const fragment<matrix_b, m, n, k, abType, B>& b, const fragment<accumulator, m, n, k, dType>& c) {           \
        builtin((dWord*)d.x, (const abWord*)a.x, (const abWord*)b.x, (const dWord*)c.x, detail::layouts<A, B>(), 0); \
    }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define BULKHEAD_WMMA_HALF(m, n, k, shape)                                                                 \
    BULKHEAD_WMMA_FACTOR(matrix_a, m, n, k, half, half, int, __hmma_##shape##_ld_a)                        \
    BULKHEAD_WMMA_FACTOR(matrix_b, m, n, k, half, half, int, __hmma_##shape##_ld_b)                        \
    BULKHEAD_WMMA_ACCUMULATOR(m, n, k, half, int, __hmma_##shape##_ld_c_f16, __hmma_##shape##_st_c_f16)    \
    BULKHEAD_WMMA_ACCUMULATOR(m, n, k, float, float, __hmma_##shape##_ld_c_f32, __hmma_##shape##_st_c_f32) \
    BULKHEAD_WMMA_PRODUCT(m, n, k, half, half, half, int, int, int, __hmma_##shape##_mma_f16f16)           \
    BULKHEAD_WMMA_PRODUCT(m, n, k, float, half, half, float, int, int, __hmma_##shape##_mma_f32f16)        \
    BULKHEAD_WMMA_PRODUCT(m, n, k, float, half, float, float, int, float, __hmma_##shape##_mma_f32f32)     \
    BULKHEAD_WMMA_PRODUCT(m, n, k, half, half, float, int, int, float, __hmma_##shape##_mma_f16f32)
BULKHEAD_WMMA_HALF(16, 16, 16, m16n16k16)
BULKHEAD_WMMA_HALF(32, 8, 16, m32n8k16)
BULKHEAD_WMMA_HALF(8, 32, 16, m8n32k16)
#undef BULKHEAD_WMMA_HALF
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 720
#define BULKHEAD_WMMA_BYTES(m, n, k, shape)                                                              \
    BULKHEAD_WMMA_FACTOR(matrix_a, m, n, k, signed char, signed char, int, __imma_##shape##_ld_a_s8)     \
    BULKHEAD_WMMA_FACTOR(matrix_b, m, n, k, signed char, signed char, int, __imma_##shape##_ld_b_s8)     \
    BULKHEAD_WMMA_FACTOR(matrix_a, m, n, k, unsigned char, unsigned char, int, __imma_##shape##_ld_a_u8) \
    BULKHEAD_WMMA_FACTOR(matrix_b, m, n, k, unsigned char, unsigned char, int, __imma_##shape##_ld_b_u8) \
    BULKHEAD_WMMA_ACCUMULATOR(m, n, k, int, int, __imma_##shape##_ld_c, __imma_##shape##_st_c_i32)       \
    BULKHEAD_WMMA_PRODUCT(m, n, k, int, signed char, int, int, int, int, __imma_##shape##_mma_s8)        \
    BULKHEAD_WMMA_PRODUCT(m, n, k, int, unsigned char, int, int, int, int, __imma_##shape##_mma_u8)
BULKHEAD_WMMA_BYTES(16, 16, 16, m16n16k16)
BULKHEAD_WMMA_BYTES(32, 8, 16, m32n8k16)
BULKHEAD_WMMA_BYTES(8, 32, 16, m8n32k16)
#undef BULKHEAD_WMMA_BYTES
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 730
BULKHEAD_WMMA_FACTOR(matrix_a, 8, 8, 32, experimental::precision::s4, void, int, __imma_m8n8k32_ld_a_s4)
BULKHEAD_WMMA_FACTOR(matrix_b, 8, 8, 32, experimental::precision::s4, void, int, __imma_m8n8k32_ld_b_s4)
BULKHEAD_WMMA_FACTOR(matrix_a, 8, 8, 32, experimental::precision::u4, void, int, __imma_m8n8k32_ld_a_u4)
BULKHEAD_WMMA_FACTOR(matrix_b, 8, 8, 32, experimental::precision::u4, void, int, __imma_m8n8k32_ld_b_u4)
BULKHEAD_WMMA_ACCUMULATOR(8, 8, 32, int, int, __imma_m8n8k32_ld_c, __imma_m8n8k32_st_c_i32)
/// A lies by rows and B by columns, and there is no other way.
#define BULKHEAD_WMMA_NIBBLES(type, builtin)                                                                         \
    __device__ inline void mma_sync(fragment<accumulator, 8, 8, 32, int>& d,                                         \
                                    const fragment<matrix_a, 8, 8, 32, experimental::precision::type, row_major>& a, \
                                    const fragment<matrix_b, 8, 8, 32, experimental::precision::type, col_major>& b, \
                                    const fragment<accumulator, 8, 8, 32, int>& c, bool satf = false) {              \
        if (satf)                                                                                                    \
            builtin((int*)d.x, (const int*)a.x, (const int*)b.x, (const int*)c.x, 1, 1);                             \
        else                                                                                                         \
            builtin((int*)d.x, (const int*)a.x, (const int*)b.x, (const int*)c.x, 1, 0);                             \
    }
BULKHEAD_WMMA_NIBBLES(s4, __imma_m8n8k32_mma_s4)
BULKHEAD_WMMA_NIBBLES(u4, __imma_m8n8k32_mma_u4)
#undef BULKHEAD_WMMA_NIBBLES

BULKHEAD_WMMA_FACTOR(matrix_a, 8, 8, 128, experimental::precision::b1, void, int, __bmma_m8n8k128_ld_a_b1)
BULKHEAD_WMMA_FACTOR(matrix_b, 8, 8, 128, experimental::precision::b1, void, int, __bmma_m8n8k128_ld_b_b1)
BULKHEAD_WMMA_ACCUMULATOR(8, 8, 128, int, int, __bmma_m8n8k128_ld_c, __bmma_m8n8k128_st_c_i32)
__device__ inline void bmma_sync(fragment<accumulator, 8, 8, 128, int>& d,
                                 const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& a,
                                 const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& b,
                                 const fragment<accumulator, 8, 8, 128, int>& c,
                                 experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
                                 experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if (operation == experimental::bmmaBitOpAND) {
        __bmma_m8n8k128_mma_and_popc_b1((int*)d.x, (const int*)a.x, (const int*)b.x, (const int*)c.x, 1);
        return;
    }
#endif
    __bmma_m8n8k128_mma_xor_popc_b1((int*)d.x, (const int*)a.x, (const int*)b.x, (const int*)c.x, 1);
}
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define BULKHEAD_WMMA_BRAIN(m, n, k, shape)                                                               \
    BULKHEAD_WMMA_FACTOR(matrix_a, m, n, k, __nv_bfloat16, __nv_bfloat16, int, __mma_bf16_##shape##_ld_a) \
    BULKHEAD_WMMA_FACTOR(matrix_b, m, n, k, __nv_bfloat16, __nv_bfloat16, int, __mma_bf16_##shape##_ld_b) \
    BULKHEAD_WMMA_PLAIN_PRODUCT(m, n, k, float, __nv_bfloat16, int, float, __mma_bf16_##shape##_mma_f32)
BULKHEAD_WMMA_BRAIN(16, 16, 16, m16n16k16)
BULKHEAD_WMMA_BRAIN(32, 8, 16, m32n8k16)
BULKHEAD_WMMA_BRAIN(8, 32, 16, m8n32k16)
#undef BULKHEAD_WMMA_BRAIN

BULKHEAD_WMMA_FACTOR(matrix_a, 16, 16, 8, precision::tf32, float, int, __mma_tf32_m16n16k8_ld_a)
BULKHEAD_WMMA_FACTOR(matrix_b, 16, 16, 8, precision::tf32, float, int, __mma_tf32_m16n16k8_ld_b)
BULKHEAD_WMMA_ACCUMULATOR(16, 16, 8, float, float, __mma_tf32_m16n16k8_ld_c, __mma_m16n16k8_st_c_f32)
BULKHEAD_WMMA_PLAIN_PRODUCT(16, 16, 8, float, precision::tf32, int, float, __mma_tf32_m16n16k8_mma_f32)

BULKHEAD_WMMA_FACTOR(matrix_a, 8, 8, 4, double, double, double, __dmma_m8n8k4_ld_a)
BULKHEAD_WMMA_FACTOR(matrix_b, 8, 8, 4, double, double, double, __dmma_m8n8k4_ld_b)
BULKHEAD_WMMA_ACCUMULATOR(8, 8, 4, double, double, __dmma_m8n8k4_ld_c, __dmma_m8n8k4_st_c_f64)
BULKHEAD_WMMA_PLAIN_PRODUCT(8, 8, 4, double, double, double, double, __dmma_m8n8k4_mma_f64)
#endif

#undef BULKHEAD_WMMA_FACTOR
#undef BULKHEAD_WMMA_ACCUMULATOR
#undef BULKHEAD_WMMA_PRODUCT
#undef BULKHEAD_WMMA_PLAIN_PRODUCT

}  // namespace wmma
}  // namespace nvcuda
