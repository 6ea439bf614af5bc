#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace bulkhead::driver {

/// The container that CUDA compilers put device code into: one entry for each target, as PTX or as machine code.
/// Nothing is copied: the bytes must outlive it.
class Fatbin {
  public:
    enum class Kind : std::uint16_t { ptx = 1, elf = 2 };
    enum class Packing : std::uint8_t { none, lz4, zstd };
    struct Entry {
        Kind kind = Kind::ptx;
        unsigned sm = 0;  ///< 75 for sm_75
        Packing packing = Packing::none;
        Bytes unpackedBytes = 0;
        std::span<const std::uint8_t> payload;
    };

    static constexpr std::uint32_t kMagic = 0xba55'ed50, kWrapperMagic = 0x4662'43b1;
    static constexpr std::size_t kHeaderBytes = 16;

    static constexpr Bytes kMostBytes = 2_GiB;  ///< more than any compiler writes

    /// Whether one begins here.
    static bool beginsAt(std::span<const std::uint8_t>);
    /// What follows it does no harm. Throws Error, which says what is damaged.
    static Fatbin read(std::span<const std::uint8_t>);
    /// What a program points to, by itself or by the wrapper of a fatbin, as far as memory can be read. Throws Error.
    static std::span<const std::uint8_t> imageAt(const void* image);
    /// Likewise each of those that a program compiled in pieces is linked of; one otherwise.
    static std::vector<std::span<const std::uint8_t>> imagesAt(const void* image);
    /// The same where it is a fatbin; empty if it is not.
    static std::span<const std::uint8_t> bytesAt(const void* image);

    const std::vector<Entry>& entries() const { return entries_; }
    /// The PTX to run on a GPU of that compute capability (75 for 7.5): that for the highest target it has, else that
    /// for the lowest target beyond it. Null if there is no PTX.
    const Entry* bestPtx(unsigned sm) const;
    /// "sm_80, sm_90": what there is machine code for.
    std::string machineTargets() const;

    /// The text of a PTX entry. Throws Error if it cannot be unpacked.
    static std::string text(const Entry&);

  private:
    std::vector<Entry> entries_;
};

/// A file with an image, as a program would point to it. Throws Error if it cannot be read or is damaged.
std::string readImage(const std::filesystem::path&);

}  // namespace bulkhead::driver
