#include "gpu/known_profile.h"

#include "gpu/capabilities.h"
#include "gpu/gpu_name.h"

namespace bulkhead::gpu {

std::optional<arch::DeviceProfile> knownProfile(std::string_view gpu, const std::vector<std::string>& settings) {
    const GpuName name = GpuName::parse(gpu);
    expectSettable(gpu, settings);
    if (name.kind == GpuName::Kind::cuda) return std::nullopt;
    arch::DeviceProfile profile = arch::findProfile(name.profile);
    arch::applySettings(profile, settings);
    return profile;
}

}  // namespace bulkhead::gpu
