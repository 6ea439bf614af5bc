#include "sim/mem/prefetch_policy.h"

namespace bulkhead::sim {
namespace {

/// Tagged prefetching (Smith, Computing Surveys 1982): a stream, once begun, is followed by the uses of its lines.
class NextLine final : public PrefetchPolicy {
  public:
    explicit NextLine(const PrefetchConfig& config) : config_(config) {}

    void lookAhead(const PrefetchTrigger& trigger, std::vector<std::uint64_t>& lines) override {
        for (std::uint32_t i = 1; i <= config_.degree; ++i) lines.push_back(trigger.line + i * config_.lineBytes);
    }

  private:
    PrefetchConfig config_;
};

}  // namespace

std::unique_ptr<PrefetchPolicy> makeNextLine(const PrefetchConfig& config) {
    return std::make_unique<NextLine>(config);
}

}  // namespace bulkhead::sim
