#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace bulkhead::sim {

/// What a texel is made of.
struct TexelFormat {
    enum class Kind : std::uint8_t { unsignedInteger, signedInteger, real };
    Kind kind = Kind::real;
    std::uint8_t channelBytes = 4;  ///< 1, 2 or 4
    std::uint8_t channels = 1;      ///< 1, 2 or 4
    unsigned bytes() const { return unsigned{channelBytes} * channels; }
    bool operator==(const TexelFormat&) const = default;
};

/// Texels in device memory: a CUDA array with its levels of detail, or plain memory that a texture shows.
///
/// A row of plain memory or of a 1D array lies there as it is. Arrays of two and three dimensions lie in tiles of 128
/// bytes, one cache line, as square as they can be, so that neighbours in any direction of a slice are near each other.
struct Image {
    struct Level {
        std::uint64_t address = 0;  ///< virtual
        std::uint32_t width = 1, height = 1;
        std::uint32_t slices = 1;    ///< depth, or layers, or layers x 6 faces
        Bytes pitch = 0, slice = 0;  ///< from a row of tiles, and from a slice, to the next
    };
    TexelFormat format;
    std::uint8_t dimensions = 2;  ///< of a slice, or 3
    bool layered = false, cube = false;
    bool isBuffer = false;  ///< plain memory without rows
    std::uint8_t tileWidthShift = 0, tileHeightShift = 0;
    std::vector<Level> levels;

    /// Where a texel lies.
    std::uint64_t at(const Level& level, std::uint32_t x, std::uint32_t y, std::uint32_t z) const {
        const std::uint64_t inTile =
            (std::uint64_t{y & ((1u << tileHeightShift) - 1)} << tileWidthShift) + (x & ((1u << tileWidthShift) - 1));
        const Bytes tile = Bytes{format.bytes()} << (tileWidthShift + tileHeightShift);
        return level.address + z * level.slice + (y >> tileHeightShift) * level.pitch + (x >> tileWidthShift) * tile +
               inTile * format.bytes();
    }
    /// How many bytes from a byte of a row on lie side by side: to the end of its tile's row.
    Bytes together(Bytes byteInRow) const {
        const Bytes row = Bytes{format.bytes()} << tileWidthShift;
        return tileWidthShift == 0 && tileHeightShift == 0 ? ~Bytes{0} : row - byteInRow % row;
    }
    /// Chooses tiles for the format and the number of dimensions.
    void chooseTiles();
    /// Lays a level out at an address, and returns the bytes that it takes.
    Bytes place(Level&, std::uint64_t address) const;
};

/// How a texture is read.
struct TextureSampler {
    enum class Address : std::uint8_t { wrap, clamp, mirror, border };
    Address address[3] = {Address::clamp, Address::clamp, Address::clamp};
    bool linear = false;  ///< filter, else the nearest texel
    bool normalizedCoordinates = false;
    bool asInteger = false;  ///< texels of 8 and 16 bits are returned as they are, not as 0..1 or -1..1
    bool fromSrgb = false;
    bool linearLevels = false;  ///< between levels of detail
    float levelBias = 0, leastLevel = 0, mostLevel = 0;
    float border[4] = {};
};

struct Texture {
    Image image;
    TextureSampler sampler;
};

/// The texture and surface objects of a context, by the handles that kernels are given. Changed only while no kernel
/// is being executed.
struct ImageTable {
    std::unordered_map<std::uint64_t, Texture> textures;
    std::unordered_map<std::uint64_t, Image> surfaces;
};

}  // namespace bulkhead::sim
