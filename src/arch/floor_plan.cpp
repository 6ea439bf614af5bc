#include "arch/floor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bulkhead::arch {
namespace {

constexpr std::array<const char*, 3> kKindNames = {"SM", "L2 slice", "DRAM channel"};

/// Of `count` units that are divided evenly over sides.
std::string sideOf(const DeviceProfile& p, std::size_t number, std::size_t count) {
    const auto sides = static_cast<std::size_t>(p.l2.sides);
    return sides > 1 ? fmt::format("side {}", number * sides / count) : std::string();
}

void addSms(std::vector<PlacedUnit>& units, const DeviceProfile& p) {
    const auto count = static_cast<std::size_t>(p.sm.count);
    if (!p.hasGpcs()) {
        for (std::size_t sm = 0; sm < count; ++sm)
            units.push_back({PlacedUnit::Kind::sm, static_cast<unsigned>(sm), sideOf(p, sm, count)});
        return;
    }
    // Those of one side beside each other.
    const std::vector<std::vector<std::uint32_t>> gpcs = p.clusterNeighbours();
    const std::vector<DeviceProfile::Region> regions = p.regionsOfSms();
    for (std::int64_t side = 0; side < p.l2.sides; ++side)
        for (std::size_t gpc = 0; gpc < gpcs.size(); ++gpc)
            for (const std::uint32_t sm : gpcs[gpc])
                if (regions[sm].side == side) units.push_back({PlacedUnit::Kind::sm, sm, fmt::format("GPC {}", gpc)});
}

}  // namespace

std::vector<PlacedUnit> unitsOf(const DeviceProfile& p) {
    std::vector<PlacedUnit> units;
    addSms(units, p);
    for (unsigned slice = 0; slice < p.map.slices(); ++slice)
        units.push_back({PlacedUnit::Kind::slice, slice, sideOf(p, slice, p.map.slices())});
    for (unsigned channel = 0; channel < p.map.channels(); ++channel)
        units.push_back({PlacedUnit::Kind::channel, channel, sideOf(p, channel, p.map.channels())});
    return units;
}

Result floorPlan(const std::string& title, const std::vector<PlacedUnit>& units,
                 const std::vector<FloorLayer>& layers) {
    Result r;
    r.title = title;
    r.columns = {{"part", ""}, {"group", ""}, {"unit", ""}};
    Chart chart{Chart::Kind::floorplan, title, "unit", {}, {"part", "group"}, {}, "", false, false};
    for (const FloorLayer& layer : layers) {
        r.columns.push_back({layer.name, layer.unit});
        chart.y.push_back(layer.name);
    }
    for (const PlacedUnit& u : units) {
        std::vector<Value> row = {kKindNames[static_cast<std::size_t>(u.kind)], u.group, std::int64_t{u.number}};
        for (const FloorLayer& layer : layers) row.push_back(layer.value(u));
        r.add(std::move(row));
    }
    r.charts = {chart};
    return r;
}

}  // namespace bulkhead::arch
