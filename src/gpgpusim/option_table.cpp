#include "gpgpusim/option_table.h"

#include <algorithm>
#include <array>

namespace bulkhead::gpgpusim {
namespace {

/// Families of options: what is printed, traced, drawn, checked or counted as power, and parts that are not modelled
/// here.
constexpr auto kBeginnings = std::to_array<std::string_view>({
    "-accelwattch_",
    "-checkpoint_",
    "-dvfs_",
    "-enable_ptx_",
    "-gpgpu_cflog_",
    "-gpgpu_deadlock_",
    "-gpgpu_memlatency_",
    "-gpgpu_operand_collector_",
    "-gpgpu_ptx_",
    "-gpgpu_runtime_",
    "-gpgpu_tex_cache:",
    "-gpuwattch_",
    "-hw_perf_",
    "-power_",
    "-ptx_opcode_initiation_t",
    "-ptx_opcode_latency_t",
    "-resume_",
    "-save_embedded_",
    "-specialized_unit_",
    "-steady_",
    "-trace_",
    "-visualizer_",
    "-keep",
    "-liveness_",
    "-aggregate_power_",
});

constexpr auto kOptions = std::to_array<std::string_view>({
    "-Seperate_Write_Queue_Enable",
    "-Write_Queue_Size",
    "-cdp_enabled",
    "-dram_bnk_indexing_policy",
    "-dram_bnkgrp_indexing_policy",
    "-dram_dual_bus_interface",
    "-dram_elimnate_rw_turnaround",
    "-dram_seperate_write_queue_enable",
    "-dram_write_queue_size",
    "-gpgpu_CTA_stats",
    "-gpgpu_cache:dl1PrefL1",
    "-gpgpu_cache:dl1PrefShared",
    "-gpgpu_cache:dl2_texture_only",
    "-gpgpu_cache:il1",
    "-gpgpu_clock_gated_lanes",
    "-gpgpu_clock_gated_reg_file",
    "-gpgpu_coalesce_arch",
    "-gpgpu_concurrent_kernel_sm",
    "-gpgpu_dram_return_queue_size",
    "-gpgpu_dual_issue_diff_exec_units",
    "-gpgpu_enable_specialized_operand_collector",
    "-gpgpu_experimental_lib_support",
    "-gpgpu_fetch_decode_width",
    "-gpgpu_flush_l1_cache",
    "-gpgpu_flush_l2_cache",
    "-gpgpu_heap_size_limit",
    "-gpgpu_ignore_resources_limitation",
    "-gpgpu_inst_fetch_throughput",
    "-gpgpu_interwarp_mshr_merge",
    "-gpgpu_l1_banks",
    "-gpgpu_l1_banks_byte_interleaving",
    "-gpgpu_l1_banks_hashing_function",
    "-gpgpu_l1_cache_write_ratio",
    "-gpgpu_local_mem_map",
    "-gpgpu_max_concurrent_kernel",
    "-gpgpu_max_cta",
    "-gpgpu_max_completed_cta",
    "-gpgpu_max_cycle",
    "-gpgpu_max_insn",
    "-gpgpu_mem_addr_test",
    "-gpgpu_mem_address_mask",
    "-gpgpu_n_cluster_ejection_buffer_size",
    "-gpgpu_n_ldst_response_buffer_size",
    "-gpgpu_num_int_units",
    "-gpgpu_num_reg_banks",
    "-gpgpu_num_tensor_core_units",
    "-gpgpu_perfect_inst_const_cache",
    "-gpgpu_perfect_mem",
    "-gpgpu_pipeline_widths",
    "-gpgpu_reg_bank_use_warp_id",

    "-gpgpu_registers_per_block",
    "-gpgpu_shmem_limited_broadcast",
    "-gpgpu_shmem_sizeDefault",
    "-gpgpu_shmem_size_PrefL1",
    "-gpgpu_shmem_size_PrefShared",
    "-gpgpu_shmem_warp_parts",
    "-gpgpu_simd_model",
    "-gpgpu_simple_dram_model",
    "-gpgpu_spread_blocks_across_cores",
    "-gpgpu_stack_size_limit",
    "-gpgpu_stat_sample_freq",
    "-gpgpu_sub_core_model",
    "-gpgpu_tensor_core_avail",
    "-gpgpu_warpdistro_shader",
    "-gpgpu_warp_issue_shader",
    "-icnt_arbiter_algo",
    "-icnt_grant_cycles",
    "-icnt_in_buffer_limit",
    "-icnt_out_buffer_limit",
    "-icnt_subnets",
    "-icnt_verbose",
    "-inter_config_file",
    "-l2_ideal",
    "-local_interconnect_mode",
    "-network_mode",
    "-sst_mode",
});

}  // namespace

bool hasNoCounterpart(std::string_view option) {
    return std::find(kOptions.begin(), kOptions.end(), option) != kOptions.end() ||
           std::any_of(kBeginnings.begin(), kBeginnings.end(),
                       [&](std::string_view b) { return option.starts_with(b); });
}

}  // namespace bulkhead::gpgpusim
