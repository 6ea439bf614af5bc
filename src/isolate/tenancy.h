#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "isolate/leases.h"
#include "isolate/plan.h"
#include "walls/walls.h"

namespace bulkhead::isolate {

GpuIdentity identityOf(gpu::Gpu&);

/// The kind of memory walls that a GPU can have between so many partitions.
walls::Coloring coloringFor(gpu::Gpu&, std::size_t partitions, const std::string& mapFile);
/// What places blocks unless somebody chooses: on simulated GPUs blocks themselves, as in the paper.
walls::Placement usualPlacement(gpu::Gpu&);
/// A site with such walls.
walls::Site makeSite(gpu::Gpu&, walls::Coloring, const std::string& mapFile, walls::Placement);
walls::Site makeSite(gpu::Gpu&, walls::Coloring, const std::string& mapFile);

/// Throws Error if colors have other numbers in other processes, where they could be given away twice.
void expectColorsNamed(const walls::Site&);

/// What a site has to divide.
Topology topologyOf(gpu::Gpu&, const walls::Site&);
walls::Walls wallsOf(const Share&, const walls::Site&);

/// A GPU divided into partitions with compute and memory walls, between processes: what can be divided can be joined.
/// Throws Error: a map of another GPU, or by which processes could not agree, or partitions that the GPU cannot give.
struct DividedGpu {
    walls::Site site;
    Plan plan;
};
DividedGpu divide(gpu::Gpu&, const std::vector<Partition>&, const std::string& mapFile);
/// Its plan alone.
Plan planFor(gpu::Gpu&, const std::vector<Partition>&, const std::string& mapFile);

}  // namespace bulkhead::isolate
