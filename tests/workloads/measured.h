#pragma once

#include <string>

#include "workloads/measure.h"

namespace bulkhead::workloads {

/// One run at test size on the GPU of the CIAO paper.
inline Measurement measured(const std::string& workload) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480");
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(workload).create(gpu.context(), Size::test, 3);
    return measure(gpu, stream, *instance);
}

}  // namespace bulkhead::workloads
