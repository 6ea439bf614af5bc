#include "gpu/page_colors.h"

#include "base/error.h"
#include "driver/simulator_api.h"

namespace bulkhead::gpu {
namespace {

std::mutex& oneAtATime() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace

std::uint64_t physicalAddress(driver::CUdeviceptr address) {
    std::uint64_t physical = 0;
    if (driver::simulatorApi().physicalAddress(&physical, address) != driver::CUDA_SUCCESS)
        throw Error("no physical address of {:#x}: {}", address, driver::simulatorApi().lastError());
    return physical;
}

std::uint32_t pageColor(driver::CUdeviceptr address) {
    std::uint32_t color = 0;
    if (driver::simulatorApi().pageColor(&color, address) != driver::CUDA_SUCCESS)
        throw Error("no color of {:#x}: {}", address, driver::simulatorApi().lastError());
    return color;
}

PagesOfColors::PagesOfColors(Bytes pageBytes, const std::vector<unsigned>& colors) : lock_(oneAtATime()) {
    sim::AllocationOptions options;
    options.pageBytes = pageBytes;
    options.colors = colors;
    driver::simulatorApi().setAllocation(options);
}

PagesOfColors::~PagesOfColors() {
    driver::simulatorApi().setAllocation({});
}

}  // namespace bulkhead::gpu
