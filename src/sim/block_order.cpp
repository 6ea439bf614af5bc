#include "sim/block_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/machine_config.h"

namespace bulkhead::sim {
namespace {

constexpr auto kTpcSms = static_cast<std::uint32_t>(arch::DeviceProfile::kTpcSms);

/// How many of a GPC's SMs are taken, and which are next: those of a TPC of which none is, then the others.
struct Shelf {
    std::vector<std::uint32_t> firsts, seconds;
    std::size_t taken = 0;

    bool has(bool fresh) const {
        return fresh ? taken < firsts.size() : taken >= firsts.size() && taken < firsts.size() + seconds.size();
    }
    std::uint32_t take() {
        const std::size_t i = taken++;
        return i < firsts.size() ? firsts[i] : seconds[i - firsts.size()];
    }
};

}  // namespace

BlockOrder::BlockOrder(const MachineConfig& config) : byNumber_(config.sm.count) {
    std::iota(byNumber_.begin(), byNumber_.end(), 0u);
    if (!config.launch.byGpcs || config.cluster.neighbours.empty()) return;
    gpcs_ = config.cluster.neighbours;
    const auto more =
        std::stable_partition(gpcs_.begin(), gpcs_.end(), [](const auto& gpc) { return gpc.size() <= kTpcSms; });
    singles_ = static_cast<std::size_t>(more - gpcs_.begin());
    if (more != gpcs_.end()) std::rotate(more, gpcs_.end() - 1, gpcs_.end());
}

std::vector<std::uint32_t> BlockOrder::of(std::uint64_t blocks,
                                          const std::function<bool(std::uint32_t sm)>& mayUse) const {
    std::vector<Shelf> shelves(gpcs_.size());
    std::uint64_t left = 0;
    for (std::size_t gpc = 0; gpc < gpcs_.size(); ++gpc) {
        std::uint32_t tpc = std::numeric_limits<std::uint32_t>::max();
        for (const std::uint32_t sm : gpcs_[gpc]) {
            if (!mayUse(sm)) continue;
            (sm / kTpcSms == tpc ? shelves[gpc].seconds : shelves[gpc].firsts).push_back(sm);
            tpc = sm / kTpcSms;
            ++left;
        }
    }
    left = std::min(left, blocks);
    std::vector<bool> chosen(byNumber_.size());
    // Of those that have the least, the first; the GPC whose blocks come first is the last to have one more.
    const auto choose = [&](std::vector<Shelf*> among) {
        for (const bool fresh : {true, false})
            for (; left != 0; --left) {
                Shelf* least = nullptr;
                for (Shelf* shelf : among)
                    if (shelf->has(fresh) && (!least || shelf->taken < least->taken)) least = shelf;
                if (!least) break;
                chosen[least->take()] = true;
            }
    };
    std::vector<Shelf*> singles, others;
    for (std::size_t gpc = 0; gpc < shelves.size(); ++gpc) (gpc < singles_ ? singles : others).push_back(&shelves[gpc]);
    if (!others.empty()) std::rotate(others.begin(), others.begin() + 1, others.end());
    choose(std::move(singles));
    choose(std::move(others));

    std::vector<std::uint32_t> order;
    order.reserve(byNumber_.size());
    for (const bool first : {true, false})
        for (const auto& gpc : gpcs_)
            for (const std::uint32_t sm : gpc)
                if (chosen[sm] == first) order.push_back(sm);
    return order;
}

}  // namespace bulkhead::sim
