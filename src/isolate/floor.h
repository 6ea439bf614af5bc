#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "isolate/series.h"
#include "walls/walls.h"

namespace bulkhead::isolate {

/// A GPU with a place for each of equal partitions, divided by one of the methods, in this process. With `only`, others
/// of the places are in other processes.
class Floor {
  public:
    explicit Floor(const SeriesSpec&, std::optional<unsigned> only = {});

    gpu::Gpu& gpu() { return gpu_; }
    gpu::Context place(unsigned partition);
    unsigned multiprocessors() const { return multiprocessors_; }
    unsigned colors() const { return colors_; }
    /// What places blocks inside walls: "blocks" or "driver"; empty where there are none.
    std::string placement() const;
    unsigned strayBlocks(unsigned partition) const;

  private:
    void putUpWalls(const SeriesSpec&, std::optional<unsigned> only);

    gpu::Gpu gpu_;
    std::unique_ptr<walls::Site> site_;
    std::map<unsigned, walls::Enclosure> enclosures_;
    std::map<unsigned, gpu::Context> contexts_;
    unsigned multiprocessors_ = 0, colors_ = 0;
};

}  // namespace bulkhead::isolate
