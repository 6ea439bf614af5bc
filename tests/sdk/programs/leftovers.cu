// What belongs to no other program here: memory, bytes, addresses, atomics of odd sizes, loads and stores by cache.

#include "check.h"

__constant__ int inConstant[2] = {5, 6};

template <class T>
__device__ bool moved(T value, T* place) {
    T other;
    bool same = true;
    const auto equals = [&] { return memcmp(&other, &value, sizeof(T)) == 0; };
    __stwb(place, value);
    other = __ldca(place);
    same = same && equals();
    __stcg(place + 1, value);
    other = __ldcg(place + 1);
    same = same && equals();
    __stcs(place, value);
    other = __ldcs(place);
    same = same && equals();
    __stwt(place + 1, value);
    other = __ldcv(place + 1);
    same = same && equals();
    other = __ldlu(place);
    return same && equals();
}

/// Each bit of the result says that one thing is right.
__global__ void leftovers(unsigned* out, char* scratch, const char* text, int length) {
    unsigned right = 0, bit = 0;
    const auto note = [&](bool holds) { right |= (holds ? 1u : 0u) << bit++; };
    memset(scratch, 0x5a, 64);
    memcpy(scratch + 3, text, (size_t)length);
    note(memcmp(scratch + 3, text, (size_t)length) == 0 && scratch[2] == 0x5a && scratch[3 + length] == 0x5a);
    memmove(scratch + 5, scratch + 3, (size_t)length);
    note(memcmp(scratch + 5, text, (size_t)length) == 0);
    memmove(scratch, scratch + 5, (size_t)length);
    note(memcmp(scratch, text, (size_t)length) == 0 && memcmp("abc", "abd", 3) < 0);
    note(__nv_bswap32(0x01020304u) == 0x04030201u && __nv_bswap16(0x0102) == 0x0201 &&
         __nv_bswap64(0x0102030405060708ull) == 0x0807060504030201ull);
    __shared__ int inShared;
    inShared = 7;
    note(*(int*)__cvta_shared_to_generic(__cvta_generic_to_shared(&inShared)) == 7);
    note(*(const int*)__cvta_constant_to_generic(__cvta_generic_to_constant(inConstant + 1)) == 6);
    note(*(char*)__cvta_global_to_generic(__cvta_generic_to_global(scratch)) == scratch[0]);
    note(__dp4a(make_char4(1, -2, 3, -4), make_char4(5, 6, -7, -8), 10) == 5 - 12 - 21 + 32 + 10);
    note(__dp4a(make_uchar4(255, 2, 3, 4), make_uchar4(255, 1, 1, 1), 1u) == 255u * 255 + 10);
    note(__dp2a_lo(make_short2(-300, 200), make_char4(2, 3, 4, 5), 1) == -600 + 600 + 1);
    note(__dp2a_hi(make_ushort2(60000, 2), make_uchar4(2, 3, 4, 5), 1u) == 240000u + 10 + 1);
    float4* const floats = (float4*)(scratch + 64);
    *floats = make_float4(1, 2, 3, 4);
    note(atomicAdd(floats, make_float4(1, 1, 1, 1)).z == 3 && floats->w == 5);
    note(atomicAdd((float2*)floats, make_float2(2, 3)).y == 3 && floats->x == 4);
    unsigned short* const word = (unsigned short*)(scratch + 80);
    word[0] = 3, word[1] = 9;
    note(atomicCAS(word + 1, (unsigned short)9, (unsigned short)77) == 9 && word[1] == 77 && word[0] == 3);
    note(atomicCAS(word, (unsigned short)4, (unsigned short)5) == 3 && word[0] == 3);
    note(__fmaf_ieee_rn(0x1p-100f, 0x1p-40f, 0x1p-149f) == 0x1p-140f + 0x1p-149f);
    note(fabsf(__tanhf(0.5f) - 0.46211716f) < 5e-4f);
    void* const place = scratch + 96;
    note(moved<char>(-3, (char*)place) && moved<unsigned char>(250, (unsigned char*)place));
    note(moved<short>(-300, (short*)place) && moved(make_char4(1, -2, 3, -4), (char4*)place));
    note(moved<float>(1.5f, (float*)place) && moved<double>(-2.5, (double*)place));
    note(moved(make_ushort4(1, 2, 3, 65535), (ushort4*)place) && moved(make_int4(1, -2, 3, -4), (int4*)place));
    note(moved(make_double2(1, -2), (double2*)place) && moved(make_uchar2(9, 8), (uchar2*)place));
    const char4 bytes = __ldg((const char4*)text);
    note(bytes.x == text[0] && bytes.w == text[3]);
    *out = right;
    out[1] = bit;
}

/// A kernel that waits for the one ahead of it sees what that one wrote.
__global__ void add(int* sum, int what) {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    *sum = 10 * *sum + what;
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

int main() {
    unsigned* const out = shared<unsigned>(2);
    char* const scratch = shared<char>(256);
    char* const text = shared<char>(32);
    strcpy(text, "a text of 22 characters");
    leftovers<<<1, 1>>>(out, scratch, text, 22);
    synchronize();
    expect(out[0] == (1u << out[1]) - 1, "right: %08x of %u", out[0], out[1]);
    int* const sum = shared<int>(1);
    for (int i = 1; i <= 4; ++i) add<<<1, 1>>>(sum, i);
    synchronize();
    expect(*sum == 1234, "one after the other: %d", *sum);
    return finished();
}
