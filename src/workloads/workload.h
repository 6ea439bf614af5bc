#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"

namespace bulkhead::workloads {

enum class Size : std::uint8_t {
    test,      ///< well under a second on a simulated GPU
    standard,  ///< "default": a few seconds on a simulated GPU
    paper,     ///< the input of the paper's table
    large,     ///< keeps a real GPU of today busy for a millisecond a kernel; where there is none, paper's
};

/// One workload with its input, on one GPU.
class Instance {
  public:
    virtual ~Instance() = default;
    /// Puts all of its kernels into the stream, once. May be called again: each run starts from the same input and does
    /// the same work. Waits only where its algorithm has to look at a result (the size of a group, convergence).
    virtual void run(gpu::Stream&) = 0;
    /// After the stream has been waited for: compares with a CPU reference. Throws Error that says what is wrong and
    /// where. What it has looked at is gone then, so that the next check sees what a later run computed, or fails.
    virtual void check() = 0;
    /// Bytes of input and output in device memory.
    virtual std::size_t footprint() const = 0;
};

/// A workload's row of Table II of the CIAO paper.
struct CiaoFigures {
    const char* workloadClass;  ///< LWS, SWS or CI
    double apki;                ///< L1D accesses per thousand instructions
    std::size_t inputBytes;
    int bestWarps;             ///< N_wrp: the warps that Best-SWL lets run
    double sharedMemoryShare;  ///< F_smem: of shared memory, used by the program
    bool barriers;
};

/// What a workload of inference waits for on the GPUs it is made for.
struct InferenceFigures {
    const char* boundBy;      ///< compute or memory
    std::size_t inputBytes;   ///< its footprint at size paper
    bool tensorMaps = false;  ///< reads through tensor maps, which walls refuse
};

struct Workload {
    std::string_view name;   ///< as its suite calls it: "ATAX"
    std::string_view suite;  ///< PolyBench, Rodinia, Mars, CUDA samples, Caffe, Inference
    std::string_view description;
    std::optional<CiaoFigures> ciao;
    bool fgpu = false;  ///< in Table I of the Fractional GPUs paper, or its IC case
    std::unique_ptr<Instance> (*create)(gpu::Context&, Size, std::uint64_t seed);
    std::optional<InferenceFigures> inference = {};

    /// CIAO's class, or what it is bound by; empty where neither is known.
    std::string_view workloadClass() const;
};

/// All of them, suite by suite.
const std::vector<Workload>& all();
/// By name, whatever its case. Throws Error that suggests the nearest one.
const Workload& find(std::string_view name);

Size parseSize(std::string_view text);
std::string_view sizeName(Size);

}  // namespace bulkhead::workloads
