#include "random_profiles.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/random.h"

namespace bulkhead::calibrate {
namespace {

using arch::OpClass;

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most - least + 1)));
    }
    std::int64_t oneOf(std::initializer_list<std::int64_t> list) {
        return *(list.begin() + between(0, static_cast<std::int64_t>(list.size()) - 1));
    }

  private:
    Random random_;
};

void drawStructure(arch::DeviceProfile& p, Draw draw) {
    p.sm.schedulers = draw.oneOf({1, 2, 4});
    p.sm.issueWidth = draw.oneOf({1, 2});
    for (std::int64_t& units : p.unitCount) units = std::min(p.sm.schedulers, draw.oneOf({1, 2, 4}));
    p.unitCount[static_cast<int>(arch::Unit::ldst)] = 1;
    p.set("instruction.width", std::to_string(draw.oneOf({8, 16})));
}

void drawOperations(arch::DeviceProfile& p, Draw& draw) {
    for (int i = 0; i < arch::kProfileOpClasses; ++i) {
        const auto op = static_cast<OpClass>(i);
        const bool slow = op == OpClass::integerDiv || op == OpClass::fp32Div || op == OpClass::fp64Div;
        p.interval[i] = slow ? draw.between(8, 60) : draw.between(1, 8);
        // A chain is not faster than the unit that executes it.
        p.latency[i] = p.interval[i] + (slow ? draw.between(20, 300) : draw.between(1, 24));
    }
    // Loads keep the ports busy even with what they are added up by.
    p.interval[static_cast<int>(OpClass::integer)] = draw.between(1, 2);
    // A loop has two integer instructions a branch: one that is faster does not show.
    const std::int64_t alu = p.unitCount[static_cast<int>(arch::Unit::alu)],
                       control = p.unitCount[static_cast<int>(arch::Unit::control)];
    p.interval[static_cast<int>(OpClass::control)] =
        (4 * p.interval[static_cast<int>(OpClass::integer)] + 4) * control / alu + draw.between(4, 12);
    p.latency[static_cast<int>(OpClass::control)] =
        p.interval[static_cast<int>(OpClass::control)] + draw.between(1, 10);
    p.interval[static_cast<int>(OpClass::memory)] = draw.between(1, 4);
    p.latency[static_cast<int>(OpClass::memory)] = 1;
}

void drawSizes(arch::DeviceProfile& p, Draw& draw) {
    p.clock.coreMHz = draw.between(1000, 2500);
    p.sm.count = draw.between(2, 4);
    p.sm.maxThreads = draw.oneOf({1024, 1536, 2048});
    p.sm.maxBlocks = draw.between(8, 32);
    p.sm.maxThreadsPerBlock = draw.oneOf({512, 1024});
    p.launch.latency = draw.between(500, 9000);
}

void drawCaches(arch::DeviceProfile& p, Draw& draw) {
    p.shared.latency = draw.between(10, 60);
    p.shared.banks = draw.oneOf({16, 32});
    p.shared.bankBytes = draw.oneOf({4, 8});
    p.l1.cachesGlobal = true;
    p.l1.ways = draw.between(3, 12);
    p.l1.setHash =
        draw.between(0, 1) == 0 ? arch::DeviceProfile::SetHash::linear : arch::DeviceProfile::SetHash::xorFold;
    p.l1.bytes = draw.oneOf({16, 32, 64}) * p.l1.ways * p.l1.lineBytes;
    p.l1.sectorBytes = draw.oneOf({32, 64, 128});
    p.l1.hitLatency = draw.between(12, 100);
    // Fewer than lines, each of which a miss takes at once.
    p.l1.mshrs = draw.between(17, 32);
    p.constant.lineBytes = draw.oneOf({32, 64, 128});
    p.constant.ways = draw.oneOf({2, 4, 8});
    p.constant.bytes = draw.oneOf({4, 8, 16}) * p.constant.lineBytes * p.constant.ways;
    p.constant.hitLatency = draw.between(4, 60);
}

void drawInstructionCache(arch::DeviceProfile& p, Draw& draw) {
    const auto set = [&](const char* key, std::int64_t value) { p.set(key, std::to_string(value)); };
    set("instruction.lineBytes", draw.oneOf({64, 128}));
    set("instruction.ways", draw.oneOf({2, 4, 8}));
    // All other probes fit: the longest body has 32 KB. Empty kernels wait for no code.
    set("instruction.bytes", draw.oneOf({40, 48, 64, 96}) * 1024);
    set("instruction.launchBytes", draw.oneOf({4, 16}) * 1024);
}

void drawMemory(arch::DeviceProfile& p, Draw& draw) {
    p.clock.l2MHz = draw.between(1000, 1500);
    p.clock.memoryMHz = draw.between(1000, 1500);
    // Little enough for the ports of a few SMs.
    p.dram.tCCD = draw.between(4, 6);
    p.l2.hitLatency = draw.between(250, 500);
    const std::int64_t access = (p.dram.tRCD + p.dram.tCL + p.dram.tCCD) * p.clock.coreMHz / p.clock.memoryMHz;
    p.dram.latency = p.l2.hitLatency + access + draw.between(40, 300);
    p.l2.atomicInterval = draw.between(1, 6);
    p.hostLink.mbPerS = draw.between(2000, 60000);
    p.sharing.quantumUs = draw.between(100, 300);
    p.sharing.switchUs = draw.between(5, 50);
}

}  // namespace

arch::DeviceProfile randomProfile(std::uint64_t structure, std::uint64_t seed) {
    arch::DeviceProfile p = arch::findProfile("gtx1080");
    p.name = "random" + std::to_string(seed);
    drawStructure(p, Draw(structure));
    Draw draw(seed);
    drawSizes(p, draw);
    drawOperations(p, draw);
    drawCaches(p, draw);
    drawMemory(p, draw);
    // An SM ends blocks no faster than its unit of branches executes their last instruction.
    p.set("launch.blockInterval",
          std::to_string(p.interval[static_cast<int>(OpClass::control)] / p.sm.count + draw.between(1, 20)));
    p.set("l1.tagsPerCycle", std::to_string(draw.oneOf({1, 2, 4})));
    drawInstructionCache(p, draw);
    p.validate();
    return p;
}

std::string writtenProfile(const arch::DeviceProfile& p, const std::string& file) {
    writeFile(file, p.toJson().dump());
    return "sim:" + file;
}

}  // namespace bulkhead::calibrate
