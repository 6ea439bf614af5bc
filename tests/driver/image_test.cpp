// CUDA arrays, textures and surfaces, against the formulas of the CUDA programming guide's appendix on texture
// fetching, computed here.

#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

#include "driver/support.h"

namespace bulkhead::driver {
namespace {

/// A kernel that fetches: coordinates are four floats (or words) a thread, results four words.
std::string fetchKernel(const std::string& instruction) {
    return R"(.version 7.0
.target sm_60
.address_size 64
.visible .entry fetch(.param .u64 image, .param .u64 from, .param .u64 to, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<10>; .reg .f32 %f<10>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [from]; ld.param.u64 %rd3, [to]; ld.param.u32 %r9, [count];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
    setp.ge.u32 %p, %r1, %r9; @%p ret;
    mul.wide.u32 %rd4, %r1, 16; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
    mov.b32 %r4, %f1; mov.b32 %r5, %f2; mov.b32 %r6, %f3; mov.b32 %r7, %f4;
    )" + instruction +
           R"(
    st.global.v4.b32 [%rd3], {%r4, %r5, %r6, %r7}; ret;
}
)";
}

using Texel = std::array<float, 4>;
using Place = std::array<float, 4>;

/// The reference: texels by index, and a texture's settings.
struct Reference {
    int dimensions = 2;
    std::array<int, 3> size = {1, 1, 1};
    std::vector<Texel> texels;  ///< x first
    int mode[3] = {1, 1, 1};    ///< wrap, clamp, mirror, border
    bool linear = false, normalized = false;
    Texel border = {};

    Texel at(std::array<int, 3> index) const {
        for (int d = 0; d < dimensions; ++d) {
            const int n = size[d], m = normalized ? mode[d] : mode[d] == 3 ? 3 : 1;
            int& i = index[d];
            if (m == 3 && (i < 0 || i >= n)) return border;
            if (m == 1) i = std::min(std::max(i, 0), n - 1);
            if (m == 0)
                while (i < 0 || i >= n) i += i < 0 ? n : -n;
            if (m == 2)
                while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
        }
        const int place = (index[2] * size[1] + index[1]) * size[0] + index[0];
        return texels[static_cast<std::size_t>(place)];
    }
    Texel fetch(const Place& place, int slice = 0) const {
        std::array<int, 3> first = {0, 0, slice};
        double fraction[3] = {};
        for (int d = 0; d < dimensions; ++d) {
            // Normalized coordinates have 21 binary places.
            const double x = normalized ? std::floor(static_cast<double>(place[d]) * 0x1p21) / 0x1p21 * size[d]
                                        : static_cast<double>(place[d]);
            const double from = linear ? x - 0.5 : x;
            first[d] = static_cast<int>(std::floor(from));
            if (linear) fraction[d] = std::round((from - std::floor(from)) * 256) / 256;
        }
        if (!linear) return at(first);
        // A texture of one dimension is looked up at 0 of a second one: half of it is border there.
        const float inside = dimensions == 1 && mode[1] == 3 ? 0.5f : 1;
        Texel sum = {};
        for (int c = 0; c < 4; ++c) sum[c] = (1 - inside) * border[c];
        for (int corner = 0; corner < 1 << dimensions; ++corner) {
            std::array<int, 3> index = first;
            double weight = 1;
            for (int d = 0; d < dimensions; ++d) {
                const int step = corner >> d & 1;
                index[d] += step;
                weight *= step ? fraction[d] : 1 - fraction[d];
            }
            const Texel t = at(index);
            for (int c = 0; c < 4; ++c) sum[c] += inside * static_cast<float>(weight * static_cast<double>(t[c]));
        }
        return sum;
    }
};

class Images : public DriverTest {
  protected:
    std::mt19937 random{12345};

    CUarray makeArray(std::size_t width, std::size_t height, std::size_t depth, CUarray_format format,
                      unsigned channels, unsigned flags = 0) {
        const CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, format, channels, flags};
        CUarray array = nullptr;
        EXPECT_EQ(api.cuArray3DCreate(&array, &d), CUDA_SUCCESS) << simulatorApi().lastError();
        return array;
    }
    /// All of an array's bytes, to or from the host.
    CUresult copyWhole(CUarray array, void* host, std::size_t rowBytes, std::size_t rows, std::size_t slices,
                       bool toArray) {
        CUDA_MEMCPY3D c = {};
        c.srcMemoryType = toArray ? 1 : 3;
        c.dstMemoryType = toArray ? 3 : 1;
        (toArray ? c.dstArray : c.srcArray) = array;
        if (toArray)
            c.srcHost = host, c.srcPitch = rowBytes, c.srcHeight = rows;
        else
            c.dstHost = host, c.dstPitch = rowBytes, c.dstHeight = rows;
        c.WidthInBytes = rowBytes, c.Height = rows, c.Depth = slices;
        return api.cuMemcpy3D(&c);
    }
    static CUDA_RESOURCE_DESC resourceOf(CUarray array) {
        CUDA_RESOURCE_DESC r = {};
        r.resType = kArrayResource;
        r.res.array.hArray = array;
        return r;
    }
    CUtexObject makeTexture(const CUDA_RESOURCE_DESC& r, const CUDA_TEXTURE_DESC& d) {
        CUtexObject texture = 0;
        EXPECT_EQ(api.cuTexObjectCreate(&texture, &r, &d, nullptr), CUDA_SUCCESS) << simulatorApi().lastError();
        return texture;
    }
    CUtexObject makeTexture(CUarray array, const CUDA_TEXTURE_DESC& d) { return makeTexture(resourceOf(array), d); }

    /// One thread for each place.
    template <class Result>
    std::vector<std::array<Result, 4>> fetch(const std::string& instruction, unsigned long long image,
                                             const std::vector<Place>& places) {
        CUmodule loaded = nullptr;
        CUfunction kernel = nullptr;
        const std::string text = fetchKernel(instruction);
        EXPECT_EQ(api.cuModuleLoadData(&loaded, text.c_str()), CUDA_SUCCESS) << simulatorApi().lastError();
        EXPECT_EQ(api.cuModuleGetFunction(&kernel, loaded, "fetch"), CUDA_SUCCESS);
        CUdeviceptr from = upload(places), to = upload(places);
        auto count = static_cast<unsigned>(places.size());
        void* parameters[] = {&image, &from, &to, &count};
        EXPECT_EQ(api.cuLaunchKernel(kernel, (count + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), 0);
        EXPECT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
        auto results = download<std::array<Result, 4>>(to, count);
        EXPECT_EQ(api.cuModuleUnload(loaded), CUDA_SUCCESS);
        api.cuMemFree(from), api.cuMemFree(to);
        return results;
    }
    float uniform(float from, float to) { return std::uniform_real_distribution<float>(from, to)(random); }
    std::vector<Texel> randomTexels(std::size_t count) {
        std::vector<Texel> texels(count);
        for (Texel& t : texels)
            for (float& c : t) c = uniform(-2, 2);
        return texels;
    }
    void expectFetches(const Reference& reference, CUtexObject texture, const std::string& instruction) {
        std::vector<Place> places(96);
        for (Place& p : places)
            for (int d = 0; d < 3; ++d)
                p[d] = reference.normalized ? uniform(-2.5f, 3.5f)
                                            : uniform(-4, static_cast<float>(reference.size[d]) + 4);
        const auto results = fetch<float>(instruction, texture, places);
        // Shares of texels, which lie within 2, are rounded to 1/256: by half of that in two dimensions, and twice in
        // three. image_golden.cpp says to which side.
        const bool isRow = reference.dimensions == 1 && reference.mode[1] != 3;
        const double rounding = isRow ? 0 : reference.dimensions < 3 ? 4.0 / 256 : 16.0 / 256;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Texel expected = reference.fetch(places[i]);
            for (int c = 0; c < 4; ++c)
                ASSERT_NEAR(results[i][c], expected[c], !reference.linear ? 0 : rounding + 2e-6)
                    << instruction << " at " << places[i][0] << " " << places[i][1] << " " << places[i][2];
        }
    }
};

const char* const kFetch[] = {"", "tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1}];",
                              "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2}];",
                              "tex.3d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2, %f3, %f3}];"};
const char* const kAsWords = "mov.b32 %r4, %f5; mov.b32 %r5, %f6; mov.b32 %r6, %f7; mov.b32 %r7, %f8;";

TEST_F(Images, EveryAddressModeAndFilterInEveryDimension) {
    for (int dimensions = 1; dimensions <= 3; ++dimensions) {
        Reference reference;
        reference.dimensions = dimensions;
        reference.size = {13, dimensions > 1 ? 9 : 1, dimensions > 2 ? 5 : 1};
        const int count = 13 * reference.size[1] * reference.size[2];
        reference.texels = randomTexels(static_cast<std::size_t>(count));
        const CUarray array = makeArray(13, dimensions > 1 ? 9 : 0, dimensions > 2 ? 5 : 0, kFloat, 4);
        ASSERT_EQ(copyWhole(array, reference.texels.data(), 13 * 16, static_cast<std::size_t>(reference.size[1]),
                            static_cast<std::size_t>(reference.size[2]), true),
                  CUDA_SUCCESS)
            << simulatorApi().lastError();
        for (int mode = 0; mode < 4; ++mode) {
            for (const bool linear : {false, true}) {
                for (const bool normalized : {false, true}) {
                    CUDA_TEXTURE_DESC d = {};
                    for (int i = 0; i < 3; ++i) reference.mode[i] = d.addressMode[i] = mode;
                    d.filterMode = linear ? 1 : 0;
                    d.flags = normalized ? kNormalizedCoordinates : 0;
                    for (int c = 0; c < 4; ++c) reference.border[c] = d.borderColor[c] = 0.25f * static_cast<float>(c);
                    reference.linear = linear;
                    reference.normalized = normalized;
                    const CUtexObject texture = makeTexture(array, d);
                    expectFetches(reference, texture, std::string(kFetch[dimensions]) + kAsWords);
                    ASSERT_EQ(api.cuTexObjectDestroy(texture), CUDA_SUCCESS);
                }
            }
        }
        ASSERT_EQ(api.cuArrayDestroy(array), CUDA_SUCCESS);
    }
}

TEST_F(Images, LayersAreClampedAndNotFiltered) {
    const std::vector<float> texels = [] {
        std::vector<float> v(4 * 3 * 5);
        std::iota(v.begin(), v.end(), 0.0f);
        return v;
    }();
    const CUarray array = makeArray(4, 3, 5, kFloat, 1, kArrayLayered);
    ASSERT_EQ(copyWhole(array, const_cast<float*>(texels.data()), 16, 3, 5, true), CUDA_SUCCESS);
    CUDA_TEXTURE_DESC d = {};
    d.addressMode[0] = d.addressMode[1] = 1;
    d.filterMode = 1;
    std::vector<Place> places;
    for (int layer = -1; layer < 7; ++layer) places.push_back({std::bit_cast<float>(layer), 2.0f, 1.5f, 0});
    const auto results =
        fetch<float>(std::string("tex.a2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%r4, %f2, %f3, %f3}];") + kAsWords,
                     makeTexture(array, d), places);
    for (int i = 0; i < 8; ++i) {
        const int layer = i == 0 ? 4 : std::min(i - 1, 4);  // without a sign, -1 is beyond the last one
        // x = 2 lies between the texels 1 and 2, y = 1.5 in the middle of row 1.
        EXPECT_FLOAT_EQ(results[static_cast<std::size_t>(i)][0], static_cast<float>(layer * 12 + 4) + 1.5f);
    }
}

TEST_F(Images, IntegersAsTheyAreAndNormalized) {
    std::vector<std::uint8_t> bytes(64);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{200});
    for (const CUarray_format format : {kUint8, kSint8, kUint16, kSint16}) {
        const bool isSigned = format == kSint8 || format == kSint16, wide = format == kUint16 || format == kSint16;
        const CUarray array = makeArray(16, 0, 0, format, 2);
        ASSERT_EQ(api.cuMemcpyHtoA(array, 0, bytes.data(), wide ? 64 : 32), CUDA_SUCCESS);
        std::vector<Place> places;
        for (int i = 0; i < 16; ++i) places.push_back({static_cast<float>(i) + 0.5f, 0, 0, 0});
        CUDA_TEXTURE_DESC d = {};
        d.flags = kReadAsInteger;
        const auto raw = fetch<std::int32_t>("tex.1d.v4.s32.f32 {%r4, %r5, %r6, %r7}, [%rd1, {%f1}];",
                                             makeTexture(array, d), places);
        d.flags = 0;
        const auto real = fetch<float>(std::string(kFetch[1]) + kAsWords, makeTexture(array, d), places);
        for (std::size_t i = 0; i < 16; ++i) {
            for (std::size_t c = 0; c < 2; ++c) {
                const std::size_t n = 2 * i + c;
                const int two = bytes[2 * n % 64] | bytes[(2 * n + 1) % 64] << 8;
                const int value = wide       ? isSigned ? static_cast<std::int16_t>(two) : two
                                  : isSigned ? static_cast<std::int8_t>(bytes[n])
                                             : bytes[n];
                EXPECT_EQ(raw[i][c], value);
                const float most = wide ? isSigned ? 32767 : 65535 : isSigned ? 127 : 255;
                EXPECT_FLOAT_EQ(real[i][c], std::max(-1.0f, static_cast<float>(value) / most));
            }
        }
    }
}

TEST_F(Images, LinearMemoryIsFetchedByIndexAndIsZeroOutside) {
    const std::vector<std::uint32_t> words = {11, 22, 33, 44, 55};
    CUDA_RESOURCE_DESC r = {};
    r.resType = kLinearResource;
    r.res.linear.devPtr = upload(words);
    r.res.linear.format = kUint32;
    r.res.linear.numChannels = 1;
    r.res.linear.sizeInBytes = 20;
    CUDA_TEXTURE_DESC d = {};
    d.flags = kReadAsInteger;
    std::vector<Place> places;
    for (int i = -2; i < 8; ++i) places.push_back({std::bit_cast<float>(i), 0, 0, 0});
    const auto results =
        fetch<std::uint32_t>("tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd1, {%r4}];", makeTexture(r, d), places);
    for (int i = -2; i < 8; ++i)
        EXPECT_EQ(results[static_cast<std::size_t>(i + 2)][0],
                  i < 0 || i >= 5 ? 0 : words[static_cast<std::size_t>(i)]);
    r.res.linear.devPtr += 4;
    CUtexObject texture = 0;
    EXPECT_EQ(api.cuTexObjectCreate(&texture, &r, &d, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Images, PitchedMemoryIsFiltered) {
    Reference reference;
    reference.size = {7, 5, 1};
    reference.texels = randomTexels(35);
    reference.linear = true;
    CUdeviceptr memory = 0;
    std::size_t pitch = 0;
    ASSERT_EQ(api.cuMemAllocPitch(&memory, &pitch, 7 * 16, 5, 16), CUDA_SUCCESS);
    for (std::size_t y = 0; y < 5; ++y)
        ASSERT_EQ(api.cuMemcpyHtoD(memory + y * pitch, reference.texels.data() + y * 7, 7 * 16), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC r = {};
    r.resType = kPitchResource;
    r.res.pitch2D = {memory, kFloat, 4, 7, 5, pitch};
    CUDA_TEXTURE_DESC d = {};
    d.addressMode[0] = d.addressMode[1] = 1;
    d.filterMode = 1;
    expectFetches(reference, makeTexture(r, d), std::string(kFetch[2]) + kAsWords);
}

TEST_F(Images, GatherTakesTheFourTexelsOfAFilter) {
    std::vector<float> texels(6 * 4);
    std::iota(texels.begin(), texels.end(), 0.0f);
    const CUarray array = makeArray(6, 4, 0, kFloat, 1, kArrayGather);
    ASSERT_EQ(copyWhole(array, texels.data(), 24, 4, 1, true), CUDA_SUCCESS);
    CUDA_TEXTURE_DESC d = {};
    d.addressMode[0] = d.addressMode[1] = 1;
    const auto results =
        fetch<float>(std::string("tld4.r.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2}];") + kAsWords,
                     makeTexture(array, d), {{3, 2, 0, 0}});
    // Between the texels 2 and 3 of the rows 1 and 2.
    EXPECT_EQ(results[0], (Texel{14, 15, 9, 8}));
}

TEST_F(Images, FacesOfACube) {
    std::vector<float> texels(6 * 4);
    for (std::size_t i = 0; i < texels.size(); ++i) {
        const std::size_t face = i / 4;
        texels[i] = static_cast<float>(face);
    }
    const CUarray array = makeArray(2, 2, 6, kFloat, 1, kArrayCubemap);
    ASSERT_EQ(copyWhole(array, texels.data(), 8, 2, 6, true), CUDA_SUCCESS);
    CUDA_TEXTURE_DESC d = {};
    d.flags = kNormalizedCoordinates;
    const std::vector<Place> directions = {{3, 1, -1, 0},  {-3, 1, -1, 0}, {1, 3, -1, 0},
                                           {1, -3, -1, 0}, {1, -1, 3, 0},  {1, -1, -3, 0}};
    const auto results =
        fetch<float>(std::string("tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2, %f3, %f3}];") + kAsWords,
                     makeTexture(array, d), directions);
    for (std::size_t face = 0; face < 6; ++face) EXPECT_EQ(results[face][0], static_cast<float>(face));
}

TEST_F(Images, LevelsOfDetail) {
    const CUDA_ARRAY3D_DESCRIPTOR description = {8, 8, 0, kFloat, 1, 0};
    CUmipmappedArray mipmaps = nullptr;
    ASSERT_EQ(api.cuMipmappedArrayCreate(&mipmaps, &description, 4), CUDA_SUCCESS);
    for (unsigned l = 0; l < 4; ++l) {
        CUarray level = nullptr;
        ASSERT_EQ(api.cuMipmappedArrayGetLevel(&level, mipmaps, l), CUDA_SUCCESS);
        CUDA_ARRAY3D_DESCRIPTOR d = {};
        ASSERT_EQ(api.cuArray3DGetDescriptor(&d, level), CUDA_SUCCESS);
        ASSERT_EQ(d.Width, 8u >> l);
        std::vector<float> texels(d.Width * d.Height, static_cast<float>(10 * l));
        ASSERT_EQ(copyWhole(level, texels.data(), d.Width * 4, d.Height, 1, true), CUDA_SUCCESS);
        EXPECT_EQ(api.cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
    }
    CUarray none = nullptr;
    EXPECT_EQ(api.cuMipmappedArrayGetLevel(&none, mipmaps, 4), CUDA_ERROR_INVALID_VALUE);
    CUDA_RESOURCE_DESC r = {};
    r.resType = kMipmappedResource;
    r.res.mipmap.hMipmappedArray = mipmaps;
    CUDA_TEXTURE_DESC d = {};
    d.flags = kNormalizedCoordinates;
    d.filterMode = d.mipmapFilterMode = 1;
    d.maxMipmapLevelClamp = 2.5f;
    const auto level = fetch<float>(
        std::string("tex.level.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2}], %f3;") + kAsWords,
        makeTexture(r, d), {{0.5f, 0.5f, 0, 0}, {0.5f, 0.5f, 1.25f, 0}, {0.5f, 0.5f, 9, 0}, {0.5f, 0.5f, -3, 0}});
    EXPECT_EQ(level[0][0], 0);
    EXPECT_EQ(level[1][0], 12.5f);
    EXPECT_EQ(level[2][0], 25);
    EXPECT_EQ(level[3][0], 0);
    // A step of a quarter of the texture is 2 texels of level 0: level 1.
    const auto gradient = fetch<float>(
        std::string("mov.f32 %f9, 0f00000000; tex.grad.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f1, %f2}], "
                    "{%f3, %f9}, {%f9, %f4};") +
            kAsWords,
        makeTexture(r, d), {{0.5f, 0.5f, 0.25f, 0.25f}, {0.5f, 0.5f, 0.125f, 0.5f}});
    EXPECT_EQ(gradient[0][0], 10);
    EXPECT_EQ(gradient[1][0], 20);
    EXPECT_EQ(api.cuMipmappedArrayDestroy(mipmaps), CUDA_SUCCESS);
}

TEST_F(Images, HalvesAndSrgbBecomeFloats) {
    const std::vector<std::uint16_t> halves = {0x3c00, 0xc000, 0x3555, 0x0001};  // 1, -2, about 1/3, 2^-24
    const CUarray array = makeArray(4, 0, 0, kHalf, 1);
    ASSERT_EQ(api.cuMemcpyHtoA(array, 0, halves.data(), 8), CUDA_SUCCESS);
    const std::vector<Place> places = {{0.5f, 0, 0, 0}, {1.5f, 0, 0, 0}, {2.5f, 0, 0, 0}, {3.5f, 0, 0, 0}};
    const auto values = fetch<float>(std::string(kFetch[1]) + kAsWords, makeTexture(array, {}), places);
    EXPECT_EQ(values[0][0], 1);
    EXPECT_EQ(values[1][0], -2);
    EXPECT_EQ(values[2][0], 0x1.554p-2f);
    EXPECT_EQ(values[3][0], 0x1p-24f);

    const std::vector<std::uint8_t> colors = {0, 10, 128, 255, 5, 60, 200, 64};
    const CUarray picture = makeArray(2, 0, 0, kUint8, 4);
    ASSERT_EQ(api.cuMemcpyHtoA(picture, 0, colors.data(), 8), CUDA_SUCCESS);
    CUDA_TEXTURE_DESC d = {};
    d.flags = kFromSrgb;
    const auto linear = fetch<float>(std::string(kFetch[1]) + kAsWords, makeTexture(picture, d), places);
    for (std::size_t i = 0; i < 8; ++i) {
        const double c = colors[i] / 255.0;
        const double expected = i % 4 == 3 ? c : c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
        EXPECT_NEAR(linear[i / 4][i % 4], expected, i % 4 == 3 ? 1e-6 : expected / 128);  // 8 binary digits
    }
}

TEST_F(Images, AViewShowsOtherFormatsAndLayers) {
    std::vector<std::uint32_t> words(4 * 2 * 3);
    std::iota(words.begin(), words.end(), 0x01020300u);
    const CUarray array = makeArray(4, 2, 3, kUint32, 1, kArrayLayered);
    ASSERT_EQ(copyWhole(array, words.data(), 16, 2, 3, true), CUDA_SUCCESS);
    CUDA_RESOURCE_VIEW_DESC view = {};
    view.format = 3;  // 4 x 8 bits
    view.width = 4, view.height = 2, view.depth = 3;
    view.firstLayer = 1, view.lastLayer = 2;
    CUDA_TEXTURE_DESC d = {};
    d.flags = kReadAsInteger;
    const CUDA_RESOURCE_DESC r = resourceOf(array);
    CUtexObject texture = 0;
    ASSERT_EQ(api.cuTexObjectCreate(&texture, &r, &d, &view), CUDA_SUCCESS) << simulatorApi().lastError();
    const auto texel = fetch<std::uint32_t>("tex.a2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%rd1, {%r4, %f2, %f3, %f3}];",
                                            texture, {{std::bit_cast<float>(1), 2.5f, 1.5f, 0}});
    // Layer 2 of the array, row 1, texel 2: 16 + 4 + 2 = 22.
    EXPECT_EQ(texel[0], (std::array<std::uint32_t, 4>{22, 3, 2, 1}));
    view.format = 14;  // 2 x 32 bits
    EXPECT_EQ(api.cuTexObjectCreate(&texture, &r, &d, &view), CUDA_ERROR_INVALID_VALUE);
    view.format = 3, view.lastLayer = 4;
    EXPECT_EQ(api.cuTexObjectCreate(&texture, &r, &d, &view), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Images, FormattedStoresConvertToTheSurfacesFormat) {
    const CUarray array = makeArray(4, 2, 0, kUint8, 4, kArraySurface);
    const CUDA_RESOURCE_DESC r = resourceOf(array);
    CUsurfObject surface = 0;
    ASSERT_EQ(api.cuSurfObjectCreate(&surface, &r), CUDA_SUCCESS);
    fetch<std::uint32_t>(
        "mov.b32 %r4, 3; mov.b32 %r5, 1; mov.b32 %r6, 300; mov.b32 %r7, 7;"
        "sust.p.2d.v4.b32.trap [%rd1, {%r4, %r5}], {%r7, %r6, %r5, %r4};",
        surface, {{}});
    std::vector<std::uint8_t> bytes(32);
    ASSERT_EQ(copyWhole(array, bytes.data(), 16, 2, 1, false), CUDA_SUCCESS);
    EXPECT_EQ(std::vector<std::uint8_t>(bytes.begin() + 28, bytes.end()), (std::vector<std::uint8_t>{7, 255, 1, 3}));
}

TEST_F(Images, QueriesTellOfTheTexture) {
    const CUarray array = makeArray(24, 10, 0, kUint8, 4, kArraySurface);
    CUDA_TEXTURE_DESC d = {};
    d.flags = kReadAsInteger;
    const auto answers = fetch<std::uint32_t>(
        "txq.width.b32 %r4, [%rd1]; txq.height.b32 %r5, [%rd1]; txq.channel_data_type.b32 %r6, [%rd1]; "
        "txq.channel_order.b32 %r7, [%rd1];",
        makeTexture(array, d), {{}});
    EXPECT_EQ(answers[0], (std::array<std::uint32_t, 4>{24, 10, 0x10DA, 0x10B5}));
    CUsurfObject surface = 0;
    const CUDA_RESOURCE_DESC r = resourceOf(array);
    ASSERT_EQ(api.cuSurfObjectCreate(&surface, &r), CUDA_SUCCESS);
    EXPECT_EQ(fetch<std::uint32_t>("suq.width.b32 %r4, [%rd1]; suq.height.b32 %r5, [%rd1];", surface, {{}})[0][0], 24u);
}

TEST_F(Images, SurfacesAreReadAndWrittenByByte) {
    const CUarray array = makeArray(20, 6, 0, kUint32, 2, kArraySurface);
    std::vector<std::uint32_t> texels(20 * 6 * 2);
    std::iota(texels.begin(), texels.end(), 0u);
    ASSERT_EQ(copyWhole(array, texels.data(), 160, 6, 1, true), CUDA_SUCCESS);
    const CUDA_RESOURCE_DESC r = resourceOf(array);
    CUsurfObject surface = 0;
    ASSERT_EQ(api.cuSurfObjectCreate(&surface, &r), CUDA_SUCCESS);
    std::vector<Place> places;
    for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 20; ++x) places.push_back({std::bit_cast<float>(x * 8), std::bit_cast<float>(y), 0, 0});
    const auto read = fetch<std::uint32_t>(
        "mov.b32 %r8, 7; suld.b.2d.v2.b32.trap {%r6, %r7}, [%rd1, {%r4, %r5}];"
        "add.u32 %r8, %r6, 1000; sust.b.2d.v2.b32.trap [%rd1, {%r4, %r5}], {%r8, %r7};"
        "suld.b.2d.b32.trap %r4, [%rd1, {%r4, %r5}];",
        surface, places);
    std::vector<std::uint32_t> after(texels.size());
    ASSERT_EQ(copyWhole(array, after.data(), 160, 6, 1, false), CUDA_SUCCESS);
    for (std::size_t i = 0; i < places.size(); ++i) {
        EXPECT_EQ(read[i][2], texels[2 * i]);
        EXPECT_EQ(read[i][3], texels[2 * i + 1]);
        EXPECT_EQ(read[i][0], texels[2 * i] + 1000) << "a thread sees what it wrote";
        EXPECT_EQ(after[2 * i], texels[2 * i] + 1000);
        EXPECT_EQ(after[2 * i + 1], texels[2 * i + 1]);
    }
    // Outside: zero reads nothing and writes nothing, clamp takes the nearest texel, trap ends the kernel.
    const std::vector<Place> outside = {{std::bit_cast<float>(400), std::bit_cast<float>(2), 0, 0}};
    const auto zero = fetch<std::uint32_t>(
        "sust.b.2d.b32.zero [%rd1, {%r4, %r5}], %r4;"
        "suld.b.2d.b32.zero %r6, [%rd1, {%r4, %r5}];"
        "suld.b.2d.b32.clamp %r7, [%rd1, {%r4, %r5}];",
        surface, outside);
    EXPECT_EQ(zero[0][2], 0u);
    EXPECT_EQ(zero[0][3], after[2 * (2 * 20 + 19) + 1]);
    std::vector<std::uint32_t> unchanged(texels.size());
    ASSERT_EQ(copyWhole(array, unchanged.data(), 160, 6, 1, false), CUDA_SUCCESS);
    EXPECT_EQ(unchanged, after);
    CUmodule loaded = nullptr;
    CUfunction kernel = nullptr;
    const std::string text = fetchKernel("suld.b.2d.b32.trap %r4, [%rd1, {%r4, %r5}];");
    ASSERT_EQ(api.cuModuleLoadData(&loaded, text.c_str()), CUDA_SUCCESS);
    ASSERT_EQ(api.cuModuleGetFunction(&kernel, loaded, "fetch"), CUDA_SUCCESS);
    CUdeviceptr from = upload(outside), to = upload(outside);
    unsigned count = 1;
    void* parameters[] = {&surface, &from, &to, &count};
    ASSERT_EQ(api.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_NE(simulatorApi().lastError().find("the byte 400 lies outside of the surface, which has 160"),
              std::string::npos)
        << simulatorApi().lastError();
}

TEST_F(Images, CopiesOfPartsOfArrays) {
    for (const auto& [height, depth, flags] : {std::tuple<std::size_t, std::size_t, unsigned>{0, 0, 0},
                                               {11, 0, 0},
                                               {11, 4, 0},
                                               {0, 4, kArrayLayered},
                                               {11, 4, kArrayLayered}}) {
        const std::size_t rows = std::max<std::size_t>(height, 1), slices = std::max<std::size_t>(depth, 1);
        const CUarray one = makeArray(30, height, depth, kUint16, 1, flags),
                      two = makeArray(30, height, depth, kUint16, 1, flags);
        std::vector<std::uint16_t> texels(30 * rows * slices);
        std::iota(texels.begin(), texels.end(), std::uint16_t{1});
        ASSERT_EQ(copyWhole(one, texels.data(), 60, rows, slices, true), CUDA_SUCCESS);
        std::vector<std::uint16_t> back(texels.size());
        ASSERT_EQ(copyWhole(one, back.data(), 60, rows, slices, false), CUDA_SUCCESS);
        EXPECT_EQ(back, texels);
        // A part of one array to another place of the other, by way of the device alone.
        CUDA_MEMCPY3D c = {};
        c.srcMemoryType = c.dstMemoryType = 3;
        c.srcArray = one, c.dstArray = two;
        c.srcXInBytes = 10, c.dstXInBytes = 24;
        c.srcY = rows > 1 ? 2 : 0, c.dstY = rows > 1 ? 5 : 0;
        c.srcZ = slices > 1 ? 1 : 0, c.dstZ = slices > 1 ? 2 : 0;
        c.WidthInBytes = 30, c.Height = rows > 1 ? 6 : 1, c.Depth = slices > 1 ? 2 : 1;
        ASSERT_EQ(api.cuMemcpy3D(&c), CUDA_SUCCESS) << simulatorApi().lastError();
        ASSERT_EQ(copyWhole(two, back.data(), 60, rows, slices, false), CUDA_SUCCESS);
        for (std::size_t z = 0; z < slices; ++z)
            for (std::size_t y = 0; y < rows; ++y)
                for (std::size_t x = 0; x < 30; ++x) {
                    const bool inside = x >= 12 && x < 27 && y >= c.dstY && y < c.dstY + c.Height && z >= c.dstZ &&
                                        z < c.dstZ + c.Depth;
                    const std::size_t from = ((z - c.dstZ + c.srcZ) * rows + y - c.dstY + c.srcY) * 30 + x - 12 + 5;
                    EXPECT_EQ(back[(z * rows + y) * 30 + x], inside ? texels[from] : 0) << x << " " << y << " " << z;
                }
        c.WidthInBytes = 38;
        EXPECT_EQ(api.cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
        ASSERT_EQ(api.cuArrayDestroy(one), CUDA_SUCCESS);
        ASSERT_EQ(api.cuArrayDestroy(two), CUDA_SUCCESS);
        EXPECT_EQ(api.cuArrayDestroy(two), CUDA_ERROR_INVALID_HANDLE);
    }
}

TEST_F(Images, WrongDescriptionsAreRefused) {
    const auto create = [&](CUDA_ARRAY3D_DESCRIPTOR d) {
        CUarray array = nullptr;
        return api.cuArray3DCreate(&array, &d);
    };
    EXPECT_EQ(create({0, 4, 0, kFloat, 1, 0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(create({4, 4, 0, kFloat, 3, 0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(create({4, 4, 0, 77, 1, 0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(create({4, 4, 0, kFloat, 1, kArrayLayered}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(create({4, 5, 6, kFloat, 1, kArrayCubemap}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(create({4, 4, 5, kFloat, 1, kArrayCubemap}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(create({1 << 20, 4, 0, kFloat, 1, 0}), CUDA_ERROR_INVALID_VALUE);
    const CUarray array = makeArray(4, 4, 0, kUint32, 1);
    const CUDA_RESOURCE_DESC r = resourceOf(array);
    CUDA_TEXTURE_DESC d = {};
    CUtexObject texture = 0;
    EXPECT_EQ(api.cuTexObjectDestroy(12345), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuTexObjectCreate(&texture, &r, &d, nullptr), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC told = {};
    ASSERT_EQ(api.cuTexObjectGetResourceDesc(&told, texture), CUDA_SUCCESS);
    EXPECT_EQ(told.res.array.hArray, array);
    CUDA_RESOURCE_VIEW_DESC view = {};
    EXPECT_EQ(api.cuTexObjectGetResourceViewDesc(&view, texture), CUDA_SUCCESS);
    EXPECT_EQ(view.format, 0);
}

TEST_F(Images, TexelsPassTheCachesAndTakeLongerThanLoads) {
    // 64 threads read the same 16 bytes each: one line, so one miss of L1D, and the fetch waits for it.
    const CUarray array = makeArray(64, 64, 0, kFloat, 4);
    CUDA_TEXTURE_DESC d = {};
    const auto cycles = [&](const char* instruction) {
        const CUtexObject texture = makeTexture(array, d);
        const CUevent start = event(), end = event();
        EXPECT_EQ(api.cuEventRecord(start, nullptr), CUDA_SUCCESS);
        fetch<float>(instruction, texture, std::vector<Place>(32));
        EXPECT_EQ(api.cuEventRecord(end, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(api.cuEventSynchronize(end), CUDA_SUCCESS);
        return seconds(start, end) / cycleSeconds();
    };
    const double without = cycles(""), with = cycles((std::string(kFetch[2]) + kAsWords).c_str());
    const auto& profile = machine().profile();
    EXPECT_GT(with - without, static_cast<double>(profile.l2.hitLatency));
    EXPECT_LT(with - without, static_cast<double>(profile.dram.latency) + 200);
}

TEST_F(Images, LimitsAreThoseOfAnH200) {
    const auto value = [&](int attribute) {
        int v = -1;
        EXPECT_EQ(api.cuDeviceGetAttribute(&v, attribute, device), CUDA_SUCCESS) << attribute;
        return v;
    };
    EXPECT_EQ(value(21), 131072);
    EXPECT_EQ(value(23), 65536);
    EXPECT_EQ(value(26), 16384);
    EXPECT_EQ(value(54), 2046);
}

}  // namespace
}  // namespace bulkhead::driver
