#include "sim/exec/tensor_map.h"

#include <algorithm>

#include "sim/exec/memory_access.h"

namespace bulkhead::sim {

using ptx::Type;

std::uint32_t TensorMap::elementBytes() const {
    return ptx::bitsOf(elementType()) / 8;
}

ptx::Type TensorMap::elementType() const {
    switch (element) {
        case Element::u8:
            return Type::u8;
        case Element::u16:
            return Type::u16;
        case Element::u32:
            return Type::u32;
        case Element::s32:
            return Type::s32;
        case Element::u64:
            return Type::u64;
        case Element::s64:
            return Type::s64;
        case Element::f16:
            return Type::f16;
        case Element::bf16:
            return Type::bf16;
        case Element::f64:
            return Type::f64;
        case Element::f32:
        case Element::f32Flushed:
        case Element::tf32:
        case Element::tf32Flushed:
            break;
    }
    return Type::f32;
}

std::uint32_t TensorMap::unitBytes() const {
    return interleave == Interleave::none ? elementBytes() : interleave == Interleave::bytes16 ? 16 : 32;
}

/// That of dimension 0 is ignored where channels are not interleaved.
bool TensorMap::isWhole() const {
    return magic == kMagic && rank >= 1 && rank <= 5 && element <= Element::tf32Flushed &&
           interleave <= Interleave::bytes32 && swizzle <= Swizzle::bytes128 &&
           (rank >= 3 || (!im2col && interleave == Interleave::none)) &&
           std::all_of(box, box + rank, [](std::uint16_t count) { return count <= kMostPixels; }) &&
           std::all_of(elementStrides, elementStrides + rank,
                       [](std::uint8_t stride) { return stride >= 1 && stride <= kMostElementStride; });
}

std::uint32_t TensorMap::elementStride(unsigned dimension) const {
    return dimension == 0 && interleave == Interleave::none ? 1 : elementStrides[dimension];
}

/// How many steps along a dimension a box has. Where channels are interleaved, the last dimension but one counts their
/// slices, and an H200 copies one of them, whatever the box says.
std::uint32_t TensorMap::boxSteps(unsigned dimension) const {
    if (interleave != Interleave::none && dimension + 2u == rank) return 1;
    return (box[dimension] + elementStride(dimension) - 1u) / elementStride(dimension);
}

/// Of a pixel: elements or, where channels are interleaved, the one slice that a copy has.
std::uint32_t TensorMap::stepsOfRow() const {
    if (!im2col) return boxSteps(0);
    return interleave == Interleave::none ? box[0] : 1;
}

std::uint64_t TensorMap::rows() const {
    if (im2col) return box[1];
    std::uint64_t count = 1;
    for (unsigned d = 1; d < rank; ++d) count *= boxSteps(d);
    return count;
}

/// From one row to the next in shared memory. A row that is narrower than the swizzle leaves a gap: an H200 does so in
/// columns of images, and the programming guide asks for room for the swizzle's whole width.
std::uint32_t TensorMap::pitch() const {
    const std::uint32_t row = stepsOfRow() * unitBytes();
    if (interleave != Interleave::none || swizzle == Swizzle::none) return row;
    return std::max(row, 16u << static_cast<unsigned>(swizzle));
}

std::uint32_t TensorMap::boxBytes() const {
    return static_cast<std::uint32_t>(rows() * stepsOfRow() * unitBytes());
}

std::uint64_t TensorMap::sharedBytes() const {
    return rows() * pitch();
}

/// Shared memory repeats the pattern of a swizzle: the hardware takes it from the address.
std::uint32_t TensorMap::alignment() const {
    return 128;
}

/// NaN in formats that have one: a pattern of 16 bits, again and again, as an H200 has it in f32.
std::uint64_t TensorMap::fillPattern() const {
    if (!nanFill) return 0;
    switch (elementType()) {
        case Type::f16:
        case Type::bf16:
            return 0x7ff7;
        case Type::f32:
            return 0x7ff7'7ff7;
        case Type::f64:
            return 0x7ff7'7ff7'7ff7'7ff7;
        default:
            return 0;
    }
}

bool TensorMap::roundsToTf32() const {
    return element == Element::tf32 || element == Element::tf32Flushed;
}

/// As an H200 has it: each is an illegal instruction there.
std::string_view TensorMap::problemWith(const TensorBox& b) const {
    constexpr std::int64_t kChannelBytes = 16;
    if (b.dimensions != rank) return "the tensor has another number of dimensions";
    if (b.im2col != (im2col != 0)) return "the tensor map is of the other mode, tile or im2col";
    if (b.writes && interleave != Interleave::none && b.at[0] < 0)
        return "a copy to a tensor with interleaved channels begins before its first column";
    if (!im2col) return {};
    if (interleave == Interleave::none && std::int64_t{b.at[0]} * elementBytes() % kChannelBytes != 0)
        return "the column's first channel is at no multiple of 16 bytes";
    for (unsigned s = 0; s < rank - 2u; ++s) {
        const std::int32_t at = b.at[firstSpatial() + s];
        if (at < lower[s] || at > lastPixel(s)) return "the column begins outside of the box of pixels";
    }
    return {};
}

/// PTX ISA, swizzling modes: chunks of 16 bytes are exchanged within a row of the pattern, by its number among 2, 4 or
/// 8 lines of 128 bytes.
std::uint32_t TensorMap::swizzled(std::uint32_t offset) const {
    switch (swizzle) {
        case Swizzle::none:
            return offset;
        case Swizzle::bytes32:
            return offset ^ ((offset >> 7 & 1) << 4);
        case Swizzle::bytes64:
            return offset ^ ((offset >> 7 & 3) << 4);
        case Swizzle::bytes128:
            return offset ^ ((offset >> 7 & 7) << 4);
    }
    return offset;
}

/// Which dimension is W of an image: channels come before it, unless they are interleaved. Slices of those are the last
/// dimension but one, as an H200 has it.
unsigned TensorMap::firstSpatial() const {
    return interleave == Interleave::none ? 1 : 0;
}

/// Where the box of pixels ends along W, H or D.
std::int64_t TensorMap::lastPixel(unsigned spatial) const {
    return std::int64_t{extent[firstSpatial() + spatial]} + upper[spatial];
}

/// Visits the rows of the box, which are elements along dimension 0, in the order of shared memory: where in the tensor
/// each begins.
void TensorMap::eachRow(const TensorBox& b,
                        const std::function<void(const std::int64_t* at, std::uint32_t row)>& visit) const {
    std::int64_t at[5];
    for (unsigned d = 0; d < rank; ++d) at[d] = b.at[d];
    if (im2col) {
        // Pixels of the bounding box, W first, then H, D and N, each shifted by the place in the filter.
        const unsigned spatial = rank - 2u, first = firstSpatial();
        std::int64_t pixel[5];
        std::copy(at, at + rank, pixel);
        for (std::uint32_t row = 0; row < box[1]; ++row) {
            std::int64_t place[5];
            std::copy(pixel, pixel + rank, place);
            for (unsigned s = 0; s < spatial; ++s) place[first + s] += b.offset[s];
            visit(place, row);
            for (unsigned s = 0;; ++s) {
                if (s == spatial) {
                    pixel[rank - 1] += elementStrides[rank - 1];
                    break;
                }
                std::int64_t& next = pixel[first + s];
                next += elementStrides[first + s];
                if (next <= lastPixel(s)) break;
                next = lower[s];
            }
        }
        return;
    }
    std::uint32_t count[5] = {1, 1, 1, 1, 1}, index[5] = {};
    for (unsigned d = 0; d < rank; ++d) count[d] = boxSteps(d);
    const std::uint64_t end = rows();
    for (std::uint64_t row = 0; row < end; ++row) {
        for (unsigned d = 1; d < rank; ++d) at[d] = b.at[d] + std::int64_t{index[d]} * elementStrides[d];
        visit(at, static_cast<std::uint32_t>(row));
        for (unsigned d = 1; d < 5 && ++index[d] == count[d]; ++d) index[d] = 0;
    }
}

void TensorMap::eachPiece(const TensorBox& b, std::uint32_t to, const std::function<void(BulkPiece)>& visit) const {
    constexpr std::uint32_t kChunk = 16, kLine = 128;
    const std::uint32_t unit = unitBytes(), bytes = std::min(unit, kChunk), parts = unit / bytes;
    const std::uint32_t step = im2col ? 1 : elementStride(0);
    const std::uint32_t count = parts * stepsOfRow(), rowPitch = pitch();
    const std::uint32_t together = swizzle == Swizzle::none ? kLine : kChunk;
    eachRow(b, [&](const std::int64_t* at, std::uint32_t row) {
        bool inside = true;
        std::uint64_t global = address;
        for (unsigned d = 1; d < rank; ++d) {
            inside = inside && at[d] >= 0 && at[d] <= extent[d];
            global += static_cast<std::uint64_t>(at[d]) * stride[d - 1];
        }
        // Runs of elements, or halves of slices, that are all inside or all outside, as far as they stay together on
        // both sides.
        BulkPiece piece;
        const auto flush = [&] {
            if (piece.bytes) visit(piece);
            piece = {};
        };
        for (std::uint32_t n = 0; n < count; ++n) {
            const std::int64_t x = at[0] + std::int64_t{n / parts} * step;
            const bool isIn = inside && x >= 0 && x <= extent[0];
            const std::uint64_t from = isIn ? global + static_cast<std::uint64_t>(x) * unit + n % parts * bytes : 0;
            const std::uint32_t shared = to + row * rowPitch + n * bytes;
            const std::uint32_t place = swizzled(shared);
            const bool follows = piece.bytes && (piece.global != 0) == isIn && place == piece.shared + piece.bytes &&
                                 (!isIn || from == piece.global + piece.bytes) && shared % together != 0 &&
                                 (!isIn || from % kLine != 0) && piece.bytes < kLine;
            if (!follows) {
                flush();
                piece.global = from;
                piece.shared = place;
            }
            piece.bytes += bytes;
        }
        flush();
    });
}

namespace {

/// PTX's numbers of types, which are not the driver's.
constexpr TensorMap::Element kPtxElements[] = {
    TensorMap::Element::u8,          TensorMap::Element::u16, TensorMap::Element::u32,  TensorMap::Element::s32,
    TensorMap::Element::u64,         TensorMap::Element::s64, TensorMap::Element::f16,  TensorMap::Element::f32,
    TensorMap::Element::f32Flushed,  TensorMap::Element::f64, TensorMap::Element::bf16, TensorMap::Element::tf32,
    TensorMap::Element::tf32Flushed,
};

/// False if the field cannot have the value.
bool replace(TensorMap& map, TensorField field, unsigned dimension, std::uint64_t value) {
    switch (field) {
        case TensorField::address:
            map.address = value;
            return value % 16 == 0;
        case TensorField::rank:
            map.rank = static_cast<std::uint8_t>(value + 1);
            return value < 5;
        case TensorField::boxExtent:
            map.box[dimension] = static_cast<std::uint16_t>(value);
            return value >= 1 && value <= TensorMap::kMostBox;
        case TensorField::extent:
            map.extent[dimension] = static_cast<std::uint32_t>(value - 1);
            return value >= 1;
        case TensorField::stride:
            if (dimension >= 4) return false;
            map.stride[dimension] = value;
            return value % 16 == 0;
        case TensorField::elementStride:
            map.elementStrides[dimension] = static_cast<std::uint8_t>(value);
            return value >= 1 && value <= TensorMap::kMostElementStride;
        case TensorField::element:
            if (value >= std::size(kPtxElements)) return false;
            map.element = kPtxElements[value];
            return true;
        case TensorField::interleave:
            map.interleave = static_cast<TensorMap::Interleave>(value);
            return value <= 2;
        case TensorField::swizzle:
            map.swizzle = static_cast<TensorMap::Swizzle>(value);
            return value <= 3;
        case TensorField::fill:
            map.nanFill = value != 0;
            return value <= 1;
    }
    return false;
}

std::uint64_t addressOf(const Instr& i, Warp& w, unsigned lane) {
    const std::uint64_t base =
        i.addressIs32 ? w.lanes<std::uint32_t>(i.src[0])[lane] : w.lanes<std::uint64_t>(i.src[0])[lane];
    return base + static_cast<std::uint64_t>(i.immediate);
}

/// Zeros, as kernels that make a map from nothing begin with.
bool isBlank(const Instr& i, Warp& w, unsigned lane, std::uint64_t address) {
    for (std::size_t b = 0; b < TensorMap::kBytes; ++b)
        if (readGenericByte(i, w, lane, address + b)) return false;
    return true;
}

void writeGlobal(const Instr& i, Warp& w, unsigned lane, std::uint64_t address, const std::uint8_t* bytes,
                 std::uint32_t count) {
    std::uint8_t* const to = locateBytes(i, w, lane, address, count, true);
    if (w.effects().showAtOnce())
        std::memcpy(to, bytes, count);
    else
        w.effects().store(address, to, bytes, count);
}

}  // namespace

void runReplaceField(const Instr& i, Warp& w, LaneMask mask) {
    w.noteChange();
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        std::uint64_t address = addressOf(i, w, lane);
        if (i.space == ptx::Space::shared) address = kSharedWindow + static_cast<std::uint32_t>(address);
        const std::uint64_t value =
            i.elementBytes == 4 ? w.lanes<std::uint32_t>(i.src[1])[lane] : w.lanes<std::uint64_t>(i.src[1])[lane];
        TensorMap map = isBlank(i, w, lane, address) ? TensorMap() : readTensorMap(i, w, lane, address);
        if (!replace(map, static_cast<TensorField>(i.extra & 0xff), i.extra >> 8, value))
            w.fail(LaunchError::Cause::illegalInstruction, i, lane,
                   fmt::format("a field of a tensor map cannot be {}", value));
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&map);
        if (address - kSharedWindow < kWindowBytes) {
            if (address - kSharedWindow + sizeof map > w.block().shared.size())
                w.failAddress(LaunchError::Cause::illegalAddress, i, lane, address);
            std::memcpy(w.block().shared.data() + (address - kSharedWindow), bytes, sizeof map);
        } else {
            writeGlobal(i, w, lane, address, bytes, sizeof map);
        }
    }
}

void runCopyTensorMap(const Instr& i, Warp& w, LaneMask mask) {
    w.noteChange();
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t to = addressOf(i, w, lane);
    std::uint64_t from =
        i.elementBytes == 4 ? w.lanes<std::uint32_t>(i.src[1])[lane] : w.lanes<std::uint64_t>(i.src[1])[lane];
    from = kSharedWindow + static_cast<std::uint32_t>(from + i.extra);
    std::uint8_t bytes[TensorMap::kBytes];
    for (std::size_t b = 0; b < sizeof bytes; ++b) bytes[b] = readGenericByte(i, w, lane, from + b);
    writeGlobal(i, w, lane, to, bytes, sizeof bytes);
}

TensorMap readTensorMap(const Instr& i, Warp& w, unsigned lane, std::uint64_t address) {
    constexpr std::uint64_t kAlignment = 64;
    if (address % kAlignment) w.failAddress(LaunchError::Cause::misalignedAddress, i, lane, address);
    std::uint8_t bytes[sizeof(TensorMap)];
    for (std::size_t b = 0; b < sizeof bytes; ++b) bytes[b] = readGenericByte(i, w, lane, address + b);
    TensorMap map;
    std::memcpy(static_cast<void*>(&map), bytes, sizeof map);
    if (!map.isWhole())
        w.failAddress(LaunchError::Cause::illegalInstruction, i, lane, address, "there is no tensor map");
    return map;
}

}  // namespace bulkhead::sim
