#include "cli/verbs.h"

namespace bulkhead::cli {

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> all = {
        {"run", "run a kernel of a PTX file on a simulated GPU", setUpRun},
        {"gpus", "list the simulated GPUs, or show every figure of one", setUpGpus},
    };
    return all;
}

}  // namespace bulkhead::cli
