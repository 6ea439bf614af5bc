#include "base/error.h"
#include "corun/sharing.h"

namespace bulkhead::corun {
namespace {

/// A context each, side by side.
class Mps final : public Sharing {
  public:
    explicit Mps(const SharingSite& site) {
        for (unsigned i = 0; i < site.spec.partitions; ++i) {
            contexts_.push_back(site.gpu.createContext(true));
            if (site.spec.limitThreads) contexts_.back().limitThreads(1.0 / site.spec.partitions);
        }
    }
    gpu::Context contextOf(unsigned partition) override { return contexts_.at(partition); }

  private:
    std::vector<gpu::Context> contexts_;
};

}  // namespace

std::unique_ptr<Sharing> shareByMps(const SharingSite& site) {
    if (site.gpu.capabilities().concurrentContexts) return std::make_unique<Mps>(site);
    if (!site.only) throw Error("MPS shares a real GPU between processes, not within one");
    return shareByStreams(site);
}

}  // namespace bulkhead::corun
