#include "arch/parameter_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace bulkhead::arch {

namespace {

using nlohmann::json;
using Profile = DeviceProfile;

constexpr std::int64_t kMost = std::int64_t{1} << 50;  ///< more than any parameter can mean
constexpr std::int64_t kMillion = 1'000'000;

using FieldOf = Field (*)(Profile&, int index);

/// A parameter that is one number.
Descriptor number(std::string_view key, std::string_view unit, std::int64_t least, std::int64_t most,
                  std::string_view meaning, FieldOf field, int index = 0) {
    Descriptor d;
    d.key = key;
    d.unit = unit;
    d.meaning = meaning;
    d.least = least;
    d.most = most;
    d.field = field;
    d.index = index;
    return d;
}

/// A parameter with decimals, kept in millionths.
Descriptor decimal(std::string_view key, std::string_view unit, std::int64_t least, std::int64_t most,
                   std::string_view meaning, FieldOf field) {
    Descriptor d = number(key, unit, least * kMillion, most * kMillion, meaning, field);
    d.kind = Descriptor::Kind::decimal;
    return d;
}

Descriptor fraction(std::string_view key, std::string_view meaning, FieldOf field) {
    return decimal(key, "", 0, 1, meaning, field);
}

const char* const kAssumedLru = "assumed: least recently used";
const char* const kNoInstructionCache = "assumed: no instruction cache, as simulators of the time have it";

std::vector<std::string> namesOf(std::span<const std::string_view> names) {
    return {names.begin(), names.end()};
}

Descriptor optional(Descriptor d, std::string_view source) {
    d.source = source;
    return d;
}

Descriptor flag(std::string_view key, std::string_view meaning, FieldOf field) {
    Descriptor d = number(key, "", 0, 1, meaning, field);
    d.kind = Descriptor::Kind::flag;
    return d;
}

Descriptor choice(std::string_view key, std::vector<std::string> choices, std::string_view meaning, FieldOf field) {
    Descriptor d = number(key, "", 0, static_cast<std::int64_t>(choices.size()) - 1, meaning, field);
    d.kind = Descriptor::Kind::choice;
    d.choices = std::move(choices);
    return d;
}

Descriptor list(std::string_view key, std::string_view unit, std::int64_t least, std::int64_t most,
                std::string_view meaning, std::vector<std::int64_t>& (*field)(Profile&)) {
    Descriptor d;
    d.kind = Descriptor::Kind::list;
    d.key = key;
    d.unit = unit;
    d.meaning = meaning;
    d.least = least;
    d.most = most;
    d.list = field;
    return d;
}

struct OpName {
    OpClass op;
    const char *name, *what;
};
constexpr std::array<OpName, kProfileOpClasses> kOps = {{
    {OpClass::integer, "integer", "integer add, logic, shift, compare, move"},
    {OpClass::integerMul, "integerMul", "integer multiply"},
    {OpClass::integerDiv, "integerDiv", "integer divide and remainder"},
    {OpClass::fp32, "fp32", "32- and 16-bit float add, multiply, fma"},
    {OpClass::fp32Div, "fp32Div", "32-bit div.rn, sqrt.rn, rcp.rn"},
    {OpClass::special, "special", "approximate functions"},
    {OpClass::fp64, "fp64", "64-bit float add, multiply, fma"},
    {OpClass::fp64Div, "fp64Div", "64-bit division and square root"},
    {OpClass::convert, "convert", "conversions"},
    {OpClass::shuffle, "shuffle", "shfl, vote, match, redux"},
    {OpClass::control, "control", "branches, calls, barriers"},
    {OpClass::memory, "memory", "address generation of loads and stores"},
}};

constexpr std::array<std::pair<Unit, const char*>, kProfileUnits> kUnitNames = {{
    {Unit::alu, "alu"},
    {Unit::sfu, "sfu"},
    {Unit::fp64, "fp64"},
    {Unit::ldst, "ldst"},
    {Unit::control, "control"},
}};

#define FIELD(member) [](Profile& p, [[maybe_unused]] int index) -> Field { return p.member; }

std::vector<Descriptor> makeTable() {
    constexpr std::int64_t kCycles = 1'000'000, kMHz = 100'000, kBytes = std::int64_t{1} << 44;
    std::vector<Descriptor> t = {
        number("compute.major", "", 1, 99, "compute capability, major", FIELD(compute.major)),
        number("compute.minor", "", 0, 99, "compute capability, minor", FIELD(compute.minor)),

        number("clock.coreMHz", "MHz", 1, kMHz, "clock of the SMs", FIELD(clock.coreMHz)),
        number("clock.l2MHz", "MHz", 1, kMHz, "clock of crossbar and L2", FIELD(clock.l2MHz)),
        number("clock.memoryMHz", "MHz", 1, kMHz, "clock of the DRAM timings", FIELD(clock.memoryMHz)),

        number("sm.count", "", 1, 4096, "number of SMs", FIELD(sm.count)),
        number("sm.schedulers", "", 1, 16, "warp schedulers per SM", FIELD(sm.schedulers)),
        number("sm.issueWidth", "", 1, 8, "instructions per cycle that a scheduler issues from one warp",
               FIELD(sm.issueWidth)),
        number("sm.maxThreads", "", 32, 65536, "maximum resident threads per SM", FIELD(sm.maxThreads)),
        number("sm.maxBlocks", "", 1, 1024, "maximum resident blocks per SM", FIELD(sm.maxBlocks)),
        number("sm.maxThreadsPerBlock", "", 32, 65536, "maximum threads per block", FIELD(sm.maxThreadsPerBlock)),
        number("sm.registers", "", 32, 1 << 24, "32-bit registers per SM", FIELD(sm.registers)),
        number("sm.registerGranularity", "", 1, 1 << 16, "allocation granularity of registers per warp",
               FIELD(sm.registerGranularity)),
        number("sm.maxRegistersPerThread", "", 1, 1024, "maximum registers per thread",
               FIELD(sm.maxRegistersPerThread)),
        number("sm.sharedBytes", "B", 0, kBytes, "maximum shared memory per SM", FIELD(sm.sharedBytes)),
        number("sm.maxSharedPerBlock", "B", 0, kBytes, "maximum shared memory per block", FIELD(sm.maxSharedPerBlock)),
        number("sm.sharedGranularity", "B", 1, kBytes, "allocation granularity of shared memory",
               FIELD(sm.sharedGranularity)),
        number("sm.onChipBytes", "B", 0, kBytes, "memory divided between L1D and shared memory; 0: separate",
               FIELD(sm.onChipBytes)),
        list("sm.carveouts", "B", 0, kBytes, "possible sizes of shared memory where L1D has the rest",
             [](Profile& p) -> std::vector<std::int64_t>& { return p.sm.carveouts; }),
        optional(number("sm.carveout", "B", -1, kBytes,
                        "size of shared memory that every launch gets, if a block fits; -1: what its blocks need",
                        FIELD(sm.carveout)),
                 "assumed: none is preferred, as by default"),
        optional(
            number("sm.guardLatency", "cycles", 0, kCycles,
                   "added to a comparison's latency where its result guards an instruction", FIELD(sm.guardLatency)),
            "assumed: 0, as any other operand"),
        optional(number("sm.meetLatency", "cycles", 0, kCycles,
                        "added to a branch's latency where its lanes may part and meet (with compiler.optimise)",
                        FIELD(sm.meetLatency)),
                 "assumed: 0"),
        optional(number("sm.barrierLatency", "cycles", 0, kCycles,
                        "added from the last warp's arrival at a barrier until its warps continue",
                        FIELD(sm.barrierLatency)),
                 "assumed: 0, as a branch"),
        optional(number("sm.barrierInterval", "cycles", 0, kCycles,
                        "interval between arrivals of two warps at barriers", FIELD(sm.barrierInterval)),
                 "assumed: 0, any number at once"),
        optional(number("sm.longestWait", "cycles", 0, kCycles,
                        "a warp that could have issued for so long goes before all others; 0: by the scheduler alone",
                        FIELD(sm.longestWait)),
                 "assumed: 0, as schedulers were published"),
    };

    for (const auto& [unit, name] : kUnitNames)
        t.push_back(number(fmt::format("unit.{}", name), "", 1, 1024, fmt::format("{} units per SM", name),
                           FIELD(unitCount[index]), static_cast<int>(unit)));
    for (const OpName& op : kOps) {
        const int i = static_cast<int>(op.op);
        t.push_back(number(fmt::format("op.{}.interval", op.name), "cycles", 1, kCycles,
                           fmt::format("issue interval of a unit: {}", op.what), FIELD(interval[index]), i));
        t.push_back(number(fmt::format("op.{}.latency", op.name), "cycles", 1, kCycles,
                           fmt::format("latency to a dependent instruction: {}", op.what), FIELD(latency[index]), i));
    }

    constexpr std::string_view kAssumedTensor = "assumed: as Volta, 128 multiply-adds a cycle, and else as an H200";
    const std::vector<Descriptor> rest = {
        optional(number("cluster.sms", "", 0, 4096,
                        "SMs that the blocks of a cluster are spread over (a GPC); 0: no clusters", FIELD(cluster.sms)),
                 "assumed: 0, compute capabilities before 9.0 have no clusters"),
        optional(
            list("cluster.gpcs", "", 0, 255,
                 "GPC of each two SMs, in the order of their numbers; none, or of another sm.count: cluster.sms that "
                 "follow each other",
                 [](Profile& p) -> std::vector<std::int64_t>& { return p.cluster.gpcs; }),
            "assumed: none, SMs that follow each other are neighbours"),
        optional(number("cluster.latency", "cycles", 0, kCycles, "load-to-use latency of another SM's shared memory",
                        FIELD(cluster.latency)),
                 "assumed: 0, without clusters"),
        optional(number("cluster.barrierLatency", "cycles", 0, kCycles,
                        "from the last arrival at a cluster's barrier until its warps leave it",
                        FIELD(cluster.barrierLatency)),
                 "assumed: 0, without clusters"),

        optional(number("tensor.rate", "multiply-adds", 1, kCycles,
                        "work of a tensor core in a cycle, in multiply-adds of 16-bit numbers", FIELD(tensor.rate)),
                 kAssumedTensor),
        optional(number("tensor.setup", "cycles", 0, kCycles, "an mma beyond its work; twice with a sparse matrix",
                        FIELD(tensor.setup)),
                 kAssumedTensor),
        optional(
            number("tensor.interval", "cycles", 1, kCycles, "issue interval of mma, at least", FIELD(tensor.interval)),
            kAssumedTensor),
        optional(number("tensor.latency", "cycles", 1, kCycles, "latency of mma to a dependent one, without its work",
                        FIELD(tensor.latency)),
                 kAssumedTensor),
        optional(number("tensor.depthLatency", "cycles", 0, kCycles,
                        "more latency for each 1,024 multiply-adds of an mma", FIELD(tensor.depthLatency)),
                 kAssumedTensor),
        optional(number("tensor.octetInterval", "cycles", 1, kCycles, "issue interval of mma.m8n8k4 in f16",
                        FIELD(tensor.octetInterval)),
                 kAssumedTensor),
        optional(number("tensor.groupInterval", "cycles", 1, kCycles, "interval of wgmma, at least",
                        FIELD(tensor.groupInterval)),
                 kAssumedTensor),
        optional(number("tensor.groupLatency", "cycles", 1, kCycles,
                        "latency from the end of a wgmma to the end of wgmma.wait_group", FIELD(tensor.groupLatency)),
                 kAssumedTensor),
        optional(number("tensor.doubleRate", "multiply-adds", 1, kCycles, "multiply-adds of f64 in a cycle",
                        FIELD(tensor.doubleRate)),
                 kAssumedTensor),
        optional(number("tensor.doubleInterval", "cycles", 1, kCycles, "issue interval of mma in f64, at least",
                        FIELD(tensor.doubleInterval)),
                 kAssumedTensor),
        optional(number("tensor.doubleLatency", "cycles", 1, kCycles, "latency of mma in f64, without its work",
                        FIELD(tensor.doubleLatency)),
                 kAssumedTensor),

        number("shared.banks", "", 1, 64, "shared-memory banks", FIELD(shared.banks)),
        number("shared.bankBytes", "B", 1, 64, "width of a bank", FIELD(shared.bankBytes)),
        number("shared.latency", "cycles", 1, kCycles, "load-to-use latency without conflicts", FIELD(shared.latency)),

        flag("l1.cachesGlobal", "L1D caches plain ld.global", FIELD(l1.cachesGlobal)),
        number("l1.bytes", "B", 0, kBytes, "L1D per SM (maximum, where shared memory takes a part)", FIELD(l1.bytes)),
        number("l1.lineBytes", "B", 32, 4096, "line size", FIELD(l1.lineBytes)),
        number("l1.sectorBytes", "B", 32, 4096, "sector size: bytes fetched per miss", FIELD(l1.sectorBytes)),
        number("l1.ways", "", 1, 1024, "associativity", FIELD(l1.ways)),
        choice("l1.setHash", {"linear", "xor"}, "set index: address bits, or XOR-folded", FIELD(l1.setHash)),
        choice("l1.allocate", {"miss", "fill"}, "allocate a line on miss or on fill", FIELD(l1.allocate)),
        optional(
            choice("l1.replacement", namesOf(Profile::kReplacementNames), "replacement policy", FIELD(l1.replacement)),
            kAssumedLru),
        optional(choice("l1.prefetch", namesOf(Profile::kPrefetchNames), "prefetcher", FIELD(l1.prefetch)),
                 "assumed: no prefetcher"),
        optional(number("l1.prefetchDegree", "", 1, 64, "lines prefetched per miss", FIELD(l1.prefetchDegree)),
                 "assumed: one"),
        optional(
            number("l1.prefetchReserve", "", 0, 65536, "MSHRs reserved for demand misses", FIELD(l1.prefetchReserve)),
            "assumed: some, so that loads need not wait for what is fetched ahead"),
        flag("l1.localWriteBack", "local stores stay in L1D (global stores always write through)",
             FIELD(l1.localWriteBack)),
        number("l1.hitLatency", "cycles", 1, kCycles, "load-to-use latency", FIELD(l1.hitLatency)),
        number("l1.mshrs", "", 1, 65536, "MSHRs: outstanding missed lines", FIELD(l1.mshrs)),
        number("l1.mshrMerges", "", 1, 65536, "requests merged per MSHR", FIELD(l1.mshrMerges)),
        optional(number("l1.tagsPerCycle", "", 1, 32, "lines of a load looked up in a cycle", FIELD(l1.tagsPerCycle)),
                 "assumed: one"),
        number("l1.queue", "", 1, 65536, "queue of memory instructions in front of L1D", FIELD(l1.queue)),

        number("constant.bytes", "B", 64, kBytes, "constant cache per SM", FIELD(constant.bytes)),
        number("constant.lineBytes", "B", 4, 4096, "line size", FIELD(constant.lineBytes)),
        number("constant.ways", "", 1, 1024, "associativity", FIELD(constant.ways)),
        number("constant.hitLatency", "cycles", 1, kCycles, "load-to-use latency", FIELD(constant.hitLatency)),

        optional(number("instruction.bytes", "B", 0, kBytes,
                        "instruction cache per SM; 0: the next instruction is always there", FIELD(instruction.bytes)),
                 kNoInstructionCache),
        optional(number("instruction.lineBytes", "B", 8, 4096, "line size", FIELD(instruction.lineBytes)),
                 kNoInstructionCache),
        optional(number("instruction.ways", "", 1, 1024, "associativity", FIELD(instruction.ways)),
                 kNoInstructionCache),
        optional(number("instruction.width", "B", 4, 128, "size of a machine instruction", FIELD(instruction.width)),
                 kNoInstructionCache),
        optional(number("instruction.launchBytes", "B", 0, kBytes,
                        "first bytes of its kernel's code that a launch brings to all SMs before its blocks start",
                        FIELD(instruction.launchBytes)),
                 kNoInstructionCache),
        optional(number("instruction.sharers", "", 1, 4096, "SMs that one fetch of a launch serves",
                        FIELD(instruction.sharers)),
                 kNoInstructionCache),
        optional(number("instruction.firstReads", "sectors", 0, 65536,
                        "sectors that the first launch of a kernel reads from L2 beside its code, such as constants",
                        FIELD(instruction.firstReads)),
                 kNoInstructionCache),

        number("crossbar.requestBytesPerCycle", "B", 1, 65536,
               "request bandwidth of a port of an SM or slice, per L2 cycle", FIELD(crossbar.requestBytesPerCycle)),
        number("crossbar.responseBytesPerCycle", "B", 1, 65536,
               "response bandwidth of a port of an SM or slice, per L2 cycle", FIELD(crossbar.responseBytesPerCycle)),
        optional(number("crossbar.bulkBytesPerCycle", "B", 0, 65536,
                        "response bandwidth of an SM's port for bulk copies, per L2 cycle; 0: as for other reads",
                        FIELD(crossbar.bulkBytesPerCycle)),
                 "assumed: 0, as for other reads"),
        optional(number("crossbar.maskedBytes", "B", 0, 4096,
                        "bytes of a port that a partly written sector takes; 0: as a whole one",
                        FIELD(crossbar.maskedBytes)),
                 "assumed: 0, which bytes are meant is told beside them"),
        number("crossbar.smQueue", "", 1, 65536, "request queue of an SM", FIELD(crossbar.smQueue)),
        number("crossbar.sliceQueue", "", 1, 65536, "request queue of a slice", FIELD(crossbar.sliceQueue)),

        number("l2.bytes", "B", 1, kBytes, "L2 capacity, all slices", FIELD(l2.bytes)),
        number("l2.lineBytes", "B", 32, 4096, "line size", FIELD(l2.lineBytes)),
        number("l2.sectorBytes", "B", 32, 4096, "sector size: bytes fetched per miss", FIELD(l2.sectorBytes)),
        number("l2.ways", "", 1, 4096, "associativity", FIELD(l2.ways)),
        number("l2.hitLatency", "cycles", 1, kCycles, "load-to-use latency, core clock", FIELD(l2.hitLatency)),
        number("l2.mshrs", "", 1, 65536, "MSHRs per slice: outstanding missed lines", FIELD(l2.mshrs)),
        number("l2.mshrMerges", "", 1, 65536, "requests merged per MSHR", FIELD(l2.mshrMerges)),
        optional(
            choice("l2.replacement", namesOf(Profile::kReplacementNames), "replacement policy", FIELD(l2.replacement)),
            kAssumedLru),
        optional(choice("l2.writePolicy", namesOf(Profile::kL2WriteNames), "write policy", FIELD(l2.writePolicy)),
                 "assumed: what is written twice costs DRAM one write"),
        number("l2.writeRetention", "", 0, kCycles,
               "write-back: set accesses by which a line fetched by a write counts as younger",
               FIELD(l2.writeRetention)),
        optional(number("l2.dirtyWays", "", 0, 4096, "write-back: ways of a set that may be dirty at a time; 0: all",
                        FIELD(l2.dirtyWays)),
                 "assumed: 0, lines are written to DRAM when they are evicted"),
        optional(number("l2.persistingBytes", "B", 0, kBytes,
                        "what programs may set aside for lines that persist, at most; 0: no lines persist",
                        FIELD(l2.persistingBytes)),
                 "assumed: 0, as before compute capability 8.0"),
        number("l2.responseQueue", "", 1, 65536, "response queue of a slice", FIELD(l2.responseQueue)),
        number("l2.atomicInterval", "L2 cycles", 1, kCycles, "time of a slice per sector of an atomic",
               FIELD(l2.atomicInterval)),
        optional(decimal("l2.repeatInterval", "L2 cycles", 0, kCycles,
                         "time of a slice per lane of an integer atomic at the same address", FIELD(l2.repeatInterval)),
                 "assumed: 0, lanes of a warp are added up on their way"),
        optional(decimal("l2.floatRepeatInterval", "L2 cycles", 0, kCycles,
                         "time of a slice per lane of a floating-point atomic at the same address",
                         FIELD(l2.floatRepeatInterval)),
                 "assumed: 0, lanes of a warp are added up on their way"),
        optional(flag("l2.mergesWrites", "a sector that was written in pieces, word by word, needs no fetch to be read",
                      FIELD(l2.mergesWrites)),
                 "assumed: one write makes a sector whole, or it is fetched when it is read"),
        optional(flag("l2.holdsCopies", "copies leave their lines in empty ways of L2, fills as a kernel that writes",
                      FIELD(l2.holdsCopies)),
                 "assumed: a kernel finds nothing of them in L2"),
        optional(flag("l2.copiesFarLines",
                      "a read of a line of the other side takes longer; it and a write leave a copy near their SM",
                      FIELD(l2.copiesFarLines)),
                 "assumed: reads do not show the side of a line"),
        optional(number("l2.fetchBytes", "B", 32, 4096, "bytes that a miss fetches at the least", FIELD(l2.fetchBytes)),
                 "assumed: the sectors that were asked for"),
        optional(number("l2.joinedReads", "", 1, 255,
                        "reads of a GPC for the same sectors of a line that one look-up answers, at most",
                        FIELD(l2.joinedReads)),
                 "assumed: 1, each read is looked up"),
        optional(number("l2.joinWindow", "cycles", 0, kCycles,
                        "after a read has come to a slice, in which others may join it though it is answered",
                        FIELD(l2.joinWindow)),
                 "assumed: 0, while it waits"),
        number("l2.sides", "", 1, 64, "L2 sides, each with a share of slices and SMs", FIELD(l2.sides)),
        optional(list("l2.gpcSides", "", 0, 63, "L2 side of each GPC; none: SMs divide evenly, by number",
                      [](Profile& p) -> std::vector<std::int64_t>& { return p.l2.gpcSides; }),
                 "assumed: none, SMs divide evenly"),
        optional(list("l2.gpcHalves", "", 0, 1, "half of its L2 side of each GPC",
                      [](Profile& p) -> std::vector<std::int64_t>& { return p.l2.gpcHalves; }),
                 "assumed: none, SMs divide evenly"),
        number("l2.farLatency", "cycles", 0, kCycles, "added latency of an atomic or write to the other side",
               FIELD(l2.farLatency)),
        number("l2.halfLatency", "cycles", 0, kCycles,
               "added latency of an atomic or write to the other half of a side", FIELD(l2.halfLatency)),

        number("dram.bytes", "B", 1 << 20, kBytes, "size of device memory", FIELD(dram.bytes)),
        number("dram.latency", "cycles", 1, kCycles, "load-to-use latency, core clock, bank precharged",
               FIELD(dram.latency)),
        number("dram.rowBytes", "B", 64, 1 << 20, "row size", FIELD(dram.rowBytes)),
        number("dram.burstBytes", "B", 1, 4096, "bytes per column command", FIELD(dram.burstBytes)),
        number("dram.queue", "", 1, 65536, "request queue of a channel", FIELD(dram.queue)),
        optional(number("dram.bankQueue", "", 0, 65536, "fills of one bank in the queue of a channel; 0: no limit",
                        FIELD(dram.bankQueue)),
                 "assumed: no limit of its own"),
        optional(choice("dram.scheduler", namesOf(Profile::kDramSchedulerNames), "scheduling policy of a channel",
                        FIELD(dram.scheduler)),
                 "assumed: what controllers of GPUs do is not published"),
        optional(number("dram.ageLimit", "cycles", 1, kCycles,
                        "fr-fcfs: age from which row hits no longer bypass a request", FIELD(dram.ageLimit)),
                 "assumed: controllers bound what first-ready adds to a wait; by how much is not published"),
        optional(number("dram.hitCap", "", 1, 65536, "fr-fcfs-cap: row hits that may bypass an older request",
                        FIELD(dram.hitCap)),
                 "assumed: few, so that fairness gains and row hits are kept"),
        optional(number("dram.batchCap", "", 1, 65536, "par-bs: requests per kernel and bank in a batch",
                        FIELD(dram.batchCap)),
                 "assumed: few, so that a batch is soon done"),
        optional(choice("dram.rowPolicy", namesOf(Profile::kRowPolicyNames), "row policy: when an unused row is closed",
                        FIELD(dram.rowPolicy)),
                 "assumed: open rows"),
        optional(number("dram.rowTimeout", "memory cycles", 1, kCycles, "timeout: idle time until a row is closed",
                        FIELD(dram.rowTimeout)),
                 "assumed: some times what opening a row takes"),
        optional(
            number("dram.tREFI", "memory cycles", 0, kCycles, "interval between refreshes; 0: none", FIELD(dram.tREFI)),
            "assumed: none"),
        optional(number("dram.tRFC", "memory cycles", 0, kCycles, "duration of a refresh, which blocks its channel",
                        FIELD(dram.tRFC)),
                 "assumed: none"),
        number("dram.tRCD", "memory cycles", 1, 10000, "activate to column command", FIELD(dram.tRCD)),
        number("dram.tRP", "memory cycles", 1, 10000, "precharge to activate", FIELD(dram.tRP)),
        number("dram.tCL", "memory cycles", 1, 10000, "column read to data", FIELD(dram.tCL)),
        number("dram.tRAS", "memory cycles", 1, 10000, "activate to precharge", FIELD(dram.tRAS)),
        number("dram.tCCD", "memory cycles", 1, 10000, "column command to the next", FIELD(dram.tCCD)),
        number("dram.tWR", "memory cycles", 1, 10000, "end of write data to precharge", FIELD(dram.tWR)),

        number("memory.pageBytes", "B", 4096, std::int64_t{1} << 30, "page size", FIELD(memory.pageBytes)),
        choice("memory.placement", {"contiguous", "scattered"}, "placement of pages in device memory",
               FIELD(memory.placement)),
        number("memory.seed", "", 0, kMost, "seed of scattered placement", FIELD(memory.seed)),
        number("memory.reservedBytes", "B", 0, kBytes, "memory that is never allocated", FIELD(memory.reservedBytes)),

        number("sharing.quantumUs", "us", 1, 10'000'000, "time slice of a context while another waits",
               FIELD(sharing.quantumUs)),
        number("sharing.switchUs", "us", 0, 10'000'000, "cost of a context switch", FIELD(sharing.switchUs)),

        number("hostLink.mbPerS", "MB/s", 1, 10'000'000, "copy bandwidth to and from the host, each way",
               FIELD(hostLink.mbPerS)),

        number("launch.latency", "cycles", 0, 100'000'000, "latency from a call to the start of its launch",
               FIELD(launch.latency)),
        optional(number("launch.setup", "cycles", 0, 100'000'000,
                        "part of a launch's time that belongs to no block: from its start to the first block",
                        FIELD(launch.setup)),
                 "assumed: 0, as simulators of the time have it"),
        decimal("launch.blockInterval", "cycles", 1, kCycles, "interval between placements of two blocks",
                FIELD(launch.blockInterval)),
        optional(flag("launch.byGpcs",
                      "blocks that follow each other go to SMs of a GPC, of few blocks as many to each; a launch on an "
                      "idle GPU begins anew",
                      FIELD(launch.byGpcs)),
                 "assumed: the next block goes to the next SM, from launch to launch"),
        optional(number("launch.l2Reads", "sectors", 0, 65536,
                        "sectors that a launch reads from L2 beside its kernel's: its description, constants and code",
                        FIELD(launch.l2Reads)),
                 "assumed: 0, not modelled"),
        optional(
            number("launch.l2Misses", "sectors", 0, 65536, "those of them that are not in L2", FIELD(launch.l2Misses)),
            "assumed: 0, not modelled"),

        optional(flag("compiler.optimise",
                      "modules are loaded as NVIDIA's assembler would leave them: loops unrolled, loads early",
                      FIELD(compiler.optimise)),
                 "assumed: PTX is executed as written"),

        optional(choice("ciao.instructions", {"warps", "threads"},
                        "instructions counted by CIAO's epochs: of warps or of threads", FIELD(ciao.instructions)),
                 "assumed: CIAO (IPDPS 2018) counts threads' in Table II (APKI) and Figure 9 (IPC)"),
        optional(choice("ciao.scores", {"warps", "threads"},
                        "instructions counted by CIAO's scores: of warps or of threads", FIELD(ciao.scores)),
                 "assumed: of threads, a cut-off of 4 % would switch CIAO (IPDPS 2018) off, and Figure 11b has 5 %"),
        optional(number("ciao.moveQueue", "", 1, 1024,
                        "lines that can wait on their way between L1D and shared memory that serves as a cache",
                        FIELD(ciao.moveQueue)),
                 "published: GPGPU-Sim 4.2, -gpgpu_n_ldst_response_buffer_size: 2 unless set"),
        optional(number("ciao.vtaTags", "", 1, 1024, "tags per warp in CIAO's victim tag array", FIELD(ciao.vtaTags)),
                 "published: CIAO (IPDPS 2018), Table I"),
        optional(number("ciao.counterBits", "", 1, 7, "width of the counters in CIAO's interference list",
                        FIELD(ciao.counterBits)),
                 "published: CIAO (IPDPS 2018), III-A"),
        optional(fraction("ciao.highCutoff",
                          "score of an interfered warp above which CIAO isolates or stalls its interferer",
                          FIELD(ciao.highCutoff)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(fraction("ciao.lowCutoff", "score down to which the interferer stays isolated or stalled",
                          FIELD(ciao.lowCutoff)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(number("ciao.highEpoch", "instructions", 1, kMost, "interval between checks of the high cut-off",
                        FIELD(ciao.highEpoch)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(number("ciao.lowEpoch", "instructions", 1, kMost, "interval between checks of the low cut-off",
                        FIELD(ciao.lowEpoch)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(
            choice("ciao.adapts", {"both", "memory", "warps"},
                   "what ciao-a changes where warps interfere: their cache, their number, or both", FIELD(ciao.adapts)),
            "assumed: each alone gains less (docs/schedulers.md)"),
        optional(
            number("ciao.trial", "cycles", 100, 1'000'000, "cycles that ciao-a measures at a time", FIELD(ciao.trial)),
            "assumed: found by experiment (docs/schedulers.md)"),
        optional(
            number("ccws.vtaTags", "", 1, 1024, "tags per warp in the victim tag array of CCWS", FIELD(ccws.vtaTags)),
            "published: Rogers et al. (MICRO 2012), Table 3: 16 entries per wavefront"),
        optional(number("ccws.baseScore", "", 1, 1'000'000, "lost-locality score of a warp without lost locality",
                        FIELD(ccws.baseScore)),
                 "published: Rogers et al. (MICRO 2012), Table 3: wavefront base score"),
        optional(
            number("ccws.throttle", "", 1, 1'000'000, "K of the lost-locality detected score", FIELD(ccws.throttle)),
            "published: Rogers et al. (MICRO 2012), Table 3: K throttle"),
        optional(number("ccws.interval", "cycles", 1, kCycles, "interval between rankings of warps by score",
                        FIELD(ccws.interval)),
                 "assumed: ranking 48 scores takes a sorter about as long"),
        optional(number("pcal.window", "cycles", 1, kCycles, "window in which statPCAL measures bandwidth",
                        FIELD(pcal.window)),
                 "assumed: longer than a load takes, shorter than a phase of a kernel"),
        optional(
            fraction("pcal.busy", "share of peak bandwidth from which statPCAL counts it as busy", FIELD(pcal.busy)),
            "assumed: under-utilised, as CIAO (IPDPS 2018), V-B, has it, is less than half used"),
    };
    t.insert(t.end(), rest.begin(), rest.end());
    return t;
}

#undef FIELD

/// "48", or "48K" of a parameter in bytes. Null if it is neither.
json parseInteger(std::string_view text, bool isBytes) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end == text.data()) return nullptr;
    std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    if (suffix.empty()) return n;
    const std::size_t power = std::string_view("KMG").find(suffix.front());
    if (!isBytes || suffix.size() > 1 || power == std::string_view::npos || n > kMost >> 30 || n < 0) return nullptr;
    return n << (10 * (power + 1));
}

json parseDecimal(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? json(value) : json(nullptr);
}

}  // namespace

const std::vector<Descriptor>& parameterTable() {
    static const std::vector<Descriptor> all = makeTable();
    return all;
}

const Descriptor* findParameter(std::string_view key) {
    const auto& all = parameterTable();
    const auto it = std::find_if(all.begin(), all.end(), [&](const Descriptor& d) { return d.key == key; });
    return it == all.end() ? nullptr : &*it;
}

const std::vector<std::int64_t>& listOf(const Descriptor& d, const Profile& p) {
    return d.list(const_cast<Profile&>(p));  // the accessor only names the member
}

double inUnits(std::int64_t millionths) {
    return static_cast<double>(millionths) / static_cast<double>(kMillion);
}

std::string asText(const Descriptor& d, const Profile& p) {
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return std::to_string(d.get(p));
        case Descriptor::Kind::decimal:
            return fmt::format("{}", inUnits(d.get(p)));
        case Descriptor::Kind::flag:
            return d.get(p) != 0 ? "true" : "false";
        case Descriptor::Kind::choice:
            return d.choices[static_cast<std::size_t>(d.get(p))];
        case Descriptor::Kind::list:
            return fmt::format("{}", fmt::join(listOf(d, p), ","));
    }
    return {};
}

json asJson(const Descriptor& d, const Profile& p) {
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return d.get(p);
        case Descriptor::Kind::decimal:
            return inUnits(d.get(p));
        case Descriptor::Kind::flag:
            return d.get(p) != 0;
        case Descriptor::Kind::choice:
            return asText(d, p);
        case Descriptor::Kind::list:
            return listOf(d, p);
    }
    return {};
}

std::string wanted(const Descriptor& d) {
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return d.most == kMost ? fmt::format("an integer of at least {}", d.least)
                                   : fmt::format("an integer from {} to {}", d.least, d.most);
        case Descriptor::Kind::decimal:
            return fmt::format("a number from {} to {}", inUnits(d.least), inUnits(d.most));
        case Descriptor::Kind::flag:
            return "true or false";
        case Descriptor::Kind::choice:
            return fmt::format("{}", fmt::join(d.choices, " or "));
        case Descriptor::Kind::list:
            return fmt::format("a list of integers from {} to {}", d.least, d.most);
    }
    return {};
}

bool assign(const Descriptor& d, Profile& p, const json& value) {
    const auto fits = [&](const json& v) {
        if (!v.is_number_integer()) return false;
        if (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(kMost)) return false;
        return v.get<std::int64_t>() >= d.least && v.get<std::int64_t>() <= d.most;
    };
    switch (d.kind) {
        case Descriptor::Kind::integer:
            if (!fits(value)) return false;
            d.put(p, value.get<std::int64_t>());
            return true;
        case Descriptor::Kind::decimal: {
            if (!value.is_number()) return false;
            const double millionths = std::round(value.get<double>() * static_cast<double>(kMillion));
            if (!(millionths >= static_cast<double>(d.least) && millionths <= static_cast<double>(d.most)))
                return false;
            d.put(p, static_cast<std::int64_t>(millionths));
            return true;
        }
        case Descriptor::Kind::flag:
            if (!value.is_boolean()) return false;
            d.put(p, value.get<bool>() ? 1 : 0);
            return true;
        case Descriptor::Kind::choice: {
            if (!value.is_string()) return false;
            const auto it = std::find(d.choices.begin(), d.choices.end(), value.get<std::string>());
            if (it == d.choices.end()) return false;
            d.put(p, it - d.choices.begin());
            return true;
        }
        case Descriptor::Kind::list: {
            if (!value.is_array() || !std::all_of(value.begin(), value.end(), fits)) return false;
            d.list(p) = value.get<std::vector<std::int64_t>>();
            return true;
        }
    }
    return false;
}

json parseValue(const Descriptor& d, std::string_view text) {
    const bool isBytes = d.unit == "B";
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return parseInteger(text, isBytes);
        case Descriptor::Kind::decimal:
            return parseDecimal(text);
        case Descriptor::Kind::flag:
            return text == "true" ? json(true) : text == "false" ? json(false) : json(nullptr);
        case Descriptor::Kind::choice:
            return std::string(text);
        case Descriptor::Kind::list: {
            json values = json::array();
            while (!text.empty()) {
                const std::size_t comma = std::min(text.find(','), text.size());
                values.push_back(parseInteger(text.substr(0, comma), isBytes));
                text.remove_prefix(std::min(comma + 1, text.size()));
            }
            return values;
        }
    }
    return nullptr;
}
}  // namespace bulkhead::arch
