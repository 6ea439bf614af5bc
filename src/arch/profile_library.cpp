#include <algorithm>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "arch/embedded_profiles.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/json.h"
#include "base/suggest.h"

namespace bulkhead::arch {

namespace {

/// A directory of profiles that stands in for the embedded ones; empty where there is none.
std::string profileDirectory() {
    return environment("BULKHEAD_PROFILES");
}

}  // namespace

std::vector<std::string> profileNames() {
    std::vector<std::string> names;
    if (const std::string directory = profileDirectory(); !directory.empty()) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(directory, error))
            if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
        if (error) throw Error("BULKHEAD_PROFILES: {}: {}", directory, error.message());
        std::sort(names.begin(), names.end());
    } else {
        for (const EmbeddedProfile& profile : embeddedProfiles()) names.emplace_back(profile.name);
    }
    return names;
}

DeviceProfile findProfile(std::string_view name) {
    if (name.starts_with("sim:")) name.remove_prefix(4);
    if (name.ends_with(".json") || name.find('/') != std::string_view::npos) return DeviceProfile::load(name);
    const std::vector<std::string> names = profileNames();
    if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error("no GPU is called {}{}; there are {}, and files NAME.json", name.empty() ? "\"\"" : name,
                    didYouMean(name, names), fmt::join(names, ", "));
    if (const std::string directory = profileDirectory(); !directory.empty())
        return DeviceProfile::load(std::filesystem::path(directory) / (std::string(name) + ".json"));
    const auto& all = embeddedProfiles();
    const auto it = std::find_if(all.begin(), all.end(), [&](const EmbeddedProfile& e) { return e.name == name; });
    const std::string where = fmt::format("{}.json", name);
    return DeviceProfile::fromJson(parseJson(it->json, where), where);
}

}  // namespace bulkhead::arch
