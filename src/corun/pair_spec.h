#pragma once

#include "corun/corun.h"

namespace bulkhead::corun {

/// A victim and an aggressor on a GPU.
struct PairSpec {
    std::string gpu = "sim:tx2";
    std::vector<std::string> settings;  ///< of a simulated GPU
    std::vector<std::string> separate;  ///< likewise: what the aggressor has copies of its own of
    std::string map;                    ///< file of bulkhead dissect; empty: of a simulated GPU, its own
    std::string sharing = "streams";    ///< a way of sharing, by name
    bool shareSms = false;              ///< they may meet on one
    VictimSpec victim;
    AggressorSpec aggressor;
    std::uint64_t seed = 1;  ///< of a simulated GPU: where pages lie
};

constexpr std::size_t kVictim = 0, kAggressor = 1;

CoRunSpec coRunOf(const PairSpec&);
ActorSpec actorOf(const AggressorSpec&);

}  // namespace bulkhead::corun
