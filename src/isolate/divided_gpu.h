#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "isolate/kept_gpu.h"
#include "isolate/leases.h"
#include "isolate/plan.h"
#include "walls/walls.h"

namespace bulkhead::isolate {

GpuIdentity identityOf(gpu::Gpu&);
/// Without opening it.
GpuIdentity identityOf(const std::string& gpu);

/// The kind of memory walls that a GPU can have between so many partitions.
walls::Coloring coloringFor(gpu::Gpu&, std::size_t partitions, const std::string& mapFile);
/// What is to place blocks: "blocks" or "driver", or nothing chosen for "usual". Throws Error that lists them.
std::optional<walls::BlockPlacement> parsePlacement(std::string_view name);
/// A walled GPU with such walls. If nothing is chosen, blocks place themselves, as in the paper, where every SM gets
/// its share of them. Throws Error: a map of another GPU.
walls::WalledGpu makeWalledGpu(gpu::Gpu&, walls::Coloring, const std::string& mapFile,
                               std::optional<walls::BlockPlacement> = std::nullopt,
                               const std::shared_ptr<KeptGpu>& = nullptr, const walls::Survey* = nullptr);

/// Throws Error if colors have other numbers in other processes, where they could be given away twice.
void expectColorsNamed(const walls::WalledGpu&);

/// What a walled GPU has to divide.
DivisibleGpu divisibleGpuOf(gpu::Gpu&, const walls::WalledGpu&);
walls::Walls wallsOf(const Share&, const walls::WalledGpu&);

/// A GPU divided into partitions with compute and memory walls, between processes: what can be divided can be joined.
/// Throws Error: a map of another GPU or one by which processes could not agree, or partitions that the GPU cannot
/// give.
struct DividedGpu {
    walls::WalledGpu walled;
    Plan plan;
};
/// `survey`: what is known of a GPU of its kind, if it need not be looked at.
DividedGpu divide(gpu::Gpu&, const std::vector<Partition>&, const std::string& mapFile,
                  const std::shared_ptr<KeptGpu>& = nullptr, const walls::Survey* survey = nullptr);
/// Its plan alone.
Plan planFor(gpu::Gpu&, const std::vector<Partition>&, const std::string& mapFile,
             const std::shared_ptr<KeptGpu>& = nullptr);

/// Whether a keeper is to have the memory of a GPU that is divided: one that processes share.
bool needsKeeper(const std::string& gpu);
/// Has a keeper know what such partitions need; `command` starts one where there is none. Some memory is left to the
/// driver, for the contexts of their programs, modules and stacks.
std::shared_ptr<KeptGpu> keepFor(const std::vector<Partition>&, gpu::Gpu&, const LeaseBook&, const std::string& mapFile,
                                 const std::vector<std::string>& command);

}  // namespace bulkhead::isolate
