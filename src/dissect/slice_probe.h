#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "dissect/findings.h"
#include "dissect/memory_view.h"
#include "dissect/slices.h"

namespace bulkhead::dissect {

struct SliceMapOptions {
    std::uint64_t seed = 1;
    unsigned lineShift = 7;
    SideEffort sides;
    std::size_t sideSamples = 256;  ///< lines of a page that are compared with their neighbours
    ContentionEffort contention;
    std::size_t heldOut = 400;  ///< fresh addresses to check with

    /// What gives clear timings: much where there is noise, little on a deterministic GPU.
    static SliceMapOptions forGpu(gpu::Gpu&);
};

/// Tells sides and slices of the pages of an allocation apart by timing. Addresses are offsets in the allocation, or
/// physical ones where those are known. One page, the home page, stands for all: others are compared with it.
class SliceProbe {
  public:
    SliceProbe(Probe&, const MemoryView&, const SliceMapOptions&, Listener&);

    Probe& probe() { return probe_; }
    const MemoryView& memory() const { return memory_; }
    const SliceMapOptions& options() const { return options_; }
    Listener& listener() { return listener_; }
    Random& random() { return random_; }
    /// Whether addresses are physical ones.
    bool physical() const { return memory_.physicalKnown(); }

    /// Where the first whole page of the allocation begins.
    std::uint64_t firstPage() const { return base_; }
    std::uint64_t pageAddress(std::size_t page) const;
    std::uint64_t home() const { return home_; }
    std::optional<std::uint64_t> reach(std::uint64_t address) const;
    /// An offset in a page, and whether the page's sides are inverted.
    struct Place {
        std::uint64_t page = 0, offset = 0;
        bool flipsSide = false;
    };
    std::optional<Target> target(const Place&) const;
    std::optional<Target> atHome(std::uint64_t offset) const { return target({home_, offset, sideMask_.inverted}); }
    /// The offset of a random line in a page.
    std::uint64_t randomLine() { return random_.below(kPageBytes >> options_.lineShift) << options_.lineShift; }

    /// The sides, if there are two, and which offset bits decide. False if it stays undecided; the listener has heard
    /// why. What follows needs it.
    bool findSides();
    bool sided() const { return sides_.has_value(); }
    const std::optional<Sides>& sides() const { return sides_; }
    const SideMask& sideMask() const { return sideMask_; }
    /// Whether the sides of each page are inverted.
    std::vector<std::uint8_t> flipsOf(const std::vector<std::uint64_t>& pages);
    /// The side that pages begin on, by the address where they do; a thousand take a few milliseconds.
    std::vector<std::uint8_t> sidesOfPages(std::span<const std::uint64_t> pages);

    /// How long slices take for one address and for two. False if that cannot be told apart.
    bool calibrate();
    SliceLabeller& labeller() { return *labeller_; }
    void labelHome(std::vector<std::uint64_t> offsets, Mask bits, std::vector<Labelled>&);

  private:
    Probe& probe_;
    const MemoryView& memory_;
    SliceMapOptions options_;
    Listener& listener_;
    Random random_;
    std::uint64_t base_ = 0;  ///< the first whole page
    std::uint64_t home_ = 0;  ///< address of the home page
    std::optional<Sides> sides_;
    SideMask sideMask_;
    std::unique_ptr<SliceLabeller> labeller_;
};

}  // namespace bulkhead::dissect
