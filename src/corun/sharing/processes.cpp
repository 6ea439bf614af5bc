#include "corun/sharing.h"

namespace bulkhead::corun {
namespace {

/// A context each, which take turns as those of processes do.
class Processes final : public Sharing {
  public:
    explicit Processes(const SharingSite& site) {
        for (unsigned i = 0; i < site.spec.partitions; ++i) contexts_.push_back(site.gpu.createContext());
    }
    gpu::Context contextOf(unsigned partition) override { return contexts_.at(partition); }

  private:
    std::vector<gpu::Context> contexts_;
};

}  // namespace

std::unique_ptr<Sharing> shareByProcesses(const SharingSite& site) {
    return site.only ? shareByStreams(site) : std::make_unique<Processes>(site);
}

}  // namespace bulkhead::corun
