#include "corun/sharing.h"

namespace bulkhead::corun {
namespace {

/// Everybody in the context that the process has.
class Streams final : public Sharing {
  public:
    explicit Streams(gpu::Gpu& gpu) : gpu_(gpu) {}
    gpu::Context contextOf(unsigned) override { return gpu_.context(); }

  private:
    gpu::Gpu& gpu_;
};

}  // namespace

std::unique_ptr<Sharing> shareByStreams(const SharingSite& site) {
    return std::make_unique<Streams>(site.gpu);
}

}  // namespace bulkhead::corun
