#include "gpgpusim/profile_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "arch/nearest_profile.h"
#include "arch/parameter_table.h"
#include "base/error.h"
#include "gpgpusim/cache_setting.h"
#include "gpgpusim/dram_timing.h"
#include "gpgpusim/memory_map.h"
#include "gpgpusim/option_table.h"

namespace bulkhead::gpgpusim {
namespace {

using arch::Descriptor;
using nlohmann::json;

constexpr std::int64_t kMostValue = 1'000'000'000;

// What GPGPU-Sim's stages take beside what its options say, found with one warp on GPGPU-Sim 4.2.0 and its GTX 480:
// chains of dependent instructions, and chases of pointers through L1D, L2 and DRAM (docs/profiles.md).
constexpr std::int64_t kPipelineCycles =
    6;  ///< operand collection and write-back; one less for a load that hits in L1D
/// Of a load that misses L1D: both ways through the network, and queues of L2; with the network simulated by BookSim,
/// and with the crossbar that is built in (-network_mode 2).
constexpr std::int64_t kBookSimCycles = 21, kCrossbarCycles = 8;
constexpr std::int64_t kDramQueueCycles = 6;  ///< between L2 and DRAM
constexpr std::int64_t kBranchCycles = 4;     ///< fetch and decode of what follows a branch
constexpr std::int64_t kPacketHeaderBytes = 8;

constexpr const char* kByChains = "by chains of dependent instructions on GPGPU-Sim 4.2.0";
constexpr const char* kByChases = "by a pointer chase on GPGPU-Sim 4.2.0";

class Importer {
  public:
    Importer(Configuration& configuration, const ImportOptions& options)
        : configuration_(configuration), options_(options) {}

    Imported run() {
        startFrom(options_.base.empty() ? nearest() : arch::findProfile(options_.base));
        clocks();
        cores();
        units();
        operations();
        tracedOperations();
        onChipMemory();
        constantCache();
        network();
        secondLevel();
        memory();
        launches();
        check();
        for (std::string& option : configuration_.unused())
            (hasNoCounterpart(option) ? result_.ignored : result_.unknown).push_back(std::move(option));
        return std::move(result_);
    }

  private:
    using Names = std::initializer_list<std::string_view>;

    const Setting* find(Names options) { return configuration_.find(options); }
    arch::DeviceProfile& profile() { return result_.profile; }

    void put(std::string_view key, const json& value, const Setting& s, const std::string& note = "") {
        const Descriptor& d = *arch::findParameter(key);
        if (!arch::assign(d, profile(), value))
            refuse(s, fmt::format("{} would be {}, must be {}", key, value.dump(), arch::wanted(d)));
        profile().provenance[d.key] = fmt::format("published: {}{}{}", s.text(), note.empty() ? "" : "; ", note);
        settings_[d.key] = &s;
    }

    /// What GPGPU-Sim has built in.
    void fix(std::string_view key, const json& value, const std::string& source) {
        const Descriptor& d = *arch::findParameter(key);
        arch::assign(d, profile(), value);
        profile().provenance[d.key] = source;
    }

    /// An option with one integer that is a parameter as it is.
    void take(Names options, std::string_view key) {
        if (const Setting* s = find(options)) put(key, integer(*s, 0, kMostValue), *s);
    }

    arch::DeviceProfile nearest() {
        int major = 0, minor = 0;
        capability(major, minor);
        const Setting* clusters = find({"-gpgpu_n_clusters"});
        return arch::nearestProfile(major, minor, clusters == nullptr ? 1 : integer(*clusters, 1, 4096));
    }

    const Setting* capability(int& major, int& minor) {
        const Setting* s = find({"-gpgpu_compute_capability_major"});
        const Setting* low = find({"-gpgpu_compute_capability_minor"});
        const Setting* whole = find({"-gpgpu_occupancy_sm_number", "-gpgpu_ptx_force_max_capability"});
        if (s != nullptr) {
            major = static_cast<int>(integer(*s, 1, 99));
            minor = low == nullptr ? 0 : static_cast<int>(integer(*low, 0, 99));
        } else if (whole != nullptr) {
            const std::int64_t n = integer(*whole, 10, 999);
            major = static_cast<int>(n / 10);
            minor = static_cast<int>(n % 10);
            s = whole;
        }
        return s;
    }

    void startFrom(arch::DeviceProfile base) {
        result_.base = base.name;
        result_.profile = std::move(base);
        profile().name = options_.name;
        const std::string file = configuration_.files().empty() ? "" : configuration_.files().front();
        profile().description = fmt::format("as {} of GPGPU-Sim has it; the rest as {}", file, result_.base);
        for (auto& [key, from] : profile().provenance) {
            const Descriptor* d = arch::findParameter(key);
            if (d == nullptr || d->source.empty() || d->source != from)
                from = fmt::format("assumed: not in the configuration, as {}: {}", result_.base, from);
        }
    }

    void clocks() {
        int major = 0, minor = 0;
        if (const Setting* s = capability(major, minor)) {
            put("compute.major", major, *s);
            put("compute.minor", minor, *s);
        }
        const Setting* s = find({"-gpgpu_clock_domains"});
        if (s == nullptr) return;
        const std::vector<std::string> parts = split(only(*s), ':');
        if (parts.size() != 4) refuse(*s, "must be core:interconnect:L2:DRAM in MHz");
        std::vector<std::int64_t> mhz;
        for (const std::string& part : parts) {
            const double value = decimal(*s, part);
            if (!(value >= 1 && value <= 100'000)) refuse(*s, fmt::format("{} must be from 1 to 100000 MHz", part));
            mhz.push_back(std::llround(value));
        }
        put("clock.coreMHz", mhz[0], *s);
        put("clock.l2MHz", mhz[2], *s, mhz[1] == mhz[2] ? "" : "the network's clock is L2's here");
        put("clock.memoryMHz", mhz[3], *s);
    }

    void cores() {
        const Setting* clusters = find({"-gpgpu_n_clusters"});
        const Setting* perCluster = find({"-gpgpu_n_cores_per_cluster"});
        if (clusters != nullptr) {
            const std::int64_t each = perCluster == nullptr ? 1 : integer(*perCluster, 1, 4096);
            put("sm.count", integer(*clusters, 1, 4096) * each, *clusters, fmt::format("{} cores each", each));
        }
        take({"-gpgpu_num_sched_per_core"}, "sm.schedulers");
        take({"-gpgpu_max_insn_issue_per_warp"}, "sm.issueWidth");
        take({"-gpgpu_shader_cta"}, "sm.maxBlocks");
        take({"-gpgpu_shader_registers"}, "sm.registers");
        if (const Setting* s = find({"-gpgpu_shader_core_pipeline"})) {
            const std::vector<std::int64_t> parts = integers(*s, ':', 1, kMostValue);
            if (parts.size() < 2 || parts.size() > 3) refuse(*s, "must be threads:warp");
            if (parts[1] != 32) refuse(*s, "warps have 32 threads here");
            put("sm.maxThreads", parts[0], *s);
            if (profile().sm.maxThreadsPerBlock > parts[0]) put("sm.maxThreadsPerBlock", parts[0], *s);
        }
        if (const Setting* s = find({"-gpgpu_scheduler"}))
            result_.remarks.push_back(
                fmt::format("{} {} is no part of a profile: choose it with --scheduler", s->option, s->value()));
    }

    void units() {
        take({"-gpgpu_num_sp_units"}, "unit.alu");
        take({"-gpgpu_num_sfu_units"}, "unit.sfu");
        if (const Setting* s = find({"-gpgpu_num_dp_units"})) {
            const std::int64_t n = integer(*s, 0, 1024);
            put("unit.fp64", std::max<std::int64_t>(1, n), *s,
                n == 0 ? "64-bit floats use the SFUs there, a unit of their own here" : "");
        }
        fix("unit.ldst", 1, "published: GPGPU-Sim 4.2, src/gpgpu-sim/shader.cc: one load/store unit a core");
    }

    /// Of the classes of a list such as "ADD,MAX,MUL,MAD,DIV": the slowest of some of them.
    void operation(const char* op, const Setting* latency, const Setting* interval,
                   std::initializer_list<std::size_t> of) {
        const auto slowest = [&](const Setting& s) {
            const std::vector<std::int64_t> all = integers(s, ',', 1, 1'000'000);
            std::int64_t most = 0;
            for (const std::size_t i : of) {
                if (i < all.size()) most = std::max(most, all[i]);
                if (i >= 5 && i >= all.size()) return std::int64_t{0};  // SHFL came later than the others
            }
            if (all.size() < 5 && all.size() != 1) refuse(s, "must be ADD,MAX,MUL,MAD,DIV");
            return most;
        };
        if (latency != nullptr)
            if (const std::int64_t n = slowest(*latency))
                put(fmt::format("op.{}.latency", op), n + pipelineCycles_, *latency, stages());
        if (interval != nullptr)
            if (const std::int64_t n = slowest(*interval)) put(fmt::format("op.{}.interval", op), n, *interval);
    }

    std::string stages() const {
        return fmt::format("{} cycles more for operands and write-back, {}", pipelineCycles_, kByChains);
    }

    void operations() {
        // Two steps of the operand collectors in a cycle save one: 5 on GPGPU-Sim's V100.
        if (const Setting* s = find({"-gpgpu_reg_file_port_throughput"}))
            if (integer(*s, 1, 64) > 1) pipelineCycles_ = kPipelineCycles - 1;
        const Setting *latency = find({"-ptx_opcode_latency_int"}), *interval = find({"-ptx_opcode_initiation_int"});
        operation("integer", latency, interval, {0});
        operation("integerMul", latency, interval, {2, 3});
        operation("integerDiv", latency, interval, {4});
        operation("shuffle", latency, interval, {5});
        latency = find({"-ptx_opcode_latency_fp"}), interval = find({"-ptx_opcode_initiation_fp"});
        operation("fp32", latency, interval, {0, 2, 3});
        operation("fp32Div", latency, interval, {4});
        latency = find({"-ptx_opcode_latency_dp"}), interval = find({"-ptx_opcode_initiation_dp"});
        operation("fp64", latency, interval, {0, 2, 3});
        operation("fp64Div", latency, interval, {4});
        latency = find({"-ptx_opcode_latency_sfu"}), interval = find({"-ptx_opcode_initiation_sfu"});
        operation("special", latency, interval, {0});
        const std::string one = "published: GPGPU-Sim 4.2, src/cuda-sim/cuda-sim.cc: 1 for what has no option";
        fix("op.convert.interval", 1, one);
        fix("op.convert.latency", 1 + pipelineCycles_, fmt::format("{}; {}", one, stages()));
        fix("op.control.interval", 1, one);
        fix("op.control.latency", kBranchCycles,
            fmt::format("measured: fetch and decode behind a branch, {}", kByChains));
        fix("op.memory.interval", 1, one);
        fix("op.memory.latency", 1, one);
    }

    /// Accel-Sim's: the latency, then the interval.
    void traced(std::string_view option, std::initializer_list<const char*> ops) {
        const Setting* s = find({option});
        if (s == nullptr) return;
        const std::vector<std::int64_t> parts = integers(*s, ',', 1, 1'000'000);
        if (parts.size() != 2) refuse(*s, "must be latency,initiation");
        for (const char* op : ops) {
            put(fmt::format("op.{}.latency", op), parts[0] + pipelineCycles_, *s, stages());
            put(fmt::format("op.{}.interval", op), parts[1], *s);
        }
    }

    void tracedOperations() {
        traced("-trace_opcode_latency_initiation_int", {"integer", "integerMul"});
        traced("-trace_opcode_latency_initiation_sp", {"fp32"});
        traced("-trace_opcode_latency_initiation_dp", {"fp64"});
        traced("-trace_opcode_latency_initiation_sfu", {"special"});
    }

    void onChipMemory() {
        take({"-gpgpu_shmem_num_banks"}, "shared.banks");
        if (const Setting* s = find({"-gpgpu_smem_latency", "-smem_latency"}))
            put("shared.latency", integer(*s, 1, 1'000'000) + pipelineCycles_, *s, stages());
        const Setting* size = find({"-gpgpu_shmem_size"});
        const Setting* s = find({"-gpgpu_cache:dl1"});
        if (size != nullptr) {
            put("sm.sharedBytes", integer(*size, 0, kMostValue), *size);
            fix("sm.onChipBytes", 0,
                "published: GPGPU-Sim 4.2: L1D and shared memory are apart without -gpgpu_adaptive_cache_config");
            fix("sm.carveouts", json::array(), profile().provenance["sm.onChipBytes"]);
        }
        const CacheSetting cache = s == nullptr ? CacheSetting() : cacheSetting(*s);
        if (s != nullptr) firstLevel(*s, cache);
        const Setting* adaptive = find({"-gpgpu_adaptive_cache_config"});
        const Setting* unified = find({"-gpgpu_unified_l1d_size"});
        const Setting* list = find({"-gpgpu_shmem_option"});
        if (adaptive != nullptr && integer(*adaptive, 0, 9) != 0 && size != nullptr && cache.exists)
            divideOnChip(*adaptive, unified, list, *s, cache);
        if (size == nullptr) return;
        const Setting* perBlock = find({"-gpgpu_shmem_per_block"});
        const Setting& from = perBlock == nullptr ? *size : *perBlock;
        put("sm.maxSharedPerBlock", std::min(integer(from, 0, kMostValue), profile().sm.sharedBytes), from);
    }

    void firstLevel(const Setting& s, const CacheSetting& cache) {
        const Setting* skip = find({"-gpgpu_gmem_skip_L1D", "-gmem_skip_L1D"});
        if (skip != nullptr) put("l1.cachesGlobal", !flag(*skip) && cache.exists, *skip);
        if (!cache.exists) {
            put("l1.bytes", 0, s);
            put("l1.cachesGlobal", false, s);
            return;
        }
        put("l1.bytes", cache.bytes(), s);
        put("l1.lineBytes", cache.lineBytes, s);
        put("l1.sectorBytes", cache.sectorBytes(), s);
        put("l1.ways", cache.ways, s);
        put("l1.setHash", cache.index == 'L' ? "linear" : "xor", s);
        put("l1.allocate", cache.allocate == 'm' ? "miss" : "fill", s);
        put("l1.replacement", cache.replacement == 'F' ? "fifo" : "lru", s);
        put("l1.localWriteBack", cache.write == 'L' || cache.write == 'B', s,
            cache.write == 'L' || cache.write == 'T' ? "" : "global stores write through here");
        put("l1.mshrs", cache.mshrs, s);
        put("l1.mshrMerges", cache.merges, s);
        put("crossbar.smQueue", cache.missQueue, s, "the queue of its misses");
        if (const Setting* latency = find({"-gpgpu_l1_latency", "-l1_latency"}))
            put("l1.hitLatency", integer(*latency, 1, 1'000'000) + pipelineCycles_ - 1, *latency,
                fmt::format("{} cycles more, {}", pipelineCycles_ - 1, kByChases));
    }

    /// L1D has what shared memory leaves. There its ways grow and shrink, here its sets do.
    void divideOnChip(const Setting& adaptive, const Setting* unified, const Setting* list, const Setting& dl1,
                      const CacheSetting& cache) {
        constexpr std::int64_t kKiB = 1024;
        std::vector<std::int64_t> carveouts;
        std::int64_t whole = cache.bytes() + profile().sm.sharedBytes;
        const bool said = list != nullptr && unified != nullptr && integer(*unified, 0, kMostValue / kKiB) > 0;
        if (said) {
            whole = integer(*unified, 0, kMostValue / kKiB) * kKiB;
            for (const std::int64_t kb : integers(*list, ',', 0, kMostValue / kKiB)) carveouts.push_back(kb * kKiB);
        } else {  // version 4.0 knew those of Volta
            for (const std::int64_t kb : {0, 8, 16, 32, 64})
                if (kb * kKiB < profile().sm.sharedBytes) carveouts.push_back(kb * kKiB);
            carveouts.push_back(profile().sm.sharedBytes);
        }
        std::sort(carveouts.begin(), carveouts.end());
        carveouts.erase(std::unique(carveouts.begin(), carveouts.end()), carveouts.end());
        const Setting& from = said ? *list : adaptive;
        if (carveouts.back() >= whole) refuse(from, fmt::format("leaves nothing of {} B to L1D", whole));
        std::int64_t lines = 0;
        for (const std::int64_t carveout : carveouts) {
            if ((whole - carveout) % cache.lineBytes != 0) refuse(from, "leaves no whole lines to L1D");
            lines = std::gcd(lines, (whole - carveout) / cache.lineBytes);
        }
        std::int64_t ways = std::min<std::int64_t>({cache.ways, lines, 1024});
        while (lines % ways != 0) --ways;
        put("sm.onChipBytes", whole, said ? *unified : adaptive);
        put("sm.carveouts", carveouts, from);
        put("sm.sharedBytes", carveouts.back(), from);
        put("l1.bytes", whole - carveouts.front(), from);
        put("l1.ways", ways, dl1, "as many as divide L1D at each of its sizes: here sets grow, there ways");
    }

    void constantCache() {
        const Setting* s = find({"-gpgpu_const_cache:l1"});
        if (s == nullptr) return;
        const CacheSetting cache = cacheSetting(*s);
        if (!cache.exists) return;
        put("constant.bytes", cache.bytes(), *s);
        put("constant.lineBytes", cache.lineBytes, *s);
        put("constant.ways", cache.ways, *s);
        fix("constant.hitLatency", 1 + pipelineCycles_, fmt::format("assumed: one cycle; {}", stages()));
    }

    void network() {
        const Setting* s = find({"-icnt_flit_size"});
        if (options_.flits) s = &*options_.flits;
        if (s == nullptr) return;
        const std::int64_t flit = integer(*s, 1, 65536), line = profile().l1.lineBytes;
        // A packet is header and data in flits, one a cycle.
        const std::int64_t flits = (line + kPacketHeaderBytes + flit - 1) / flit;
        const std::int64_t bytes = (line + flits - 1) / flits;
        for (const char* key : {"crossbar.requestBytesPerCycle", "crossbar.responseBytesPerCycle"})
            put(key, bytes, *s, fmt::format("{} flits carry {} B and a header of {}", flits, line, kPacketHeaderBytes));
    }

    void secondLevel() {
        if (const Setting* queues = find({"-gpgpu_dram_partition_queues"})) {
            const std::vector<std::int64_t> parts = integers(*queues, ':', 1, 65536);
            if (parts.size() != 4) refuse(*queues, "must have four lengths");
            put("crossbar.sliceQueue", parts[0], *queues);
            put("l2.responseQueue", parts[3], *queues);
        }
        if (const Setting* copies = find({"-gpgpu_perf_sim_memcpy"})) put("l2.holdsCopies", flag(*copies), *copies);
        const Setting* s = find({"-gpgpu_cache:dl2"});
        const Setting* channels = find({"-gpgpu_n_mem"});
        if (s != nullptr && channels != nullptr) cacheAndMap(*s, *channels);
        if (const Setting* rop = find({"-gpgpu_l2_rop_latency", "-rop_latency"})) {
            const Setting* first = find({"-gpgpu_l1_latency", "-l1_latency"});
            const std::int64_t l1 = first == nullptr ? 0 : integer(*first, 1, 1'000'000);
            const Setting* mode = find({"-network_mode"});
            const bool builtIn = mode != nullptr && integer(*mode, 0, 9) == 2;
            const std::int64_t network = pipelineCycles_ + (builtIn ? kCrossbarCycles : kBookSimCycles);
            put("l2.hitLatency", integer(*rop, 0, 1'000'000) + l1 + network, *rop,
                fmt::format("{} of L1D and {} of pipeline, network and queues more, {}", l1, network, kByChases));
        }
    }

    void cacheAndMap(const Setting& s, const Setting& channels) {
        const CacheSetting cache = cacheSetting(s);
        if (!cache.exists) refuse(s, "a GPU without L2 is not simulated");
        MemoryShape shape;
        shape.channels = integer(channels, 1, 1024);
        if (const Setting* parts = find({"-gpgpu_n_sub_partition_per_mchannel"}))
            shape.slicesPerChannel = integer(*parts, 1, 64);
        if (const Setting* hash = find({"-gpgpu_memory_partition_indexing"}))
            shape.partitionHash = integer(*hash, 0, 9);
        shape.sets = cache.sets;
        shape.lineBytes = cache.lineBytes;
        shape.setIndex = cache.index;
        put("l2.bytes", cache.bytes() * shape.channels * shape.slicesPerChannel, s,
            fmt::format("{} slices", shape.channels * shape.slicesPerChannel));
        put("l2.lineBytes", cache.lineBytes, s);
        put("l2.sectorBytes", cache.sectorBytes(), s);
        put("l2.ways", cache.ways, s);
        put("l2.mshrs", cache.mshrs, s);
        put("l2.mshrMerges", cache.merges, s);
        put("l2.replacement", cache.replacement == 'F' ? "fifo" : "lru", s);
        put("l2.writePolicy", cache.write == 'T' || cache.write == 'E' ? "write-through" : "write-back", s);
        const std::string whole =
            "published: GPGPU-Sim 4.2: slices are alike, and so are lines that are read and written";
        fix("l2.sides", 1, whole);
        fix("l2.farLatency", 0, whole);
        fix("l2.halfLatency", 0, whole);
        fix("l2.copiesFarLines", false, whole);
        fix("l2.writeRetention", 0, whole);
        fix("l2.fetchBytes", CacheSetting::kSectorBytes, whole);
        map(channels, shape);
    }

    void map(const Setting& channels, const MemoryShape& shape) {
        const Setting* s = find({"-gpgpu_mem_addr_mapping"});
        const Setting usual = {"-gpgpu_mem_addr_mapping",
                               {"dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS"},
                               channels.file,
                               channels.line};
        const Setting& from = s == nullptr ? usual : *s;
        const AddressBits bits = addressBits(from);
        MemoryMap made = memoryMap(from, bits, shape);
        profile().map = std::move(made.map);
        profile().provenance["map"] =
            s == nullptr ? std::string("assumed: no -gpgpu_mem_addr_mapping: as GPGPU-Sim's GTX 480")
                         : fmt::format("{}: {}{}{}", made.difference.empty() ? "published" : "assumed", from.text(),
                                       made.difference.empty() ? "" : "; ", made.difference);
        if (bits.column != 0)
            put("dram.rowBytes", std::int64_t{1} << std::min(30, std::popcount(bits.column)),
                s == nullptr ? channels : *s);
    }

    void memory() {
        if (const Setting* s = find({"-gpgpu_frfcfs_dram_sched_queue_size"})) {
            const std::int64_t n = integer(*s, 0, 65536);
            put("dram.queue", n == 0 ? 65536 : n, *s, n == 0 ? "0: without end" : "");
        }
        if (const Setting* s = find({"-gpgpu_dram_scheduler"}))
            put("dram.scheduler", integer(*s, 0, 1) == 0 ? "fcfs" : "fr-fcfs", *s);
        fix("memory.placement", "contiguous", "published: GPGPU-Sim 4.2: has no pages, addresses are physical");
        fix("memory.reservedBytes", 0, profile().provenance["memory.placement"]);
        if (const Setting* s = find({"-gpgpu_dram_timing_opt"})) timings(*s);
    }

    void timings(const Setting& s) {
        const DramTiming t = dramTiming(s);
        put("dram.tRCD", t.tRCD, s);
        put("dram.tRP", t.tRP, s);
        put("dram.tCL", t.tCL, s);
        put("dram.tRAS", t.tRAS, s);
        put("dram.tWR", t.tWR, s);
        const std::int64_t command = burst(s, t);
        const Setting* latency = find({"-dram_latency"});
        if (latency == nullptr) return;
        const auto& p = profile();
        const std::int64_t bursts = std::max<std::int64_t>(1, p.l2.sectorBytes / p.dram.burstBytes);
        const std::int64_t access = t.tRCD + t.tCL + bursts * command;
        const std::int64_t core = (access * p.clock.coreMHz + p.clock.memoryMHz - 1) / p.clock.memoryMHz;
        put("dram.latency", p.l2.hitLatency + integer(*latency, 0, 1'000'000) + core + kDramQueueCycles, *latency,
            fmt::format("more than an L2 hit, with {} cycles of tRCD + tCL + tCCD and {} of queues, {}", core,
                        kDramQueueCycles, kByChases));
    }

    /// A column command moves burst x width x chips. One that fetches less moves the rest for nothing.
    std::int64_t burst(const Setting& s, const DramTiming& t) {
        const Setting *length = find({"-gpgpu_dram_burst_length"}), *width = find({"-gpgpu_dram_buswidth"});
        const Setting *chips = find({"-gpgpu_n_mem_per_ctrlr"}), *ratio = find({"-dram_data_command_freq_ratio"});
        const std::int64_t beats = length == nullptr ? 0 : integer(*length, 1, 1024);
        std::int64_t command = t.tCCD;
        if (beats != 0 && ratio != nullptr) {
            const std::int64_t perCycle = integer(*ratio, 1, 64);
            command = std::max(command, (beats + perCycle - 1) / perCycle);
        }
        put("dram.tCCD", command, s);
        if (beats == 0 || width == nullptr) return command;
        const std::int64_t bytes = beats * integer(*width, 1, 1024) * (chips == nullptr ? 1 : integer(*chips, 1, 64));
        const std::int64_t sector = profile().l2.sectorBytes;
        put("dram.burstBytes", std::min(bytes, sector), *length,
            bytes > sector ? fmt::format("a command moves {} B, of which a sector of L2 uses {}", bytes, sector) : "");
        return command;
    }

    void launches() {
        if (const Setting* s = find({"-gpgpu_kernel_launch_latency"})) {
            put("launch.setup", integer(*s, 0, 100'000'000), *s);
            fix("launch.latency", 0, "published: GPGPU-Sim 4.2: counts a launch among the cycles of its kernel");
        }
        if (const Setting* s = find({"-gpgpu_TB_launch_latency"}))
            put("launch.blockInterval", std::max<std::int64_t>(1, integer(*s, 0, 1'000'000)), *s);
        fix("compiler.optimise", false, "published: GPGPU-Sim 4.2: executes PTX as it is written");
    }

    /// Parameters may be right one by one and contradict each other: the line that gave the one that is named.
    void check() {
        try {
            profile().validate();
        } catch (const Error& error) {
            const std::string what = error.what();
            for (const auto& [key, s] : settings_)
                if (what.starts_with(fmt::format("profile {}: {}:", profile().name, key)) ||
                    what.starts_with(fmt::format("profile {}: {} =", profile().name, key)))
                    refuse(*s, what);
            throw Error("{}: {}", configuration_.files().front(), what);
        }
    }

    Configuration& configuration_;
    const ImportOptions& options_;
    std::int64_t pipelineCycles_ = kPipelineCycles;
    Imported result_;
    std::map<std::string, const Setting*> settings_;  ///< which line each parameter is from
};

}  // namespace

Imported importProfile(Configuration& configuration, const ImportOptions& options) {
    return Importer(configuration, options).run();
}

std::string networkFile(Configuration& configuration) {
    const Setting* mode = configuration.find({"-network_mode"});
    const Setting* file = configuration.find({"-inter_config_file"});
    if (file == nullptr || (mode != nullptr && integer(*mode, 0, 9) != 1)) return {};
    return only(*file);
}

std::optional<Setting> flitSize(std::string_view text, const std::string& file) {
    int line = 0;
    for (const std::string& whole : split(text, '\n')) {
        ++line;
        std::string bare;
        for (const char c : whole.substr(0, whole.find("//")))
            if (c != ' ' && c != '\t' && c != '\r' && c != ';') bare += c;
        constexpr std::string_view kName = "flit_size=";
        if (bare.starts_with(kName)) return Setting{"flit_size", {bare.substr(kName.size())}, file, line};
    }
    return std::nullopt;
}

}  // namespace bulkhead::gpgpusim
