#include "hidden_maps.h"

#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/files.h"
#include "dissect/gf2.h"

namespace bulkhead::dissect {
namespace {

using nlohmann::json;

json bitList(Mask mask) {
    json bits = json::array();
    for (; mask != 0; mask &= mask - 1) bits.push_back(std::countr_zero(mask));
    return bits;
}

constexpr std::uint32_t kSets = 32, kWays = 4, kLine = 128;

/// The H200's profile with few SMs and a small L2.
json smallProfile(std::uint32_t slices, unsigned addressBits) {
    json profile = arch::findProfile("sim:h200").toJson();
    profile["sm"]["count"]["value"] = 16;
    // Copies of far lines take ways of sets that they do not belong to.
    profile["l2"]["copiesFarLines"]["value"] = false;
    profile["l2"]["ways"]["value"] = kWays;
    profile["l2"]["bytes"]["value"] = slices * kSets * kWays * kLine;
    profile["dram"]["bytes"]["value"] = std::uint64_t{1} << addressBits;
    return profile;
}

std::string written(const json& profile, const std::string& file) {
    writeFile(file, profile.dump());
    return "sim:" + file;
}

}  // namespace

std::string writeXorMap(const std::string& file, std::uint64_t seed) {
    json profile = arch::findProfile("sim:gtx1080").toJson();
    Random random(seed);
    Subspace used;
    json& map = profile["map"]["value"];
    for (const char* role : {"slice", "set", "bank"}) {
        json& functions = map[role][0]["xor"];
        for (json& f : functions) {
            Mask m = 0;
            do m = random.next() & random.next() & bitRange(7, 33);
            while (!used.add(m));
            f = bitList(m);
        }
    }
    return written(profile, file);
}

std::string writeResidueMap(const std::string& file, std::uint32_t modulus, std::uint64_t seed) {
    constexpr unsigned kAddressBits = 34;
    json profile = smallProfile(2 * modulus, kAddressBits);
    Random random(seed);
    const unsigned granularity = 8 + static_cast<unsigned>(random.below(2));
    const unsigned blockShift = 15 + static_cast<unsigned>(random.below(3));
    const Mask low = bitRange(granularity, blockShift), high = bitRange(blockShift, kAddressBits);
    Subspace independent;
    const auto draw = [&] {
        Mask m = 0;
        do m = random.next() & low;
        while (!independent.add(m));
        return m;
    };
    json index = json::array();
    for (unsigned i = 0; i < blockShift - granularity - 1; ++i)
        index.push_back(bitList(draw() | (random.next() & random.next() & high)));
    for (unsigned b = blockShift; b < kAddressBits; ++b) index.push_back(json::array({b}));
    const json side = json::array({bitList(draw() | (random.next() & high))});
    json& map = profile["map"]["value"];
    map = {{"slice", {{{"xor", index}, {"mod", modulus}}, {{"xor", side}}}},
           {"set", {{{"xor", index}, {"div", modulus}, {"mod", kSets}}}},
           {"bank", {{{"xor", index}, {"div", 2 * modulus}, {"mod", 16}}}},
           {"row", {{{"xor", index}, {"div", 32 * modulus}}}},
           {"slicesPerChannel", 1}};
    return written(profile, file);
}

std::string writeTableMap(const std::string& file, std::uint32_t slicesOfASide, std::uint64_t seed) {
    json profile = smallProfile(2 * slicesOfASide, 34);
    Random random(seed);
    std::vector<std::uint32_t> table;
    for (std::uint32_t i = 0; i < 32; ++i) table.push_back(i % slicesOfASide);
    for (std::size_t i = table.size(); i > 1; --i) std::swap(table[i - 1], table[random.below(i)]);
    profile["map"]["value"] = {
        {"slice",
         {{{"xor", {{12, 22, 27}, {13, 19, 24}, {14, 30}, {15, 25}, {16, 21}}}, {"table", table}},
          {{"xor", {{11, 17, 23, 29}}}}}},
        {"set", {{{"xor", {{7}, {8}, {9}, {10}, {18}}}}}},
        {"bank", {{{"xor", {{20}, {21}, {22}, {23}}}}}},
        {"row", {{{"xor", {{24}, {25}, {26}, {27}, {28}, {29}, {30}, {31}, {32}, {33}}}}}},
        {"slicesPerChannel", 1}};
    return written(profile, file);
}

}  // namespace bulkhead::dissect
