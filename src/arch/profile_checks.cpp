#include "arch/profile_checks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "arch/parameter_table.h"
#include "base/error.h"

namespace bulkhead::arch {

namespace {

using Profile = DeviceProfile;

/// Refuses a parameter: names profile, key and value, and says what would be right.
template <class... Args>
[[noreturn]] void refuse(const Profile& p, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
    const Descriptor* d = findParameter(key);
    const std::string value = d == nullptr ? std::string() : " = " + asText(*d, p);
    throw Error("profile {}: {}{}: {}", p.name, key, value, fmt::format(format, std::forward<Args>(args)...));
}

bool isPowerOfTwo(std::int64_t n) {
    return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

void checkRanges(const Profile& p) {
    for (const Descriptor& d : parameterTable()) {
        const bool fits = d.kind == Descriptor::Kind::list
                              ? std::all_of(listOf(d, p).begin(), listOf(d, p).end(),
                                            [&](std::int64_t v) { return v >= d.least && v <= d.most; })
                              : d.get(p) >= d.least && d.get(p) <= d.most;
        if (!fits) refuse(p, d.key, "must be {}", wanted(d));
    }
}

void checkGpcs(const Profile& p) {
    const auto& gpcs = p.cluster.gpcs;
    if (gpcs.empty()) {
        if (!p.l2.gpcSides.empty()) refuse(p, "l2.gpcSides", "must be empty where cluster.gpcs is");
    } else {
        if (!p.cluster.sms) refuse(p, "cluster.gpcs", "must be empty where cluster.sms is 0");
        const auto count = static_cast<std::size_t>(*std::max_element(gpcs.begin(), gpcs.end()) + 1);
        for (std::size_t gpc = 0; gpc < count; ++gpc)
            if (std::find(gpcs.begin(), gpcs.end(), static_cast<std::int64_t>(gpc)) == gpcs.end())
                refuse(p, "cluster.gpcs", "must number GPCs from 0 on: none of the SMs is of GPC {}", gpc);
        if (!p.l2.gpcSides.empty() && p.l2.gpcSides.size() != count)
            refuse(p, "l2.gpcSides", "must have a side for each of the {} GPCs of cluster.gpcs", count);
    }
    for (const std::int64_t side : p.l2.gpcSides)
        if (side >= p.l2.sides) refuse(p, "l2.gpcSides", "must be below l2.sides = {}", p.l2.sides);
    if (!p.l2.gpcHalves.empty() && p.l2.gpcHalves.size() != p.l2.gpcSides.size())
        refuse(p, "l2.gpcHalves", "must have a half for each side of l2.gpcSides");
}

void checkInstructionCache(const Profile& p) {
    const auto& code = p.instruction;
    if (!isPowerOfTwo(code.lineBytes)) refuse(p, "instruction.lineBytes", "must be a power of two");
    if (code.lineBytes < p.l2.sectorBytes || code.lineBytes > p.l2.lineBytes)
        refuse(p, "instruction.lineBytes", "must be a sector of L2 at least and a line at most: {} to {}",
               p.l2.sectorBytes, p.l2.lineBytes);
    if (!isPowerOfTwo(code.width)) refuse(p, "instruction.width", "must be a power of two");
    if (code.width > code.lineBytes)
        refuse(p, "instruction.width", "must be at most instruction.lineBytes = {}", code.lineBytes);
    if (code.bytes % (code.lineBytes * code.ways) != 0)
        refuse(p, "instruction.bytes", "must be a multiple of instruction.lineBytes x instruction.ways = {}",
               code.lineBytes * code.ways);
}

void checkLines(const Profile& p) {
    const auto check = [&](std::string_view level, std::int64_t lineBytes, std::int64_t sectorBytes) {
        if (!isPowerOfTwo(lineBytes)) refuse(p, fmt::format("{}.lineBytes", level), "must be a power of two");
        if (!isPowerOfTwo(sectorBytes)) refuse(p, fmt::format("{}.sectorBytes", level), "must be a power of two");
        if (sectorBytes > lineBytes)
            refuse(p, fmt::format("{}.sectorBytes", level), "must be at most {}.lineBytes = {}", level, lineBytes);
    };
    check("l1", p.l1.lineBytes, p.l1.sectorBytes);
    check("l2", p.l2.lineBytes, p.l2.sectorBytes);
    // The simulator keeps a bit a byte of a line in 128 bits.
    if (p.l2.lineBytes > 128) refuse(p, "l2.lineBytes", "must be at most 128");
    if (p.l1.lineBytes != p.l2.lineBytes) refuse(p, "l1.lineBytes", "must equal l2.lineBytes = {}", p.l2.lineBytes);
    if (p.l2.lineBytes % p.l1.sectorBytes != 0)
        refuse(p, "l1.sectorBytes", "must divide l2.lineBytes = {}", p.l2.lineBytes);
    if (!isPowerOfTwo(p.constant.lineBytes)) refuse(p, "constant.lineBytes", "must be a power of two");
    if (p.constant.bytes % (p.constant.lineBytes * p.constant.ways) != 0)
        refuse(p, "constant.bytes", "must be a multiple of constant.lineBytes x constant.ways = {}",
               p.constant.lineBytes * p.constant.ways);
    if (p.instruction.bytes) checkInstructionCache(p);
}

void checkSm(const Profile& p) {
    const auto& sm = p.sm;
    if (sm.maxThreads % 32 != 0) refuse(p, "sm.maxThreads", "must be a multiple of the 32 threads of a warp");
    if (sm.maxThreads > 2048) refuse(p, "sm.maxThreads", "must be at most 2048: an SM has up to 64 warps");
    if (sm.maxThreadsPerBlock % 32 != 0)
        refuse(p, "sm.maxThreadsPerBlock", "must be a multiple of the 32 threads of a warp");
    if (sm.maxThreadsPerBlock > sm.maxThreads)
        refuse(p, "sm.maxThreadsPerBlock", "must be at most sm.maxThreads = {}", sm.maxThreads);
    if (sm.registers % sm.registerGranularity != 0)
        refuse(p, "sm.registers", "must be a multiple of sm.registerGranularity = {}", sm.registerGranularity);
    if (sm.registers < 32 * sm.maxRegistersPerThread)
        refuse(p, "sm.registers", "must hold one warp of sm.maxRegistersPerThread = {} registers: at least {}",
               sm.maxRegistersPerThread, 32 * sm.maxRegistersPerThread);
    if (sm.maxSharedPerBlock > sm.sharedBytes)
        refuse(p, "sm.maxSharedPerBlock", "must be at most sm.sharedBytes = {}", sm.sharedBytes);
    if (!isPowerOfTwo(p.shared.banks)) refuse(p, "shared.banks", "must be a power of two");
    if (!isPowerOfTwo(p.shared.bankBytes)) refuse(p, "shared.bankBytes", "must be a power of two");
    if (sm.count % p.l2.sides != 0) refuse(p, "l2.sides", "must divide sm.count = {}", sm.count);
    checkGpcs(p);

    const std::int64_t line = p.l1.lineBytes * p.l1.ways;
    const auto checkL1 = [&](std::string_view key, std::int64_t bytes) {
        if (bytes % line != 0)
            refuse(p, key, "an L1D of {} B is not a multiple of l1.lineBytes x l1.ways = {}", bytes, line);
    };
    checkL1("l1.bytes", p.l1.bytes);
    if (p.l1.cachesGlobal && p.l1.bytes == 0) refuse(p, "l1.cachesGlobal", "must be false where l1.bytes is 0");
    if (sm.onChipBytes == 0) {
        if (!sm.carveouts.empty()) refuse(p, "sm.carveouts", "must be empty where sm.onChipBytes is 0");
        if (sm.carveout >= 0) refuse(p, "sm.carveout", "must be -1 where sm.onChipBytes is 0");
        return;
    }
    if (sm.carveouts.empty()) refuse(p, "sm.carveouts", "must list at least one size where sm.onChipBytes is not 0");
    if (!std::is_sorted(sm.carveouts.begin(), sm.carveouts.end(), std::less_equal<>()))
        refuse(p, "sm.carveouts", "must rise");
    if (sm.carveouts.back() != sm.sharedBytes)
        refuse(p, "sm.carveouts", "the largest must be sm.sharedBytes = {}", sm.sharedBytes);
    if (sm.carveouts.back() >= sm.onChipBytes)
        refuse(p, "sm.carveouts", "must leave something of sm.onChipBytes = {} to L1D", sm.onChipBytes);
    if (sm.carveout > sm.sharedBytes) refuse(p, "sm.carveout", "must be at most sm.sharedBytes = {}", sm.sharedBytes);
    for (std::int64_t carveout : sm.carveouts) checkL1("sm.carveouts", sm.onChipBytes - carveout);
    if (p.l1.bytes != sm.onChipBytes - sm.carveouts.front())
        refuse(p, "l1.bytes", "must be sm.onChipBytes less the smallest of sm.carveouts: {}",
               sm.onChipBytes - sm.carveouts.front());
}

void checkL2(const Profile& p) {
    const std::int64_t slices = p.map.slices(), sets = p.map.setsPerSlice();
    // The products fit: slices and sets are below 2^32, but ways x line may take them over 2^63.
    const double expected =
        static_cast<double>(slices) * static_cast<double>(sets) * static_cast<double>(p.l2.ways * p.l2.lineBytes);
    if (expected != static_cast<double>(p.l2.bytes))
        refuse(p, "l2.bytes", "must be {} slices x {} sets x {} ways x {} B = {:.0f}", slices, sets, p.l2.ways,
               p.l2.lineBytes, expected);
    if (slices % p.l2.sides != 0) refuse(p, "l2.sides", "must divide the {} slices of the map", slices);
    if (p.l2.sides == 1 && p.l2.farLatency != 0) refuse(p, "l2.farLatency", "must be 0 where l2.sides is 1");
    if (p.l2.sides == 1 && p.l2.halfLatency != 0) refuse(p, "l2.halfLatency", "must be 0 where l2.sides is 1");
}

void checkPolicies(const Profile& p) {
    if (p.ciao.lowCutoff > p.ciao.highCutoff)
        refuse(p, "ciao.lowCutoff", "must be at most ciao.highCutoff = {}", inUnits(p.ciao.highCutoff));
}

void checkDram(const Profile& p) {
    const auto& dram = p.dram;
    if (!isPowerOfTwo(dram.rowBytes)) refuse(p, "dram.rowBytes", "must be a power of two");
    if (!isPowerOfTwo(dram.burstBytes)) refuse(p, "dram.burstBytes", "must be a power of two");
    if (dram.burstBytes > dram.rowBytes)
        refuse(p, "dram.burstBytes", "must be at most dram.rowBytes = {}", dram.rowBytes);
    if (p.l2.sectorBytes % dram.burstBytes != 0)
        refuse(p, "dram.burstBytes", "must divide l2.sectorBytes = {}", p.l2.sectorBytes);
    if (dram.tRAS < dram.tRCD) refuse(p, "dram.tRAS", "must be at least dram.tRCD = {}", dram.tRCD);
    const std::int64_t access = dram.tRCD + dram.tCL + dram.tCCD;
    const std::int64_t least = p.l2.hitLatency + (access * p.clock.coreMHz + p.clock.memoryMHz - 1) / p.clock.memoryMHz;
    if (dram.latency <= least)
        refuse(p, "dram.latency", "must be more than l2.hitLatency and tRCD + tCL + tCCD together: {} core cycles",
               least);
    if (p.l2.hitLatency <= p.l1.hitLatency && p.l1.bytes != 0)
        refuse(p, "l2.hitLatency", "must be more than l1.hitLatency = {}", p.l1.hitLatency);

    if (!isPowerOfTwo(p.memory.pageBytes)) refuse(p, "memory.pageBytes", "must be a power of two");
    if (dram.bytes % p.memory.pageBytes != 0)
        refuse(p, "dram.bytes", "must be a multiple of memory.pageBytes = {}", p.memory.pageBytes);
    if (p.memory.reservedBytes >= dram.bytes)
        refuse(p, "memory.reservedBytes", "must be less than dram.bytes = {}", dram.bytes);
    if (p.memory.reservedBytes % p.memory.pageBytes != 0)
        refuse(p, "memory.reservedBytes", "must be a multiple of memory.pageBytes = {}", p.memory.pageBytes);
}
}  // namespace

void check(const DeviceProfile& p) {
    checkRanges(p);
    checkLines(p);
    checkSm(p);
    checkL2(p);
    checkDram(p);
    checkPolicies(p);
}

}  // namespace bulkhead::arch
