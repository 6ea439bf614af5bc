#include "image_forms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace bulkhead::golden {
namespace {

using namespace driver;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr unsigned kPlaces = 192;

std::uint64_t hashOfText(const std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

/// The same numbers from every standard library.
class Numbers {
  public:
    explicit Numbers(const std::string& name) : state_(hashOfText(name) | 1) {}
    std::uint32_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t mixed = (state_ ^ (state_ >> 29)) * 0x9e3779b97f4a7c15u;
        return static_cast<std::uint32_t>(mixed >> 32);
    }
    std::uint32_t below(std::uint32_t most) { return next() % most; }
    /// With 24 bits.
    float uniform(float from, float to) { return from + (to - from) * (static_cast<float>(next() >> 8) * 0x1p-24f); }
    /// Times a power of two, drawn first: compilers evaluate arguments in any order.
    float scaled(float from, float to, std::uint32_t exponents, int least) {
        const int exponent = static_cast<int>(below(exponents)) + least;
        return std::ldexp(uniform(from, to), exponent);
    }

  private:
    std::uint64_t state_;
};

unsigned bytesOf(CUarray_format format) {
    if (format == kUint8 || format == kSint8) return 1;
    return format == kUint16 || format == kSint16 || format == kHalf ? 2 : 4;
}

/// Of a finite number of moderate size: cut off, which is as good as any.
std::uint16_t halfOf(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000;
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 112;
    if (exponent <= 0) return static_cast<std::uint16_t>(sign);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(exponent) << 10 | (bits >> 13 & 0x3ff));
}

struct LevelShape {
    std::size_t width, rows, slices;
};
LevelShape levelShape(const ImageShape& shape, unsigned level) {
    const auto smaller = [level](std::size_t size) { return std::max<std::size_t>(size >> level, 1); };
    const bool slices = shape.flags & (kArrayLayered | kArrayCubemap);
    return {smaller(shape.width), smaller(shape.height),
            slices ? std::max<std::size_t>(shape.depth, 1) : smaller(shape.depth)};
}

void put(std::vector<std::uint8_t>& to, std::uint32_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// Level after level, slice after slice, row after row.
std::vector<std::uint8_t> texelsOf(const ImageForm& form, unsigned level) {
    const ImageShape& s = form.shape;
    const LevelShape size = levelShape(s, level);
    Numbers numbers(form.name + std::to_string(level));
    const unsigned bytes = bytesOf(s.format);
    const bool isReal = s.format == kHalf || s.format == kFloat;
    const float special[] = {kInfinity, -kInfinity, kNaN, -0.0f, 0x1p-140f, -0x1.8p-130f, 0x1.fp15f, 0x1p-24f};
    std::vector<std::uint8_t> texels;
    std::uint32_t count = 0;
    for (std::size_t z = 0; z < size.slices; ++z) {
        for (std::size_t y = 0; y < size.rows; ++y) {
            for (std::size_t x = 0; x < size.width; ++x) {
                for (unsigned c = 0; c < s.channels; ++c, ++count) {
                    float value = 0;
                    std::uint32_t integer = 0;
                    switch (s.content) {
                        case Content::random:
                            value = numbers.uniform(-2, 2);
                            integer = numbers.next();
                            break;
                        case Content::counting:
                            integer = count;
                            value = static_cast<float>(count % 256) / 255;
                            break;
                        case Content::stripes:
                            integer = x % 2 ? ~0u : 0;
                            value = x % 2 ? 1 : 0;
                            break;
                        case Content::corner: {
                            const bool isOne = x == 1 && (size.rows == 1 || y == 1) && (size.slices == 1 || z == 1);
                            integer = isOne ? ~0u : 0;
                            value = isOne ? 1 : 0;
                            break;
                        }
                        case Content::levels:
                            integer = level;
                            value = static_cast<float>(level);
                            break;
                        case Content::special:
                            value = count % 2 ? special[numbers.below(8)] : numbers.uniform(-2, 2);
                            break;
                    }
                    if (!isReal)
                        put(texels, integer, bytes);
                    else if (bytes == 4)
                        put(texels, std::bit_cast<std::uint32_t>(value), 4);
                    else if (s.content == Content::special && count % 2)
                        put(texels,
                            std::array<std::uint32_t, 8>{0x7c00, 0xfc00, 0x7e01, 0x8000, 1, 0x83ff, 0x7bff,
                                                         0x400}[count / 2 % 8],
                            2);
                    else
                        put(texels, halfOf(value), 2);
                }
            }
        }
    }
    return texels;
}

std::string moduleOf(const std::string& body) {
    return R"(.version 8.1
.target sm_60
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 from, .param .u64 to, .param .u32 count)
{
    .reg .pred %p; .reg .b16 %h<8>; .reg .b32 %t<8>; .reg .b32 %c<8>; .reg .b32 %o<4>; .reg .b64 %d<4>; .reg .b64 %a<4>;
    .reg .b64 %im;
    ld.param.u64 %im, [image]; ld.param.u64 %a0, [from]; ld.param.u64 %a1, [to]; ld.param.u32 %t0, [count];
    mov.u32 %t1, %tid.x; mov.u32 %t2, %ctaid.x; mov.u32 %t3, %ntid.x; mad.lo.u32 %t1, %t2, %t3, %t1;
    setp.ge.u32 %p, %t1, %t0; @%p ret;
    mul.wide.u32 %a2, %t1, 32; add.u64 %a0, %a0, %a2;
    mul.wide.u32 %a2, %t1, 16; add.u64 %a1, %a1, %a2;
    ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%a0];
    ld.global.v4.b32 {%c4, %c5, %c6, %c7}, [%a0+16];
    mov.b32 %o0, 0; mov.b32 %o1, 0; mov.b32 %o2, 0; mov.b32 %o3, 0;
    )" + body +
           R"(
    st.global.v4.b32 [%a1], {%o0, %o1, %o2, %o3}; ret;
}
)";
}

// ---- places

/// A coordinate along an axis of so many texels: special numbers, places at and around edges and centres of texels, and
/// others, inside and outside.
float coordinate(Numbers& numbers, std::size_t size, bool normalized) {
    constexpr float kSpecial[] = {kNaN,  -kNaN,          kInfinity, -kInfinity, 0.0f,    -0.0f,    1e-40f,   -1e-40f,
                                  1e30f, -1e30f,         0x1p31f,   -0x1p31f,   0x1p24f, -0x1p24f, 70000.5f, -70000.5f,
                                  1.0f,  0x1.fffffep-1f, -1.0f,     2.0f,       0x1p20f, -0x1p20f, 1000.25f, -999.75f};
    constexpr float kAround[] = {0,         0,        0x1p-8f,   -0x1p-8f,  0x1p-9f,    -0x1p-9f, 0x1p-10f,
                                 -0x1p-10f, 0x1p-12f, -0x1p-12f, 0x1.8p-9f, -0x1.8p-9f, 0x1p-16f, -0x1p-16f};
    const std::uint32_t kind = numbers.below(10);
    if (kind == 0) return kSpecial[numbers.below(std::size(kSpecial))];
    const auto n = static_cast<float>(size);
    const float scale = normalized ? n : 1;
    if (kind < 6) {
        const auto halves = static_cast<float>(static_cast<int>(numbers.below(static_cast<std::uint32_t>(6 * size))) -
                                               static_cast<int>(2 * size));
        const float place = halves / 2 + kAround[numbers.below(std::size(kAround))];
        const float result = place / scale;
        const std::uint32_t step = numbers.below(4);
        return step == 0 ? std::nextafter(result, -kInfinity) : step == 1 ? std::nextafter(result, kInfinity) : result;
    }
    if (kind < 9) return numbers.uniform(0, n) / scale;
    return numbers.uniform(-2.5f * n, 3.5f * n) / scale;
}

struct Axes {
    std::size_t size[3];
    unsigned count;
    int layers = 0;  ///< > 0: the first word is a layer
};

std::vector<ImagePlace> mixedPlaces(const std::string& name, const Axes& axes, bool normalized,
                                    unsigned count = kPlaces) {
    Numbers numbers("places of " + name);
    std::vector<ImagePlace> places(count);
    for (ImagePlace& place : places) {
        unsigned word = 0;
        if (axes.layers)
            place[word++] = numbers.below(6) == 0 ? (numbers.below(2) ? 0xffffffffu : 1000u)
                                                  : numbers.below(static_cast<std::uint32_t>(axes.layers) + 1);
        for (unsigned d = 0; d < axes.count; ++d)
            place[word++] = std::bit_cast<std::uint32_t>(coordinate(numbers, axes.size[d], normalized));
    }
    return places;
}

std::vector<ImagePlace> integerPlaces(const std::string& name, const Axes& axes, unsigned count = kPlaces) {
    Numbers numbers("places of " + name);
    std::vector<ImagePlace> places(count);
    for (ImagePlace& place : places) {
        unsigned word = 0;
        if (axes.layers) place[word++] = numbers.below(static_cast<std::uint32_t>(axes.layers) + 2) - 1;
        for (unsigned d = 0; d < axes.count; ++d) {
            const auto size = static_cast<std::uint32_t>(axes.size[d]);
            constexpr std::uint32_t kFar[] = {0x80000000u, 0x7fffffffu, 0xffffu, 0x10000u, 0xffff0000u, 0x8000u};
            place[word++] = numbers.below(8) == 0 ? kFar[numbers.below(6)] : numbers.below(3 * size) - size;
        }
    }
    return places;
}

/// Along x, from a coordinate in steps; the others stay.
std::vector<ImagePlace> sweep(float from, float step, unsigned count, float y = 0, float z = 0) {
    std::vector<ImagePlace> places(count);
    for (unsigned i = 0; i < count; ++i) {
        places[i][0] = std::bit_cast<std::uint32_t>(from + step * static_cast<float>(i));
        places[i][1] = std::bit_cast<std::uint32_t>(y);
        places[i][2] = std::bit_cast<std::uint32_t>(z);
    }
    return places;
}

// ---- forms

CUDA_TEXTURE_DESC samplerOf(int mode, bool linear, bool normalized, unsigned flags = 0) {
    CUDA_TEXTURE_DESC d = {};
    for (int& m : d.addressMode) m = mode;
    d.filterMode = linear;
    d.flags = flags | (normalized ? kNormalizedCoordinates : 0);
    const float border[] = {0.3f, -0.7f, 1.5f, 100.25f};
    std::copy(std::begin(border), std::end(border), d.borderColor);
    return d;
}

constexpr const char* kModes[] = {"wrap", "clamp", "mirror", "border"};
constexpr const char* kFetchReal[] = {"", "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0}];",
                                      "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                                      "tex.3d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];"};
constexpr const char* kFetchInteger[] = {"", "tex.1d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%im, {%c0}];",
                                         "tex.2d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                                         "tex.3d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];"};

struct FormatName {
    const char* name;
    CUarray_format format;
};
constexpr FormatName kFormats[] = {{"u8", kUint8},   {"s8", kSint8},   {"u16", kUint16}, {"s16", kSint16},
                                   {"u32", kUint32}, {"s32", kSint32}, {"half", kHalf},  {"float", kFloat}};

class Forms {
  public:
    std::vector<ImageForm> list;

    void addAll() {
        addressModes();
        fractions();
        formats();
        integerCoordinates();
        plainMemory();
        layersAndCubes();
        levels();
        gathers();
        results();
        queries();
        surfaces();
        reductions();
    }

  private:
    static ImageShape shapeOf(std::size_t width, std::size_t height, std::size_t depth) {
        ImageShape s;
        s.width = width, s.height = height, s.depth = depth;
        return s;
    }
    ImageForm& add(const std::string& name, const std::string& body, const ImageShape& shape,
                   const CUDA_TEXTURE_DESC& sampler) {
        ImageForm form;
        form.name = name;
        form.body = body;
        form.shape = shape;
        form.sampler = sampler;
        list.push_back(std::move(form));
        return list.back();
    }

    void addressModes() {
        for (unsigned dimensions = 1; dimensions <= 3; ++dimensions)
            for (const bool odd : {false, true})
                for (int mode = 0; mode < 4; ++mode)
                    for (const bool linear : {false, true})
                        for (const bool normalized : {false, true}) {
                            const Axes axes = {{odd ? 13u : 16u, odd ? 9u : 8u, odd ? 5u : 4u}, dimensions};
                            const std::string name =
                                std::string("mode.") + std::to_string(dimensions) + "d." + (odd ? "odd." : "even.") +
                                kModes[mode] + (linear ? ".linear" : ".point") + (normalized ? ".normalized" : "");
                            ImageForm& form = add(name, kFetchReal[dimensions],
                                                  shapeOf(axes.size[0], dimensions > 1 ? axes.size[1] : 0,
                                                          dimensions > 2 ? axes.size[2] : 0),
                                                  samplerOf(mode, linear, normalized));
                            form.places = mixedPlaces(name, axes, normalized);
                        }
        for (const std::size_t width : {std::size_t{1}, std::size_t{1000}, std::size_t{65536}})
            for (const bool linear : {false, true})
                for (const bool normalized : {false, true})
                    for (int mode = 0; mode < 4; ++mode) {
                        const Axes axes = {{width, 1, 1}, 1};
                        const std::string name = "width." + std::to_string(width) + "." + kModes[mode] +
                                                 (linear ? ".linear" : ".point") + (normalized ? ".normalized" : "");
                        ImageForm& form =
                            add(name, kFetchReal[1], shapeOf(width, 0, 0), samplerOf(mode, linear, normalized));
                        form.shape.content = Content::random;
                        form.places = mixedPlaces(name, axes, normalized, 96);
                    }
    }

    /// What a filter's fractions are.
    void fractions() {
        for (const auto& [type, format] : kFormats) {
            if (format == kUint32 || format == kSint32) continue;
            ImageForm& form = add(std::string("fraction.stripes.") + type, kFetchReal[1], shapeOf(16, 0, 0),
                                  samplerOf(1, true, false));
            form.shape.format = format;
            form.shape.content = Content::stripes;
            form.places = sweep(2.25f, 0x1p-11f, 2048);
        }
        for (const auto& [type, format] :
             {FormatName{"float", kFloat}, FormatName{"u8", kUint8}, FormatName{"half", kHalf}}) {
            for (unsigned dimensions = 2; dimensions <= 3; ++dimensions) {
                const std::string name = std::string("fraction.corner.") + std::to_string(dimensions) + "d." + type;
                ImageForm& form = add(name, kFetchReal[dimensions], shapeOf(4, 4, dimensions == 3 ? 4 : 0),
                                      samplerOf(1, true, false));
                form.shape.content = Content::corner;
                form.shape.format = format;
                Numbers numbers(name);
                for (unsigned i = 0; i < 512; ++i) {
                    ImagePlace place = {};
                    // In steps of the fractions: what is rounded is the product, not the coordinate.
                    for (unsigned d = 0; d < 3; ++d)
                        place[d] = std::bit_cast<std::uint32_t>(0.5f + static_cast<float>(numbers.below(513)) / 256);
                    form.places.push_back(place);
                }
            }
            const std::string name = std::string("fraction.random.1d.") + type;
            ImageForm& form = add(name, kFetchReal[1], shapeOf(16, 0, 0), samplerOf(1, true, false));
            form.shape.format = format;
            form.places = sweep(4.0f, 0x1p-8f, 768);
        }
        // One texel wide and far from zero: what a coordinate's own precision does.
        for (const bool normalized : {false, true}) {
            ImageForm& form = add(normalized ? "fraction.far.normalized" : "fraction.far", kFetchReal[1],
                                  shapeOf(4096, 0, 0), samplerOf(1, true, normalized));
            form.shape.content = Content::stripes;
            form.places = sweep(normalized ? 0.87f : 3563.25f, normalized ? 0x1p-22f : 0x1p-10f, 1024);
        }
        for (const auto& [type, format] : {FormatName{"float", kFloat}, FormatName{"half", kHalf}}) {
            for (const bool linear : {false, true}) {
                const std::string name = std::string("special.") + type + (linear ? ".linear" : ".point");
                ImageForm& form = add(name, kFetchReal[1], shapeOf(64, 0, 0), samplerOf(1, linear, false));
                form.shape.format = format;
                form.shape.content = Content::special;
                form.places = sweep(0.0f, 0.25f, 256);
            }
        }
        for (const bool normalized : {false, true}) {
            ImageForm& form = add(normalized ? "edge.point.normalized" : "edge.point", kFetchReal[1], shapeOf(16, 0, 0),
                                  samplerOf(1, false, normalized));
            form.shape.content = Content::counting;
            for (unsigned i = 0; i < 256; ++i) {
                const auto around = static_cast<int>(i % 16) - 8;
                const unsigned texel = i / 16;
                float place = static_cast<float>(texel) / (normalized ? 16.0f : 1.0f);
                for (int step = 0; step < std::abs(around); ++step)
                    place = std::nextafter(place, around < 0 ? -kInfinity : kInfinity);
                form.places.push_back({std::bit_cast<std::uint32_t>(place)});
            }
            ImageForm& fine = add(normalized ? "edge.fine.normalized" : "edge.fine", kFetchReal[1], shapeOf(16, 0, 0),
                                  samplerOf(1, false, normalized));
            fine.shape.content = Content::counting;
            const float unit = normalized ? 0x1p-4f : 1;
            fine.places = sweep(4.984375f * unit, 0x1p-13f * unit, 256);
        }
    }

    void formats() {
        for (const auto& [type, format] : kFormats) {
            for (const unsigned channels : {1u, 2u, 4u}) {
                for (const unsigned flags : {0u, kReadAsInteger, kFromSrgb}) {
                    if (flags == kFromSrgb && format != kUint8) continue;
                    if (flags == kReadAsInteger && (format == kHalf || format == kFloat)) continue;
                    for (const bool linear : {false, true}) {
                        const std::string name = std::string("format.") + type + "x" + std::to_string(channels) +
                                                 (flags == kReadAsInteger ? ".integer"
                                                  : flags == kFromSrgb    ? ".srgb"
                                                                          : "") +
                                                 (linear ? ".linear" : ".point");
                        const bool asFloat = flags != kReadAsInteger && bytesOf(format) < 4;
                        const char* result = asFloat || format == kFloat                                  ? "f32"
                                             : format == kSint32 || format == kSint8 || format == kSint16 ? "s32"
                                                                                                          : "u32";
                        ImageForm& form = add(
                            name, std::string("tex.2d.v4.") + result + ".f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                            shapeOf(16, 16, 0), samplerOf(3, linear, false, flags));
                        form.shape.format = format;
                        form.shape.channels = channels;
                        form.shape.content =
                            channels == 1 && bytesOf(format) == 1 ? Content::counting : Content::random;
                        form.words = 4;
                        if (linear) {
                            form.places = mixedPlaces(name, {{16, 16, 1}, 2}, false, 128);
                        } else {
                            for (unsigned i = 0; i < 256; i += channels == 1 ? 1 : 4) {
                                const unsigned row = i / 16;
                                form.places.push_back({std::bit_cast<std::uint32_t>(static_cast<float>(i % 16) + 0.5f),
                                                       std::bit_cast<std::uint32_t>(static_cast<float>(row) + 0.5f)});
                            }
                            form.places.push_back({std::bit_cast<std::uint32_t>(-3.0f), 0});
                        }
                    }
                }
            }
        }
        // Every 16-bit value, in a picture of 256 x 256, of which every 37th is fetched.
        for (const auto& [type, format] :
             {FormatName{"u16", kUint16}, FormatName{"s16", kSint16}, FormatName{"half", kHalf}}) {
            ImageForm& form =
                add(std::string("values.") + type, kFetchReal[2], shapeOf(256, 256, 0), samplerOf(1, false, false));
            form.shape.format = format;
            form.shape.content = format == kHalf ? Content::random : Content::counting;
            for (unsigned i = 0; i < 65536; i += 37) {
                const unsigned row = i / 256;
                form.places.push_back({std::bit_cast<std::uint32_t>(static_cast<float>(i % 256) + 0.5f),
                                       std::bit_cast<std::uint32_t>(static_cast<float>(row) + 0.5f)});
            }
        }
        // Borders of what is returned as integers.
        for (const auto& [type, format] : kFormats) {
            for (const float border : {-1.5f, 3.75f, 300.0f, 1e10f, -1e10f, kNaN, 0.5f}) {
                const bool isReal = format == kHalf || format == kFloat;
                ImageForm& form = add(
                    std::string("border.") + type + "." + std::to_string(border),
                    std::string("tex.1d.v4.") + (isReal ? "f32" : "u32") + ".f32 {%o0, %o1, %o2, %o3}, [%im, {%c0}];",
                    shapeOf(4, 0, 0), samplerOf(3, false, false, isReal ? 0 : kReadAsInteger));
                form.shape.format = format;
                form.shape.channels = 2;
                form.words = 4;
                std::fill(std::begin(form.sampler.borderColor), std::end(form.sampler.borderColor), border);
                form.places = sweep(-1.5f, 1, 3);
            }
        }
        for (const auto& [type, format] : kFormats) {
            if (bytesOf(format) == 4 && format != kFloat) continue;
            const std::string name = std::string("border.linear.") + type;
            ImageForm& form = add(name, kFetchReal[1], shapeOf(4, 0, 0), samplerOf(3, true, false));
            form.shape.format = format;
            form.shape.channels = 2;
            form.words = 4;
            form.places = sweep(-1.0f, 0x1p-4f, 96);
        }
    }

    void integerCoordinates() {
        for (unsigned dimensions = 1; dimensions <= 3; ++dimensions)
            for (int mode = 0; mode < 4; ++mode)
                for (const bool linear : {false, true})
                    for (const bool normalized : {false, true}) {
                        const Axes axes = {{13, 9, 5}, dimensions};
                        const std::string name = std::string("integer.") + std::to_string(dimensions) + "d." +
                                                 kModes[mode] + (linear ? ".linear" : "") +
                                                 (normalized ? ".normalized" : "");
                        ImageForm& form = add(name, kFetchInteger[dimensions],
                                              shapeOf(13, dimensions > 1 ? 9 : 0, dimensions > 2 ? 5 : 0),
                                              samplerOf(mode, linear, normalized));
                        form.places = integerPlaces(name, axes, 96);
                    }
    }

    void plainMemory() {
        for (const auto& [type, format] : kFormats) {
            for (const unsigned channels : {1u, 2u, 4u}) {
                const bool isReal = format == kHalf || format == kFloat;
                const std::string name = std::string("linear.") + type + "x" + std::to_string(channels);
                ImageForm& form = add(
                    name,
                    std::string("tex.1d.v4.") + (isReal ? "f32" : "u32") + ".s32 {%o0, %o1, %o2, %o3}, [%im, {%c0}];",
                    shapeOf(100, 0, 0), samplerOf(1, false, false, isReal ? 0 : kReadAsInteger));
                form.shape.resource = kLinearResource;
                form.shape.format = format;
                form.shape.channels = channels;
                form.words = 4;
                form.places = integerPlaces(name, {{100, 1, 1}, 1}, 64);
            }
        }
        for (int mode = 0; mode < 4; ++mode)
            for (const bool linear : {false, true})
                for (const bool normalized : {false, true}) {
                    const std::string end =
                        std::string(kModes[mode]) + (linear ? ".linear" : "") + (normalized ? ".normalized" : "");
                    std::string name = "linear.mode." + end;
                    ImageForm& fetched =
                        add(name, kFetchInteger[1], shapeOf(100, 0, 0), samplerOf(mode, linear, normalized));
                    fetched.shape.resource = kLinearResource;
                    fetched.places = integerPlaces(name, {{100, 1, 1}, 1}, 64);
                    name = "linear.real." + end;
                    ImageForm& real = add(name, kFetchReal[1], shapeOf(100, 0, 0), samplerOf(mode, linear, normalized));
                    real.shape.resource = kLinearResource;
                    real.places = mixedPlaces(name, {{100, 1, 1}, 1}, normalized, 96);
                    name = "pitch." + end;
                    ImageForm& pitched =
                        add(name, kFetchReal[2], shapeOf(21, 11, 0), samplerOf(mode, linear, normalized));
                    pitched.shape.resource = kPitchResource;
                    pitched.places = mixedPlaces(name, {{21, 11, 1}, 2}, normalized);
                }
        for (const auto& [type, format] : kFormats) {
            if (bytesOf(format) == 4 && format != kFloat) continue;
            const std::string name = std::string("pitch.") + type;
            ImageForm& form = add(name, kFetchReal[2], shapeOf(21, 11, 0), samplerOf(1, true, false));
            form.shape.resource = kPitchResource;
            form.shape.format = format;
            form.shape.channels = 4;
            form.words = 4;
            form.places = mixedPlaces(name, {{21, 11, 1}, 2}, false, 96);
        }
    }

    std::vector<ImagePlace> directions(const std::string& name, int layers, unsigned count) {
        Numbers numbers("places of " + name);
        std::vector<ImagePlace> places(count);
        for (ImagePlace& place : places) {
            unsigned word = 0;
            if (layers) place[word++] = numbers.below(static_cast<std::uint32_t>(layers) + 2) - 1;
            const std::uint32_t kind = numbers.below(4);
            constexpr float kWhole[] = {0.0f, -0.0f, 1,    -1,        0.5f,       -0.5f,  1,     -1,
                                        2,    -2,    kNaN, kInfinity, -kInfinity, 1e-40f, 1e38f, 1e-30f};
            for (unsigned d = 0; d < 3; ++d) {
                const float value =
                    kind == 0 ? kWhole[numbers.below(numbers.below(4) ? 10 : 16)] : numbers.uniform(-1, 1);
                place[word++] = std::bit_cast<std::uint32_t>(value);
            }
            // On an edge between faces, and near it.
            if (kind == 1) place[word - 1] = place[word - 2] ^ (numbers.below(2) << 31);
            if (kind == 2) place[word - 1] = place[word - 2] + numbers.below(3) - 1;
        }
        return places;
    }

    void layersAndCubes() {
        for (const bool linear : {false, true})
            for (const bool normalized : {false, true})
                for (int mode = 0; mode < 4; ++mode) {
                    const std::string end =
                        std::string(kModes[mode]) + (linear ? ".linear" : "") + (normalized ? ".normalized" : "");
                    std::string name = "layers.1d." + end;
                    ImageForm& one = add(name, "tex.a1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                                         shapeOf(13, 0, 5), samplerOf(mode, linear, normalized));
                    one.shape.flags = kArrayLayered;
                    one.places = mixedPlaces(name, {{13, 1, 1}, 1, 5}, normalized, 96);
                    name = "layers.2d." + end;
                    ImageForm& two = add(name, "tex.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];",
                                         shapeOf(13, 9, 5), samplerOf(mode, linear, normalized));
                    two.shape.flags = kArrayLayered;
                    two.places = mixedPlaces(name, {{13, 9, 1}, 2, 5}, normalized, 96);
                    name = "layers.2d.integer." + end;
                    ImageForm& three =
                        add(name, "tex.a2d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];",
                            shapeOf(13, 9, 5), samplerOf(mode, linear, normalized));
                    three.shape.flags = kArrayLayered;
                    three.places = integerPlaces(name, {{13, 9, 1}, 2, 5}, 96);
                }
        for (const bool linear : {false, true})
            for (const unsigned flags : {0u, 0x40u})
                for (int mode = 0; mode < 4; ++mode)
                    for (const bool normalized : {true, false}) {
                        if (!normalized && mode != 1) continue;
                        const std::string end = std::string(kModes[mode]) + (linear ? ".linear" : "") +
                                                (flags ? ".seamless" : "") + (normalized ? "" : ".unnormalized");
                        std::string name = "cube." + end;
                        ImageForm& one =
                            add(name, "tex.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];",
                                shapeOf(8, 8, 6), samplerOf(mode, linear, normalized, flags));
                        one.shape.flags = kArrayCubemap;
                        one.places = directions(name, 0, 256);
                        name = "cubes." + end;
                        ImageForm& two =
                            add(name, "tex.acube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c3}];",
                                shapeOf(8, 8, 18), samplerOf(mode, linear, normalized, flags));
                        two.shape.flags = kArrayCubemap | kArrayLayered;
                        two.places = directions(name, 3, 96);
                    }
    }

    ImageForm& addLevels(const std::string& name, const std::string& body, const ImageShape& shape, unsigned levels,
                         bool linear, bool linearLevels) {
        ImageForm& form = add(name, body, shape, samplerOf(1, linear, true));
        form.shape.resource = kMipmappedResource;
        form.shape.levels = levels;
        form.sampler.mipmapFilterMode = linearLevels;
        form.sampler.maxMipmapLevelClamp = 100;
        return form;
    }

    void levels() {
        const std::string byLevel = "tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}], %c2;";
        const std::string byGradient =
            "tex.grad.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}], {%c2, %c3}, {%c4, %c5};";
        struct Clamp {
            const char* name;
            float bias, least, most;
        };
        constexpr Clamp kClamps[] = {{"all", 0, 0, 100},      {"bias", 0.7f, 0, 100},
                                     {"back", -1.3f, 0, 100}, {"least", 0, 1.3f, 100},
                                     {"most", 0, 0, 2.6f},    {"both", 0.25f, 0.9f, 3.1f},
                                     {"crossed", 0, 3, 1.5f}, {"zero", 0, 0, 0},
                                     {"negative", 0, -2, -1}, {"fine", 0.0021f, 0.0021f, 4.9979f},
                                     {"far", 20, -30, 30},    {"farback", -20, -30, 30}};
        for (const Clamp& clamp : kClamps)
            for (const bool linearLevels : {false, true})
                for (const char* kind : {"level", "gradient", "base"}) {
                    const std::string name =
                        std::string("levels.") + kind + "." + clamp.name + (linearLevels ? ".linear" : ".point");
                    ImageForm& form = addLevels(name,
                                                kind[0] == 'l'   ? byLevel
                                                : kind[0] == 'g' ? byGradient
                                                                 : kFetchReal[2],
                                                shapeOf(32, 32, 0), 6, true, linearLevels);
                    form.sampler.mipmapLevelBias = clamp.bias;
                    form.sampler.minMipmapLevelClamp = clamp.least;
                    form.sampler.maxMipmapLevelClamp = clamp.most;
                    form.shape.content = Content::levels;
                    Numbers numbers(name);
                    for (unsigned i = 0; i < (kind[0] == 'b' ? 4u : 160u); ++i) {
                        ImagePlace place = {};
                        place[0] = std::bit_cast<std::uint32_t>(0.4f), place[1] = std::bit_cast<std::uint32_t>(0.6f);
                        if (kind[0] == 'l') {
                            constexpr float kSpecial[] = {kNaN,   kInfinity,    -kInfinity, 1e30f, -1e30f,
                                                          -0.0f,  0.5f,         1.5f,       2.5f,  0.49999997f,
                                                          1e-40f, 0.001953125f, 0.0019531f, 4.998f};
                            const float level =
                                i < std::size(kSpecial) ? kSpecial[i] : -1 + 8 * static_cast<float>(i) / 160;
                            place[2] = std::bit_cast<std::uint32_t>(level);
                        } else {
                            for (unsigned d = 0; d < 4; ++d) {
                                const float size = numbers.scaled(1, 2, 9, -7);
                                const float value = numbers.below(3) == 0 ? 0 : numbers.below(2) ? size : -size;
                                place[2 + d] = std::bit_cast<std::uint32_t>(value);
                            }
                            if (i == 0) place[2] = std::bit_cast<std::uint32_t>(kNaN);
                            if (i == 1) place[2] = std::bit_cast<std::uint32_t>(kInfinity);
                        }
                        form.places.push_back(place);
                    }
                }
        // Fractions of a level, finely.
        ImageForm& fine = addLevels("levels.fine", byLevel, shapeOf(32, 32, 0), 6, true, true);
        fine.shape.content = Content::levels;
        for (unsigned i = 0; i < 1536; ++i)
            fine.places.push_back({std::bit_cast<std::uint32_t>(0.5f), std::bit_cast<std::uint32_t>(0.5f),
                                   std::bit_cast<std::uint32_t>(1 + static_cast<float>(i) / 1024)});
        // One gradient along one axis, finely: the logarithm.
        for (const bool along : {false, true}) {
            ImageForm& log = addLevels(along ? "levels.log.along" : "levels.log.diagonal", byGradient,
                                       shapeOf(32, 32, 0), 6, true, true);
            log.shape.content = Content::levels;
            for (unsigned i = 0; i < 512; ++i) {
                const float size = std::exp2(static_cast<float>(i) / 102.4f) / 32;
                log.places.push_back({std::bit_cast<std::uint32_t>(0.5f), std::bit_cast<std::uint32_t>(0.5f),
                                      std::bit_cast<std::uint32_t>(size),
                                      along ? 0 : std::bit_cast<std::uint32_t>(size * 0.7f), 0, 0});
            }
        }
        // Texels of all levels, by every combination of filters.
        for (const bool linear : {false, true})
            for (const bool linearLevels : {false, true})
                for (int mode = 0; mode < 4; ++mode) {
                    const std::string end = std::string(kModes[mode]) + (linear ? ".linear" : ".point") +
                                            (linearLevels ? ".linear" : ".point");
                    const auto withLevels = [](const std::vector<ImagePlace>& places, unsigned word) {
                        std::vector<ImagePlace> result = places;
                        Numbers numbers("levels");
                        for (ImagePlace& place : result)
                            place[word] = std::bit_cast<std::uint32_t>(numbers.uniform(-0.5f, 5));
                        return result;
                    };
                    std::string name = "levels.1d." + end;
                    addLevels(name, "tex.level.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0}], %c1;",
                              shapeOf(27, 0, 0), 5, linear, linearLevels);
                    list.back().places = withLevels(mixedPlaces(name, {{27, 1, 1}, 1}, true, 96), 1);
                    for (int& m : list.back().sampler.addressMode) m = mode;
                    name = "levels.2d." + end;
                    addLevels(name, byLevel, shapeOf(27, 14, 0), 5, linear, linearLevels);
                    list.back().places = withLevels(mixedPlaces(name, {{27, 14, 1}, 2}, true, 96), 2);
                    for (int& m : list.back().sampler.addressMode) m = mode;
                    name = "levels.3d." + end;
                    addLevels(name, "tex.level.3d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}], %c3;",
                              shapeOf(12, 10, 7), 4, linear, linearLevels);
                    list.back().places = withLevels(mixedPlaces(name, {{12, 10, 7}, 3}, true, 96), 3);
                    for (int& m : list.back().sampler.addressMode) m = mode;
                    name = "levels.a2d." + end;
                    addLevels(name, "tex.level.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}], %c3;",
                              shapeOf(16, 12, 3), 5, linear, linearLevels);
                    list.back().shape.flags = kArrayLayered;
                    list.back().places = withLevels(mixedPlaces(name, {{16, 12, 1}, 2, 3}, true, 96), 3);
                    for (int& m : list.back().sampler.addressMode) m = mode;
                    if (mode != 1) continue;
                    name = "levels.cube." + end;
                    addLevels(name, "tex.level.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}], %c3;",
                              shapeOf(8, 8, 6), 4, linear, linearLevels);
                    list.back().shape.flags = kArrayCubemap;
                    list.back().places = withLevels(directions(name, 0, 96), 3);
                }
        for (int mode = 0; mode < 4; ++mode) {
            const std::string name = std::string("levels.integer.") + kModes[mode];
            addLevels(name, "tex.level.2d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}], %c2;", shapeOf(27, 14, 0),
                      5, false, false);
            list.back().places = integerPlaces(name, {{27, 14, 5}, 3}, 96);
            for (int& m : list.back().sampler.addressMode) m = mode;
        }
        // Gradients of three dimensions and of directions.
        const auto gradients = [](std::vector<ImagePlace> places, unsigned from, unsigned count,
                                  const std::string& name) {
            Numbers numbers(name + " gradients");
            for (ImagePlace& place : places)
                for (unsigned d = 0; d < count; ++d)
                    place[from + d] = std::bit_cast<std::uint32_t>(numbers.scaled(-2, 2, 6, -6));
            return places;
        };
        addLevels("gradient.1d", "tex.grad.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0}], {%c1}, {%c2};",
                  shapeOf(32, 0, 0), 6, true, true);
        list.back().shape.content = Content::levels;
        list.back().places = gradients(sweep(0.5f, 0, 128), 1, 2, "1d");
        addLevels("gradient.3d",
                  "tex.grad.3d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}], {%c2, %c3, %c4, %c4}, "
                  "{%c5, %c6, %c7, %c7};",
                  shapeOf(32, 16, 8), 5, true, true);
        list.back().shape.content = Content::levels;
        list.back().places = gradients(sweep(0.5f, 0, 128, 0.5f, 0.5f), 3, 5, "3d");
        addLevels("gradient.oblong", byGradient, shapeOf(64, 8, 0), 6, true, true);
        list.back().shape.content = Content::levels;
        list.back().places = gradients(sweep(0.5f, 0, 128, 0.5f), 2, 4, "oblong");
        addLevels("gradient.cube",
                  "tex.grad.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}], {%c3, %c4, %c5, %c5}, "
                  "{%c6, %c7, %c4, %c4};",
                  shapeOf(32, 32, 6), 6, true, true);
        list.back().shape.flags = kArrayCubemap;
        list.back().shape.content = Content::levels;
        list.back().places = gradients(directions("gradient.cube", 0, 128), 3, 5, "cube");
    }

    void gathers() {
        for (const char* channel : {"r", "g", "b", "a"})
            for (int mode = 0; mode < 4; ++mode)
                for (const bool normalized : {false, true}) {
                    const std::string name =
                        std::string("gather.") + channel + "." + kModes[mode] + (normalized ? ".normalized" : "");
                    ImageForm& form =
                        add(name,
                            std::string("tld4.") + channel + ".2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                            shapeOf(13, 9, 0), samplerOf(mode, false, normalized));
                    form.shape.flags = kArrayGather;
                    form.shape.channels = 2;
                    form.words = 4;
                    form.places = mixedPlaces(name, {{13, 9, 1}, 2}, normalized, 96);
                }
        for (const auto& [type, format] : kFormats) {
            const bool asInteger = format == kSint32 || format == kUint32;
            const std::string name = std::string("gather.format.") + type;
            ImageForm& form = add(name,
                                  std::string("tld4.g.2d.v4.") + (asInteger ? "u32" : "f32") +
                                      ".f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                                  shapeOf(16, 16, 0), samplerOf(1, false, false));
            form.shape.flags = kArrayGather;
            form.shape.format = format;
            form.shape.channels = 4;
            form.words = 4;
            form.places = mixedPlaces(name, {{16, 16, 1}, 2}, false, 64);
        }
        ImageForm& fine = add("gather.fine", "tld4.r.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                              shapeOf(16, 16, 0), samplerOf(1, false, false));
        fine.shape.flags = kArrayGather;
        fine.shape.content = Content::counting;
        fine.words = 4;
        fine.places = sweep(5.49f, 0x1p-12f, 96, 3.2f);
        ImageForm& linear = add("gather.linear", "tld4.r.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];",
                                shapeOf(16, 16, 0), samplerOf(1, true, false));
        linear.shape.flags = kArrayGather;
        linear.shape.content = Content::counting;
        linear.words = 4;
        linear.places = sweep(5.49f, 0x1p-12f, 96, 3.2f);
        add("gather.a2d", "tld4.r.a2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];", shapeOf(13, 9, 4),
            samplerOf(1, false, true));
        list.back().shape.flags = kArrayGather | kArrayLayered;
        list.back().words = 4;
        list.back().places = mixedPlaces("gather.a2d", {{13, 9, 1}, 2, 4}, true, 96);
        add("gather.cube", "tld4.r.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];",
            shapeOf(8, 8, 6), samplerOf(1, false, true));
        list.back().shape.flags = kArrayGather | kArrayCubemap;
        list.back().words = 4;
        list.back().places = directions("gather.cube", 0, 96);
        add("gather.cube.plain", "tld4.r.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1, %c2, %c2}];",
            shapeOf(8, 8, 6), samplerOf(1, false, true));
        list.back().shape.flags = kArrayCubemap;
        list.back().words = 4;
        list.back().places = directions("gather.cube", 0, 96);
        add("gather.levels", "tld4.r.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];", shapeOf(16, 16, 0),
            samplerOf(1, false, true));
        list.back().shape.resource = kMipmappedResource;
        list.back().shape.levels = 5;
        list.back().shape.flags = kArrayGather;
        list.back().sampler.minMipmapLevelClamp = 1;
        list.back().sampler.maxMipmapLevelClamp = 4;
        list.back().words = 4;
        list.back().places = mixedPlaces("gather.levels", {{16, 16, 1}, 2}, true, 48);
    }

    /// Filtered numbers as results of other types: their bits.
    void results() {
        struct Result {
            const char *name, *body;
        };
        constexpr Result kResults[] = {
            {"s32", "tex.2d.v4.s32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];"},
            {"u32", "tex.2d.v4.u32.f32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];"},
        };
        for (const auto& [what, body] : kResults)
            for (const auto& [type, format] :
                 {FormatName{"float", kFloat}, FormatName{"half", kHalf}, FormatName{"u8", kUint8}})
                for (const bool linear : {false, true}) {
                    const std::string name = std::string("result.") + what + "." + type + (linear ? ".linear" : "");
                    ImageForm& form = add(name, body, shapeOf(13, 9, 0), samplerOf(1, linear, false));
                    form.shape.format = format;
                    form.shape.channels = 4;
                    form.words = 4;
                    form.places = mixedPlaces(name, {{13, 9, 1}, 2}, false, 48);
                }
    }

    /// Those that the driver's compiler takes with a handle.
    void queries() {
        struct Image {
            const char* name;
            std::size_t width, height, depth;
            unsigned flags;
            CUarray_format format;
            unsigned channels;
        };
        constexpr Image kImages[] = {{"1d", 24, 0, 0, 0, kFloat, 1},
                                     {"2d", 24, 10, 0, 0, kUint8, 4},
                                     {"3d", 24, 10, 5, 0, kSint16, 2},
                                     {"a1d", 24, 0, 7, kArrayLayered, kUint32, 1},
                                     {"a2d", 24, 10, 7, kArrayLayered, kHalf, 4},
                                     {"cube", 24, 24, 6, kArrayCubemap, kSint8, 1},
                                     {"acube", 24, 24, 18, kArrayCubemap | kArrayLayered, kUint16, 2}};
        for (const Image& image : kImages) {
            for (const char* query : {"width", "height", "depth"}) {
                ImageForm& form = add(std::string("query.") + image.name + "." + query,
                                      std::string("txq.") + query + ".b32 %o0, [%im];",
                                      shapeOf(image.width, image.height, image.depth), samplerOf(2, false, true));
                form.shape.flags = image.flags, form.shape.format = image.format, form.shape.channels = image.channels;
                form.places = {{}};
            }
            if (image.flags & kArrayCubemap) continue;
            for (const char* query : {"width", "height", "depth"}) {
                ImageForm& form = add(std::string("query.surface.") + image.name + "." + query,
                                      std::string("suq.") + query + ".b32 %o0, [%im];",
                                      shapeOf(image.width, image.height, image.depth), {});
                form.shape.flags = image.flags | kArraySurface, form.shape.format = image.format,
                form.shape.channels = image.channels;
                form.isSurface = true;
                form.places = {{}};
            }
        }
        for (const char* query : {"width", "height", "depth"}) {
            ImageForm& form =
                add(std::string("query.level.") + query, std::string("txq.level.") + query + ".b32 %o0, [%im], %c0;",
                    shapeOf(27, 14, 0), samplerOf(1, false, true));
            form.shape.resource = kMipmappedResource;
            form.shape.levels = 4;
            form.sampler.maxMipmapLevelClamp = 3;
            for (std::uint32_t level = 0; level < 6; ++level) form.places.push_back({level});
        }
        for (const CUresourcetype resource : {kLinearResource, kPitchResource})
            for (const char* query : {"width", "height", "depth"}) {
                ImageForm& form =
                    add(std::string("query.") + (resource == kLinearResource ? "linear." : "pitch.") + query,
                        std::string("txq.") + query + ".b32 %o0, [%im];",
                        shapeOf(100, resource == kPitchResource ? 9 : 0, 0), samplerOf(1, false, false));
                form.shape.resource = resource;
                form.places = {{}};
            }
    }

    struct SurfaceGeometry {
        const char *name, *address;
        std::size_t width, height, depth;
        unsigned flags;
    };
    static constexpr SurfaceGeometry kGeometries[] = {
        {"1d", "[%im, {%c0}]", 24, 0, 0, kArraySurface},
        {"2d", "[%im, {%c0, %c1}]", 24, 7, 0, kArraySurface},
        {"3d", "[%im, {%c0, %c1, %c2, %c2}]", 24, 7, 5, kArraySurface},
        {"a1d", "[%im, {%c0, %c1}]", 24, 0, 5, kArraySurface | kArrayLayered},
        {"a2d", "[%im, {%c0, %c1, %c2, %c2}]", 24, 7, 5, kArraySurface | kArrayLayered},
    };

    /// Bytes along x, then rows and slices; a layer is the first word.
    static std::vector<ImagePlace> surfacePlaces(const std::string& name, const SurfaceGeometry& g, unsigned unit,
                                                 unsigned texel, bool outside, unsigned count) {
        Numbers numbers("places of " + name);
        std::vector<ImagePlace> places;
        const bool layered = g.flags & kArrayLayered;
        for (unsigned i = 0; i < count; ++i) {
            const auto pick = [&](std::size_t size) -> std::uint32_t {
                const auto n = static_cast<std::uint32_t>(size);
                if (!outside || numbers.below(3)) return numbers.below(n);
                constexpr std::uint32_t kFar[] = {0xffffffffu, 0xfffffff0u, 0x80000000u,
                                                  0x7fffffffu, 0x00010000u, 0x01000000u};
                return numbers.below(2) ? n + numbers.below(n) : kFar[numbers.below(6)];
            };
            ImagePlace place = {};
            unsigned word = 0;
            if (layered) place[word++] = pick(g.depth);
            place[word++] = pick(g.width * texel / unit) * unit;
            if (g.height) place[word++] = pick(g.height);
            if (!layered && g.depth) place[word++] = pick(g.depth);
            for (unsigned w = 4; w < 8; ++w) place[w] = numbers.next();
            places.push_back(place);
        }
        return places;
    }

    void surfaces() {
        struct Access {
            const char *type, *load, *store;
            unsigned bytes;
        };
        constexpr Access kAccesses[] = {{"b8", "%h0", "%h0", 1},
                                        {"b16", "%h0", "%h0", 2},
                                        {"b32", "%o0", "%c4", 4},
                                        {"b64", "%d0", "%d0", 8},
                                        {"v2.b8", "{%h0, %h1}", "{%h0, %h1}", 2},
                                        {"v2.b16", "{%h0, %h1}", "{%h0, %h1}", 4},
                                        {"v4.b8", "{%h0, %h1, %h2, %h3}", "{%h0, %h1, %h2, %h3}", 4},
                                        {"v2.b32", "{%o0, %o1}", "{%c4, %c5}", 8},
                                        {"v4.b16", "{%h0, %h1, %h2, %h3}", "{%h0, %h1, %h2, %h3}", 8},
                                        {"v4.b32", "{%o0, %o1, %o2, %o3}", "{%c4, %c5, %c6, %c7}", 16},
                                        {"v2.b64", "{%d0, %d1}", "{%d0, %d1}", 16}};
        const auto formatOf = [](unsigned bytes, ImageShape& s) {
            s.format = bytes == 1 ? kUint8 : bytes == 2 ? kUint16 : kUint32;
            s.channels = bytes <= 4 ? 1 : bytes / 4;
        };
        for (const SurfaceGeometry& g : kGeometries) {
            for (const Access& a : kAccesses) {
                const bool narrow = a.load[1] == 'h' || a.load[2] == 'h', wide = a.load[1] == 'd' || a.load[2] == 'd';
                if (g.name != std::string("2d") && (narrow || wide) && a.bytes != 1) continue;
                for (const char* outside : {"trap", "clamp", "zero"}) {
                    const bool isTrap = outside[0] == 't';
                    std::string name = std::string("suld.") + g.name + "." + a.type + "." + outside;
                    std::string body = std::string("suld.b.") + g.name + "." + a.type + "." + outside + " " + a.load +
                                       ", " + g.address + ";";
                    if (narrow)
                        body = "mov.b16 %h0, 0; mov.b16 %h1, 0; mov.b16 %h2, 0; mov.b16 %h3, 0;" + body +
                               "mov.b32 %o0, {%h0, %h1}; mov.b32 %o1, {%h2, %h3};";
                    if (wide) body = "mov.b64 %d1, 0;" + body + "mov.b64 {%o0, %o1}, %d0; mov.b64 {%o2, %o3}, %d1;";
                    ImageForm& load = add(name, body, shapeOf(g.width, g.height, g.depth), {});
                    load.shape.flags = g.flags;
                    formatOf(a.bytes, load.shape);
                    load.isSurface = true;
                    load.words = (a.bytes + 3) / 4 > (narrow ? 2u : 0u) ? (a.bytes + 3) / 4 : 2;
                    load.places = surfacePlaces(name, g, a.bytes, a.bytes, !isTrap, 64);
                    name = std::string("sust.") + g.name + "." + a.type + "." + outside;
                    body = std::string("sust.b.") + g.name + "." + a.type + "." + outside + " " + g.address + ", " +
                           a.store + ";";
                    if (narrow) body = "mov.b32 {%h0, %h1}, %c4; mov.b32 {%h2, %h3}, %c5;" + body;
                    if (wide) body = "mov.b64 %d0, {%c4, %c5}; mov.b64 %d1, {%c6, %c7};" + body;
                    ImageForm& store = add(name, body, shapeOf(g.width, g.height, g.depth), {});
                    store.shape.flags = g.flags;
                    formatOf(a.bytes, store.shape);
                    store.isSurface = store.givesTexels = true;
                    store.places = surfacePlaces(name, g, a.bytes, a.bytes, !isTrap, 24);
                    // Where two places may be one texel, all write the same.
                    for (ImagePlace& place : store.places)
                        for (unsigned w = 4; w < 8; ++w) place[w] = 0x9d3c5ae1u + w * 0x01010101u;
                }
            }
        }
        // An access of another size than the texel's.
        for (const char* type : {"b8", "b32", "v4.b32"}) {
            for (const unsigned channels : {1u, 2u, 4u}) {
                const std::string name = std::string("suld.other.") + type + ".of." + std::to_string(channels);
                const bool narrow = type[1] == '8', four = type[0] == 'v';
                ImageForm& form = add(name,
                                      std::string("suld.b.2d.") + type + ".zero " +
                                          (narrow ? "%h0"
                                           : four ? "{%o0, %o1, %o2, %o3}"
                                                  : "%o0") +
                                          ", [%im, {%c0, %c1}];" + (narrow ? "cvt.u32.u16 %o0, %h0;" : ""),
                                      shapeOf(24, 7, 0), {});
                form.shape.flags = kArraySurface;
                form.shape.format = kUint32;
                form.shape.channels = channels;
                form.isSurface = true;
                form.words = 4;
                form.places = surfacePlaces(name, kGeometries[1], narrow ? 1 : four ? 16 : 4, 4 * channels, true, 48);
            }
        }
        // Texels of a format, by channels.
        for (const auto& [type, format] : kFormats) {
            for (const unsigned channels : {1u, 2u, 4u}) {
                for (const char* vector : {"", "v2.", "v4."}) {
                    const std::string name = std::string("sust.p.") + vector + type + "x" + std::to_string(channels);
                    ImageForm& form = add(name,
                                          std::string("sust.p.2d.") + vector + "b32.zero [%im, {%c0, %c1}], " +
                                              (vector[0] == 0     ? "%c4"
                                               : vector[1] == '2' ? "{%c4, %c5}"
                                                                  : "{%c4, %c5, %c6, %c7}") +
                                              ";",
                                          shapeOf(24, 7, 0), {});
                    form.shape.flags = kArraySurface;
                    form.shape.format = format;
                    form.shape.channels = channels;
                    form.isSurface = form.givesTexels = true;
                    Numbers numbers(name);
                    const bool isReal = format == kHalf || format == kFloat;
                    constexpr std::uint32_t kIntegers[] = {
                        0,           1,           127,         128,         255,        256,
                        32767,       32768,       65535,       65536,       0x7fffffff, 0x80000000u,
                        0xffffffffu, 0xffffff80u, 0xffffff7fu, 0xffff8000u, 0xffff7fffu};
                    constexpr float kReals[] = {0.0f,    -0.0f,   1,          -1,         0.1f,  -0.3f,
                                                65504,   65520,   70000,      kInfinity,  kNaN,  6e-8f,
                                                2.9e-8f, 3.1e-8f, 1.0004883f, 1.0014648f, 1e-40f};
                    for (std::uint32_t i = 0; i < 96; ++i) {
                        ImagePlace place = {i % 26, i / 26};
                        for (unsigned w = 4; w < 8; ++w) {
                            const std::uint32_t pick = numbers.below(17);
                            place[w] = isReal ? std::bit_cast<std::uint32_t>(kReals[pick]) : kIntegers[pick];
                        }
                        form.places.push_back(place);
                    }
                }
            }
        }
    }

    /// sured, whose operations commute: the answer does not depend on the order.
    void reductions() {
        for (const char* operation : {"add", "min", "max", "and", "or"})
            for (const char* type : {"u32", "s32", "u64", "s64", "b32"})
                for (const char* outside : {"zero", "clamp", "trap"})
                    for (const char* form : {"b", "p"})
                        for (const SurfaceGeometry& g : kGeometries) {
                            const bool bitwise = operation[0] == 'o' || (operation[0] == 'a' && operation[1] == 'n');
                            if (bitwise != (type[0] == 'b')) continue;
                            if (operation == std::string("add") && type == std::string("s64"))
                                continue;  // PTX has none
                            const bool wide = type[1] == '6';
                            if (form[0] == 'p' && wide) continue;
                            if (g.flags & kArrayLayered) continue;
                            if (g.name != std::string("2d") && (form[0] == 'p' || outside[0] != 'z')) continue;
                            const std::string name = std::string("sured.") + form + "." + operation + "." + g.name +
                                                     "." + type + "." + outside;
                            ImageForm& f =
                                add(name,
                                    std::string(wide ? "mov.b64 %d0, {%c4, %c5};" : "") + "sured." + form + "." +
                                        operation + "." + g.name + "." + (form[0] == 'p' ? "b32" : type) + "." +
                                        outside + " " + g.address + ", " + (wide ? "%d0" : "%c4") + ";",
                                    shapeOf(g.width, g.height, g.depth), {});
                            f.shape.flags = g.flags;
                            f.shape.format = type[0] == 's' ? kSint32 : kUint32;
                            f.shape.channels = wide ? 2 : 1;
                            f.isSurface = f.givesTexels = true;
                            const unsigned unit = wide ? 8 : 4;
                            f.places = surfacePlaces(name, g, form[0] == 'p' ? 1 : unit, form[0] == 'p' ? 1 : unit,
                                                     outside[0] != 't', 96);
                        }
    }
};

struct Made {
    CUarray array = nullptr;
    CUmipmappedArray mipmaps = nullptr;
    CUdeviceptr memory = 0;
    std::size_t pitch = 0;
    CUDA_RESOURCE_DESC resource = {};
};

/// The first call that fails ends an evaluation.
struct Refused {
    const char* call;
    int code;
};
void need(const char* call, CUresult code) {
    if (code != CUDA_SUCCESS) throw Refused{call, static_cast<int>(code)};
}

void copyTexels(const DriverApi& api, CUarray array, std::vector<std::uint8_t>& texels, std::size_t row,
                const LevelShape& size, bool toArray) {
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = toArray ? 1 : 3;
    c.dstMemoryType = toArray ? 3 : 1;
    (toArray ? c.dstArray : c.srcArray) = array;
    if (toArray)
        c.srcHost = texels.data(), c.srcPitch = row, c.srcHeight = size.rows;
    else
        c.dstHost = texels.data(), c.dstPitch = row, c.dstHeight = size.rows;
    c.WidthInBytes = row, c.Height = size.rows, c.Depth = size.slices;
    need("cuMemcpy3D", api.cuMemcpy3D(&c));
}

void makeArray(const DriverApi& api, const ImageForm& form, Made& made) {
    const ImageShape& s = form.shape;
    const CUDA_ARRAY3D_DESCRIPTOR d = {s.width, s.height, s.depth, s.format, s.channels, s.flags};
    const std::size_t texel = std::size_t{bytesOf(s.format)} * s.channels;
    if (s.resource == kArrayResource) {
        need("cuArray3DCreate", api.cuArray3DCreate(&made.array, &d));
        made.resource.res.array.hArray = made.array;
    } else {
        need("cuMipmappedArrayCreate", api.cuMipmappedArrayCreate(&made.mipmaps, &d, s.levels));
        made.resource.res.mipmap.hMipmappedArray = made.mipmaps;
    }
    for (unsigned level = 0; level < s.levels; ++level) {
        CUarray array = made.array;
        if (made.mipmaps) need("cuMipmappedArrayGetLevel", api.cuMipmappedArrayGetLevel(&array, made.mipmaps, level));
        std::vector<std::uint8_t> texels = texelsOf(form, level);
        const LevelShape size = levelShape(s, level);
        copyTexels(api, array, texels, size.width * texel, size, true);
    }
}

void makePlain(const DriverApi& api, const ImageForm& form, Made& made) {
    const ImageShape& s = form.shape;
    const std::size_t texel = std::size_t{bytesOf(s.format)} * s.channels, rows = std::max<std::size_t>(s.height, 1);
    const std::vector<std::uint8_t> texels = texelsOf(form, 0);
    made.pitch = (s.width * texel + 511) / 512 * 512;
    need("cuMemAlloc", api.cuMemAlloc(&made.memory, made.pitch * rows));
    for (std::size_t y = 0; y < rows; ++y)
        need("cuMemcpyHtoD",
             api.cuMemcpyHtoD(made.memory + y * made.pitch, texels.data() + y * s.width * texel, s.width * texel));
    if (s.resource == kLinearResource)
        made.resource.res.linear = {made.memory, s.format, s.channels, s.width * texel};
    else
        made.resource.res.pitch2D = {made.memory, s.format, s.channels, s.width, s.height, made.pitch};
}

void launch(const DriverApi& api, const ImageForm& form, unsigned long long image, std::vector<std::uint32_t>& words) {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    const std::string text = moduleOf(form.body);
    need("cuModuleLoadData", api.cuModuleLoadData(&module, text.c_str()));
    need("cuModuleGetFunction", api.cuModuleGetFunction(&kernel, module, "k"));
    auto count = static_cast<unsigned>(form.places.size());
    CUdeviceptr from = 0, to = 0;
    need("cuMemAlloc", api.cuMemAlloc(&from, count * sizeof(ImagePlace)));
    need("cuMemAlloc", api.cuMemAlloc(&to, count * std::size_t{16}));
    need("cuMemcpyHtoD", api.cuMemcpyHtoD(from, form.places.data(), count * sizeof(ImagePlace)));
    void* parameters[] = {&image, &from, &to, &count};
    need("cuLaunchKernel",
         api.cuLaunchKernel(kernel, (count + 63) / 64, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
    need("cuCtxSynchronize", api.cuCtxSynchronize());
    std::vector<std::uint32_t> all(count * std::size_t{4});
    need("cuMemcpyDtoH", api.cuMemcpyDtoH(all.data(), to, count * std::size_t{16}));
    for (std::size_t i = 0; i < count; ++i)
        words.insert(words.end(), all.begin() + static_cast<std::ptrdiff_t>(4 * i),
                     all.begin() + static_cast<std::ptrdiff_t>(4 * i + form.words));
    api.cuMemFree(from), api.cuMemFree(to);
    api.cuModuleUnload(module);
}

}  // namespace

const std::vector<ImageForm>& imageForms() {
    static const std::vector<ImageForm> all = [] {
        Forms forms;
        forms.addAll();
        return std::move(forms.list);
    }();
    return all;
}

std::uint64_t hashOfInputs(const ImageForm& form) {
    std::string bytes = form.body;
    for (unsigned level = 0; level < form.shape.levels; ++level)
        for (const std::uint8_t byte : texelsOf(form, level)) bytes += static_cast<char>(byte);
    bytes.append(reinterpret_cast<const char*>(form.places.data()), form.places.size() * sizeof(ImagePlace));
    return hashOfText(bytes);
}

ImageAnswer evaluate(const DriverApi& api, const ImageForm& form) {
    ImageAnswer answer;
    Made made;
    made.resource.resType = form.shape.resource;
    unsigned long long image = 0;
    try {
        if (form.shape.resource == kLinearResource || form.shape.resource == kPitchResource)
            makePlain(api, form, made);
        else
            makeArray(api, form, made);
        if (form.isSurface)
            need("cuSurfObjectCreate", api.cuSurfObjectCreate(&image, &made.resource));
        else
            need("cuTexObjectCreate", api.cuTexObjectCreate(&image, &made.resource, &form.sampler, nullptr));
        launch(api, form, image, answer.words);
        if (form.givesTexels) {
            const LevelShape size = levelShape(form.shape, 0);
            const std::size_t row = size.width * bytesOf(form.shape.format) * form.shape.channels;
            std::vector<std::uint8_t> texels(row * size.rows * size.slices);
            copyTexels(api, made.array, texels, row, size, false);
            const std::uint64_t hash = hashOfText({texels.begin(), texels.end()});
            answer.words = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)};
        }
    } catch (const Refused& refused) {
        answer.words.clear();
        answer.failed = refused.call;
        answer.code = refused.code;
    }
    if (image) form.isSurface ? api.cuSurfObjectDestroy(image) : api.cuTexObjectDestroy(image);
    if (made.array) api.cuArrayDestroy(made.array);
    if (made.mipmaps) api.cuMipmappedArrayDestroy(made.mipmaps);
    if (made.memory) api.cuMemFree(made.memory);
    return answer;
}

const std::vector<ImageForm>& endingForms() {
    static const std::vector<ImageForm> all = [] {
        std::vector<ImageForm> forms;
        const auto add = [&](const char* name, const char* body, unsigned width, ImagePlace place) {
            ImageForm form;
            form.name = name;
            form.body = body;
            form.shape.width = width, form.shape.height = 7, form.shape.format = kUint32,
            form.shape.flags = kArraySurface;
            form.isSurface = true;
            form.places = {place};
            forms.push_back(form);
        };
        add("suld.trap.x", "suld.b.2d.b32.trap %o0, [%im, {%c0, %c1}];", 24, {96, 0});
        add("suld.trap.y", "suld.b.2d.b32.trap %o0, [%im, {%c0, %c1}];", 24, {0, 7});
        add("sust.trap.x", "sust.b.2d.b32.trap [%im, {%c0, %c1}], %c0;", 24, {0xfffffffcu, 0});
        add("sured.trap.x", "sured.b.add.2d.u32.trap [%im, {%c0, %c1}], %c0;", 24, {96, 0});
        add("suld.misaligned.trap", "suld.b.2d.b32.trap %o0, [%im, {%c0, %c1}];", 24, {2, 0});
        add("suld.misaligned.zero", "suld.b.2d.b32.zero %o0, [%im, {%c0, %c1}];", 24, {2, 0});
        add("suld.misaligned.clamp", "suld.b.2d.b32.clamp %o0, [%im, {%c0, %c1}];", 24, {2, 0});
        add("sust.misaligned.zero", "sust.b.2d.b32.zero [%im, {%c0, %c1}], %c0;", 24, {2, 0});
        add("suld.larger.trap", "suld.b.2d.v4.b32.trap {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];", 24, {16, 0});
        add("suld.smaller.trap", "suld.b.2d.b8.trap %h0, [%im, {%c0, %c1}]; cvt.u32.u16 %o0, %h0;", 24, {17, 0});
        add("suld.layers.of.plain", "suld.b.a2d.b32.trap %o0, [%im, {%c0, %c1, %c2, %c2}];", 24, {1, 4, 1});
        add("handle.wild", "mov.b64 %im, 77777; suld.b.2d.b32.trap %o0, [%im, {%c0, %c1}];", 24, {4, 1});
        add("handle.texture.wild", "mov.b64 %im, 77777; tex.2d.v4.f32.s32 {%o0, %o1, %o2, %o3}, [%im, {%c0, %c1}];", 24,
            {4, 1});
        add("sust.p.trap", "sust.p.2d.b32.trap [%im, {%c0, %c1}], %c0;", 24, {24, 0});
        return forms;
    }();
    return all;
}

void tryImageCalls(const DriverApi& api, const std::function<void(const std::string&, int)>& report) {
    struct Shape {
        const char* name;
        CUDA_ARRAY3D_DESCRIPTOR d;
    };
    constexpr unsigned kLayered = kArrayLayered, kCube = kArrayCubemap, kSurface = kArraySurface,
                       kGather = kArrayGather;
    const std::vector<Shape> shapes = {
        {"1d", {4, 0, 0, kFloat, 1, 0}},
        {"2d", {4, 4, 0, kFloat, 1, 0}},
        {"3d", {4, 4, 4, kFloat, 1, 0}},
        {"no width", {0, 4, 0, kFloat, 1, 0}},
        {"nothing", {0, 0, 0, kFloat, 1, 0}},
        {"depth without height", {4, 0, 4, kFloat, 1, 0}},
        {"3 channels", {4, 4, 0, kFloat, 3, 0}},
        {"0 channels", {4, 4, 0, kFloat, 0, 0}},
        {"5 channels", {4, 4, 0, kFloat, 5, 0}},
        {"format 0", {4, 4, 0, 0, 1, 0}},
        {"format 77", {4, 4, 0, 77, 1, 0}},
        {"format 4", {4, 4, 0, 4, 1, 0}},
        {"format half4", {4, 4, 0, kHalf, 4, 0}},
        {"layered 1d", {4, 0, 4, kFloat, 1, kLayered}},
        {"layered 2d", {4, 4, 4, kFloat, 1, kLayered}},
        {"layered without layers", {4, 4, 0, kFloat, 1, kLayered}},
        {"layered 1d without layers", {4, 0, 0, kFloat, 1, kLayered}},
        {"cube", {4, 4, 6, kFloat, 1, kCube}},
        {"cube not square", {4, 5, 6, kFloat, 1, kCube}},
        {"cube of 5", {4, 4, 5, kFloat, 1, kCube}},
        {"cube of 12", {4, 4, 12, kFloat, 1, kCube}},
        {"cube of 0", {4, 4, 0, kFloat, 1, kCube}},
        {"cube without height", {4, 0, 6, kFloat, 1, kCube}},
        {"cubes of 12", {4, 4, 12, kFloat, 1, kCube | kLayered}},
        {"cubes of 7", {4, 4, 7, kFloat, 1, kCube | kLayered}},
        {"cubes of 0", {4, 4, 0, kFloat, 1, kCube | kLayered}},
        {"gather 2d", {4, 4, 0, kFloat, 1, kGather}},
        {"gather 1d", {4, 0, 0, kFloat, 1, kGather}},
        {"gather 3d", {4, 4, 4, kFloat, 1, kGather}},
        {"gather layered", {4, 4, 4, kFloat, 1, kGather | kLayered}},
        {"gather cube", {4, 4, 6, kFloat, 1, kGather | kCube}},
        {"gather layered 1d", {4, 0, 4, kFloat, 1, kGather | kLayered}},
        {"gather too wide", {32769, 4, 0, kFloat, 1, kGather}},
        {"gather too high", {4, 32769, 0, kFloat, 1, kGather}},
        {"surface 1d", {4, 0, 0, kFloat, 1, kSurface}},
        {"surface 3d", {4, 4, 4, kFloat, 1, kSurface}},
        {"surface cube", {4, 4, 6, kFloat, 1, kSurface | kCube}},
        {"depth texture", {4, 4, 0, kFloat, 1, 0x10}},
        {"color attachment", {4, 4, 0, kFloat, 1, 0x20}},
        {"color attachment 1d", {4, 0, 0, kFloat, 1, 0x20}},
        {"flag 0x200", {4, 4, 0, kFloat, 1, 0x200}},
        {"1d at limit", {131072, 0, 0, kUint8, 1, 0}},
        {"1d beyond", {131073, 0, 0, kUint8, 1, 0}},
        {"2d width at limit", {131072, 1, 0, kUint8, 1, 0}},
        {"2d width beyond", {131073, 1, 0, kUint8, 1, 0}},
        {"2d height at limit", {1, 65536, 0, kUint8, 1, 0}},
        {"2d height beyond", {1, 65537, 0, kUint8, 1, 0}},
        {"3d width at limit", {16384, 1, 1, kUint8, 1, 0}},
        {"3d width beyond", {16385, 1, 1, kUint8, 1, 0}},
        {"3d height at limit", {1, 16384, 1, kUint8, 1, 0}},
        {"3d height beyond", {1, 16385, 1, kUint8, 1, 0}},
        {"3d depth at limit", {1, 1, 16384, kUint8, 1, 0}},
        {"3d depth beyond", {1, 1, 16385, kUint8, 1, 0}},
        {"layered width at limit", {32768, 0, 1, kUint8, 1, kLayered}},
        {"layered width beyond", {32769, 0, 1, kUint8, 1, kLayered}},
        {"layered layers at limit", {1, 0, 2048, kUint8, 1, kLayered}},
        {"layered layers beyond", {1, 0, 2049, kUint8, 1, kLayered}},
        {"layered height at limit", {1, 32768, 1, kUint8, 1, kLayered}},
        {"layered height beyond", {1, 32769, 1, kUint8, 1, kLayered}},
        {"layered 2d layers at limit", {1, 1, 2048, kUint8, 1, kLayered}},
        {"layered 2d layers beyond", {1, 1, 2049, kUint8, 1, kLayered}},
        {"cubes at limit", {1, 1, 2046, kUint8, 1, kLayered | kCube}},
        {"cubes beyond", {1, 1, 2052, kUint8, 1, kLayered | kCube}},
        {"huge", {std::size_t{1} << 40, 4, 0, kUint8, 1, 0}},
        {"surface 1d at limit", {32768, 0, 0, kUint8, 1, kSurface}},
        {"surface 1d 32769", {32769, 0, 0, kUint8, 1, kSurface}},
        {"surface 1d 131072", {131072, 0, 0, kUint8, 1, kSurface}},
        {"surface 1d 131073", {131073, 0, 0, kUint8, 1, kSurface}},
    };
    for (const auto& [name, d] : shapes) {
        CUarray array = nullptr;
        const CUresult code = api.cuArray3DCreate(&array, &d);
        report(std::string("cuArray3DCreate ") + name, code);
        if (code == CUDA_SUCCESS) {
            CUDA_ARRAY3D_DESCRIPTOR told = {};
            report(std::string("cuArray3DGetDescriptor ") + name, api.cuArray3DGetDescriptor(&told, array));
            report(std::string("flags ") + name, static_cast<int>(told.Flags));
            CUDA_ARRAY_DESCRIPTOR flat = {};
            report(std::string("cuArrayGetDescriptor ") + name, api.cuArrayGetDescriptor(&flat, array));
            report(std::string("cuArrayDestroy ") + name, api.cuArrayDestroy(array));
        }
        if (d.Flags == 0 && d.Depth == 0) {
            const CUDA_ARRAY_DESCRIPTOR flat = {d.Width, d.Height, d.Format, d.NumChannels};
            const CUresult made = api.cuArrayCreate(&array, &flat);
            report(std::string("cuArrayCreate ") + name, made);
            if (made == CUDA_SUCCESS) api.cuArrayDestroy(array);
        }
        if (d.Width > 4096 || d.Height > 4096 || d.Depth > 100) continue;
        for (const unsigned levels : {0u, 1u, 3u, 4u, 100u}) {
            CUmipmappedArray mipmaps = nullptr;
            const std::string at = std::string(name) + " levels " + std::to_string(levels);
            const CUresult made = api.cuMipmappedArrayCreate(&mipmaps, &d, levels);
            report("cuMipmappedArrayCreate " + at, made);
            if (made != CUDA_SUCCESS) continue;
            for (const unsigned level : {0u, 2u, 3u, 99u}) {
                CUarray part = nullptr;
                const CUresult got = api.cuMipmappedArrayGetLevel(&part, mipmaps, level);
                report("cuMipmappedArrayGetLevel " + at + " level " + std::to_string(level), got);
                if (got != CUDA_SUCCESS) continue;
                CUDA_ARRAY3D_DESCRIPTOR told = {};
                api.cuArray3DGetDescriptor(&told, part);
                report("sizes " + at + " level " + std::to_string(level),
                       static_cast<int>(told.Width + 100 * told.Height + 10000 * told.Depth));
            }
            report("cuMipmappedArrayDestroy " + at, api.cuMipmappedArrayDestroy(mipmaps));
        }
    }
    const CUDA_ARRAY3D_DESCRIPTOR plain = {16, 8, 0, kFloat, 1, 0};
    CUarray array = nullptr;
    report("cuArray3DCreate no array", api.cuArray3DCreate(nullptr, &plain));
    report("cuArray3DCreate no description", api.cuArray3DCreate(&array, nullptr));

    // Textures by format, flags and modes.
    const auto arrayOf = [&](CUarray_format format, unsigned channels, std::size_t height, std::size_t depth,
                             unsigned flags) {
        CUarray made = nullptr;
        const CUDA_ARRAY3D_DESCRIPTOR d = {16, height, depth, format, channels, flags};
        api.cuArray3DCreate(&made, &d);
        return made;
    };
    const auto tryTexture = [&](const std::string& name, const CUDA_RESOURCE_DESC& r, const CUDA_TEXTURE_DESC& d,
                                const CUDA_RESOURCE_VIEW_DESC* view = nullptr) {
        CUtexObject texture = 0;
        const CUresult code = api.cuTexObjectCreate(&texture, &r, &d, view);
        report("cuTexObjectCreate " + name, code);
        if (code != CUDA_SUCCESS) return;
        CUDA_TEXTURE_DESC told = {};
        report("cuTexObjectGetTextureDesc " + name, api.cuTexObjectGetTextureDesc(&told, texture));
        report("flags " + name, static_cast<int>(told.flags));
        report("modes " + name, told.addressMode[0] + 10 * told.addressMode[1] + 100 * told.addressMode[2] +
                                    1000 * told.filterMode + 10000 * told.mipmapFilterMode);
        report("anisotropy " + name, static_cast<int>(told.maxAnisotropy));
        CUDA_RESOURCE_VIEW_DESC seen = {};
        const CUresult viewed = api.cuTexObjectGetResourceViewDesc(&seen, texture);
        report("cuTexObjectGetResourceViewDesc " + name, viewed);
        if (viewed == CUDA_SUCCESS)
            report("view " + name, seen.format + static_cast<int>(100 * seen.width + 100000 * seen.height));
        report("cuTexObjectDestroy " + name, api.cuTexObjectDestroy(texture));
    };
    const auto resourceOf = [](CUarray a) {
        CUDA_RESOURCE_DESC r = {};
        r.resType = kArrayResource;
        r.res.array.hArray = a;
        return r;
    };
    for (const auto& [type, format] : kFormats) {
        for (const unsigned flags : {0u, kReadAsInteger, kFromSrgb}) {
            for (const int linear : {0, 1}) {
                const CUarray made = arrayOf(format, 4, 8, 0, 0);
                CUDA_TEXTURE_DESC d = {};
                d.flags = flags;
                d.filterMode = linear;
                tryTexture(std::string(type) + " flags " + std::to_string(flags) + (linear ? " linear" : " point"),
                           resourceOf(made), d);
                api.cuArrayDestroy(made);
            }
        }
    }
    const CUarray real = arrayOf(kFloat, 1, 8, 0, 0);
    {
        CUDA_TEXTURE_DESC d = {};
        for (const int mode : {-1, 4, 100}) {
            for (unsigned i = 0; i < 3; ++i) {
                d = {};
                d.addressMode[i] = mode;
                tryTexture("mode " + std::to_string(mode) + " of " + std::to_string(i), resourceOf(real), d);
            }
        }
        for (const int mode : {-1, 2, 100}) {
            d = {};
            d.filterMode = mode;
            tryTexture("filter " + std::to_string(mode), resourceOf(real), d);
            d = {};
            d.mipmapFilterMode = mode;
            tryTexture("level filter " + std::to_string(mode), resourceOf(real), d);
        }
        for (const unsigned flags : {4u, 8u, 0x20u, 0x40u, 0x80u, 0x100u, 0x80000000u}) {
            d = {};
            d.flags = flags;
            tryTexture("flags " + std::to_string(flags), resourceOf(real), d);
        }
        for (const unsigned anisotropy : {1u, 16u, 17u, 1000u}) {
            d = {};
            d.maxAnisotropy = anisotropy;
            tryTexture("anisotropy " + std::to_string(anisotropy), resourceOf(real), d);
        }
        for (const float bias : {-100.0f, 100.0f, kNaN, kInfinity}) {
            d = {};
            d.mipmapLevelBias = bias;
            tryTexture("bias " + std::to_string(bias), resourceOf(real), d);
            d = {};
            d.minMipmapLevelClamp = bias;
            tryTexture("least " + std::to_string(bias), resourceOf(real), d);
            d = {};
            d.maxMipmapLevelClamp = bias;
            tryTexture("most " + std::to_string(bias), resourceOf(real), d);
        }
        d = {};
        d.reserved[3] = 1;
        tryTexture("reserved", resourceOf(real), d);
        d = {};
        CUDA_RESOURCE_DESC r = resourceOf(real);
        r.flags = 1;
        tryTexture("resource flags", r, d);
        r = resourceOf(nullptr);
        tryTexture("no array", r, d);
        r = resourceOf(real);
        for (const int type : {4, -1, 100}) {
            r.resType = type;
            tryTexture("resource type " + std::to_string(type), r, d);
        }
        r = resourceOf(real);
        CUtexObject texture = 0;
        report("cuTexObjectCreate no output", api.cuTexObjectCreate(nullptr, &r, &d, nullptr));
        report("cuTexObjectCreate no resource", api.cuTexObjectCreate(&texture, nullptr, &d, nullptr));
        report("cuTexObjectCreate no texture", api.cuTexObjectCreate(&texture, &r, nullptr, nullptr));
        report("cuTexObjectDestroy 0", api.cuTexObjectDestroy(0));
    }
    // Plain memory.
    CUdeviceptr memory = 0;
    api.cuMemAlloc(&memory, 1 << 20);
    const auto linear = [&](CUdeviceptr address, CUarray_format format, unsigned channels, std::size_t bytes) {
        CUDA_RESOURCE_DESC r = {};
        r.resType = kLinearResource;
        r.res.linear = {address, format, channels, bytes};
        return r;
    };
    const auto pitched = [&](CUdeviceptr address, CUarray_format format, unsigned channels, std::size_t width,
                             std::size_t height, std::size_t pitch) {
        CUDA_RESOURCE_DESC r = {};
        r.resType = kPitchResource;
        r.res.pitch2D = {address, format, channels, width, height, pitch};
        return r;
    };
    for (const std::size_t offset : {1, 4, 16, 32, 64, 128, 256, 512}) {
        tryTexture("linear at " + std::to_string(offset), linear(memory + offset, kFloat, 1, 4096), {});
        tryTexture("pitch at " + std::to_string(offset), pitched(memory + offset, kFloat, 1, 16, 4, 512), {});
    }
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{6},
                                    std::size_t{1} << 20, (std::size_t{1} << 20) + 4, std::size_t{1} << 21,
                                    std::size_t{1} << 30, (std::size_t{1} << 30) + 4, std::size_t{1} << 33})
        tryTexture("linear bytes " + std::to_string(bytes), linear(memory, kFloat, 1, bytes), {});
    tryTexture("linear no memory", linear(0, kFloat, 1, 4096), {});
    tryTexture("linear host memory", linear(reinterpret_cast<CUdeviceptr>(&memory) / 512 * 512, kFloat, 1, 4), {});
    tryTexture("linear 3 channels", linear(memory, kFloat, 3, 4096), {});
    tryTexture("linear format 77", linear(memory, 77, 1, 4096), {});
    for (int mode = 0; mode < 4; ++mode)
        for (const unsigned flags : {0u, kReadAsInteger, kNormalizedCoordinates, kFromSrgb})
            for (const int filter : {0, 1}) {
                CUDA_TEXTURE_DESC d = {};
                for (int& m : d.addressMode) m = mode;
                d.flags = flags;
                d.filterMode = filter;
                const std::string end =
                    std::string(kModes[mode]) + " flags " + std::to_string(flags) + (filter ? " linear" : " point");
                tryTexture("linear float " + end, linear(memory, kFloat, 1, 4096), d);
                tryTexture("linear u8 " + end, linear(memory, kUint8, 1, 4096), d);
                tryTexture("linear u32 " + end, linear(memory, kUint32, 1, 4096), d);
                tryTexture("pitch float " + end, pitched(memory, kFloat, 1, 16, 4, 512), d);
                tryTexture("pitch u8 " + end, pitched(memory, kUint8, 1, 16, 4, 512), d);
            }
    for (const std::size_t pitch : {0, 16, 32, 48, 60, 64, 96, 100, 2097120, 2097152})
        tryTexture("pitch of " + std::to_string(pitch), pitched(memory, kFloat, 1, 16, 1, pitch), {});
    for (const std::size_t width : {std::size_t{0}, std::size_t{131072}, std::size_t{131073}, std::size_t{524288}})
        tryTexture("pitch width " + std::to_string(width),
                   pitched(memory, kUint8, 1, width, 1, (width + 511) / 512 * 512), {});
    for (const std::size_t height : {std::size_t{0}, std::size_t{1024}, std::size_t{2048}, std::size_t{2049},
                                     std::size_t{65000}, std::size_t{65001}})
        tryTexture("pitch height " + std::to_string(height), pitched(memory, kUint8, 1, 16, height, 512), {});
    {
        CUDA_RESOURCE_VIEW_DESC view = {};
        view.width = 16, view.height = 8;
        tryTexture("linear with view", linear(memory, kFloat, 1, 4096), {}, &view);
    }
    api.cuMemFree(memory);

    // Mipmapped arrays.
    {
        const CUDA_ARRAY3D_DESCRIPTOR d = {16, 16, 0, kFloat, 1, 0};
        CUmipmappedArray mipmaps = nullptr;
        api.cuMipmappedArrayCreate(&mipmaps, &d, 4);
        CUDA_RESOURCE_DESC r = {};
        r.resType = kMipmappedResource;
        r.res.mipmap.hMipmappedArray = mipmaps;
        for (const unsigned flags : {0u, kNormalizedCoordinates, kReadAsInteger | kNormalizedCoordinates})
            for (const int filter : {0, 1})
                for (const int levels : {0, 1}) {
                    CUDA_TEXTURE_DESC t = {};
                    t.flags = flags, t.filterMode = filter, t.mipmapFilterMode = levels;
                    t.maxMipmapLevelClamp = 3;
                    tryTexture("mipmapped flags " + std::to_string(flags) + " filters " + std::to_string(filter) +
                                   std::to_string(levels),
                               r, t);
                }
        CUDA_TEXTURE_DESC t = {};
        t.flags = kNormalizedCoordinates;
        t.minMipmapLevelClamp = 3, t.maxMipmapLevelClamp = 1;
        tryTexture("mipmapped crossed clamps", r, t);
        t = {};
        t.flags = kNormalizedCoordinates;
        for (const auto& [first, last] : {std::pair{0u, 3u}, {1u, 2u}, {2u, 1u}, {0u, 4u}, {4u, 4u}, {0u, 0u}}) {
            CUDA_RESOURCE_VIEW_DESC view = {};
            view.format = 22;  // one float
            view.width = 16u >> first, view.height = 16u >> first;
            view.firstMipmapLevel = first, view.lastMipmapLevel = last;
            tryTexture("view of levels " + std::to_string(first) + " to " + std::to_string(last), r, t, &view);
        }
        CUarray level = nullptr;
        api.cuMipmappedArrayGetLevel(&level, mipmaps, 1);
        tryTexture("a level", resourceOf(level), {});
        CUsurfObject surface = 0;
        CUDA_RESOURCE_DESC ofLevel = resourceOf(level);
        report("cuSurfObjectCreate a level without surfaces", api.cuSurfObjectCreate(&surface, &ofLevel));
        report("cuSurfObjectCreate mipmapped", api.cuSurfObjectCreate(&surface, &r));
        api.cuMipmappedArrayDestroy(mipmaps);
    }
    // Views.
    {
        const CUarray words = arrayOf(kUint32, 1, 8, 0, 0);
        const auto tryView = [&](const char* name, CUarray a, int format, std::size_t width, std::size_t height,
                                 std::size_t depth, unsigned firstLayer, unsigned lastLayer, unsigned reserved = 0) {
            CUDA_RESOURCE_VIEW_DESC view = {};
            view.format = format;
            view.width = width, view.height = height, view.depth = depth;
            view.firstLayer = firstLayer, view.lastLayer = lastLayer;
            view.reserved[0] = reserved;
            tryTexture(std::string("view ") + name, resourceOf(a), {}, &view);
        };
        for (int format = -1; format <= 36; ++format)
            tryView(("format " + std::to_string(format)).c_str(), words, format, 16, 8, 0, 0, 0);
        tryView("no width", words, 13, 0, 8, 0, 0, 0);
        tryView("other width", words, 13, 8, 8, 0, 0, 0);
        tryView("double width", words, 13, 32, 8, 0, 0, 0);
        tryView("other height", words, 13, 16, 4, 0, 0, 0);
        tryView("depth 1", words, 13, 16, 8, 1, 0, 0);
        tryView("layers of plain", words, 13, 16, 8, 0, 0, 1);
        tryView("reserved", words, 13, 16, 8, 0, 0, 0, 1);
        const CUarray layers = arrayOf(kUint32, 1, 8, 5, kArrayLayered);
        for (const auto& [first, last] : {std::pair{0u, 4u}, {1u, 3u}, {0u, 5u}, {3u, 1u}, {5u, 5u}}) {
            tryView(("layers " + std::to_string(first) + " to " + std::to_string(last) + " depth of part").c_str(),
                    layers, 13, 16, 8, last - first + 1, first, last);
            tryView(("layers " + std::to_string(first) + " to " + std::to_string(last) + " depth of all").c_str(),
                    layers, 13, 16, 8, 5, first, last);
            tryView(("layers " + std::to_string(first) + " to " + std::to_string(last) + " no depth").c_str(), layers,
                    13, 16, 8, 0, first, last);
        }
        api.cuArrayDestroy(words), api.cuArrayDestroy(layers);
    }
    // Surfaces.
    {
        CUsurfObject surface = 0;
        CUDA_RESOURCE_DESC r = resourceOf(real);
        report("cuSurfObjectCreate without the flag", api.cuSurfObjectCreate(&surface, &r));
        const CUarray ready = arrayOf(kFloat, 1, 8, 0, kArraySurface);
        r = resourceOf(ready);
        r.flags = 1;
        report("cuSurfObjectCreate flags", api.cuSurfObjectCreate(&surface, &r));
        r = resourceOf(nullptr);
        report("cuSurfObjectCreate no array", api.cuSurfObjectCreate(&surface, &r));
        r = resourceOf(ready);
        r.resType = kLinearResource;
        report("cuSurfObjectCreate linear", api.cuSurfObjectCreate(&surface, &r));
        r.resType = 9;
        report("cuSurfObjectCreate type 9", api.cuSurfObjectCreate(&surface, &r));
        r = resourceOf(ready);
        report("cuSurfObjectCreate", api.cuSurfObjectCreate(&surface, &r));
        CUDA_RESOURCE_DESC told = {};
        report("cuSurfObjectGetResourceDesc", api.cuSurfObjectGetResourceDesc(&told, surface));
        report("cuSurfObjectGetResourceDesc no output", api.cuSurfObjectGetResourceDesc(nullptr, surface));
        report("cuSurfObjectDestroy", api.cuSurfObjectDestroy(surface));
        report("cuSurfObjectDestroy 0", api.cuSurfObjectDestroy(0));
        api.cuArrayDestroy(ready);
    }
    // Copies.
    {
        std::vector<float> host(64 * 64);
        const auto tryCopy = [&](const char* name, std::size_t x, std::size_t y, std::size_t z, std::size_t width,
                                 std::size_t height, std::size_t depth, std::size_t lod = 0) {
            CUDA_MEMCPY3D c = {};
            c.srcMemoryType = 1, c.dstMemoryType = 3;
            c.srcHost = host.data(), c.srcPitch = 256, c.srcHeight = 16;
            c.dstArray = real;
            c.dstXInBytes = x, c.dstY = y, c.dstZ = z, c.dstLOD = lod;
            c.WidthInBytes = width, c.Height = height, c.Depth = depth;
            report(std::string("cuMemcpy3D ") + name, api.cuMemcpy3D(&c));
            CUDA_MEMCPY2D flat = {};
            flat.srcMemoryType = 1, flat.dstMemoryType = 3;
            flat.srcHost = host.data(), flat.srcPitch = 256;
            flat.dstArray = real;
            flat.dstXInBytes = x, flat.dstY = y;
            flat.WidthInBytes = width, flat.Height = height;
            report(std::string("cuMemcpy2D ") + name, api.cuMemcpy2D(&flat));
            report(std::string("cuMemcpyHtoA ") + name, api.cuMemcpyHtoA(real, x, host.data(), width));
        };
        tryCopy("whole", 0, 0, 0, 64, 8, 1);
        tryCopy("nothing wide", 0, 0, 0, 0, 8, 1);
        tryCopy("nothing high", 0, 0, 0, 64, 0, 1);
        tryCopy("nothing deep", 0, 0, 0, 64, 8, 0);
        tryCopy("too wide", 0, 0, 0, 68, 8, 1);
        tryCopy("too high", 0, 0, 0, 64, 9, 1);
        tryCopy("too deep", 0, 0, 0, 64, 8, 2);
        tryCopy("beyond x", 64, 0, 0, 4, 8, 1);
        tryCopy("beyond y", 0, 8, 0, 64, 1, 1);
        tryCopy("beyond z", 0, 0, 1, 64, 8, 1);
        tryCopy("half a texel", 2, 0, 0, 4, 1, 1);
        tryCopy("odd width", 0, 0, 0, 5, 1, 1);
        tryCopy("level 1", 0, 0, 0, 64, 8, 1, 1);
    }
    api.cuArrayDestroy(real);
    std::size_t texels = 0;
    for (const auto& [type, format] : kFormats)
        for (const unsigned channels : {1u, 2u, 3u, 4u}) {
            const std::string name = std::string(type) + "x" + std::to_string(channels);
            const CUresult code = api.cuDeviceGetTexture1DLinearMaxWidth(&texels, format, channels, 0);
            report("cuDeviceGetTexture1DLinearMaxWidth " + name, code);
            if (code == CUDA_SUCCESS) report("texels " + name, static_cast<int>(texels));
        }
}

}  // namespace bulkhead::golden
