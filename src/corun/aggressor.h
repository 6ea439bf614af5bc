#pragma once

#include <memory>
#include <string>
#include <vector>

#include "corun/access_pattern.h"
#include "corun/actor.h"
#include "corun/waiting.h"
#include "gpu/gpu.h"

namespace bulkhead::corun {

std::string nameOf(const AggressorSpec&);
/// Throws Error for what no GPU can do.
void validate(const AggressorSpec&);

/// An aggressor in a context. Stopped at the latest when it goes.
class Aggressor final : public Actor {
  public:
    /// `mapMemory`: needed by the kinds that aim with a map; `victimLines`: by hot-sets.
    Aggressor(gpu::Context, const CacheGeometry&, AggressorSpec, const MapMemory& mapMemory,
              const Whereabouts& victimLines = {});
    ~Aggressor() override;
    Aggressor(const Aggressor&) = delete;
    Aggressor& operator=(const Aggressor&) = delete;

    const AggressorSpec& spec() const { return spec_; }
    /// Lines of its ring; none where it follows no ring.
    const Ring& ring() const { return pattern_->ring(); }
    void start(double limitSeconds) override;
    ActorReport stop() override;
    /// Whether it has ended by itself, which it does only if it failed. Lets a simulated GPU go on a little.
    bool ended() { return waitFor(context_, stream_, 0); }

  private:
    void completeLayout();
    Dials dials() const;

    gpu::Context context_;
    CacheGeometry shape_;
    AggressorSpec spec_;
    const AggressorType& type_;
    gpu::Stream stream_, control_;
    gpu::Module module_;
    std::unique_ptr<PlacedKernel> kernel_;
    gpu::Buffer flags_;
    std::unique_ptr<AccessPattern> pattern_;
    bool running_ = false;
};

}  // namespace bulkhead::corun
