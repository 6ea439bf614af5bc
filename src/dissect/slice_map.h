#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dissect/findings.h"
#include "dissect/map_file.h"
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

    /// What gives clear timings: much on hardware, little on a simulated GPU, which has no noise and takes its time.
    static SliceMapOptions forGpu(gpu::Gpu&);
};

/// Finds slices by contention and the form behind them, where physical addresses are known or not. Addresses are
/// offsets in the allocation, or physical ones.
class SliceMapper {
  public:
    SliceMapper(Probe&, const MemoryView&, const SliceMapOptions&, Listener&);

    /// Sides, threshold, labels, form. False if it stays undecided; the listener has heard why.
    bool find();
    /// For a map that is known already: one page stands for it. Its slices get the map's numbers where that knows how
    /// far they are from the multiprocessors, and any otherwise. Throws Error: a map without a form, or of another GPU.
    bool adopt(const MapFile&);
    /// Whether slices have the map's numbers, as in every process that adopted it.
    bool named() const { return named_; }
    /// How far slices are, where there are two sides; adopt() was called before.
    const std::optional<SliceLatencies>& latencies() const { return latencies_; }

    /// Where the first whole page of the allocation begins.
    std::uint64_t firstPage() const { return base_; }
    bool sided() const { return sides_.has_value(); }
    const std::optional<Sides>& sides() const { return sides_; }
    const ResidueHash& hash() const { return hash_; }
    const ResidueDigits& digits() const { return digits_; }
    SliceLabeller& labeller() { return *labeller_; }
    /// Labels that the form was found from.
    const std::vector<Labelled>& labels() const { return labels_; }
    /// True where the digits take physical addresses; false where they take labels of pages.
    bool physical() const { return memory_.physicalKnown(); }

    /// Labels of so many pages of the allocation, the first ones. Empty entries could not be decided.
    std::vector<std::optional<PageLabel>> labelPages(std::size_t count);
    /// Labels of pages of 2 MB anywhere in the GPU's context, by the address where they begin; not for physical
    /// addresses. A thousand take about a second on an H200.
    std::vector<std::optional<PageLabel>> labelPages(std::span<const std::uint64_t> pages);
    /// The side that each of them begins on; a thousand take a few milliseconds. find() or adopt() was called before.
    std::vector<std::uint8_t> sidesOfPages(std::span<const std::uint64_t> pages);

    /// Share of fresh random addresses of the first pages that the form puts on the right side, and on the right slice.
    struct Accuracy {
        double side = 0, slice = 0;
        std::size_t addresses = 0;
        std::size_t pages = 0;
    };
    Accuracy verify(const std::vector<std::optional<PageLabel>>&, std::size_t addresses);
    Accuracy verifyPhysical(std::size_t addresses);

  private:
    std::optional<std::uint64_t> reach(std::uint64_t address) const;
    std::uint64_t pageAddress(std::size_t page) const;
    /// An offset in a page, and whether the page's sides are inverted.
    struct Place {
        std::uint64_t page = 0, offset = 0;
        bool flipsSide = false;
    };
    std::optional<Target> target(const Place&) const;
    std::optional<Target> atHome(std::uint64_t offset) const { return target({home_, offset, sideMask_.inverted}); }
    /// The offset of a random line in a page.
    std::uint64_t randomLine() { return random_.below(kPageBytes >> options_.lineShift) << options_.lineShift; }
    bool findSideMask();
    std::vector<std::uint8_t> flipsOf(const std::vector<std::uint64_t>& pages);
    bool calibrate();
    Mask unusedBits();
    void labelHome(std::vector<std::uint64_t> offsets, Mask bits, std::vector<Labelled>&);
    void dropStrays();
    std::optional<std::uint32_t> twinOf(const Target&, const std::vector<Target>& others);
    bool fitWindow(Mask unused);
    std::vector<std::optional<PageLabel>> labelAt(const std::vector<std::uint64_t>& pages, Mask offsetBits);
    bool findHomeLabel();
    void takeNumbersOf(const SliceLatencies&);
    std::vector<std::uint32_t> memberOf() const;
    bool extend();
    void nameSlices();

    Probe& probe_;
    const MemoryView& memory_;
    SliceMapOptions options_;
    Listener& listener_;
    Random random_;
    std::uint64_t base_ = 0;  ///< the first whole page
    std::uint64_t home_ = 0;  ///< address of the page that the form is found in
    std::optional<Sides> sides_;
    SideMask sideMask_;
    std::unique_ptr<SliceLabeller> labeller_;
    std::vector<Labelled> labels_;
    ResidueHash hash_;
    ResidueDigits digits_;
    std::optional<SliceLatencies> latencies_;
    bool named_ = false;
};

}  // namespace bulkhead::dissect
