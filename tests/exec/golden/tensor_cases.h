#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::golden {

/// One copy through a tensor map: how cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col made it, and where it begins.
struct TensorCase {
    char mode = 'i';       ///< i: columns of images, t: tiles
    char operation = 'l';  ///< l: load, s: store, a: add
    int type = 1;          ///< CUtensorMapDataType
    unsigned rank = 4;
    std::uint64_t address = 0;  ///< from kTensorAt of the buffer on
    int interleave = 0, swizzle = 0, promotion = 0, fill = 0;
    std::uint64_t dims[6] = {}, strides[5] = {};
    int lower[4] = {}, upper[4] = {};
    unsigned channels = 0, pixels = 0;
    unsigned box[6] = {}, every[6] = {};
    int at[6] = {};
    unsigned offset[4] = {};

    unsigned spatial() const { return rank >= 3 && rank <= 5 ? rank - 2 : 1; }
};

/// What a tensor lies in: each word holds its own number and kSource, or kTarget where a copy writes.
constexpr std::uint32_t kTensorBytes = 4 << 20, kTensorWords = kTensorBytes / 4, kTensorAt = 256 << 10;
constexpr std::uint32_t kSource = 0x4000'0000, kTarget = 0x2000'0000;
/// What shared memory holds before a load, and what a store takes from there: with the number of the word.
constexpr std::uint32_t kUntouched = 0xe000'0000, kOwn = 0x0100'0000;
constexpr std::uint32_t kRoomBytes = 32768;

/// A line of the recording, and back: `il type=1 rank=4 ...`.
std::string textOf(const TensorCase&);
TensorCase caseOf(const std::string& text);

/// A module with the kernel k(in, out), of one block of 128 threads. At `in` lies the map. Shared memory is filled, the
/// copy done and, of a load, so many words of shared memory written to `out`.
std::string moduleOf(const TensorCase&);
/// How many words of shared memory are looked at: more than a load can fill.
std::uint32_t wordsOf(const TensorCase&);
std::vector<std::uint32_t> bufferOf(const TensorCase&);

/// What a load left in shared memory, and a store or a sum in the buffer. In words where it is short, else a hash.
///   Sn: the 16 bytes at 16 n of the tensor; Z: zeros; R: as they are; a dot: untouched; xK: so many that follow
///   Dn=m: 16 bytes at 16 n of the tensor are, or have been increased by, those at 16 m of shared memory
std::string loaded(const std::vector<std::uint32_t>& room);
std::string stored(const TensorCase&, const std::vector<std::uint32_t>& buffer);

}  // namespace bulkhead::golden
