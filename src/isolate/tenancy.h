#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isolate/divided_gpu.h"

namespace bulkhead::isolate {

/// A process's place in a partition, and everything that it stands on.
struct Tenancy {
    gpu::Gpu gpu;
    Lease lease;
    std::shared_ptr<KeptGpu> kept;  ///< null where nobody keeps the GPU
    std::optional<walls::WalledGpu> walled;
    Plan plan;
    std::optional<walls::PartitionContext> tenant;

    /// Takes a place in a partition that was set in the book. Without a memory wall the program keeps to its SMs and to
    /// its amount of memory alone. Throws Error.
    static std::unique_ptr<Tenancy> join(gpu::Gpu, LeaseBook&, const std::string& partition, bool memoryWall,
                                         const walls::Survey* = nullptr);

    explicit Tenancy(gpu::Gpu g) : gpu(std::move(g)) {}
};

}  // namespace bulkhead::isolate
