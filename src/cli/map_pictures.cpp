#include "cli/map_pictures.h"

#include <fmt/format.h>

#include <optional>

#include "arch/floor_plan.h"
#include "base/phrases.h"

namespace bulkhead::cli {
namespace {

constexpr std::int64_t kRows = 64, kColumns = 32;
constexpr Bytes kLine = 128;

Result plan(const arch::DeviceProfile& p) {
    using Kind = arch::PlacedUnit::Kind;
    const unsigned perChannel = p.map.slices() / p.map.channels();
    std::vector<arch::FloorLayer> layers = {{"memory channel", "", [&](const arch::PlacedUnit& u) -> Value {
                                                 if (u.kind == Kind::sm) return {};
                                                 const bool slice = u.kind == Kind::slice;
                                                 return std::int64_t{slice ? u.number / perChannel : u.number};
                                             }}};
    const auto sides = static_cast<unsigned>(p.l2.sides);
    const auto sideOf = [&, regions = p.regionsOfSms()](const arch::PlacedUnit& u) {
        const unsigned side = u.kind == Kind::sm
                                  ? regions[u.number].side
                                  : p.regionOfSlice(u.kind == Kind::slice ? u.number : u.number * perChannel).side;
        return fmt::format("side {}", side);
    };
    if (sides > 1)
        layers.insert(layers.begin(), {"L2 side", "", [&](const arch::PlacedUnit& u) { return Value(sideOf(u)); }});
    Result r = arch::floorPlan("Units of sim:" + p.name, unitsOf(p), layers);
    r.question = fmt::format("What is sim:{} made of?", p.name);
    r.answer = fmt::format("{}, {} on {}, and {}.", counted(static_cast<std::size_t>(p.sm.count), "SM"),
                           counted(p.map.slices(), "L2 slice"), counted(sides, "side"),
                           counted(p.map.channels(), "DRAM channel"));
    r.reading = "Each box is a unit by its number. SMs share slices and channels: that is where programs meet.";
    if (p.hasGpcs())
        r.caveats = {
            "Which SM belongs to which GPC is as clusters of blocks tell; where on the die it lies is not known."};
    return r;
}

std::int64_t bankOf(const arch::AddressMap& map, const arch::AddressMap::Location& l) {
    return std::int64_t{l.channel} * map.banksPerChannel() + l.bank;
}

/// A cell for each line, row by row from address 0.
Result lines(const arch::AddressMap& map) {
    Result r;
    r.title = "Where lines of memory lie";
    const std::string down = fmt::format("piece of {} KB", kLine * kColumns / 1024);
    r.columns = {{down, ""},  {"line", ""},      {"address", ""}, {"slice", ""},
                 {"set", ""}, {"DRAM bank", ""}, {"DRAM row", ""}};
    for (std::int64_t row = 0; row < kRows; ++row)
        for (std::int64_t column = 0; column < kColumns; ++column) {
            const auto address = static_cast<arch::PhysicalAddress>(row * kColumns + column) * kLine;
            const arch::AddressMap::Location l = map.locate(address);
            r.add({row, column, fmt::format("address {:#x}", address), std::int64_t{l.slice}, std::int64_t{l.set},
                   bankOf(map, l), static_cast<std::int64_t>(l.row)});
        }
    Chart chart{Chart::Kind::heatmap,
                "L2 slice, set and DRAM bank of each line",
                "line",
                {"slice", "set", "DRAM bank", "DRAM row"},
                {down},
                {},
                "",
                false,
                false};
    chart.label = "address";
    r.charts = {chart};
    r.question = "Which slice, set and bank has an address?";
    const arch::AddressMap::Location next = map.locate(kLine);
    r.answer = fmt::format(
        "Lines are spread over {} of {} sets and {} of {} banks: address 0x80 is in slice {}, set {} "
        "and bank {}.",
        counted(map.slices(), "slice"), map.setsPerSlice(), counted(map.channels(), "channel"), map.banksPerChannel(),
        next.slice, next.set, bankOf(map, next));
    r.reading =
        "Each cell is a line of 128 bytes; point at one to see where it lies. Lines of one color meet there, and can "
        "push each other out.";
    return r;
}

/// The largest pages that memory walls can be made of.
std::optional<Bytes> colorfulPage(const arch::AddressMap& map) {
    for (const Bytes page : {2_MiB, 64_KiB, 32_KiB, 16_KiB, 8_KiB, 4_KiB, 2_KiB, 1_KiB})
        if (map.colors(page) > 1) return page;
    return std::nullopt;
}

Result colors(const arch::AddressMap& map, Bytes page) {
    Result r;
    r.title = fmt::format("Colors of pages of {} KB", page / 1024);
    const std::string down = fmt::format("piece of {} KB", page * kColumns / 1024);
    r.columns = {{down, ""}, {"page", ""}, {"color", ""}};
    for (std::int64_t row = 0; row < kRows; ++row)
        for (std::int64_t column = 0; column < kColumns; ++column)
            r.add({row, column,
                   std::int64_t{map.color(static_cast<arch::PhysicalAddress>(row * kColumns + column) * page, page)}});
    r.charts = {{Chart::Kind::heatmap, r.title, "page", {"color"}, {down}, {}, "", false, false}};
    r.question = "Into how many parts can memory be walled off?";
    r.answer = fmt::format("{}: pages of one color share no L2 slice with pages of another.", map.colors(page));
    r.reading = "Each cell is a page of physical memory.";
    return r;
}

}  // namespace

std::vector<Result> mapPictures(const arch::DeviceProfile& p) {
    std::vector<Result> all = {plan(p), lines(p.map)};
    if (const std::optional<Bytes> page = colorfulPage(p.map)) all.push_back(colors(p.map, *page));
    return all;
}

}  // namespace bulkhead::cli
