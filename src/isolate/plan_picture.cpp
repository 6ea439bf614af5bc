#include "isolate/plan_picture.h"

#include <fmt/format.h>

#include <algorithm>

namespace bulkhead::isolate {
namespace {

std::string regionName(const DivisibleGpu& t, dissect::L2Region region) {
    if (t.sides() == 1) return {};
    return t.halved() ? fmt::format("side {}, half {}", region.side, region.half) : fmt::format("side {}", region.side);
}

/// The name of who has an SM or a color; empty where several do, or nobody.
Value ownerOf(const Plan& plan, std::vector<unsigned> Share::*what, unsigned number) {
    Value owner;
    for (const Share& share : plan.shares) {
        if (!std::binary_search((share.*what).begin(), (share.*what).end(), number)) continue;
        if (owner != Value()) return "several";
        owner = share.partition.name;
    }
    return owner;
}

}  // namespace

Result pictureOf(const Plan& plan) {
    const DivisibleGpu& t = plan.topology;
    Result r;
    r.title = "Partitions of " + t.gpu;
    r.columns = {{"part", ""}, {"group", ""}, {"unit", ""}, {"partition", ""}};
    for (unsigned sm = 0; sm < t.sms(); ++sm)
        r.add({"SM", regionName(t, t.regionOfSm[sm]), std::int64_t{sm}, ownerOf(plan, &Share::sms, sm)});
    const unsigned each = std::max(1U, t.slicesPerColor);
    for (unsigned color = 0; color < t.colors(); ++color)
        for (unsigned i = 0; i < each; ++i)
            r.add({t.slicesPerColor ? "L2 slice" : "color", regionName(t, t.regionOfColor[color]),
                   std::int64_t{color * each + i}, ownerOf(plan, &Share::colors, color)});
    r.charts = {{Chart::Kind::floorplan,
                 "Who has which SMs and L2 slices",
                 "unit",
                 {"partition"},
                 {"part", "group"},
                 {},
                 "",
                 false,
                 false}};
    r.question = fmt::format("Which part of {} would each partition have?", t.gpu);
    r.answer = answerOf(plan);
    r.reading = "Slices are in the order of their colors: those of one color serve no other.";
    return r;
}

}  // namespace bulkhead::isolate
