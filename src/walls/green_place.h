#pragma once

#include <array>
#include <memory>
#include <vector>

#include "dissect/regions.h"
#include "walls/walls.h"

namespace bulkhead::walls {

/// A green context: work of its streams comes to run on its SMs alone. It shares memory and modules with
/// the GPU's primary context.
class GreenPlace {
  public:
    /// Where contexts number SMs anew, `names` are those that these have elsewhere. Throws Error.
    GreenPlace(gpu::Gpu&, std::vector<driver::CUdevResource> groups, const SmSet& names = {});

    driver::CUcontext context() const { return context_; }
    driver::CUresult createStream(driver::CUstream*, int priority) const;
    /// On which blocks of a launch that filled the place have run.
    const SmSet& sms() const { return sms_; }
    /// Latency of atomics from one of its SMs.
    dissect::Times timeAtomics(gpu::Gpu&, const std::vector<std::uint64_t>& addresses) const;

  private:
    void see(gpu::Gpu&, unsigned expected);
    /// Launches a kernel of some PTX and waits for it.
    void launch(gpu::Gpu&, const char* ptx, const char* kernel, unsigned blocks, unsigned threads,
                void** parameters) const;

    const driver::DriverApi& api_;
    std::shared_ptr<driver::CUgreenCtx_st> green_;
    driver::CUcontext context_ = nullptr;
    SmSet sms_;
};

/// Which groups make up these SMs, where it is only known which region each is in: those in the same place
/// among the groups of their region. Empty if a group would be divided, or regions have unlike numbers.
std::vector<std::size_t> groupsInPlaceOf(const SmSet&, const std::vector<dissect::L2Region>& regionOfSm,
                                         const std::vector<dissect::L2Region>& regionOfGroup,
                                         const std::vector<unsigned>& sizeOfGroup);

/// The smallest groups of SMs that a driver gives to green contexts, a TPC each where it can. It does not
/// tell which are in a group: launches do. Under MPS (driver 580) each context numbers its SMs from 0, and
/// launches cannot tell either; then timing says which region of the L2 a group is in, which is what walls are about,
/// and groups take the places of SMs of their region, in order, in every process alike.
class GreenGroups {
  public:
    /// There are none where the driver knows no green contexts, or its groups cannot be told apart.
    GreenGroups(gpu::Gpu&, const L2Topology&, const std::optional<dissect::Sides>&,
                const std::optional<dissect::L2Regions>&);
    /// The region of each group is known: nothing is timed, and groups take the places of SMs of their region.
    GreenGroups(gpu::Gpu&, const L2Topology&, std::vector<dissect::L2Region> regionOfGroup);

    /// The region that each group is in.
    std::vector<dissect::L2Region> regions() const;
    /// Whether regions have as many SMs in these groups as in the topology, and memory on the side of each group is
    /// nearer to it than that of the other, by timing. `onSide`: addresses on either.
    bool agree(const std::array<std::vector<std::uint64_t>, 2>& onSide) const;

    /// Null where no groups make up exactly these SMs.
    std::shared_ptr<GreenPlace> place(const SmSet&);

  private:
    bool split();
    /// False if SMs have other numbers in every place.
    bool findMembers();
    void findRegions(const std::optional<dissect::Sides>&, const std::optional<dissect::L2Regions>&);
    std::vector<std::size_t> groupsOf(const SmSet&) const;

    gpu::Gpu& gpu_;
    const L2Topology& topology_;
    std::vector<driver::CUdevResource> groups_;
    std::vector<SmSet> members_;                    ///< of each group, where their numbers are known
    std::vector<dissect::L2Region> regionOfGroup_;  ///< where they are not
};

}  // namespace bulkhead::walls
