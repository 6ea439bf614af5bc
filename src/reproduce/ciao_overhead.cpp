#include <bit>

#include "arch/device_profile.h"
#include "reproduce/ciao.h"
#include "sim/sm/address_translation.h"

namespace bulkhead::reproduce {
namespace {

constexpr std::int64_t kPaperWarpIdBits = 6;

std::int64_t bitsToCount(std::int64_t values) {
    return std::bit_width(static_cast<std::uint64_t>(values - 1));
}

}  // namespace

/// What CIAO keeps on an SM, in bits, from the sizes of the structures that the simulator uses. The paper gives bits
/// for the two lists and the counters, and for the rest areas (CACTI) and gates, which do not follow from a simulator.
std::vector<Result> storageOverhead(compare::RunBatch&, const compare::RunSpec& common) {
    arch::DeviceProfile profile = arch::findProfile(common.gpu);
    arch::applySettings(profile, common.settings);
    const std::int64_t warps = profile.maxWarps();
    const std::int64_t warpBits = bitsToCount(warps);
    // The tag of a line: what its address has above the offset in a line.
    const std::int64_t tagBits = bitsToCount(profile.dram.bytes) - bitsToCount(profile.l1.lineBytes);
    const std::int64_t mshrAddressBits = bitsToCount(profile.sm.sharedBytes);

    Result r;
    r.title = "storage of CIAO per SM (V-F)";
    r.columns = {{"structure", ""},       {"entries", ""},           {"entry size", "bits"}, {"total", "bytes"},
                 {"paper's entries", ""}, {"paper's entry", "bits"}, {"paper", ""}};
    std::int64_t totalBits = 0;
    const auto add = [&](const std::string& name, std::int64_t entries, std::int64_t bits, Value paperEntries,
                         Value paperBits, const std::string& words) {
        totalBits += entries * bits;
        r.add({name, entries, bits, static_cast<double>(entries * bits) / 8, std::move(paperEntries),
               std::move(paperBits), words});
    };
    add("victim tag array", warps * profile.ciao.vtaTags, tagBits + warpBits, std::int64_t{48 * 8}, Value(),
        "0.65 mm2 for 15 SMs, 0.12 % of the chip");
    add("owner fields in L1D tags", profile.l1.bytes / profile.l1.lineBytes, warpBits, Value(), Value(),
        "part of CCWS, not counted");
    add("VTA-hit counters", warps, 32, std::int64_t{48}, std::int64_t{32}, "");
    add("interference list", warps, warpBits + profile.ciao.counterBits, std::int64_t{64}, kPaperWarpIdBits + 2, "");
    add("pair list", warps, 2 * warpBits, std::int64_t{64}, 2 * kPaperWarpIdBits, "");
    add("V and I bits", warps, 2, Value(), Value(), "");
    add("shared-memory addresses in MSHRs", profile.l1.mshrs, mshrAddressBits, Value(), Value(),
        "64 bytes and 4500 gates with the translation unit");
    add("mask and offset registers", 3, sim::AddressTranslation::kRowBits, Value(), std::int64_t{8}, "");
    r.add({std::string("total"),
           {},
           {},
           static_cast<double>(totalBits) / 8,
           {},
           {},
           std::string("less than 2 % of the chip's area")});
    return {r};
}

}  // namespace bulkhead::reproduce
