#pragma once

#include <optional>
#include <string>

#include "dissect/residue_hash.h"
#include "dissect/sides.h"

namespace bulkhead::dissect {

/// An address where it can be reached, and its side.
struct Target {
    std::uint64_t address = 0;
    std::uint8_t side = 0;
};

/// How hard the multiprocessors press; a repeat is four reductions.
struct ContentionEffort {
    std::uint32_t members = 60, threads = 512, repeats = 3, lanes = 32;
};

/// Tells slices apart: reductions from one side's multiprocessors to two addresses take longer if one slice serves
/// both.
class SliceLabeller {
  public:
    /// `sides` may be null: then all multiprocessors press together.
    SliceLabeller(Probe&, const Sides* sides, const ContentionEffort&);

    /// Finds the threshold from pairs within a line and pairs of random targets. False, with the evidence, if they take
    /// the same time.
    bool calibrate(std::span<const Target>, std::uint64_t seed, std::string& evidence);
    double sameCycles() const { return same_; }
    double differentCycles() const { return different_; }

    /// Whether the targets of each pair (of one side) share a slice; the majority of `votes`.
    std::vector<bool> sameSlice(std::span<const std::pair<Target, Target>>, unsigned votes = 1);

    /// The slice of each target, as the number of its first member that was met. `guesses` are slices to try first.
    std::vector<std::uint32_t> label(std::span<const Target>,
                                     const std::vector<std::vector<std::uint32_t>>& guesses = {});
    /// One member of each slice that was met.
    const std::vector<Target>& representatives() const { return representatives_; }
    void setRepresentatives(std::vector<Target> list) { representatives_ = std::move(list); }
    std::size_t tests() const { return tests_; }
    const Times& calibrationTimes() const { return calibration_; }

  private:
    Times time(std::span<const std::pair<Target, Target>>);

    Probe& probe_;
    const Sides* sides_;
    ContentionEffort effort_;
    double same_ = 0, different_ = 0, threshold_ = 0;
    std::vector<Target> representatives_;
    std::size_t tests_ = 0;
    Times calibration_;
};

}  // namespace bulkhead::dissect
