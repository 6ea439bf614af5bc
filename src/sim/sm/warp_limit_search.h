#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bulkhead::sim {

/// Finds by trial how many warps of an SM run fastest. A trial is run with limit(); measured() is told how fast it was,
/// and then limit() is the next one's.
///
/// The limits are those that profiling for Best-SWL tries, and all warps. First every other one is tried, from all
/// warps downwards, until trials are clearly slower than the best: a cache that thrashes gets no slower with fewer
/// warps, and once they are too few for its latencies, still fewer are slower yet. Then the neighbours of the best. It
/// is kept, and from time to time a neighbour is tried again, more and more seldom while that is in vain. Where its
/// speed becomes another altogether, something else is being run, and the search begins anew.
class WarpLimitSearch {
  public:
    static constexpr std::uint32_t kAllWarps = 64;

    /// With all warps, of which there are so many.
    void begin(std::uint32_t warps, std::uint32_t schedulers);
    void measured(std::uint64_t rate);

    std::uint32_t limit() const { return limits_[at_]; }
    bool settled() const { return phase_ == Phase::kept; }

    static constexpr std::uint64_t kSlower = 75;    ///< per cent of the best: there is no need to go further down
    static constexpr std::uint64_t kFaster = 103;   ///< per cent of the present one: reason enough for another
    static constexpr std::uint64_t kAnother = 150;  ///< per cent of the speed so far, or the speed so far of it
    static constexpr std::uint32_t kTrialsOfAnother = 3;
    static constexpr std::uint32_t kFirstPatience = 8, kMostPatience = 64;  ///< trials between two of neighbours

  private:
    enum class Phase : std::uint8_t { descent, neighbours, kept, aside };

    void beginDescent();
    void descend();
    void tryNeighbours();
    void keep(std::size_t at);
    void lookAround(std::uint64_t rate);
    bool isAnother(std::uint64_t rate) const;

    static constexpr std::size_t kMostLimits = 10;
    std::array<std::uint32_t, kMostLimits> limits_ = {kAllWarps};  ///< ascending
    std::array<std::uint64_t, kMostLimits> rates_ = {};            ///< 0: not tried
    std::size_t count_ = 1, at_ = 0, best_ = 0;
    Phase phase_ = Phase::kept;
    std::uint32_t trials_ = 0, patience_ = kFirstPatience, others_ = 0;
    bool upwards_ = false;
};

}  // namespace bulkhead::sim
