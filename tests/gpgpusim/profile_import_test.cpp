#include "gpgpusim/profile_import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "arch/parameter_table.h"
#include "base/error.h"

namespace bulkhead::gpgpusim {
namespace {

// A small GPU of our own, in the grammar of version 4: 4 cores, 3 channels of 2 slices.
const char* const kSmall = R"(# small
-gpgpu_compute_capability_major 2
-gpgpu_compute_capability_minor 0
-gpgpu_n_clusters 2
-gpgpu_n_cores_per_cluster 2
-gpgpu_n_mem 3
-gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_clock_domains 600.0:600.0:500.4:900.0
-gpgpu_shader_registers 16384
-gpgpu_shader_core_pipeline 1024:32
-gpgpu_shader_cta 6
-gpgpu_num_sp_units 3
-gpgpu_num_sfu_units 2
-gpgpu_num_dp_units 0
-ptx_opcode_latency_int 4,13,4,7,145,32
-ptx_opcode_initiation_int 1,2,3,2,8,4
-ptx_opcode_latency_fp 4,13,4,5,39
-ptx_opcode_initiation_fp 1,2,1,1,4
-gpgpu_cache:dl1 N:16:128:2,F:L:m:N:L,S:24:6,5
-gpgpu_shmem_size 16384
-gpgpu_l1_latency 30
-gpgpu_smem_latency 20
-icnt_flit_size 40
-gpgpu_cache:dl2 S:32:128:4,L:B:m:L:L,A:100:3,4:0,32
-gpgpu_dram_partition_queues 11:12:13:14
-gpgpu_perf_sim_memcpy 1
-gpgpu_l2_rop_latency 110
-dram_latency 90
-gpgpu_num_sched_per_core 2
-gpgpu_scheduler gto
-gpgpu_frfcfs_dram_sched_queue_size 33
-gpgpu_dram_scheduler 0
-gpgpu_n_mem_per_ctrlr 2
-gpgpu_dram_buswidth 4
-gpgpu_dram_burst_length 8
-dram_data_command_freq_ratio 4
-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS
-gpgpu_dram_timing_opt "nbk=16:CCD=2:RRD=6:RCD=10:RAS=30:RP=11:RC=40:
                        CL=8:WL=4:CDLR=5:WR=13"
-gpgpu_kernel_launch_latency 700
-gpgpu_TB_launch_latency 3
-visualizer_enabled 0
-gpgpu_num_reg_banks 16
-gpgpu_made_up 3
)";

Imported imported(const std::string& text, ImportOptions options = {}) {
    Configuration c;
    c.read(text, "small.config");
    options.name = "small";
    return importProfile(c, options);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
}

std::string refusal(const std::string& text) {
    try {
        imported(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

std::string valueOf(const arch::DeviceProfile& p, const char* key) {
    return arch::asText(*arch::findParameter(key), p);
}

TEST(ProfileImport, FiguresAreTheConfigurations) {
    const arch::DeviceProfile p = imported(kSmall).profile;
    const std::pair<const char*, const char*> expected[] = {
        {"compute.major", "2"},
        {"clock.coreMHz", "600"},
        {"clock.l2MHz", "500"},
        {"clock.memoryMHz", "900"},
        {"sm.count", "4"},
        {"sm.schedulers", "2"},
        {"sm.maxThreads", "1024"},
        {"sm.maxBlocks", "6"},
        {"sm.registers", "16384"},
        {"sm.sharedBytes", "16384"},
        {"sm.maxSharedPerBlock", "16384"},
        {"sm.onChipBytes", "0"},
        {"unit.alu", "3"},
        {"unit.sfu", "2"},
        {"unit.fp64", "1"},
        {"op.integerMul.interval", "3"},
        {"op.fp32.interval", "1"},
        {"op.shuffle.interval", "4"},
        {"l1.bytes", "4096"},  // 16 sets x 128 B x 2 ways
        {"l1.ways", "2"},
        {"l1.sectorBytes", "128"},
        {"l1.setHash", "linear"},
        {"l1.replacement", "fifo"},
        {"l1.mshrs", "24"},
        {"l1.mshrMerges", "6"},
        {"crossbar.smQueue", "5"},
        {"crossbar.responseBytesPerCycle", "32"},  // 128 B and 8 of header are 4 flits of 40 B
        {"crossbar.sliceQueue", "11"},
        {"l2.bytes", "98304"},  // 3 x 2 slices x 32 sets x 128 B x 4 ways
        {"l2.sectorBytes", "32"},
        {"l2.mshrs", "100"},
        {"l2.responseQueue", "14"},
        {"l2.holdsCopies", "true"},
        {"dram.queue", "33"},
        {"dram.scheduler", "fcfs"},
        {"dram.rowBytes", "4096"},  // 12 bits of column
        {"dram.burstBytes", "32"},  // of 64 B, a sector of L2
        {"dram.tCCD", "2"},         // 8 beats, 4 a cycle
        {"dram.tRCD", "10"},
        {"dram.tRAS", "30"},
        {"dram.tWR", "13"},
        {"launch.setup", "700"},
        {"launch.blockInterval", "3"},
    };
    for (const auto& [key, value] : expected) EXPECT_EQ(valueOf(p, key), value) << key;
    EXPECT_EQ(p.map.slices(), 6u);
    EXPECT_EQ(p.map.setsPerSlice(), 32u);
}

TEST(ProfileImport, LatenciesHaveWhatTheStagesAdd) {
    // On GPGPU-Sim 4.2.0's GTX 480 a chain of fma.rn.f32 (option: 5) takes 11 cycles each, one of add (4) 10, loads
    // from shared memory (26) 32, chases through L1D (35) 40, L2 (120 more) 182, DRAM (100 more) 301 to 308.
    Configuration c;
    c.read(R"(-gpgpu_n_clusters 15 -gpgpu_occupancy_sm_number 20
-ptx_opcode_latency_int 4,13,4,5,145 -ptx_opcode_latency_fp 4,13,4,5,39
-gpgpu_clock_domains 700.0:700.0:700.0:924.0 -gpgpu_n_mem 6 -gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_cache:dl1 N:32:128:4,L:L:m:N:H,S:64:8,8 -gpgpu_shmem_size 49152 -gpgpu_l1_latency 35 -gpgpu_smem_latency 26
-gpgpu_cache:dl2 S:64:128:8,L:B:m:L:L,A:256:4,4:0,32 -gpgpu_l2_rop_latency 120 -dram_latency 100
-gpgpu_n_mem_per_ctrlr 2 -gpgpu_dram_buswidth 4 -gpgpu_dram_burst_length 8 -dram_data_command_freq_ratio 4
-gpgpu_dram_timing_opt 16:2:6:12:28:12:40:12:4:5:12:4:3:2)",
           "fermi.config");
    const arch::DeviceProfile p = importProfile(c, {"fermi", "", {}}).profile;
    EXPECT_EQ(valueOf(p, "op.fp32.latency"), "11");
    EXPECT_EQ(valueOf(p, "op.integer.latency"), "10");
    EXPECT_EQ(p.shared.latency, 32);
    EXPECT_EQ(p.l1.hitLatency, 40);
    EXPECT_EQ(p.l2.hitLatency, 182);
    EXPECT_GE(p.dram.latency, 301);
    EXPECT_LE(p.dram.latency, 309);
}

TEST(ProfileImport, EveryFigureSaysWhereItIsFrom) {
    const Imported i = imported(kSmall);
    EXPECT_EQ(i.base, "gtx480");
    EXPECT_EQ(i.profile.provenance.at("l1.mshrs"),
              "published: small.config:19: -gpgpu_cache:dl1 N:16:128:2,F:L:m:N:L,S:24:6,5");
    EXPECT_EQ(i.profile.provenance.at("dram.bytes").substr(0, 47), "assumed: not in the configuration, as gtx480: p");
    // It can be written and read again.
    const nlohmann::json again = nlohmann::json::parse(i.profile.toJson().dump());
    EXPECT_EQ(arch::DeviceProfile::fromJson(again, "again").toJson(), again);
}

TEST(ProfileImport, TellsWhatItDoesNotUse) {
    const Imported i = imported(kSmall);
    EXPECT_EQ(i.ignored, (std::vector<std::string>{"-gpgpu_num_reg_banks", "-visualizer_enabled"}));
    EXPECT_EQ(i.unknown, std::vector<std::string>{"-gpgpu_made_up"});
    ASSERT_EQ(i.remarks.size(), 1u);
    EXPECT_NE(i.remarks.front().find("gto"), std::string::npos);
}

TEST(ProfileImport, TheBaseCanBeChosen) {
    ImportOptions options;
    options.base = "tx2";
    const Imported i = imported(kSmall, options);
    EXPECT_EQ(i.base, "tx2");
    EXPECT_EQ(i.profile.dram.bytes, arch::findProfile("tx2").dram.bytes);
    options.base = "nothing";
    EXPECT_THROW(imported(kSmall, options), Error);
}

TEST(ProfileImport, ATraceConfigurationAloneChangesOperations) {
    const arch::DeviceProfile p =
        imported("-trace_opcode_latency_initiation_sp 3,2\n-trace_opcode_latency_initiation_sfu 20,8\n").profile;
    EXPECT_EQ(valueOf(p, "op.fp32.interval"), "2");
    EXPECT_EQ(valueOf(p, "op.special.interval"), "8");
    EXPECT_EQ(valueOf(p, "op.special.latency"), "26");
}

TEST(ProfileImport, SharedMemoryCanTakeFromL1d) {
    const std::string text = replaced(kSmall, "-gpgpu_shmem_size 16384",
                                      "-gpgpu_shmem_size 65536\n-gpgpu_adaptive_cache_config 1\n"
                                      "-gpgpu_shmem_option 8,64,32\n-gpgpu_unified_l1d_size 96");
    const arch::DeviceProfile p = imported(text).profile;
    EXPECT_EQ(p.sm.onChipBytes, 96 << 10);
    EXPECT_EQ(p.sm.carveouts, (std::vector<std::int64_t>{8 << 10, 32 << 10, 64 << 10}));
    EXPECT_EQ(p.l1.bytes, 88 << 10);
}

TEST(ProfileImport, TheNetworksOwnFileHasItsFlits) {
    ImportOptions options;
    options.flits = flitSize("// a network\nuse_map = 0;\n  flit_size = 32; // bytes\n", "net.icnt");
    ASSERT_TRUE(options.flits.has_value());
    EXPECT_EQ(options.flits->where(), "net.icnt:3");
    // 136 B are 5 flits of 32 B.
    EXPECT_EQ(imported(kSmall, options).profile.crossbar.requestBytesPerCycle, 26);
    EXPECT_FALSE(flitSize("k = 27;\n", "net.icnt").has_value());
}

TEST(ProfileImport, ALineThatCannotBeIsNamed) {
    const auto with = [](const std::string& what, const std::string& by) {
        return refusal(replaced(kSmall, what, by));
    };
    EXPECT_EQ(with("-gpgpu_n_mem 3", "-gpgpu_n_mem three"), "small.config:6: -gpgpu_n_mem three: three is no integer");
    EXPECT_EQ(with("-gpgpu_n_mem 3", "-gpgpu_n_mem 99999999999999999999").substr(0, 15), "small.config:6:");
    EXPECT_EQ(with("1024:32", "1024:64"),
              "small.config:10: -gpgpu_shader_core_pipeline 1024:64: warps have 32 threads here");
    EXPECT_EQ(with("600.0:600.0", "600.0:x").substr(0, 15), "small.config:8:");
    EXPECT_EQ(with("600.0:600.0:500.4:900.0", "600.0:600.0").substr(0, 15), "small.config:8:");
    EXPECT_EQ(with("-gpgpu_shader_cta 6", "-gpgpu_shader_cta 0"),
              "small.config:11: -gpgpu_shader_cta 0: sm.maxBlocks would be 0, must be an integer from 1 to 1024");
    EXPECT_EQ(with("-gpgpu_shader_cta 6", "-gpgpu_shader_cta"), "small.config:11: -gpgpu_shader_cta: lacks its value");
    EXPECT_EQ(with("-gpgpu_shader_registers 16384", "-gpgpu_shader_registers 100").substr(0, 16), "small.config:9: ");
    EXPECT_EQ(with("N:16:128:2", "N:16:64:2").substr(0, 17), "small.config:19: ");
}

}  // namespace
}  // namespace bulkhead::gpgpusim
