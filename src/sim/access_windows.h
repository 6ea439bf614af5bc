#pragma once

#include <unordered_map>
#include <vector>

#include "sim/mem/address_space.h"
#include "sim/mem/retention.h"

namespace bulkhead::sim {

/// CUDA's access policy window: how L2 is to keep what a launch accesses in a range. A share of its lines, chosen by
/// address, is kept in one way, the rest in another.
struct AccessWindow {
    VirtualAddress begin = 0;
    Bytes bytes = 0;  ///< 0: no window
    double hitRatio = 0;
    Retention hit = Retention::normal, miss = Retention::normal;
};

/// The windows of launches that run, by physical address.
class AccessWindows {
  public:
    void open(std::uint32_t launch, const AccessWindow&, const AddressSpace&);
    void close(std::uint32_t launch) { windows_.erase(launch); }
    /// How a launch wants a line to be kept. Every request asks, and hardly ever is there a window.
    Retention of(std::uint32_t launch, arch::PhysicalAddress line) const {
        return windows_.empty() ? Retention::normal : find(launch, line);
    }

  private:
    struct Range {
        arch::PhysicalAddress begin, end;
    };
    struct Open {
        std::vector<Range> ranges;  ///< in the order of addresses
        std::uint32_t hits = 0;     ///< of 65,536 lines
        Retention hit, miss;
    };
    Retention find(std::uint32_t launch, arch::PhysicalAddress line) const;

    std::unordered_map<std::uint32_t, Open> windows_;
};

}  // namespace bulkhead::sim
