#pragma once

#include <algorithm>

#include "sim/exec/program.h"
#include "sim/machine_config.h"

namespace bulkhead::sim {

/// How long a scheduler's tensor core is taken by a matrix instruction, and when its result is there.
struct TensorTime {
    Cycles interval, latency;
};

/// Instr::target is its work, in multiply-adds of 16-bit numbers; Instr::reconverge the bytes of shared memory that all
/// warps of a warpgroup read for it together.
inline TensorTime tensorTime(const Instr& instr, const MachineConfig& config) {
    const MachineConfig::Tensor& tensor = config.tensor;
    const Cycles work = std::max<Cycles>(instr.target / tensor.rate, 1);
    if (instr.opClass == arch::OpClass::tensorGroup) {
        // The four warps' tensor cores share what comes from shared memory.
        const Cycles reads = instr.reconverge / (config.shared.banks * config.shared.bankBytes);
        const Cycles interval = std::max({work, reads, tensor.groupInterval});
        return {interval, interval + tensor.groupLatency};
    }
    if (instr.type == ptx::Type::f64) {
        const Cycles doubles = instr.target / tensor.doubleRate;
        return {std::max(doubles, tensor.doubleInterval), doubles + tensor.doubleLatency};
    }
    if (instr.elements == 0) return {tensor.octetInterval, 2 * tensor.octetInterval};
    const Cycles setup = tensor.setup * instr.elements;  // twice for a sparse A
    return {std::max(setup + work, tensor.interval), tensor.latency + tensor.depthLatency * instr.target / 1024};
}

}  // namespace bulkhead::sim
