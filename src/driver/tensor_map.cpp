// Tensor maps: descriptions of tensors for the copy engines of SMs, made on the host.

#include "sim/exec/tensor_map.h"

#include <cstring>

#include "driver/state.h"

namespace bulkhead::driver {
namespace {

using sim::TensorMap;

void requireValue(bool holds, const char* why) {
    require(holds, CUDA_ERROR_INVALID_VALUE, why);
}

bool isFloat(TensorMap::Element element) {
    return element >= TensorMap::Element::f16;
}

/// What both modes have, checked as the driver API's manual says.
struct Common {
    CUtensorMap* map;
    int type;
    unsigned rank;
    void* address;
    const std::uint64_t *extents, *strides;
    const unsigned* elementStrides;
    int interleave, swizzle, promotion, fill;
};

TensorMap commonOf(const Common& c) {
    constexpr std::uintptr_t kMapAlignment = 64, kAddressAlignment = 16, kWideAlignment = 32;
    constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 32, kMostStride = std::uint64_t{1} << 40;
    requireOutput(c.map);
    requireValue(reinterpret_cast<std::uintptr_t>(c.map) % kMapAlignment == 0, "a tensor map is aligned to 64 bytes");
    requireValue(c.type >= 0 && c.type <= static_cast<int>(TensorMap::Element::tf32Flushed),
                 "no such type of elements");
    requireValue(c.rank >= 1 && c.rank <= 5, "a tensor has 1 to 5 dimensions");
    requireValue(c.extents && c.elementStrides && (c.rank == 1 || c.strides), "extents and strides are missing");
    requireValue(c.interleave >= 0 && c.interleave <= 2, "no such interleaving");
    requireValue(c.interleave == 0 || c.rank >= 3, "a tensor with interleaved channels has 3 dimensions at least");
    requireValue(c.swizzle >= 0 && c.swizzle <= 3, "no such swizzle");
    requireValue(c.promotion >= 0 && c.promotion <= 3, "no such promotion in L2");
    requireValue(c.fill == 0 || c.fill == 1, "no such fill");
    TensorMap map;
    map.element = static_cast<TensorMap::Element>(c.type);
    requireValue(!c.fill || isFloat(map.element), "only floating-point elements are filled with NaN");
    map.address = reinterpret_cast<std::uintptr_t>(c.address);
    map.interleave = static_cast<TensorMap::Interleave>(c.interleave);
    const bool isWide = map.interleave == TensorMap::Interleave::bytes32;
    const std::uint64_t alignment = isWide ? kWideAlignment : kAddressAlignment;
    requireValue(map.address % alignment == 0,
                 isWide ? "a tensor with slices of 32 bytes is aligned to them" : "a tensor is aligned to 16 bytes");
    map.rank = static_cast<std::uint8_t>(c.rank);
    map.swizzle = static_cast<TensorMap::Swizzle>(c.swizzle);
    map.nanFill = c.fill != 0;
    for (unsigned d = 0; d < c.rank; ++d) {
        requireValue(c.extents[d] >= 1 && c.extents[d] <= kMostExtent, "an extent is 1 to 2^32");
        map.extent[d] = static_cast<std::uint32_t>(c.extents[d] - 1);
        requireValue(c.elementStrides[d] >= 1 && c.elementStrides[d] <= TensorMap::kMostElementStride,
                     "a stride of elements is 1 to 8");
        map.elementStrides[d] = static_cast<std::uint8_t>(c.elementStrides[d]);
        if (d == 0) continue;
        requireValue(
            c.strides[d - 1] % alignment == 0 && c.strides[d - 1] < kMostStride,
            isWide ? "a stride is a multiple of 32 bytes below 2^40" : "a stride is a multiple of 16 bytes below 2^40");
        map.stride[d - 1] = c.strides[d - 1];
    }
    return map;
}

void requireInner(const TensorMap& map) {
    constexpr std::uint32_t kSwizzleBytes[] = {~0u, 32, 64, 128};
    const std::uint32_t inner = map.box[0] * map.elementBytes();
    requireValue(inner % 16 == 0, "the box's first dimension has a multiple of 16 bytes");
    requireValue(map.interleave != TensorMap::Interleave::none || inner <= kSwizzleBytes[static_cast<int>(map.swizzle)],
                 "the box's first dimension exceeds the swizzle");
}

void write(CUtensorMap* to, const TensorMap& map) {
    *to = {};
    std::memcpy(to, &map, sizeof map);
}

}  // namespace

namespace simulated {

CUresult cuTensorMapEncodeTiled(CUtensorMap* to, int type, unsigned rank, void* address, const std::uint64_t* extents,
                                const std::uint64_t* strides, const unsigned* box, const unsigned* elementStrides,
                                int interleave, int swizzle, int promotion, int fill) {
    return call([&] {
        TensorMap map =
            commonOf({to, type, rank, address, extents, strides, elementStrides, interleave, swizzle, promotion, fill});
        requireValue(box != nullptr, "there is no box");
        for (unsigned d = 0; d < rank; ++d) {
            requireValue(box[d] >= 1 && box[d] <= TensorMap::kMostBox, "a box has 1 to 256 elements in a dimension");
            map.box[d] = static_cast<std::uint16_t>(box[d]);
        }
        requireInner(map);
        write(to, map);
    });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* to, int type, unsigned rank, void* address, const std::uint64_t* extents,
                                 const std::uint64_t* strides, const int* lower, const int* upper, unsigned channels,
                                 unsigned pixels, const unsigned* elementStrides, int interleave, int swizzle,
                                 int promotion, int fill) {
    return call([&] {
        constexpr int kCorner[] = {1 << 15, 1 << 7, 1 << 4};  // by rank, from 3
        TensorMap map =
            commonOf({to, type, rank, address, extents, strides, elementStrides, interleave, swizzle, promotion, fill});
        requireValue(rank >= 3, "a tensor of images has 3 dimensions at least");
        requireValue(lower && upper, "the corners are missing");
        requireValue(channels >= 1 && channels <= TensorMap::kMostBox, "1 to 256 channels of a pixel");
        requireValue(pixels >= 1 && pixels <= TensorMap::kMostPixels, "1 to 1024 pixels of a column");
        const int limit = kCorner[rank - 3];
        for (unsigned s = 0; s < rank - 2; ++s) {
            requireValue(lower[s] >= -limit && lower[s] < limit && upper[s] >= -limit && upper[s] < limit,
                         "a corner is too far off");
            requireValue(interleave == 0 || lower[s] < static_cast<std::int64_t>(extents[s]) + upper[s],
                         "the corners leave no pixels between them");
            map.lower[s] = static_cast<std::int16_t>(lower[s]);
            map.upper[s] = static_cast<std::int16_t>(upper[s]);
        }
        map.im2col = 1;
        map.box[0] = static_cast<std::uint16_t>(channels);
        map.box[1] = static_cast<std::uint16_t>(pixels);
        requireInner(map);
        write(to, map);
    });
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* to, void* address) {
    return call([&] {
        requireOutput(to);
        TensorMap map;
        std::memcpy(static_cast<void*>(&map), to, sizeof map);
        requireValue(map.magic == TensorMap::kMagic, "no tensor map");
        map.address = reinterpret_cast<std::uintptr_t>(address);
        requireValue(map.address % 16 == 0, "a tensor is aligned to 16 bytes");
        write(to, map);
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
