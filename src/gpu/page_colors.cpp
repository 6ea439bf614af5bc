#include "gpu/page_colors.h"

#include "base/error.h"
#include "driver/simulator_api.h"
#include "far_driver/far_driver.h"

namespace bulkhead::gpu {
namespace {

driver::CUresult setAllocation(const sim::AllocationOptions& options) {
    return far_driver::hasJoined() ? far_driver::setAllocation(options) : driver::simulatorApi().setAllocation(options);
}

std::mutex& oneAtATime() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace

std::uint64_t physicalAddress(driver::CUdeviceptr address) {
    std::uint64_t physical = 0;
    const driver::CUresult result = far_driver::hasJoined()
                                        ? far_driver::physicalAddress(&physical, address)
                                        : driver::simulatorApi().physicalAddress(&physical, address);
    if (result != driver::CUDA_SUCCESS)
        throw Error("no physical address of {:#x}: {}", address, driver::simulatorApi().lastError());
    return physical;
}

std::uint32_t pageColor(driver::CUdeviceptr address) {
    std::uint32_t color = 0;
    const driver::CUresult result = far_driver::hasJoined() ? far_driver::pageColor(&color, address)
                                                            : driver::simulatorApi().pageColor(&color, address);
    if (result != driver::CUDA_SUCCESS)
        throw Error("no color of {:#x}: {}", address, driver::simulatorApi().lastError());
    return color;
}

PagesOfColors::PagesOfColors(Bytes pageBytes, const std::vector<unsigned>& colors) : lock_(oneAtATime()) {
    sim::AllocationOptions options;
    options.pageBytes = pageBytes;
    options.colors = colors;
    setAllocation(options);
}

PagesOfColors::~PagesOfColors() {
    setAllocation({});
}

}  // namespace bulkhead::gpu
