#include "walls/survey.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace bulkhead::walls {
namespace {

using dissect::L2Region;
using nlohmann::json;

/// A digit a region.
std::string digitsOf(const std::vector<L2Region>& regions) {
    std::string text;
    for (const L2Region region : regions) text += static_cast<char>('0' + region.number());
    return text;
}

std::vector<L2Region> regionsFrom(const std::string& digits) {
    std::vector<L2Region> regions;
    for (const char digit : digits) {
        if (digit < '0' || digit > '3') throw Error("a region that is none of 0 to 3");
        regions.push_back(dissect::kL2Regions.at(static_cast<std::size_t>(digit - '0')));
    }
    return regions;
}

}  // namespace

json Survey::toJson() const {
    return {{"sms", digitsOf(topology.regionOf)},
            {"groups", digitsOf(regionOfGroup)},
            {"pages_per_block", row.pagesPerBlock},
            {"side_mask", row.mask}};
}

Survey Survey::fromJson(const json& text, const std::string& where) {
    try {
        Survey survey;
        survey.topology.regionOf = regionsFrom(text.at("sms").get<std::string>());
        for (const L2Region region : survey.topology.regionOf) survey.topology.sideOf.push_back(region.side);
        survey.regionOfGroup = regionsFrom(text.at("groups").get<std::string>());
        survey.row.pagesPerBlock = text.at("pages_per_block").get<unsigned>();
        survey.row.mask = text.at("side_mask").get<dissect::Mask>();
        if (survey.topology.regionOf.empty() || !std::has_single_bit(survey.row.pagesPerBlock))
            throw Error("no SMs, or blocks of pages that are no power of two");
        return survey;
    } catch (const std::exception& e) {
        throw Error("{}: is no survey of a GPU ({})", where, e.what());
    }
}

}  // namespace bulkhead::walls
