#include "cli/verbs.h"

namespace bulkhead::cli {

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> all = {
        {"demo", "see what all of this is for, in three minutes", setUpDemo},
        {"dissect", "find out by timing how a GPU spreads addresses", setUpDissect},
        {"run", "run a workload, or a kernel of a PTX file", setUpRun},
        {"workloads", "list the workloads, or measure them", setUpWorkloads},
        {"compare", "compare warp schedulers and on-chip memory", setUpCompare},
        {"stress", "measure what other kernels do to a victim", setUpStress},
        {"isolate", "divide a GPU with compute and memory walls", setUpIsolate},
        {"reproduce", "make the figures of a paper again, ours beside the paper's", setUpReproduce},
        {"report", "make a page, or pictures, of results", setUpReport},
        {"cc", "build a CUDA program with clang and our own headers", setUpCc},
        {"exec", "run a CUDA program on a simulated GPU", setUpExec},
        {"gpus", "list the simulated GPUs, or show every figure of one", setUpGpus},
        {"completion", "print what lets a shell complete verbs and options", setUpCompletion},
        {"man", "print manual pages", setUpMan},
    };
    return all;
}

}  // namespace bulkhead::cli
