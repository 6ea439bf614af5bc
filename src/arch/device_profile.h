#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "arch/address_map.h"
#include "base/units.h"

namespace bulkhead::arch {

/// Instructions that share a pipeline, an issue interval and a result latency.
enum class OpClass : std::uint8_t {
    integer,     ///< add, logic, shift, compare, select, move
    integerMul,  ///< mul, mad, dot products
    integerDiv,  ///< div, rem
    fp32,        ///< add, mul, fma, min, max, f16 as well
    fp32Div,     ///< div.rn, sqrt.rn, rcp.rn: sequences on hardware, one PTX instruction
    special,     ///< the approximate functions
    fp64,
    fp64Div,
    convert,
    shuffle,      ///< shfl, vote, match, redux
    control,      ///< branches, calls, barriers
    memory,       ///< everything that goes through LD/ST
    tensor,       ///< products of matrices that a warp makes
    tensorGroup,  ///< ... and that a warpgroup makes, while its warps go on
};
constexpr int kOpClasses = 14;
constexpr int kProfileOpClasses = 12;  ///< those that profiles give intervals and latencies of, without tensor cores

/// The units of an SM that an instruction can occupy.
enum class Unit : std::uint8_t { alu, sfu, fp64, ldst, control, tensor };
constexpr int kUnits = 6;
constexpr int kProfileUnits = 5;  ///< those that profiles count; there is one tensor core for each scheduler

/// Which unit executes which class.
constexpr Unit unitOf(OpClass c) {
    switch (c) {
        case OpClass::special:
            return Unit::sfu;
        case OpClass::fp64:
        case OpClass::fp64Div:
            return Unit::fp64;
        case OpClass::memory:
            return Unit::ldst;
        case OpClass::control:
        case OpClass::tensorGroup:
            return Unit::control;
        case OpClass::tensor:
            return Unit::tensor;
        default:
            return Unit::alu;
    }
}

/// Everything the simulator needs to know of a GPU. Plain numbers; where each came from is kept beside them.
/// Latencies are load-to-use, as a pointer chase measures them: the simulator derives its stage latencies from them.
struct DeviceProfile {
    std::string name;
    std::string description;

    struct Compute {
        int major = 0, minor = 0;
    } compute;

    struct Clock {
        std::int64_t coreMHz = 0, l2MHz = 0, memoryMHz = 0;
    } clock;

    struct Sm {
        std::int64_t count = 0;
        std::int64_t schedulers = 1;
        std::int64_t issueWidth = 1;  ///< instructions a scheduler may issue from one warp in a cycle
        std::int64_t maxThreads = 0, maxBlocks = 0, maxThreadsPerBlock = 1024;
        std::int64_t registers = 0;            ///< 32-bit registers
        std::int64_t registerGranularity = 1;  ///< per warp, in registers
        std::int64_t maxRegistersPerThread = 255;
        std::int64_t sharedBytes = 0;        ///< the most shared memory an SM can offer
        std::int64_t maxSharedPerBlock = 0;  ///< bytes
        std::int64_t sharedGranularity = 1;  ///< bytes
        /// Bytes of the memory that L1D and shared memory divide between them; 0 where they are separate. When they
        /// share, L1D has onChipBytes - (the smallest of carveouts that fits the resident blocks), or less where
        /// `carveout` is preferred: then as many blocks are resident as fit the smallest that is not less.
        std::int64_t onChipBytes = 0;
        std::vector<std::int64_t> carveouts;
        std::int64_t carveout = -1;  ///< bytes; -1: none is preferred
        /// What is added to a latency, in cycles: until a comparison's result can guard an instruction; where lanes
        /// meet that may have parted; until warps leave a barrier. And between arrivals of two warps at barriers.
        std::int64_t guardLatency = 0, meetLatency = 0, barrierLatency = 0, barrierInterval = 0;
        std::int64_t longestWait = 0;  ///< cycles after which a ready warp goes before all others; 0: never
    } sm;

    /// unitCount[Unit]: instances per SM. interval[OpClass]: cycles an instance is busy with one warp
    /// instruction. latency[OpClass]: cycles from issue until a dependent instruction may issue.
    std::int64_t unitCount[kProfileUnits] = {};
    std::int64_t interval[kProfileOpClasses] = {};
    std::int64_t latency[kProfileOpClasses] = {};

    static constexpr std::size_t kTpcSms = 2;  ///< SMs that follow each other and share a way out
    /// Blocks that reach each other's shared memory.
    struct Cluster {
        /// That a cluster can be spread over, neighbours by number unless gpcs says otherwise. 0: there are no
        /// clusters.
        std::int64_t sms = 0;
        std::vector<std::int64_t> gpcs;   ///< GPC of each TPC's SMs, in the order of their numbers
        std::int64_t latency = 0;         ///< cycles of a load from another SM's shared memory
        std::int64_t barrierLatency = 0;  ///< from the last arrival at a cluster's barrier until its warps leave it
    } cluster;

    /// Tensor cores. Work is counted in multiply-adds of 16-bit numbers.
    struct Tensor {
        std::int64_t rate = 128;          ///< work of a tensor core in a cycle
        std::int64_t setup = 2;           ///< cycles of an mma beyond its work; twice with a sparse matrix
        std::int64_t interval = 4;        ///< cycles of an mma at least
        std::int64_t latency = 10;        ///< cycles from an mma to one that needs its result, and ...
        std::int64_t depthLatency = 7;    ///< ... more for each 1,024 multiply-adds
        std::int64_t octetInterval = 8;   ///< cycles of mma.m8n8k4 in f16
        std::int64_t groupInterval = 12;  ///< cycles of a wgmma at least
        std::int64_t groupLatency = 40;   ///< cycles from the end of its work until wgmma.wait_group is over
        std::int64_t doubleRate = 32, doubleInterval = 16, doubleLatency = 18;  ///< of f64
    } tensor;

    struct Shared {
        std::int64_t banks = 32, bankBytes = 4, latency = 0;
    } shared;

    enum class SetHash : std::uint8_t { linear, xorFold };
    enum class Allocate : std::uint8_t { onMiss, onFill };

    /// Which line of a set makes room for another: sim/mem/replacement_policy.h has what each does.
    enum class Replacement : std::uint8_t { lru, fifo, treePlru, srrip, random };
    static constexpr std::string_view kReplacementNames[] = {"lru", "fifo", "tree-plru", "srrip", "random"};

    /// Which lines are fetched before they are asked for: sim/mem/prefetch_policy.h has what each does.
    enum class Prefetch : std::uint8_t { none, nextLine, stride };
    static constexpr std::string_view kPrefetchNames[] = {"none", "next-line", "stride"};

    struct L1 {
        bool cachesGlobal = true;  ///< plain ld.global goes through L1D (not so on some Maxwell and Pascal parts)
        std::int64_t bytes = 0, lineBytes = 128, sectorBytes = 32, ways = 0;
        SetHash setHash = SetHash::linear;
        Allocate allocate = Allocate::onMiss;
        Replacement replacement = Replacement::lru;
        Prefetch prefetch = Prefetch::none;
        std::int64_t prefetchDegree = 1;   ///< lines that one miss fetches ahead
        std::int64_t prefetchReserve = 8;  ///< MSHRs that are kept for loads
        bool localWriteBack = true;        ///< local stores stay in L1D; global stores always write through
        std::int64_t hitLatency = 0, mshrs = 0, mshrMerges = 0;
        std::int64_t tagsPerCycle = 1;  ///< lines that a load finds in a cycle
        std::int64_t queue = 4;         ///< memory instructions waiting in front of L1D
    } l1;

    struct Constant {
        std::int64_t bytes = 0, lineBytes = 64, ways = 0, hitLatency = 0;
    } constant;

    struct Instruction {
        std::int64_t bytes = 0;  ///< 0: the next instruction is always there
        std::int64_t lineBytes = 128, ways = 4;
        std::int64_t width = 16;       ///< bytes of a machine instruction
        std::int64_t launchBytes = 0;  ///< of a kernel's code that its launch brings to all SMs
        std::int64_t sharers = 1;      ///< SMs that a fetch of a launch serves
        std::int64_t firstReads = 0;   ///< sectors that a kernel's first launch reads beside its code
    } instruction;

    struct Crossbar {
        std::int64_t requestBytesPerCycle = 32, responseBytesPerCycle = 32;  ///< per port, in the L2 clock
        std::int64_t bulkBytesPerCycle = 0;  ///< of an SM's response port, for bulk copies; 0: as for other reads
        std::int64_t maskedBytes = 0;        ///< of a port, that a partly written sector takes; 0: as a whole one
        std::int64_t smQueue = 8;            ///< requests an SM can hold before its port
        std::int64_t sliceQueue = 16;        ///< requests a slice can hold before its tags
    } crossbar;

    enum class L2Write : std::uint8_t { back, through, fetch };
    static constexpr std::string_view kL2WriteNames[] = {"write-back", "write-through", "write-back-fetch"};

    struct L2 {
        std::int64_t bytes = 0, lineBytes = 128, sectorBytes = 32, ways = 0;
        std::int64_t hitLatency = 0;             ///< core cycles, load-to-use
        std::int64_t mshrs = 0, mshrMerges = 0;  ///< per slice
        Replacement replacement = Replacement::lru;
        L2Write writePolicy = L2Write::back;
        std::int64_t writeRetention = 0;  ///< a line brought in by a write counts as this many set accesses younger
        std::int64_t dirtyWays = 0;       ///< of a set, that may be dirty at a time; 0: all
        std::int64_t persistingBytes =
            0;  ///< at most, that programs may set aside for persisting lines; 0: no such lines
        std::int64_t responseQueue = 8;   ///< responses a slice can hold before its port
        std::int64_t atomicInterval = 1;  ///< L2 cycles a slice is busy with one atomic sector
        std::int64_t repeatInterval = 0;  ///< millionths of an L2 cycle for each lane at the same address: integers
        std::int64_t floatRepeatInterval = 0;  ///< the same of floating-point additions
        bool mergesWrites = false;             ///< a sector that was written in pieces needs no fetch
        bool holdsCopies = false;              ///< copies leave lines in empty ways, fills as a kernel's writes do
        bool copiesFarLines = false;           ///< an access to the other side leaves a copy on its own
        std::int64_t fetchBytes = 32;          ///< brought by a miss, at the least
        std::int64_t joinedReads = 1;          ///< of a GPC, that one look-up answers at most
        std::int64_t joinWindow = 0;           ///< core cycles after a read in which others may join it
        std::int64_t sides = 1;                ///< slices divide evenly over sides; so do SMs, unless gpcSides says
        std::vector<std::int64_t> gpcSides, gpcHalves;  ///< by GPC: its side, and the half of that
        std::int64_t farLatency = 0;   ///< core cycles that an atomic or a write to the other side adds
        std::int64_t halfLatency = 0;  ///< the same for the other half of a side
    } l2;

    enum class DramScheduler : std::uint8_t { frFcfs, fcfs, frFcfsCap, parBs };
    static constexpr std::string_view kDramSchedulerNames[] = {"fr-fcfs", "fcfs", "fr-fcfs-cap", "par-bs"};
    enum class RowPolicy : std::uint8_t { open, closed, timeout };
    static constexpr std::string_view kRowPolicyNames[] = {"open", "closed", "timeout"};

    struct Dram {
        std::int64_t bytes = 0;
        std::int64_t latency = 0;  ///< core cycles, load-to-use, bank precharged
        std::int64_t rowBytes = 2048;
        std::int64_t burstBytes = 32;  ///< moved by one column command
        std::int64_t queue = 64;       ///< requests a channel reorders
        std::int64_t bankQueue = 0;    ///< fills of one bank among them; 0: as many as there is room for
        DramScheduler scheduler = DramScheduler::frFcfs;
        std::int64_t hitCap = 4;    ///< fr-fcfs-cap: requests for an open row that pass an older one
        std::int64_t batchCap = 5;  ///< par-bs: requests of a kernel for a bank in a batch
        RowPolicy rowPolicy = RowPolicy::open;
        std::int64_t rowTimeout = 100;     ///< timeout: memory cycles without use after which a row is closed
        std::int64_t tREFI = 0, tRFC = 0;  ///< memory cycles between refreshes, 0 for none; and that one takes
        std::int64_t ageLimit =
            4000;  ///< fr-fcfs: core cycles after which a request waits for no more hits of another row
        std::int64_t tRCD = 0, tRP = 0, tCL = 0, tRAS = 0, tCCD = 0, tWR = 0;  ///< memory-clock cycles
    };
    Dram dram;

    enum class PagePlacement : std::uint8_t { contiguous, scattered };
    struct Memory {
        std::int64_t pageBytes = 2 << 20;
        PagePlacement placement = PagePlacement::contiguous;
        std::int64_t seed = 1;
        std::int64_t reservedBytes = 0;
    } memory;

    struct Sharing {
        std::int64_t quantumUs = 0;  ///< time slice of a context while another waits
        std::int64_t switchUs = 0;   ///< cost of changing the context
    } sharing;

    struct HostLink {
        std::int64_t mbPerS = 0;  ///< what a copy from or to the host gets, each way
    } hostLink;

    struct Launch {
        std::int64_t latency = 0;                ///< core cycles from a call to the start of its launch
        std::int64_t setup = 0;                  ///< core cycles from there to the first block, and of its end
        std::int64_t blockInterval = 1'000'000;  ///< millionths of a core cycle between two blocks placed
        std::int64_t l2Reads = 0, l2Misses = 0;  ///< sectors that a launch itself reads
        bool byGpcs = false;                     ///< blocks are placed GPC by GPC, not by number of SMs
    } launch;

    struct Compiler {
        bool optimise = false;  ///< modules are loaded as NVIDIA's assembler would leave them, not as written
    } compiler;

    // Mechanisms that no GPU has yet. A profile need not give these parameters: they are then those of the papers.
    // Fractions are kept in millionths.

    enum class Instructions : std::uint8_t { warps, threads };

    /// What ciao-a changes where warps interfere: the cache that they have, their number, or both.
    enum class Adapts : std::uint8_t { both, memory, warps };

    /// CIAO (IPDPS 2018): detection of interference and the thresholds of its decisions.
    struct Ciao {
        Instructions instructions = Instructions::threads;  ///< that epochs count
        Instructions scores = Instructions::warps;          ///< that scores count
        std::int64_t moveQueue = 2;    ///< lines that wait on their way between L1D and shared memory
        std::int64_t vtaTags = 8;      ///< of a warp's set of the victim tag array
        std::int64_t counterBits = 2;  ///< of the saturating counter in the interference list
        std::int64_t highCutoff = 10'000, lowCutoff = 5'000;
        std::int64_t highEpoch = 5000, lowEpoch = 100;  ///< instructions of an SM
        Adapts adapts = Adapts::both;
        std::int64_t trial = 4000;  ///< cycles that ciao-a measures at a time
    } ciao;

    /// Cache-conscious wavefront scheduling (MICRO 2012).
    struct Ccws {
        std::int64_t vtaTags = 16;
        std::int64_t baseScore = 100, throttle = 8;
        std::int64_t interval = 32;  ///< cycles between two rankings
    } ccws;

    /// Priority-based cache allocation (HPCA 2015).
    struct Pcal {
        std::int64_t window = 500;    ///< cycles over which bandwidth is measured
        std::int64_t busy = 500'000;  ///< share of the peak from which L2 or DRAM count as busy
    } pcal;

    AddressMap map;

    /// Where each parameter comes from, by its key ("l1.ways"). Every key of the table has one.
    std::map<std::string, std::string, std::less<>> provenance;

    /// Reads and checks a profile: unknown or missing keys and impossible geometry throw Error.
    static DeviceProfile load(const std::filesystem::path&);
    static DeviceProfile fromJson(const nlohmann::json&, const std::string& where);
    nlohmann::json toJson() const;

    /// Changes one parameter by its key, as `--set l1.ways=8` does. Call validate() after the last.
    void set(std::string_view key, std::string_view value);
    void validate() const;

    // Derived parameters.
    /// Where an SM is: its side of L2, and the half of that.
    struct Region {
        std::uint32_t side = 0, half = 0;
        bool operator==(const Region&) const = default;
    };
    /// Of each SM.
    std::vector<Region> regionsOfSms() const;
    Region regionOfSlice(std::uint32_t slice) const;
    /// Whether cluster.gpcs is of so many SMs. Another number of SMs divides evenly, by number.
    bool hasGpcs() const;
    /// GPCs of the SMs; all 0 where there are no clusters.
    std::vector<std::uint32_t> gpcsOfSms() const;
    /// The SMs, by number, among which a cluster must lie: those of each GPC. None where there are no clusters.
    std::vector<std::vector<std::uint32_t>> clusterNeighbours() const;
    int maxWarps() const { return static_cast<int>(sm.maxThreads / 32); }
    double dramGBps() const;  ///< peak, all channels
};

/// Every parameter of a profile: its key, unit and meaning, with its value as text. One table drives reading,
/// writing, `--set`, validation of ranges and `bulkhead gpus NAME`.
struct Parameter {
    std::string key, unit, meaning, value, provenance;
};
std::vector<Parameter> parameters(const DeviceProfile&);

/// What a source is, by its first word: published, measured or assumed.
std::string_view sourceKind(std::string_view from);

/// Applies "key=value" settings in order, then checks the whole profile.
void applySettings(DeviceProfile&, const std::vector<std::string>& settings);

/// The profiles that ship, by name. They are part of the program; the files NAME.json of the directory that the
/// environment variable BULKHEAD_PROFILES names, if it is set, stand in for them.
std::vector<std::string> profileNames();
/// A profile by name, or by the path of its file where `name` ends in .json or holds a slash; "sim:" in front of
/// either is allowed. Throws Error that lists the names.
DeviceProfile findProfile(std::string_view name);

}  // namespace bulkhead::arch
