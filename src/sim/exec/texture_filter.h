#pragma once

#include <cstdint>

#include "sim/mem/image.h"

namespace bulkhead::sim {

/// A texel that a fetch needs, and its share of the result.
struct Tap {
    std::uint32_t x, y, z, level;
    bool isBorder;
    std::uint32_t weight;  ///< of kWholeWeight
};
/// Shares are multiples of this part, and make one together.
constexpr std::uint32_t kWholeWeight = 256;

/// What a fetch touches: at most 8 texels of each of two levels.
struct Taps {
    static constexpr unsigned kMost = 16;
    unsigned count = 0;
    Tap items[kMost];
};

/// A place in a texture: coordinates as an instruction gives them, a layer or the like already clamped into the image.
struct TexturePlace {
    float coordinate[3] = {};
    unsigned dimensions = 1;
    std::uint32_t slice = 0;  ///< where dimensions < 3
};

/// Which level of detail a fetch asks for. Without a number it is the first, which the texture's bias does not change.
struct LevelOfDetail {
    double level = 0;
    bool isGiven = false;
};

/// Texture fetching as in the appendix of the CUDA programming guide: the nearest texel, or filtering by fractions with
/// 8 fractional bits, by address mode, in a level of detail or between two. What the guide leaves open is as an H200
/// does it (tests/driver/golden): which bits of a coordinate count, and how shares are rounded.
Taps tapsOf(const Texture&, const TexturePlace&, LevelOfDetail);
/// The texel at integer coordinates, of a level: no filter, no normalization. There is none (count is 0, and the result
/// zero) outside of the level, or with `clamps` outside of the levels only.
Taps tapAt(const Texture&, const std::int64_t (&coordinate)[3], unsigned dimensions, std::uint32_t slice,
           std::int64_t level, bool clamps);
/// The four texels that a bilinear filter would take, in tld4's order.
Taps gatherTaps(const Texture&, const TexturePlace&);

/// The face of a cube that a direction points to, and where on it, from 0 to 1.
struct CubePlace {
    unsigned face;
    double s, t;
};
CubePlace cubePlaceOf(double x, double y, double z);

/// log2 of a positive number, to 16 bits behind the point, the same on every host.
double levelOf(double texels);

/// Channels as a filter adds them up: floats and integers as they are, integers that become floats as multiples of
/// 1/65535 or 1/32767. Those that the format lacks are left alone: a fetch returns zero for them.
void filterChannels(const Texture&, const std::uint8_t* bytes, double (&channels)[4]);
/// The bits of what a fetch returns for a sum of shares of such channels, rounded as the format has it.
std::uint32_t filteredChannel(const Texture&, double sum);
/// A texel's channels as floats, by format and sampler; `bytes` has one texel.
void decodeTexel(const Texture&, const std::uint8_t* bytes, float (&channels)[4]);
/// The same without conversion: integers extended to 32 bits, floats as their bits.
void decodeTexelBits(const TexelFormat&, const std::uint8_t* bytes, std::uint32_t (&channels)[4]);
/// The border as a texel of the texture's format.
void encodeBorder(const Texture&, std::uint8_t* bytes);
/// Whether a fetch returns integers as they are.
bool returnsBits(const Texture&);
/// Whether a fetch is a sum of several texels.
bool isFiltered(const Texture&);

/// Cut off: how texels become halves. What is too large becomes the largest number.
std::uint16_t halfTowardZero(float);

}  // namespace bulkhead::sim
