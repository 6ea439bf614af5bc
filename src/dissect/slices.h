#pragma once

#include <array>
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

/// How hard the SMs press; a repeat is four reductions.
struct ContentionEffort {
    std::uint32_t members = 60, threads = 512, repeats = 3, lanes = 32, lead = 0;
};

/// Tells slices apart: reductions from one side's SMs to two addresses take twice as long if one slice
/// serves both. One address can also be pressed together with several of as many slices: all get equal shares of the
/// work, so that the slice which serves two of them has twice as much to do.
class SliceLabeller {
  public:
    /// `sides` may be null: then all SMs press together.
    SliceLabeller(Probe&, const Sides* sides, const ContentionEffort&);

    /// Finds the threshold from pairs within a line and pairs of random targets. False, with the evidence, if they take
    /// the same time.
    bool calibrate(std::span<const Target>, std::uint64_t seed, std::string& evidence);
    double sameCycles() const { return same_; }
    double differentCycles() const { return different_; }

    /// Whether the targets of each pair (of one side) share a slice; the majority of `votes`.
    std::vector<bool> sameSlice(std::span<const std::pair<Target, Target>>, unsigned votes = 1);

    /// The slice of each target, as the number of its first member that was met; new slices are added. `guesses` are
    /// slices to try first.
    std::vector<std::uint32_t> label(std::span<const Target>,
                                     const std::vector<std::vector<std::uint32_t>>& guesses = {});
    /// The same where all slices are known; empty where none of them seems to be the target's.
    std::vector<std::optional<std::uint32_t>> identify(std::span<const Target>);
    /// One member of each slice that was met.
    const std::vector<Target>& representatives() const { return representatives_; }
    void setRepresentatives(std::vector<Target>);
    std::size_t tests() const { return tests_; }

  private:
    static constexpr std::size_t kMost = 7;  ///< slices that a target is pressed against at a time
    /// Numbers that are: those that let a target and them have equal shares of the slots.
    static constexpr std::array<std::size_t, 3> kSizes = {1, 3, kMost};

    struct Test {
        Target target;
        std::vector<std::uint64_t> against;  ///< 1 to kMost
    };
    struct Search;
    /// Tests whose answer is known, made in every launch: launches differ, and thresholds hold within one.
    struct References {
        std::vector<Test> with, without;
    };

    void addSlots(const Test&, std::vector<std::uint64_t>&) const;
    std::vector<bool> met(std::span<const Test>);
    void metOnSide(unsigned side, std::span<const Test>, std::vector<bool>& answers);
    Times timeOnSide(unsigned side, const std::vector<Test>&);
    void addRepresentative(const Target&);
    bool findReferences(unsigned side, std::size_t size);
    void findGroups();
    std::size_t groupOf(unsigned side, std::size_t most) const;
    Test testOf(const Target&, const std::vector<std::uint32_t>& among) const;
    static void resume(Search&, const std::vector<std::uint32_t>& among);
    bool allMet(unsigned side) const;
    bool tryAgain(Search&, const Target&);
    void promote(std::span<const Target>, std::vector<Search>&, std::vector<std::optional<std::uint32_t>>& labels);
    void testAll(std::span<const Target>, std::vector<Search>&, std::vector<std::optional<std::uint32_t>>& labels);
    bool advance(Search&, const Target&, bool met);
    std::vector<std::optional<std::uint32_t>> search(std::span<const Target>,
                                                     const std::vector<std::vector<std::uint32_t>>& guesses,
                                                     bool addNew);

    Probe& probe_;
    const Sides* sides_;
    ContentionEffort effort_;
    double same_ = 0, different_ = 0;
    std::array<std::array<References, kMost + 1>, 2> references_;  ///< by side and the number pressed against
    std::array<std::size_t, 2> group_ = {};  ///< at most so many are pressed against at a time; 0: not known yet
    std::vector<Target> representatives_;
    std::vector<std::optional<Target>> partners_;       ///< another member of each slice, once one was met
    std::array<std::vector<std::uint32_t>, 2> ofSide_;  ///< representatives by side
    std::size_t tests_ = 0;
};

}  // namespace bulkhead::dissect
