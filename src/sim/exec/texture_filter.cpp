#include "sim/exec/texture_filter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "sim/exec/compute_float.h"

namespace bulkhead::sim {
namespace {

/// The one or two texels of a dimension that a fetch takes.
struct AxisTaps {
    unsigned count = 1;
    std::int64_t index[2] = {};  ///< -1: the border
    std::uint32_t fraction = 0;  ///< share of the second
};

/// Address modes by index: what lies outside of [0, size).
std::int64_t addressed(std::int64_t index, std::int64_t size, TextureSampler::Address mode) {
    if (index >= 0 && index < size) return index;
    switch (mode) {
        case TextureSampler::Address::wrap:
            return ((index % size) + size) % size;
        case TextureSampler::Address::mirror: {
            const std::int64_t period = 2 * size, m = ((index % period) + period) % period;
            return m < size ? m : period - 1 - m;
        }
        case TextureSampler::Address::border:
            return -1;
        case TextureSampler::Address::clamp:
            break;
    }
    return index < 0 ? 0 : size - 1;
}

/// Wrapping and mirroring exist for normalized coordinates only.
TextureSampler::Address modeOf(const TextureSampler& sampler, unsigned dimension) {
    const TextureSampler::Address mode = sampler.address[dimension];
    const bool repeats = mode == TextureSampler::Address::wrap || mode == TextureSampler::Address::mirror;
    return repeats && !sampler.normalizedCoordinates ? TextureSampler::Address::clamp : mode;
}

/// A coordinate in texels: normalized ones count to 21 binary places, and of those that wrap or mirror only what lies
/// behind the point and whether the whole before it is odd. A number too large for a texel to have is as good as any
/// that lies as far outside. Subnormal numbers are zero.
double inTexels(const TextureSampler& sampler, unsigned dimension, float given, std::uint32_t size) {
    constexpr double kFar = 0x1p40, kPlaces = 0x1p21;
    auto coordinate = static_cast<double>(given);
    if (!(coordinate == coordinate) || std::abs(coordinate) < 0x1p-126) return 0;
    if (!sampler.normalizedCoordinates) return std::clamp(coordinate, -kFar, kFar);
    const TextureSampler::Address mode = sampler.address[dimension];
    const bool repeats = mode == TextureSampler::Address::wrap || mode == TextureSampler::Address::mirror;
    if (repeats && std::abs(coordinate) > 0x1p60) return 0;
    coordinate = std::clamp(coordinate, -kFar, kFar);
    if (repeats) coordinate -= 2 * std::floor(coordinate / 2);
    return std::floor(coordinate * kPlaces) / kPlaces * size;
}

enum class Reach : std::uint8_t { nearest, pair };

/// xB = x - 0.5; its fraction has 8 bits, and may be 1.
AxisTaps axisTaps(const TextureSampler& sampler, unsigned dimension, float coordinate, std::uint32_t size,
                  Reach reach) {
    const TextureSampler::Address mode = modeOf(sampler, dimension);
    const double x = inTexels(sampler, dimension, coordinate, size);
    AxisTaps taps;
    if (reach == Reach::nearest) {
        taps.index[0] = addressed(static_cast<std::int64_t>(std::floor(x)), size, mode);
        return taps;
    }
    const double xB = x - 0.5, whole = std::floor(xB);
    taps.count = 2;
    for (unsigned t = 0; t < 2; ++t) taps.index[t] = addressed(static_cast<std::int64_t>(whole) + t, size, mode);
    taps.fraction = static_cast<std::uint32_t>(std::floor((xB - whole) * kWholeWeight + 0.5));
    return taps;
}

/// A share is divided between the two texels of an axis: what is rounded is the second one's part.
struct Parts {
    std::uint32_t part[2];
};
Parts divided(std::uint32_t share, std::uint32_t fraction, std::uint32_t half) {
    const std::uint32_t second = (share * fraction + half) / kWholeWeight;
    return {{share - second, second}};
}

/// Shares of the texels of a level, which has one of its own: divided along z, then x, then y.
void addLevel(const Texture& texture, const TexturePlace& place, std::uint32_t level, std::uint32_t share, Taps& out) {
    const Image::Level& l = texture.image.levels[level];
    const Reach reach = isFiltered(texture) ? Reach::pair : Reach::nearest;
    const std::uint32_t sizes[3] = {l.width, l.height, l.slices};
    constexpr std::uint32_t kHalf = kWholeWeight / 2;
    AxisTaps axes[3];
    // One dimension is two of which the second has one texel, and is looked up at 0, half of which is border.
    const unsigned dimensions = texture.image.layered ? place.dimensions : std::max(place.dimensions, 2u);
    for (unsigned d = 0; d < dimensions; ++d)
        axes[d] = axisTaps(texture.sampler, d, d < place.dimensions ? place.coordinate[d] : 0, sizes[d], reach);
    if (dimensions < 3) axes[2].index[0] = place.slice;
    const Parts ofZ = divided(share, axes[2].fraction, kHalf);
    for (unsigned z = 0; z < axes[2].count; ++z) {
        const Parts ofX = divided(ofZ.part[z], axes[0].fraction, kHalf);
        for (unsigned x = 0; x < axes[0].count; ++x) {
            // Along y, what is rounded in the first texel of x is its own first part.
            const Parts ofY = divided(ofX.part[x], axes[1].fraction, x == 0 && axes[0].count == 2 ? kHalf - 1 : kHalf);
            for (unsigned y = 0; y < axes[1].count; ++y) {
                const std::uint32_t weight = ofY.part[y];
                if (weight == 0) continue;
                const std::int64_t ix = axes[0].index[x], iy = axes[1].index[y], iz = axes[2].index[z];
                out.items[out.count++] = {static_cast<std::uint32_t>(ix), static_cast<std::uint32_t>(iy),
                                          static_cast<std::uint32_t>(iz), level,
                                          ix < 0 || iy < 0 || iz < 0,     weight};
            }
        }
    }
}

/// To the nearest number of so many binary digits; halves away from zero, as the texture units round.
double roundedTo(double value, int digits, int leastExponent) {
    constexpr int kDigits = 53, kBias = 1022, kExponents = 2047;  // of a double: as std::frexp counts
    const std::uint64_t bits = bitsOf(value);
    const int biased = static_cast<int>(bits >> (kDigits - 1)) & kExponents;
    if (biased != 0 && biased != kExponents && biased - kBias - digits >= leastExponent) {
        const std::uint64_t unit = std::uint64_t{1} << (kDigits - digits);
        return doubleOf((bits + unit / 2) & ~(unit - 1));  // a carry goes into the exponent
    }
    if (value == 0 || !std::isfinite(value)) return value;
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const int unit = std::max(exponent - digits, leastExponent);
    return std::ldexp(std::trunc(std::ldexp(value, -unit) + std::copysign(0.5, value)), unit);
}

/// x^2.4 = x^2 * (x^2)^(1/5), by Newton's method: the same on every host.
double power24(double x) {
    const double square = x * x;
    double root = 1;
    for (int round = 0; round < 60; ++round) root -= (root - square / (root * root * root * root)) / 5;
    return square * root;
}

/// With as many digits as the texture units keep.
std::array<float, 256> makeSrgbTable() {
    constexpr int kDigits = 8, kLeastPlace = -14;
    std::array<float, 256> table = {};
    for (unsigned i = 0; i < 256; ++i) {
        const double c = i / 255.0;
        const double exact = c <= 0.04045 ? c / 12.92 : power24((c + 0.055) / 1.055);
        table[i] = static_cast<float>(roundedTo(exact, kDigits, kLeastPlace));
    }
    return table;
}

std::uint32_t channelBits(const TexelFormat& format, const std::uint8_t* bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes, format.channelBytes);
    if (format.kind != TexelFormat::Kind::signedInteger || format.channelBytes == 4) return value;
    const unsigned shift = 32 - 8u * format.channelBytes;
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value << shift) >> shift);
}

}  // namespace

double levelOf(double texels) {
    if (!(texels > 0)) return -1000;
    if (texels > 0x1p60) return 1000;
    int exponent = 0;
    double m = std::frexp(texels, &exponent) * 2, level = exponent - 1;
    for (double bit = 0.5; bit > 0x1p-17; bit /= 2) {
        m *= m;
        if (m < 2) continue;
        m /= 2;
        level += bit;
    }
    return level;
}

Taps tapsOf(const Texture& texture, const TexturePlace& place, LevelOfDetail detail) {
    Taps taps;
    const auto last = static_cast<std::int64_t>(texture.image.levels.size() - 1);
    if (last == 0) {
        addLevel(texture, place, 0, kWholeWeight, taps);
        return taps;
    }
    // All in 256ths of a level, what lies behind cut off.
    const auto fixed = [](double level) {
        return level == level ? static_cast<std::int64_t>(std::clamp(level, -1000.0, 1000.0) * kWholeWeight) : 0;
    };
    const TextureSampler& s = texture.sampler;
    std::int64_t level = detail.isGiven ? fixed(detail.level) + fixed(static_cast<double>(s.levelBias)) : 0;
    level =
        std::max(fixed(static_cast<double>(s.leastLevel)), std::min(level, fixed(static_cast<double>(s.mostLevel))));
    level = std::clamp<std::int64_t>(level, 0, last * kWholeWeight);
    if (!s.linearLevels) {
        addLevel(texture, place, static_cast<std::uint32_t>((level + kWholeWeight / 2) / kWholeWeight), kWholeWeight,
                 taps);
        return taps;
    }
    const auto first = static_cast<std::uint32_t>(level / kWholeWeight);
    const auto fraction = static_cast<std::uint32_t>(level % kWholeWeight);
    addLevel(texture, place, first, kWholeWeight - fraction, taps);
    if (fraction > 0) addLevel(texture, place, first + 1, fraction, taps);
    return taps;
}

Taps tapAt(const Texture& texture, const std::int64_t (&coordinate)[3], unsigned dimensions, std::uint32_t slice,
           std::int64_t level, bool clamps) {
    Taps taps;
    if (level < 0 || level >= static_cast<std::int64_t>(texture.image.levels.size())) return taps;
    // What reads a row of memory by index reads no array, and the other way round.
    if (dimensions == 1 && !texture.image.layered && !texture.image.isBuffer) return taps;
    const auto at = static_cast<std::uint32_t>(level);
    const Image::Level& l = texture.image.levels[at];
    const std::int64_t sizes[3] = {l.width, l.height, l.slices};
    std::int64_t index[3] = {0, 0, slice};
    for (unsigned d = 0; d < dimensions; ++d) {
        index[d] = addressed(coordinate[d], sizes[d],
                             clamps ? TextureSampler::Address::clamp : TextureSampler::Address::border);
        if (index[d] < 0) return taps;
    }
    taps.count = 1;
    taps.items[0] = {static_cast<std::uint32_t>(index[0]),
                     static_cast<std::uint32_t>(index[1]),
                     static_cast<std::uint32_t>(index[2]),
                     at,
                     false,
                     kWholeWeight};
    return taps;
}

Taps gatherTaps(const Texture& texture, const TexturePlace& place) {
    const Image::Level& l = texture.image.levels[0];
    AxisTaps x = axisTaps(texture.sampler, 0, place.coordinate[0], l.width, Reach::pair);
    AxisTaps y = axisTaps(texture.sampler, 1, place.coordinate[1], l.height, Reach::pair);
    // A fraction that was rounded to one is none of the next texel.
    const auto carried = [&](AxisTaps& axis, unsigned d, std::uint32_t size) {
        if (axis.fraction < kWholeWeight) return;
        const auto first =
            static_cast<std::int64_t>(std::floor(inTexels(texture.sampler, d, place.coordinate[d], size) - 0.5));
        for (unsigned t = 0; t < 2; ++t) axis.index[t] = addressed(first + 1 + t, size, modeOf(texture.sampler, d));
    };
    carried(x, 0, l.width);
    carried(y, 1, l.height);
    constexpr unsigned kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Taps taps;
    taps.count = 4;
    for (unsigned t = 0; t < 4; ++t) {
        const std::int64_t ix = x.index[kOrder[t][0]], iy = y.index[kOrder[t][1]];
        taps.items[t] = {static_cast<std::uint32_t>(ix),
                         static_cast<std::uint32_t>(iy),
                         place.slice,
                         0,
                         ix < 0 || iy < 0,
                         kWholeWeight};
    }
    return taps;
}

CubePlace cubePlaceOf(double x, double y, double z) {
    for (double* d : {&x, &y, &z})
        if (!(*d == *d)) *d = 0;
    const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    unsigned face = 4;
    double m = 1, s = 0, t = 0;
    // On an edge between faces, that of z comes before that of y, and x's last.
    if (az >= ax && az >= ay) {
        face = z < 0 ? 5 : 4, m = az, s = z < 0 ? -x : x, t = -y;
    } else if (ay >= ax) {
        face = y < 0 ? 3 : 2, m = ay, s = x, t = y < 0 ? -z : z;
    } else {
        face = x < 0 ? 1 : 0, m = ax, s = x < 0 ? z : -z, t = -y;
    }
    if (!(m > 0)) return {4, 0.5, 0.5};
    return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

bool returnsBits(const Texture& texture) {
    const TexelFormat& f = texture.image.format;
    return f.kind != TexelFormat::Kind::real && (texture.sampler.asInteger || f.channelBytes == 4);
}

bool isFiltered(const Texture& texture) {
    return texture.sampler.linear && !texture.image.isBuffer;
}

void decodeTexelBits(const TexelFormat& format, const std::uint8_t* bytes, std::uint32_t (&channels)[4]) {
    for (unsigned c = 0; c < 4; ++c)
        channels[c] = c < format.channels ? channelBits(format, bytes + std::size_t{c} * format.channelBytes) : 0;
}

void filterChannels(const Texture& texture, const std::uint8_t* bytes, double (&channels)[4]) {
    const TexelFormat& f = texture.image.format;
    if (returnsBits(texture)) {
        std::uint32_t bits[4];
        decodeTexelBits(f, bytes, bits);
        for (unsigned c = 0; c < f.channels; ++c) {
            if (f.kind == TexelFormat::Kind::signedInteger)
                channels[c] = static_cast<std::int32_t>(bits[c]);
            else
                channels[c] = bits[c];
        }
        return;
    }
    float decoded[4];
    decodeTexel(texture, bytes, decoded);
    for (unsigned c = 0; c < f.channels; ++c) {
        channels[c] = static_cast<double>(decoded[c]);
        if (f.kind == TexelFormat::Kind::real) continue;
        if (f.kind == TexelFormat::Kind::signedInteger && f.channelBytes == 1) {
            // The least byte is less than -1 here.
            channels[c] = std::floor(static_cast<std::int8_t>(bytes[c]) * 32767.0 / 127 + 0.5);
            continue;
        }
        const double most = f.kind == TexelFormat::Kind::unsignedInteger ? 65535 : 32767;
        channels[c] = std::floor(channels[c] * most + 0.5);
    }
}

std::uint32_t filteredChannel(const Texture& texture, double sum) {
    constexpr int kHalfDigits = 11, kFloatDigits = 24;
    const TexelFormat& f = texture.image.format;
    // Integers of 32 bits are cut off, shorter ones rounded.
    if (returnsBits(texture))
        return static_cast<std::uint32_t>(static_cast<std::int64_t>(std::floor(f.channelBytes == 4 ? sum : sum + 0.5)));
    if (!(sum == sum)) return f.channelBytes == 2 ? 0x7fffe000 : 0x7fffffff;
    if (f.kind == TexelFormat::Kind::unsignedInteger)
        sum = std::floor(sum + 0.5) / 65535;
    else if (f.kind == TexelFormat::Kind::signedInteger)
        sum = std::max(std::floor(sum + 0.5) / 32767, -1.0);
    else if (f.channelBytes == 2)
        sum = roundedTo(sum, kHalfDigits, -24);
    else
        sum = std::abs(sum) < 0x1p-126 ? std::copysign(0.0, sum) : roundedTo(sum, kFloatDigits, -149);
    return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
}

std::uint16_t halfTowardZero(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (!(value == value)) return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | 0x7c00 | (bits >> 13 & 0x3ff));
    auto half = static_cast<std::uint16_t>(floatToHalf(value));
    if (std::isfinite(value) && std::abs(halfToFloat(half)) > std::abs(value)) --half;
    return half;
}

void encodeBorder(const Texture& texture, std::uint8_t* bytes) {
    const TexelFormat& f = texture.image.format;
    const bool asBits = returnsBits(texture) || f.channelBytes == 4;
    for (unsigned c = 0; c < f.channels; ++c) {
        const float border = texture.sampler.border[c];
        auto bits = std::bit_cast<std::uint32_t>(border);
        if (!asBits) {
            // Not rounded: cut off below.
            const bool isSigned = f.kind == TexelFormat::Kind::signedInteger;
            const int most = (1 << (8 * f.channelBytes - (isSigned ? 1 : 0))) - 1;
            const double scaled = std::floor(static_cast<double>(border == border ? border : 0) * most);
            if (f.kind == TexelFormat::Kind::real)
                bits = halfTowardZero(border);
            else
                bits = static_cast<std::uint32_t>(
                    static_cast<std::int32_t>(std::clamp<double>(scaled, isSigned ? -most : 0, most)));
        }
        std::memcpy(bytes + std::size_t{c} * f.channelBytes, &bits, f.channelBytes);
    }
}

void decodeTexel(const Texture& texture, const std::uint8_t* bytes, float (&channels)[4]) {
    static const std::array<float, 256> srgb = makeSrgbTable();
    const TexelFormat& f = texture.image.format;
    for (unsigned c = 0; c < 4; ++c) {
        channels[c] = 0;
        if (c >= f.channels) continue;
        const std::uint32_t bits = channelBits(f, bytes + std::size_t{c} * f.channelBytes);
        if (f.kind == TexelFormat::Kind::real) {
            channels[c] = f.channelBytes == 2 ? halfToFloat(bits) : std::bit_cast<float>(bits);
        } else if (f.kind == TexelFormat::Kind::unsignedInteger) {
            const bool converts = texture.sampler.fromSrgb && f.channelBytes == 1 && c < (f.channels == 4 ? 3u : 1u);
            const float most = f.channelBytes == 1 ? 255.0f : 65535.0f;
            channels[c] = converts ? srgb[bits] : static_cast<float>(bits) / most;
        } else {
            const float most = f.channelBytes == 1 ? 127.0f : 32767.0f;
            channels[c] = std::max(-1.0f, static_cast<float>(static_cast<std::int32_t>(bits)) / most);
        }
    }
}

}  // namespace bulkhead::sim
