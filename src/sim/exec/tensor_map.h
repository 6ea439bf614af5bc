#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "sim/exec/bulk_copy.h"

namespace bulkhead::sim {

/// Which part of a tensor is copied: where its box begins, dimension 0 being the one whose elements are neighbours.
struct TensorBox {
    bool im2col = false;
    bool writes = false;  ///< to the tensor
    unsigned dimensions = 0;
    std::int32_t at[5] = {};
    std::uint16_t offset[3] = {};  ///< im2col: where in the filter
};

/// What a CUtensorMap holds: 128 bytes that are opaque to programs, in an encoding of our own. The fields are those of
/// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
struct TensorMap {
    enum class Interleave : std::uint8_t { none, bytes16, bytes32 };
    enum class Swizzle : std::uint8_t { none, bytes32, bytes64, bytes128 };
    /// CUtensorMapDataType
    enum class Element : std::uint8_t {
        u8,
        u16,
        u32,
        s32,
        u64,
        s64,
        f16,
        f32,
        f64,
        bf16,
        f32Flushed,
        tf32,
        tf32Flushed,
    };
    static constexpr std::uint32_t kMagic = 0x50414d54;

    std::uint32_t magic = kMagic;
    Element element = Element::u8;
    std::uint8_t rank = 1;
    Interleave interleave = Interleave::none;
    Swizzle swizzle = Swizzle::none;
    std::uint8_t im2col = 0, nanFill = 0;
    std::uint16_t box[5] = {};  ///< tiled: elements in each dimension; im2col: [0] channels, [1] pixels
    std::uint8_t elementStrides[5] = {1, 1, 1, 1, 1};
    std::int16_t lower[3] = {}, upper[3] = {};  ///< im2col: corners of the bounding box, W first
    std::uint64_t address = 0;
    std::uint32_t extent[5] = {};  ///< less one: an extent may be 2^32
    std::uint64_t stride[4] = {};  ///< bytes from one to the next in dimensions 1..

    static constexpr std::uint32_t kBytes = 128, kMostBox = 256, kMostPixels = 1024, kMostElementStride = 8;

    /// Whether its fields are such as maps have: a program may have written anything there.
    bool isWhole() const;
    std::uint32_t elementBytes() const;
    /// Of a step along dimension 0: an element or, where channels are interleaved, a slice of them.
    std::uint32_t unitBytes() const;
    ptx::Type elementType() const;
    std::uint32_t boxBytes() const;     ///< of what is copied, if sharedBytes() exist
    std::uint64_t sharedBytes() const;  ///< what it takes there: more where a swizzle is wider than a row
    std::uint32_t alignment() const;    ///< of it
    std::uint64_t fillPattern() const;
    bool roundsToTf32() const;  ///< what is loaded, but not what stands for elements outside
    /// Why the box cannot be copied; empty if it can.
    std::string_view problemWith(const TensorBox&) const;
    /// Visits the bytes of a box, at that offset of shared memory. Those outside of the tensor have no global address.
    void eachPiece(const TensorBox&, std::uint32_t at, const std::function<void(BulkPiece)>&) const;

  private:
    std::uint32_t elementStride(unsigned dimension) const;
    std::uint32_t boxSteps(unsigned dimension) const;
    std::uint32_t stepsOfRow() const;
    std::uint64_t rows() const;
    std::uint32_t pitch() const;
    unsigned firstSpatial() const;
    std::int64_t lastPixel(unsigned spatial) const;
    void eachRow(const TensorBox&, const std::function<void(const std::int64_t* at, std::uint32_t row)>&) const;
    std::uint32_t swizzled(std::uint32_t offset) const;
};
static_assert(sizeof(TensorMap) <= TensorMap::kBytes);

/// What tensormap.replace changes. Instr::extra of it: the field, and eight bits further up the dimension.
enum class TensorField : std::uint8_t {
    address,
    rank,
    boxExtent,
    extent,
    stride,
    elementStride,
    element,
    interleave,
    swizzle,
    fill,
};
/// src[0]: the map's address, in shared memory if Instr::space says so; src[1]: the value, elementBytes wide.
void runReplaceField(const Instr&, Warp&, LaneMask);
/// src[0]: where to in global memory; src[1]: where from in shared memory, elementBytes wide, and extra bytes further
/// on. One copy for the warp.
void runCopyTensorMap(const Instr&, Warp&, LaneMask);

/// The map at a generic address. Fails the launch where there is none.
TensorMap readTensorMap(const Instr&, Warp&, unsigned lane, std::uint64_t address);

}  // namespace bulkhead::sim
