#include "compare/store.h"

#include "source_fingerprint.h"

namespace bulkhead::compare {

std::string nameOf(const RunSpec& spec) {
    return spec.workload + "-" + spec.scheduler;
}

std::string labelOf(const RunSpec& spec) {
    return spec.workload + " " + spec.scheduler;
}

std::string simulatorSources() {
    return kSourceFingerprint;
}

}  // namespace bulkhead::compare
