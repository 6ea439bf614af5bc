#pragma once

#include <array>
#include <functional>
#include <optional>

#include "corun/pair_spec.h"
#include "corun/pairs.h"
#include "sim/separation.h"

namespace bulkhead::corun {

/// By how many seconds what made a victim slower did so. They sum to what it lost. Less than nothing: without this
/// cause the neighbour works faster, and costs more elsewhere.
struct Causes {
    std::array<double, sim::kResources> byResource = {};
    double room = 0;         ///< fewer places for blocks, and other ones
    double timeSlicing = 0;  ///< not being on the GPU

    double& of(sim::Resource r) { return byResource[static_cast<std::size_t>(r)]; }
    double of(sim::Resource r) const { return byResource[static_cast<std::size_t>(r)]; }
    double total() const;
    Causes& operator+=(const Causes&);
};

/// A loss below that share of the time alone is not explained.
constexpr double kWorthExplaining = 0.001;

/// The time together where the neighbour has its own copies of some resources; nothing where there was no such run.
using TimeTogether = std::function<std::optional<double>(sim::ResourceSet separate)>;

/// What each of some resources costs: how much shorter the victim takes once it is separate too. What that is depends
/// on what is separate already. So it is done in two orders, and the mean is taken: the lines of caches first, and
/// last. Queues always come after what lies behind them. `rest` is what is left when all of them are separate.
struct Peeled {
    std::array<double, sim::kResources> byResource = {};
    double rest = 0;
};
std::optional<Peeled> peel(double alone, double together, sim::ResourceSet resources, const TimeTogether&);

/// Of a pair that was measured on a simulated GPU made as the spec says: measures it again on others that separate
/// resources. Nothing where one of these gave no pair, and for a loss that is not worth it.
std::optional<Causes> explainPair(const CoRunSpec&, const Pair&);

}  // namespace bulkhead::corun
