#pragma once

#include <optional>
#include <vector>

#include "dissect/slice_map.h"
#include "walls/sight.h"
#include "walls/survey.h"

namespace bulkhead::walls {

/// Of a map by which every process would number slices in its own way.
inline constexpr const char* kUnnamedSlices =
    "the map cannot distinguish slices by their distance from SMs, so processes could not agree on them: make it again "
    "with bulkhead dissect, while nothing else runs";

/// What timing shows of the slices that memory is on, by a map that dissect made of this GPU.
class SliceSight {
  public:
    /// Memory that begins with a page. Throws Error: another GPU's map, or slices that cannot be distinguished.
    SliceSight(gpu::Gpu&, Sight&, const dissect::MapFile&, driver::CUdeviceptr memory, Bytes bytes);
    SliceSight(const SliceSight&) = delete;
    SliceSight& operator=(const SliceSight&) = delete;

    const dissect::SliceMap& map() const { return map_; }
    /// Of each slice.
    std::vector<dissect::L2Region> regions() const;
    /// Of all pages; empty entries could not be decided.
    std::vector<std::optional<dissect::PageLabel>> labels();
    /// The slices of addresses on these sides.
    std::vector<std::optional<std::uint32_t>> slicesOf(const std::vector<dissect::Target>&);

    /// For memory in blocks of pages that follow each other, where a block is usable: labels of their first pages, and
    /// what all blocks have in common. Throws Error where that is nothing, or where others are at work.
    struct Blocks {
        SliceSurvey survey;
        std::vector<std::optional<dissect::PageLabel>> labels;
    };
    Blocks blocks(unsigned pagesPerBlock, const std::vector<bool>& usable);

  private:
    std::vector<dissect::PageLabel> placesInBlock(unsigned pagesPerBlock, const std::vector<std::size_t>& blocks);
    std::uint64_t addressOf(std::size_t block, unsigned pagesPerBlock) const;
    std::vector<std::size_t> wrong(const Blocks&, const std::vector<std::size_t>& blocks);
    void labelBlocks(Blocks&, std::vector<std::size_t> blocks);

    gpu::Gpu& gpu_;
    const Sight& sight_;
    dissect::Listener silent_;
    dissect::MemoryView memory_;
    dissect::SliceProbe probe_;
    dissect::SliceMap map_;
};

/// The label of a page in a block.
dissect::PageLabel labelInBlock(const dissect::PageLabel& block, const dissect::PageLabel& place,
                                std::uint32_t modulus);

}  // namespace bulkhead::walls
