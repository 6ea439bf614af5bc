#include "sim/mem/image.h"

#include <bit>

namespace bulkhead::sim {

void Image::chooseTiles() {
    constexpr unsigned kLineBytes = 128;
    tileWidthShift = tileHeightShift = 0;
    if (isBuffer || dimensions == 1) return;
    const auto texels = static_cast<unsigned>(std::bit_width(kLineBytes / format.bytes())) - 1;
    tileWidthShift = static_cast<std::uint8_t>((texels + 1) / 2);
    tileHeightShift = static_cast<std::uint8_t>(texels / 2);
}

Bytes Image::place(Level& level, std::uint64_t address) const {
    constexpr Bytes kAlignment = 512;
    const auto tiles = [](std::uint32_t texels, unsigned shift) {
        return (Bytes{texels} + (1u << shift) - 1) >> shift;
    };
    level.address = address;
    level.pitch = tiles(level.width, tileWidthShift) * format.bytes() << (tileWidthShift + tileHeightShift);
    level.slice = level.pitch * tiles(level.height, tileHeightShift);
    level.slice = (level.slice + kAlignment - 1) / kAlignment * kAlignment;
    return level.slice * level.slices;
}

}  // namespace bulkhead::sim
