#include "sim/separation.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace bulkhead::sim {

ResourceSet resourcesOf(const std::vector<std::string>& names) {
    ResourceSet set;
    for (const std::string& name : names) {
        const auto found = std::ranges::find(kResourceNames, name);
        if (found == kResourceNames.end())
            throw Error("no resource {}: choose from {}", name, fmt::join(kResourceNames, ", "));
        set.set(static_cast<std::size_t>(found - kResourceNames.begin()));
    }
    return set;
}

std::vector<std::string> namesOf(ResourceSet set) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kResources; ++i)
        if (set[i]) names.emplace_back(kResourceNames[i]);
    return names;
}

}  // namespace bulkhead::sim
