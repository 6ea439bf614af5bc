#include "base/error.h"
#include "corun/sharing.h"

namespace bulkhead::corun {
namespace {

/// Two, with no SM in common.
class GreenContexts final : public Sharing {
  public:
    explicit GreenContexts(const SharingSite& site)
        : pair_(site.gpu.createGreenPair(site.firstSms ? site.firstSms
                                                       : static_cast<unsigned>(site.gpu.info().sms) / 2)) {}
    gpu::Context contextOf(unsigned partition) override { return partition == 0 ? pair_.first : pair_.second; }
    Place placeOf(unsigned) const override { return {static_cast<unsigned>(pair_.first.info().sms), 0, "", 0}; }

  private:
    std::pair<gpu::Context, gpu::Context> pair_;
};

}  // namespace

std::unique_ptr<Sharing> shareByGreenContexts(const SharingSite& site) {
    if (site.spec.partitions != 2) throw Error("green contexts: choose 2 partitions");
    return std::make_unique<GreenContexts>(site);
}

}  // namespace bulkhead::corun
