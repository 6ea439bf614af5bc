#pragma once

#include <cstdint>
#include <vector>

#include "arch/device_profile.h"
#include "base/random.h"

namespace bulkhead::sim {

/// Hands out physical pages of 4 KB, 64 KB or 2 MB: one after the other, or scattered by a seeded generator as a
/// long-running system would; of any color, or of some. What is not asked for costs nothing: a GPU of 141 GB is a table
/// of 2 MB frames, and only frames cut into smaller pages have a bit per page.
class PhysicalMemory {
  public:
    using PagePlacement = arch::DeviceProfile::PagePlacement;
    using Colors = std::vector<std::uint32_t>;

    explicit PhysicalMemory(const arch::DeviceProfile&);

    /// Enough pages for `bytes`, of these colors, or of any where none is named. Contiguous pages are physically
    /// adjacent where no color is asked for, and come in the order of their addresses where some are. Throws Error if
    /// there are not enough, and then takes none.
    std::vector<arch::PhysicalAddress> allocate(Bytes bytes, Bytes pageBytes, PagePlacement, const Colors& = {});
    void release(const std::vector<arch::PhysicalAddress>& pages, Bytes pageBytes);

    Bytes totalBytes() const { return static_cast<Bytes>(frames_.size()) << kFrameShift; }
    Bytes freeBytes() const { return freeBytes_; }

  private:
    static constexpr unsigned kFrameShift = 21, kSmallShift = 12;
    static constexpr std::uint32_t kSmallPerFrame = 1u << (kFrameShift - kSmallShift);
    static constexpr std::uint32_t kFree = 0, kWhole = 1;  ///< else: index + 2 into cut_

    struct Cut {
        std::uint64_t used[kSmallPerFrame / 64] = {};
        std::uint32_t count = 0;
    };

    bool available(arch::PhysicalAddress, Bytes pageBytes) const;
    void take(arch::PhysicalAddress, Bytes pageBytes);
    void giveBack(arch::PhysicalAddress, Bytes pageBytes);
    bool findRun(Bytes pages, Bytes pageBytes, arch::PhysicalAddress& first) const;

    const arch::AddressMap& map_;
    std::vector<std::uint32_t> frames_;
    std::vector<Cut> cut_;
    std::vector<std::uint32_t> spareCuts_;
    Bytes freeBytes_;
    Random random_;
};

}  // namespace bulkhead::sim
