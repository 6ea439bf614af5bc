#include "cli/verbs.h"

namespace bulkhead::cli {

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> all = {
        {"demo", "show what Bulkhead does, in under a minute", setUpDemo},
        {"dissect", "find a GPU's address map and cache structure by timing", setUpDissect},
        {"calibrate", "measure a GPU and write a profile for its simulated twin", setUpCalibrate},
        {"run", "run a workload or a kernel of a PTX file", setUpRun},
        {"workloads", "list workloads, or run and check them", setUpWorkloads},
        {"compare", "compare warp schedulers on workloads", setUpCompare},
        {"correlate", "hold a simulated GPU against the real one, kernel by kernel", setUpCorrelate},
        {"stress", "measure how aggressors slow down a victim", setUpStress},
        {"isolate", "partition a GPU with compute and memory walls", setUpIsolate},
        {"reproduce", "reproduce a paper's figures and compare with its numbers", setUpReproduce},
        {"report", "make an HTML report or pictures of results", setUpReport},
        {"serve", "browse results and ask questions on a page of this machine", setUpServe},
        {"cc", "build a CUDA program with clang and Bulkhead's headers", setUpCc},
        {"exec", "run a CUDA program on a simulated GPU", setUpExec},
        {"gpus", "list GPUs, or show every parameter of a simulated one", setUpGpus},
        {"completion", "print a script that completes verbs and options in a shell", setUpCompletion},
        {"man", "print manual pages", setUpMan},
    };
    return all;
}

}  // namespace bulkhead::cli
