#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/units.h"
#include "driver/driver_api.h"

// Where memory of the thread's current context lies, on a GPU that tells and chooses (Capabilities::physicalAddresses,
// choosesPages). For code that has the driver's calls and no gpu::Context.

namespace bulkhead::gpu {

/// Throws Error if there is no memory at the address.
std::uint64_t physicalAddress(driver::CUdeviceptr);
/// Likewise: the color of its page.
std::uint32_t pageColor(driver::CUdeviceptr);

/// For as long as it lives, the context takes memory from pages of these colors. Contexts share memory, so there is one
/// at a time: others wait for its end.
class PagesOfColors {
  public:
    PagesOfColors(Bytes pageBytes, const std::vector<unsigned>& colors);
    ~PagesOfColors();
    PagesOfColors(const PagesOfColors&) = delete;
    PagesOfColors& operator=(const PagesOfColors&) = delete;

  private:
    std::lock_guard<std::mutex> lock_;
};

}  // namespace bulkhead::gpu
