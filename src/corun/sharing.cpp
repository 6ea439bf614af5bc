#include "corun/sharing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace bulkhead::corun {

const std::vector<SharingWay>& sharingWays() {
    static const std::vector<SharingWay> all = {
        {"streams", "none", "streams of one process", false, false, false, WallsAround::nothing, shareByStreams},
        {"processes", "", "processes, time-sliced", true, true, false, WallsAround::nothing, shareByProcesses,
         "time slicing"},
        {"mps", "", "concurrent processes under NVIDIA's Multi-Process Service", true, false, false,
         WallsAround::nothing, shareByMps, "MPS"},
        {"green", "", "green contexts of one process", false, false, true, WallsAround::nothing, shareByGreenContexts,
         "green contexts"},
        {"compute-walls", "cp", "compute walls: each partition on its own SMs", false, false, true,
         WallsAround::compute, shareByComputeWalls, "compute walls"},
        {"walls", "cmp", "compute and memory walls: own SMs, L2 slices and DRAM", false, false, true,
         WallsAround::computeAndMemory, shareByWalls, "both walls"},
    };
    return all;
}

std::string sharingNames() {
    std::vector<std::string> names;
    for (const SharingWay& way : sharingWays())
        names.push_back(way.inPaper.empty() ? std::string(way.name) : fmt::format("{} ({})", way.name, way.inPaper));
    return fmt::format("{}", fmt::join(names, ", "));
}

const SharingWay& findSharing(std::string_view name) {
    for (const SharingWay& way : sharingWays())
        if (way.name == name || (!name.empty() && way.inPaper == name)) return way;
    throw Error("unknown way of sharing {}: choose from {}", name, sharingNames());
}

nlohmann::ordered_json Place::toJson() const {
    return {{"sms", sms}, {"colors", colors}, {"placement", placement}, {"stray_blocks", strayBlocks}};
}

Place Place::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    return {o.get<unsigned>("sms"), o.get<unsigned>("colors"), o.get<std::string>("placement"),
            o.get<unsigned>("stray_blocks")};
}

}  // namespace bulkhead::corun
