#pragma once

#include <cstdint>

#include "sim/mem/image.h"

namespace bulkhead::sim {

/// A texel that a fetch needs, and its share of the result.
struct Tap {
    std::uint32_t x, y, z, level;
    bool isBorder;
    double weight;
};

/// What a fetch touches: at most 8 texels of each of two levels.
struct Taps {
    static constexpr unsigned kMost = 16;
    unsigned count = 0;
    Tap items[kMost];
};

/// A place in a texture: coordinates as an instruction gives them, a layer or the like already clamped into the image.
struct TexturePlace {
    double coordinate[3] = {};
    unsigned dimensions = 1;
    std::uint32_t slice = 0;  ///< where dimensions < 3
};

/// Texture fetching as in the appendix of the CUDA programming guide: the nearest texel, or filtering by fractions with
/// 8 fractional bits, by address mode, in the level of detail `level` or between two.
Taps tapsOf(const Texture&, const TexturePlace&, double level);
/// The texel at integer coordinates, of a level: no filter, no normalization. Outside it is the border or the nearest
/// one, by address mode; outside of a buffer it is zero.
Taps tapAt(const Texture&, const std::int64_t (&coordinate)[3], unsigned dimensions, std::uint32_t slice,
           std::int64_t level);
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

/// A texel's channels as floats, by format and sampler; `bytes` has one texel.
void decodeTexel(const Texture&, const std::uint8_t* bytes, float (&channels)[4]);
/// The same without conversion: integers extended to 32 bits, floats as their bits.
void decodeTexelBits(const TexelFormat&, const std::uint8_t* bytes, std::uint32_t (&channels)[4]);
/// Whether a fetch returns integers as they are.
bool returnsBits(const Texture&);

}  // namespace bulkhead::sim
