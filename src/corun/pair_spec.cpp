#include "corun/pair_spec.h"

namespace bulkhead::corun {

ActorSpec actorOf(const AggressorSpec& aggressor) {
    return {kAggressor, aggressor};
}

CoRunSpec coRunOf(const PairSpec& pair) {
    CoRunSpec spec;
    spec.gpu = pair.gpu;
    spec.settings = pair.settings;
    if (gpu::capabilitiesOf(pair.gpu).settable) spec.settings.push_back("memory.seed=" + std::to_string(pair.seed));
    // A greedy scheduler never comes to a victim's block that has landed beside warps which never wait.
    spec.scheduler = "lrr";
    spec.watched = true;
    spec.separate = pair.separate;
    spec.map = pair.map;
    spec.sharing.way = pair.sharing;
    spec.shareSms = pair.shareSms;
    spec.actors = {{kVictim, pair.victim}, actorOf(pair.aggressor)};
    return spec;
}

}  // namespace bulkhead::corun
