#include "corun/sharing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace bulkhead::corun {

const std::vector<SharingWay>& sharingWays() {
    static const std::vector<SharingWay> all = {
        {"streams", "streams of one process", false, false, false, shareByStreams},
        {"processes", "processes, which take turns", true, true, false, shareByProcesses},
        {"mps", "processes side by side, under the Multi-Process Service", true, false, false, shareByMps},
        {"green", "green contexts of one process", false, false, true, shareByGreenContexts},
        {"compute-walls", "walls around multiprocessors", false, false, true, shareByComputeWalls},
        {"walls", "walls around multiprocessors, cache and memory", false, false, true, shareByWalls},
    };
    return all;
}

const SharingWay& findSharing(std::string_view name) {
    std::vector<std::string_view> names;
    for (const SharingWay& way : sharingWays()) {
        if (way.name == name) return way;
        names.push_back(way.name);
    }
    throw Error("no placement {}: there are {}", name, fmt::join(names, ", "));
}

nlohmann::ordered_json Place::toJson() const {
    return {{"multiprocessors", multiprocessors},
            {"colors", colors},
            {"placement", placement},
            {"stray_blocks", strayBlocks}};
}

Place Place::fromJson(const nlohmann::json& json, const std::string& where) {
    JsonObject o(json, where);
    return {o.get<unsigned>("multiprocessors"), o.get<unsigned>("colors"), o.get<std::string>("placement"),
            o.get<unsigned>("stray_blocks")};
}

}  // namespace bulkhead::corun
