#include "arch/nearest_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "base/error.h"

namespace bulkhead::arch {

DeviceProfile nearestProfile(int major, int minor, std::int64_t sms) {
    std::optional<DeviceProfile> best;
    std::tuple<int, double> distance;
    for (const std::string& name : profileNames()) {
        DeviceProfile p = findProfile(name);
        const std::tuple<int, double> own = {
            std::abs(10 * (p.compute.major - major) + p.compute.minor - minor),
            std::fabs(std::log(static_cast<double>(p.sm.count) / static_cast<double>(std::max<std::int64_t>(1, sms))))};
        if (best && own >= distance) continue;
        best = std::move(p);
        distance = own;
    }
    if (!best) throw Error("no profile to start from: choose one by --base");
    return *std::move(best);
}

}  // namespace bulkhead::arch
