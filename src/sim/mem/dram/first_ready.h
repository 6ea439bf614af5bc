#pragma once

#include <span>

#include "sim/mem/dram/scheduled_channel.h"

namespace bulkhead::sim {

/// What schedulers have in common that serve requests for open rows first, and else the oldest.
class FirstReady {
  public:
    explicit FirstReady(SimContext& sim) : sim_(sim) {}

    bool arrive(RequestId) { return false; }
    bool leave(const DramBank&, RequestId) { return false; }
    RequestId toOpen(const DramBank& bank) const { return bank.first; }
    RequestId hit(const DramBank& bank, RequestId from) const {
        for (RequestId r = from; r != kNoRequest; r = sim_.requests[r].next)
            if (sim_.requests[r].row == bank.openRow) return r;
        return kNoRequest;
    }
    bool before(RequestId a, RequestId b) const { return sim_.requests[a].since < sim_.requests[b].since; }

  protected:
    SimContext& sim_;
};

}  // namespace bulkhead::sim
