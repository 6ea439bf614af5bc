#pragma once

#include <memory>
#include <vector>

#include "walls/walls.h"

namespace bulkhead::walls {

/// A green context: work of its streams comes to run on its multiprocessors alone. It shares memory and modules with
/// the GPU's primary context.
class GreenPlace {
  public:
    /// Throws Error.
    GreenPlace(gpu::Gpu&, std::vector<driver::CUdevResource> groups);

    driver::CUcontext context() const { return context_; }
    driver::CUresult createStream(driver::CUstream*, int priority) const;
    /// On which blocks of a launch that filled the place have run.
    const SmSet& multiprocessors() const { return multiprocessors_; }

  private:
    void see(gpu::Gpu&, unsigned expected);
    driver::CUresult note(driver::CUdeviceptr bits, long long cycles, unsigned blocks) const;

    const driver::DriverApi& api_;
    std::shared_ptr<driver::CUgreenCtx_st> green_;
    driver::CUcontext context_ = nullptr;
    SmSet multiprocessors_;
};

/// The smallest groups of multiprocessors that a driver gives to green contexts, a TPC each where it can. It does not
/// tell which are in a group: launches do.
class GreenGroups {
  public:
    /// There are none where the driver knows no green contexts, or its groups cannot be told apart.
    explicit GreenGroups(gpu::Gpu&);

    /// Null where no groups make up exactly these multiprocessors.
    std::shared_ptr<GreenPlace> place(const SmSet&);

  private:
    bool split();
    void findMembers();

    gpu::Gpu& gpu_;
    std::vector<driver::CUdevResource> groups_;
    std::vector<SmSet> members_;  ///< of each group
};

}  // namespace bulkhead::walls
