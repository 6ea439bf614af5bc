#include "driver/access_policy.h"

namespace bulkhead::driver {
namespace {

sim::Retention retentionOf(CUaccessProperty property) {
    constexpr CUaccessProperty kStreaming = 1, kPersisting = 2;
    return property == kStreaming    ? sim::Retention::streaming
           : property == kPersisting ? sim::Retention::persisting
                                     : sim::Retention::normal;
}

/// The L2 is set aside by sixteenths, as on an H200.
Bytes stepOf(const Device& device) {
    return static_cast<Bytes>(device.gpu->profile().l2.bytes) / 16;
}
Bytes mostOf(const Device& device) {
    return static_cast<Bytes>(device.gpu->profile().l2.persistingBytes);
}

}  // namespace

Bytes largestAccessWindow(const Device& device) {
    return mostOf(device) ? Bytes{128} << 20 : 0;
}

void checkAccessPolicy(const Device& device, const CUaccessPolicyWindow& window) {
    constexpr CUaccessProperty kPersisting = 2;
    require(window.num_bytes <= largestAccessWindow(device), CUDA_ERROR_INVALID_VALUE,
            "a window that is larger than CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE");
    require(window.hitRatio >= 0 && window.hitRatio <= 1, CUDA_ERROR_INVALID_VALUE, "a hit ratio outside of 0 to 1");
    require(window.missProp != kPersisting, CUDA_ERROR_INVALID_VALUE, "what misses cannot persist");
}

sim::AccessWindow accessWindow(const CUlaunchAttributes& attributes) {
    const auto found = attributes.find(kAccessPolicyWindow);
    if (found == attributes.end()) return {};
    const CUaccessPolicyWindow& window = found->second.accessPolicyWindow;
    return {reinterpret_cast<std::uintptr_t>(window.base_ptr), window.num_bytes, static_cast<double>(window.hitRatio),
            retentionOf(window.hitProp), retentionOf(window.missProp)};
}

Bytes persistingL2AtFirst(const Device& device) {
    return mostOf(device) ? 3 * stepOf(device) : 0;
}

void setPersistingL2(Device& device, Bytes bytes) {
    require(mostOf(device) != 0, CUDA_ERROR_UNSUPPORTED_LIMIT, "no lines persist in this L2");
    require(bytes <= mostOf(device), CUDA_ERROR_INVALID_VALUE,
            "more than CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE");
    const Bytes step = stepOf(device);
    device.persistingL2 = std::min((bytes + step - 1) / step * step, mostOf(device));
    device.gpu->setPersistingL2(device.persistingL2);
}

}  // namespace bulkhead::driver
