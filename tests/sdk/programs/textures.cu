// Textures and surfaces through the runtime and the functions of the headers, against computations on the host. Prints
// "textures: passed", or what differs.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const cudaError_t code = (call);                                                 \
        if (code != cudaSuccess) {                                                       \
            std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(code)); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)
#define EXPECT(condition)                                           \
    do {                                                            \
        if (!(condition)) {                                         \
            std::printf("line %d: not %s\n", __LINE__, #condition); \
            std::exit(1);                                           \
        }                                                           \
    } while (0)

/// One call of every function, so that each compiles to an instruction that is executed.
__global__ void everyTexture(cudaTextureObject_t t1, cudaTextureObject_t t2, cudaTextureObject_t t3,
                             cudaTextureObject_t a1, cudaTextureObject_t a2, cudaTextureObject_t cube,
                             cudaTextureObject_t cubes, cudaTextureObject_t linear, float* out) {
    float* o = out;
    const float x = 1.5f, y = 1.5f, z = 1.5f;
    *o++ = tex1Dfetch<float>(linear, 2);
    *o++ = tex1D<float>(t1, x);
    *o++ = tex2D<float>(t2, x, y);
    *o++ = tex3D<float>(t3, x, y, z);
    *o++ = tex1DLayered<float>(a1, x, 1);
    *o++ = tex2DLayered<float>(a2, x, y, 1);
    *o++ = texCubemap<float>(cube, 0.1f, 0.1f, -1.0f);
    *o++ = texCubemapLayered<float>(cubes, 0.1f, 0.1f, -1.0f, 1);
    *o++ = tex1DLod<float>(t1, x, 0.0f);
    *o++ = tex2DLod<float>(t2, x, y, 0.0f);
    *o++ = tex3DLod<float>(t3, x, y, z, 0.0f);
    *o++ = tex1DLayeredLod<float>(a1, x, 1, 0.0f);
    *o++ = tex2DLayeredLod<float>(a2, x, y, 1, 0.0f);
    *o++ = texCubemapLod<float>(cube, 0.1f, 0.1f, -1.0f, 0.0f);
    *o++ = texCubemapLayeredLod<float>(cubes, 0.1f, 0.1f, -1.0f, 1, 0.0f);
    const float2 d2 = make_float2(0, 0);
    const float4 d4 = make_float4(0, 0, 0, 0);
    *o++ = tex1DGrad<float>(t1, x, 0.0f, 0.0f);
    *o++ = tex2DGrad<float>(t2, x, y, d2, d2);
    *o++ = tex3DGrad<float>(t3, x, y, z, d4, d4);
    *o++ = tex1DLayeredGrad<float>(a1, x, 1, 0.0f, 0.0f);
    *o++ = tex2DLayeredGrad<float>(a2, x, y, 1, d2, d2);
    *o++ = texCubemapGrad<float>(cube, 0.1f, 0.1f, -1.0f, d4, d4);
    *o++ = texCubemapLayeredGrad<float>(cubes, 0.1f, 0.1f, -1.0f, 1, d4, d4);
    *o++ = tex2Dgather<float4>(t2, 2.0f, 2.0f).w;
    float through = 0;
    tex2D(&through, t2, x, y);
    *o++ = through;
}

template <class T>
__global__ void copyTexture(cudaTextureObject_t from, T* to, int width, int height) {
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)blockIdx.y;
    if (x < width && y < height) to[y * width + x] = tex2D<T>(from, (float)x + 0.5f, (float)y + 0.5f);
}

template <class T>
__global__ void transpose(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)blockIdx.y;
    if (x < width && y < height) surf2Dwrite(surf2Dread<T>(from, x * (int)sizeof(T), y), to, y * (int)sizeof(T), x);
}

__global__ void otherSurfaces(cudaSurfaceObject_t s1, cudaSurfaceObject_t s3, cudaSurfaceObject_t a1,
                              cudaSurfaceObject_t a2, cudaSurfaceObject_t cube, int* out) {
    surf1Dwrite(11, s1, 8);
    surf3Dwrite(13, s3, 4, 1, 2);
    surf1DLayeredwrite(21, a1, 4, 1);
    surf2DLayeredwrite(22, a2, 4, 2, 1);
    surfCubemapwrite(31, cube, 4, 1, 5);
    out[0] = surf1Dread<int>(s1, 8);
    out[1] = surf3Dread<int>(s3, 4, 1, 2);
    out[2] = surf1DLayeredread<int>(a1, 4, 1);
    out[3] = surf2DLayeredread<int>(a2, 4, 2, 1);
    out[4] = surfCubemapread<int>(cube, 4, 1, 5);
    int through = -1;
    surf1Dread(&through, s1, 4000, cudaBoundaryModeZero);
    out[5] = through;
    out[6] = surf1Dread<int>(s1, -4, cudaBoundaryModeClamp);
}

cudaResourceDesc resource(cudaArray_t array) {
    cudaResourceDesc r;
    std::memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    return r;
}
cudaTextureObject_t textureOf(const cudaResourceDesc& r, const cudaTextureDesc& d) {
    cudaTextureObject_t t = 0;
    CHECK(cudaCreateTextureObject(&t, &r, &d, nullptr));
    return t;
}
cudaSurfaceObject_t surfaceOf(cudaArray_t array) {
    const cudaResourceDesc r = resource(array);
    cudaSurfaceObject_t s = 0;
    CHECK(cudaCreateSurfaceObject(&s, &r));
    return s;
}
cudaTextureDesc plain() {
    cudaTextureDesc d;
    std::memset(&d, 0, sizeof d);
    for (cudaTextureAddressMode& m : d.addressMode) m = cudaAddressModeClamp;
    return d;
}

/// An array of floats that count from `first`, in the order of their places.
cudaArray_t counting(cudaExtent e, unsigned flags, float first) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    CHECK(cudaMalloc3DArray(&array, &format, e, flags));
    const size_t rows = e.height ? e.height : 1, slices = e.depth ? e.depth : 1;
    std::vector<float> values(e.width * rows * slices);
    for (size_t i = 0; i < values.size(); ++i) values[i] = first + (float)i;
    cudaMemcpy3DParms copy;
    std::memset(&copy, 0, sizeof copy);
    copy.srcPtr = make_cudaPitchedPtr(values.data(), e.width * sizeof(float), e.width, rows);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(e.width, rows, slices);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaExtent told;
    unsigned toldFlags = 77;
    cudaChannelFormatDesc toldFormat;
    CHECK(cudaArrayGetInfo(&toldFormat, &told, &toldFlags, array));
    EXPECT(told.width == e.width && told.height == e.height && told.depth == e.depth && toldFlags == flags);
    EXPECT(toldFormat.x == 32 && toldFormat.y == 0 && toldFormat.f == cudaChannelFormatKindFloat);
    return array;
}

void testEveryFunction() {
    const cudaArray_t a1 = counting(make_cudaExtent(4, 0, 0), 0, 100),
                      a2 = counting(make_cudaExtent(4, 4, 0), cudaArrayTextureGather, 200);
    const cudaArray_t a3 = counting(make_cudaExtent(4, 4, 4), 0, 300);
    const cudaArray_t l1 = counting(make_cudaExtent(4, 0, 3), cudaArrayLayered, 400);
    const cudaArray_t l2 = counting(make_cudaExtent(4, 4, 3), cudaArrayLayered, 500);
    const cudaArray_t c = counting(make_cudaExtent(1, 1, 6), cudaArrayCubemap, 600);
    const cudaArray_t cl = counting(make_cudaExtent(1, 1, 12), cudaArrayCubemap | cudaArrayLayered, 700);
    const float values[] = {800, 801, 802, 803};
    float *memory, *out;
    CHECK(cudaMalloc(&memory, sizeof values));
    CHECK(cudaMemcpy(memory, values, sizeof values, cudaMemcpyHostToDevice));
    cudaResourceDesc linear;
    std::memset(&linear, 0, sizeof linear);
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = memory;
    linear.res.linear.desc = cudaCreateChannelDesc<float>();
    linear.res.linear.sizeInBytes = sizeof values;
    const cudaTextureDesc d = plain();
    constexpr int kCount = 24;
    CHECK(cudaMalloc(&out, kCount * sizeof(float)));
    everyTexture<<<1, 1>>>(textureOf(resource(a1), d), textureOf(resource(a2), d), textureOf(resource(a3), d),
                           textureOf(resource(l1), d), textureOf(resource(l2), d), textureOf(resource(c), d),
                           textureOf(resource(cl), d), textureOf(linear, d), out);
    float got[kCount];
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    const float flat[] = {101, 205, 321, 405, 521, 605, 711};
    EXPECT(got[0] == 802);
    for (int round = 0; round < 3; ++round)
        for (int i = 0; i < 7; ++i) EXPECT(got[1 + 7 * round + i] == flat[i]);
    EXPECT(got[22] == 205);
    EXPECT(got[23] == 205);
}

/// Random texels of every type, to an array in rows and back through a texture, and through surfaces, turned.
template <class T>
void testType() {
    constexpr int kWidth = 37, kHeight = 21;
    std::mt19937 random(7);
    std::vector<T> texels(kWidth * kHeight), got(texels.size());
    for (T& t : texels) {
        unsigned char bytes[sizeof(T)];
        for (unsigned char& b : bytes) b = (unsigned char)(random() & 0x3f);  // no NaN
        std::memcpy(&t, bytes, sizeof t);
    }
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    cudaArray_t array, turned;
    CHECK(cudaMallocArray(&array, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&turned, &format, kHeight, kWidth, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), kWidth * sizeof(T), kWidth * sizeof(T), kHeight,
                              cudaMemcpyHostToDevice));
    T* out;
    CHECK(cudaMalloc(&out, texels.size() * sizeof(T)));
    const cudaTextureObject_t texture = textureOf(resource(array), plain());
    copyTexture<T><<<dim3(2, kHeight), 32>>>(texture, out, kWidth, kHeight);
    CHECK(cudaMemcpy(got.data(), out, texels.size() * sizeof(T), cudaMemcpyDeviceToHost));
    EXPECT(std::memcmp(got.data(), texels.data(), texels.size() * sizeof(T)) == 0);
    const cudaSurfaceObject_t from = surfaceOf(array), to = surfaceOf(turned);
    transpose<T><<<dim3(2, kHeight), 32>>>(from, to, kWidth, kHeight);
    CHECK(cudaMemcpy2DFromArray(got.data(), kHeight * sizeof(T), turned, 0, 0, kHeight * sizeof(T), kWidth,
                                cudaMemcpyDeviceToHost));
    for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x)
            EXPECT(std::memcmp(&got[x * kHeight + y], &texels[y * kWidth + x], sizeof(T)) == 0);
    // From a place in the middle of a row on, by bytes.
    std::vector<T> some(50);
    CHECK(cudaMemcpyFromArray(some.data(), array, 30 * sizeof(T), 4, 50 * sizeof(T), cudaMemcpyDeviceToHost));
    EXPECT(std::memcmp(some.data(), &texels[4 * kWidth + 30], 50 * sizeof(T)) == 0);
    CHECK(cudaDestroySurfaceObject(from));
    CHECK(cudaDestroySurfaceObject(to));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(turned));
    CHECK(cudaFree(out));
}

void testOtherSurfaces() {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    const cudaExtent extents[] = {{4, 0, 0}, {4, 4, 4}, {4, 0, 3}, {4, 4, 3}, {4, 4, 6}};
    const unsigned flags[] = {0, 0, cudaArrayLayered, cudaArrayLayered, cudaArrayCubemap};
    cudaSurfaceObject_t s[5];
    for (int i = 0; i < 5; ++i) {
        cudaArray_t array;
        CHECK(cudaMalloc3DArray(&array, &format, extents[i], flags[i] | cudaArraySurfaceLoadStore));
        s[i] = surfaceOf(array);
    }
    int *out, got[7];
    CHECK(cudaMalloc(&out, sizeof got));
    otherSurfaces<<<1, 1>>>(s[0], s[1], s[2], s[3], s[4], out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    const int expected[] = {11, 13, 21, 22, 31, 0, 0};
    for (int i = 0; i < 7; ++i) EXPECT(got[i] == expected[i]);
}

void testErrors() {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 16, 0, 0, cudaChannelFormatKindFloat);
    EXPECT(cudaMallocArray(&array, &format, 4, 4) == cudaErrorInvalidChannelDescriptor);
    format = cudaCreateChannelDesc<int>();
    EXPECT(cudaMallocArray(&array, &format, 0, 4) == cudaErrorInvalidValue);
    CHECK(cudaMallocArray(&array, &format, 4, 4));
    const cudaResourceDesc r = resource(array);
    cudaTextureDesc d = plain();
    cudaTextureObject_t t = 0;
    d.filterMode = cudaFilterModeLinear;
    EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorInvalidFilterSetting);
    d = plain();
    d.readMode = cudaReadModeNormalizedFloat;
    EXPECT(cudaCreateTextureObject(&t, &r, &d, nullptr) == cudaErrorInvalidNormSetting);
    cudaSurfaceObject_t s = 0;
    CHECK(cudaCreateSurfaceObject(&s, &r));  // as on an H200, whatever flags the array has
    CHECK(cudaDestroySurfaceObject(s));
    d = plain();
    d.addressMode[1] = cudaAddressModeBorder;
    CHECK(cudaCreateTextureObject(&t, &r, &d, nullptr));
    cudaTextureDesc told;
    CHECK(cudaGetTextureObjectTextureDesc(&told, t));
    EXPECT(told.addressMode[1] == cudaAddressModeBorder && told.readMode == cudaReadModeElementType);
    cudaResourceDesc toldResource;
    CHECK(cudaGetTextureObjectResourceDesc(&toldResource, t));
    EXPECT(toldResource.resType == cudaResourceTypeArray && toldResource.res.array.array == array);
    CHECK(cudaFreeArray(array));
    cudaGetLastError();
}

int main() {
    testEveryFunction();
    testType<char>(), testType<char1>(), testType<char2>(), testType<char4>();
    testType<unsigned char>(), testType<uchar1>(), testType<uchar2>(), testType<uchar4>();
    testType<short>(), testType<short2>(), testType<short4>();
    testType<unsigned short>(), testType<ushort2>(), testType<ushort4>();
    testType<int>(), testType<int2>(), testType<int4>();
    testType<unsigned int>(), testType<uint2>(), testType<uint4>();
    testType<float>(), testType<float1>(), testType<float2>(), testType<float4>();
    testOtherSurfaces();
    testErrors();
    std::printf("textures: passed\n");
}
