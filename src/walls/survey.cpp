#include "walls/survey.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "dissect/map_file.h"
#include "dissect/slice_latencies.h"
#include "walls/slice_layout.h"

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

json slicesJson(const SliceSurvey& slices) {
    json inBlock = json::array();
    for (const dissect::PageLabel& label : slices.inBlock) inBlock.push_back(labelJson(label));
    return {{"form", dissect::formJson(slices.hash)},
            {"regions", digitsOf(slices.regionOfSlice)},
            {"in_block", std::move(inBlock)},
            {"inverted", labelJson(slices.inverted)}};
}

SliceSurvey slicesFrom(const json& text, const std::string& where, unsigned pagesPerBlock) {
    SliceSurvey slices;
    slices.hash = dissect::formFromJson(text.at("form"), where);
    slices.regionOfSlice = regionsFrom(text.at("regions").get<std::string>());
    for (const json& label : text.at("in_block")) slices.inBlock.push_back(labelFrom(label));
    slices.inverted = labelFrom(text.at("inverted"));
    if (slices.regionOfSlice.size() != slices.hash.slices() || slices.inBlock.size() != pagesPerBlock)
        throw Error("other slices or pages than there are");
    return slices;
}

}  // namespace

void letIndexRise(SliceSurvey& slices, std::vector<std::optional<dissect::PageLabel>>& labelsOfBlocks) {
    const std::uint32_t modulus = slices.hash.modulus;
    if (slices.inBlock.size() < 2 || SliceLayout::kinds(slices.hash) < 3) return;
    const auto step = static_cast<std::uint32_t>((std::uint64_t{1} << slices.hash.parities.size()) % modulus);
    if (slices.inBlock[1].addend != modulus - step) return;
    for (dissect::PageLabel& place : slices.inBlock) place.addend = (modulus - place.addend) % modulus;
    for (auto& label : labelsOfBlocks)
        if (label) label = slices.hash.backwards(*label);
    constexpr dissect::Renumbering kBackwards{0, true};
    const std::vector<L2Region> before = slices.regionOfSlice;
    for (std::uint32_t slice = 0; slice < before.size(); ++slice)
        slices.regionOfSlice[kBackwards.of(slice, modulus)] = before[slice];
}

json labelJson(const dissect::PageLabel& label) {
    return {label.groupFlips, label.flips, label.addend};
}

dissect::PageLabel labelFrom(const json& text) {
    if (!text.is_array() || text.size() != 3) throw Error("no label of a page");
    return {text[0].get<std::uint32_t>(), text[1].get<std::uint32_t>(), text[2].get<std::uint32_t>()};
}

unsigned Survey::colors() const {
    return slices ? slices->hash.slices() : 2;
}

unsigned Survey::kinds() const {
    if (slices) return SliceLayout::kinds(slices->hash);
    return row.alternates() ? 2 : 1;
}

unsigned Survey::kindOf(const dissect::PageLabel& label) const {
    return slices ? SliceLayout::kindOf(slices->hash, label) : label.groupFlips & 1;
}

json Survey::toJson() const {
    json text = {{"sms", digitsOf(topology.regionOf)},
                 {"groups", digitsOf(regionOfGroup)},
                 {"pages_per_block", row.pagesPerBlock},
                 {"side_mask", row.mask}};
    if (slices) text["slices"] = slicesJson(*slices);
    return text;
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
        if (text.contains("slices")) survey.slices = slicesFrom(text["slices"], where, survey.row.pagesPerBlock);
        return survey;
    } catch (const std::exception& e) {
        throw Error("{}: is no survey of a GPU ({})", where, e.what());
    }
}

}  // namespace bulkhead::walls
