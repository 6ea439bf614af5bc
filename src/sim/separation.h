#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::sim {

/// What launches contend for, from DRAM up to the SMs.
enum class Resource : std::uint8_t {
    bus,    ///< the data bus of a DRAM channel
    banks,  ///< its banks with their row buffers
    l2,     ///< the lines of L2
    ports,  ///< of L2 slices: their queue, a place at the tags, their way back into the crossbar
    l1,     ///< the lines and MSHRs of L1D
    sms,    ///< all else of an SM but room for blocks: issue, units, LD/ST, its own port, caches of code and constants
};
constexpr std::size_t kResources = 6;
constexpr std::array<std::string_view, kResources> kResourceNames = {"bus", "banks", "l2", "ports", "l1", "sms"};
using ResourceSet = std::bitset<kResources>;
/// Throws Error that lists the names.
ResourceSet resourcesOf(const std::vector<std::string>& names);
std::vector<std::string> namesOf(ResourceSet);

/// A GPU that no one can build: launches that are said to be a neighbour's find copies of their own of some resources,
/// as large and as fast as those of all others, and take nothing from them there: waiting for them holds up nobody
/// else. So who has a bus or banks of its own also has its own queue before DRAM and its own MSHRs in L2. What a
/// neighbour costs by a resource is then the difference between two runs. Results stay the same, since caches decide of
/// time alone.
class Separation {
  public:
    static constexpr std::size_t kMostCopies = 2;

    explicit Separation(ResourceSet separate = {}) : separate_(separate) {}

    bool separates(Resource r) const { return separate_[static_cast<std::size_t>(r)]; }
    /// How many copies of it there are.
    std::uint32_t copies(Resource r) const { return separates(r) ? 2 : 1; }
    /// Which of them a launch uses.
    std::uint32_t copyOf(Resource r, std::uint32_t launch) const { return separates(r) && isNeighbour(launch) ? 1 : 0; }
    /// The same of what requests hold while they wait for DRAM: its queue, and MSHRs of L2.
    std::uint32_t copiesOfQueues() const { return separates(Resource::bus) || separates(Resource::banks) ? 2 : 1; }
    std::uint32_t queuesOf(std::uint32_t launch) const { return copiesOfQueues() == 2 && isNeighbour(launch) ? 1 : 0; }
    bool isNeighbour(std::uint32_t launch) const { return launch < neighbours_.size() && neighbours_[launch]; }
    /// Not while units advance.
    void addNeighbour(std::uint32_t launch) {
        if (launch >= neighbours_.size()) neighbours_.resize(launch + 1, 0);
        neighbours_[launch] = 1;
    }

  private:
    ResourceSet separate_;
    std::vector<std::uint8_t> neighbours_;  ///< by launch
};

}  // namespace bulkhead::sim
