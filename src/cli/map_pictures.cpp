#include "cli/map_pictures.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

namespace bulkhead::cli {
namespace {

constexpr std::int64_t kRows = 64, kColumns = 32;
constexpr Bytes kLine = 128;

/// A cell for each piece of `bytes`, row by row from address 0.
Result picture(const std::string& title, const std::string& piece, Bytes bytes, const std::string& what,
               const std::function<std::int64_t(arch::PhysicalAddress)>& value) {
    Result r;
    r.title = title;
    const std::string down = fmt::format("piece of {} KB", bytes * kColumns / 1024);
    r.columns = {{down, ""}, {piece, ""}, {what, ""}};
    for (std::int64_t row = 0; row < kRows; ++row)
        for (std::int64_t column = 0; column < kColumns; ++column)
            r.add({row, column, value(static_cast<arch::PhysicalAddress>(row * kColumns + column) * bytes)});
    r.charts = {{Chart::Kind::heatmap, title, piece, {what}, {down}, {}, "", false, false}};
    return r;
}

/// The largest pages that memory walls can be made of.
std::optional<Bytes> colorfulPage(const arch::AddressMap& map) {
    for (const Bytes page : {2_MiB, 64_KiB, 32_KiB, 16_KiB, 8_KiB, 4_KiB, 2_KiB, 1_KiB})
        if (map.colors(page) > 1) return page;
    return std::nullopt;
}

}  // namespace

std::vector<Result> mapPictures(const arch::AddressMap& map) {
    std::vector<Result> all = {picture("L2 slices of lines", "line", kLine, "slice",
                                       [&](arch::PhysicalAddress a) { return std::int64_t{map.locate(a).slice}; }),
                               picture("DRAM banks of lines", "line", kLine, "bank", [&](arch::PhysicalAddress a) {
                                   const arch::AddressMap::Location l = map.locate(a);
                                   return std::int64_t{l.channel} * map.banksPerChannel() + l.bank;
                               })};
    if (const std::optional<Bytes> page = colorfulPage(map))
        all.push_back(picture(fmt::format("Colors of pages of {} KB", *page / 1024), "page", *page, "color",
                              [&](arch::PhysicalAddress a) { return std::int64_t{map.color(a, *page)}; }));
    return all;
}

}  // namespace bulkhead::cli
