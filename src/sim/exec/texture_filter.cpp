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
    double weight[2] = {1, 0};
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

/// A coordinate in texels. A number too large for a texel to have is as good as any that lies as far outside.
double inTexels(const TextureSampler& sampler, unsigned dimension, double coordinate, std::uint32_t size) {
    constexpr double kFar = 0x1p40;
    if (!(coordinate == coordinate)) return 0;
    if (sampler.normalizedCoordinates) {
        const TextureSampler::Address mode = sampler.address[dimension];
        if (mode == TextureSampler::Address::wrap && std::abs(coordinate) < 0x1p60)
            coordinate -= std::floor(coordinate);
        coordinate *= size;
    }
    return std::clamp(coordinate, -kFar, kFar);
}

enum class Reach : std::uint8_t { nearest, pair };

/// xB = x - 0.5; its fraction has 8 bits, and may be 1.
AxisTaps axisTaps(const TextureSampler& sampler, unsigned dimension, double coordinate, std::uint32_t size,
                  Reach reach) {
    const TextureSampler::Address mode = modeOf(sampler, dimension);
    const double x = inTexels(sampler, dimension, coordinate, size);
    AxisTaps taps;
    if (reach == Reach::nearest) {
        taps.index[0] = addressed(static_cast<std::int64_t>(std::floor(x)), size, mode);
        return taps;
    }
    const double xB = x - 0.5, whole = std::floor(xB);
    const double fraction = std::floor((xB - whole) * 256 + 0.5) / 256;
    taps.count = 2;
    for (unsigned t = 0; t < 2; ++t) taps.index[t] = addressed(static_cast<std::int64_t>(whole) + t, size, mode);
    taps.weight[0] = 1 - fraction;
    taps.weight[1] = fraction;
    return taps;
}

void addLevel(const Texture& texture, const TexturePlace& place, std::uint32_t level, double share, Taps& out) {
    const Image::Level& l = texture.image.levels[level];
    const Reach reach = texture.sampler.linear && !texture.image.isBuffer ? Reach::pair : Reach::nearest;
    const std::uint32_t sizes[3] = {l.width, l.height, l.slices};
    AxisTaps axes[3];
    for (unsigned d = 0; d < place.dimensions; ++d)
        axes[d] = axisTaps(texture.sampler, d, place.coordinate[d], sizes[d], reach);
    if (place.dimensions < 3) axes[2].index[0] = place.slice;
    for (unsigned z = 0; z < axes[2].count; ++z) {
        for (unsigned y = 0; y < axes[1].count; ++y) {
            for (unsigned x = 0; x < axes[0].count; ++x) {
                const double weight = share * axes[0].weight[x] * axes[1].weight[y] * axes[2].weight[z];
                if (weight == 0) continue;
                const std::int64_t ix = axes[0].index[x], iy = axes[1].index[y], iz = axes[2].index[z];
                out.items[out.count++] = {static_cast<std::uint32_t>(ix), static_cast<std::uint32_t>(iy),
                                          static_cast<std::uint32_t>(iz), level,
                                          ix < 0 || iy < 0 || iz < 0,     weight};
            }
        }
    }
}

/// x^2.4 = x^2 * (x^2)^(1/5), by Newton's method: the same on every host.
double power24(double x) {
    const double square = x * x;
    double root = 1;
    for (int round = 0; round < 60; ++round) root -= (root - square / (root * root * root * root)) / 5;
    return square * root;
}

std::array<float, 256> makeSrgbTable() {
    std::array<float, 256> table = {};
    for (unsigned i = 0; i < 256; ++i) {
        const double c = i / 255.0;
        table[i] = static_cast<float>(c <= 0.04045 ? c / 12.92 : power24((c + 0.055) / 1.055));
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

Taps tapsOf(const Texture& texture, const TexturePlace& place, double level) {
    Taps taps;
    const auto last = static_cast<double>(texture.image.levels.size() - 1);
    if (last == 0) {
        addLevel(texture, place, 0, 1, taps);
        return taps;
    }
    const TextureSampler& s = texture.sampler;
    level = level == level ? level + s.levelBias : 0;
    level = std::max<double>(s.leastLevel, std::min<double>(level, s.mostLevel));
    level = std::clamp(level, 0.0, last);
    if (!s.linearLevels) {
        addLevel(texture, place, static_cast<std::uint32_t>(std::floor(level + 0.5)), 1, taps);
        return taps;
    }
    const double whole = std::floor(level), fraction = std::floor((level - whole) * 256 + 0.5) / 256;
    const auto first = static_cast<std::uint32_t>(whole);
    if (fraction < 1) addLevel(texture, place, first, 1 - fraction, taps);
    if (fraction > 0) addLevel(texture, place, first + 1, fraction, taps);
    return taps;
}

Taps tapAt(const Texture& texture, const std::int64_t (&coordinate)[3], unsigned dimensions, std::uint32_t slice,
           std::int64_t level) {
    Taps taps;
    taps.count = 1;
    const auto last = static_cast<std::int64_t>(texture.image.levels.size()) - 1;
    const auto at = static_cast<std::uint32_t>(std::clamp<std::int64_t>(level, 0, last));
    const Image::Level& l = texture.image.levels[at];
    const std::int64_t sizes[3] = {l.width, l.height, l.slices};
    std::int64_t index[3] = {0, 0, slice};
    bool isBorder = false;
    for (unsigned d = 0; d < dimensions; ++d) {
        TextureSampler::Address mode = texture.sampler.address[d];
        if (texture.image.isBuffer)
            mode = TextureSampler::Address::border;
        else if (mode != TextureSampler::Address::border)
            mode = TextureSampler::Address::clamp;
        index[d] = addressed(coordinate[d], sizes[d], mode);
        isBorder |= index[d] < 0;
    }
    taps.items[0] = {static_cast<std::uint32_t>(index[0]),
                     static_cast<std::uint32_t>(index[1]),
                     static_cast<std::uint32_t>(index[2]),
                     at,
                     isBorder,
                     1};
    return taps;
}

Taps gatherTaps(const Texture& texture, const TexturePlace& place) {
    const Image::Level& l = texture.image.levels[0];
    const AxisTaps x = axisTaps(texture.sampler, 0, place.coordinate[0], l.width, Reach::pair);
    const AxisTaps y = axisTaps(texture.sampler, 1, place.coordinate[1], l.height, Reach::pair);
    constexpr unsigned kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Taps taps;
    taps.count = 4;
    for (unsigned t = 0; t < 4; ++t) {
        const std::int64_t ix = x.index[kOrder[t][0]], iy = y.index[kOrder[t][1]];
        taps.items[t] = {
            static_cast<std::uint32_t>(ix), static_cast<std::uint32_t>(iy), place.slice, 0, ix < 0 || iy < 0, 1};
    }
    return taps;
}

CubePlace cubePlaceOf(double x, double y, double z) {
    const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
    unsigned face = 0;
    double m = 1, s = 0, t = 0;
    if (ax >= ay && ax >= az) {
        face = x < 0 ? 1 : 0, m = ax, s = x < 0 ? z : -z, t = -y;
    } else if (ay >= az) {
        face = y < 0 ? 3 : 2, m = ay, s = x, t = y < 0 ? -z : z;
    } else {
        face = z < 0 ? 5 : 4, m = az, s = z < 0 ? -x : x, t = -y;
    }
    if (!(m > 0)) return {0, 0.5, 0.5};
    return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

bool returnsBits(const Texture& texture) {
    const TexelFormat& f = texture.image.format;
    return f.kind != TexelFormat::Kind::real && (texture.sampler.asInteger || f.channelBytes == 4);
}

void decodeTexelBits(const TexelFormat& format, const std::uint8_t* bytes, std::uint32_t (&channels)[4]) {
    for (unsigned c = 0; c < 4; ++c)
        channels[c] = c < format.channels ? channelBits(format, bytes + std::size_t{c} * format.channelBytes)
                      : c == 3            ? 1
                                          : 0;
}

void decodeTexel(const Texture& texture, const std::uint8_t* bytes, float (&channels)[4]) {
    static const std::array<float, 256> srgb = makeSrgbTable();
    const TexelFormat& f = texture.image.format;
    for (unsigned c = 0; c < 4; ++c) {
        channels[c] = c == 3 ? 1.0f : 0.0f;
        if (c >= f.channels) continue;
        const std::uint32_t bits = channelBits(f, bytes + std::size_t{c} * f.channelBytes);
        if (f.kind == TexelFormat::Kind::real) {
            channels[c] = f.channelBytes == 2 ? halfToFloat(bits) : std::bit_cast<float>(bits);
        } else if (f.kind == TexelFormat::Kind::unsignedInteger) {
            const bool converts = texture.sampler.fromSrgb && f.channelBytes == 1 && c < 3;
            const float most = f.channelBytes == 1 ? 255.0f : 65535.0f;
            channels[c] = converts ? srgb[bits] : static_cast<float>(bits) / most;
        } else {
            const float most = f.channelBytes == 1 ? 127.0f : 32767.0f;
            channels[c] = std::max(-1.0f, static_cast<float>(static_cast<std::int32_t>(bits)) / most);
        }
    }
}

}  // namespace bulkhead::sim
