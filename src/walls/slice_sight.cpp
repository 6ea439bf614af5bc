#include "walls/slice_sight.h"

#include <algorithm>

#include "base/error.h"
#include "dissect/page_labels.h"
#include "walls/slice_layout.h"

namespace bulkhead::walls {

using dissect::PageLabel;

PageLabel labelInBlock(const PageLabel& block, const PageLabel& place, std::uint32_t modulus) {
    return {block.groupFlips ^ place.groupFlips, block.flips ^ place.flips, (block.addend + place.addend) % modulus};
}

namespace {

dissect::SliceMap adopt(dissect::SliceProbe& probe, const dissect::MapFile& map, const gpu::Gpu& gpu) {
    if (!map.form) throw Error("colors by slice need a map that dissect found without physical addresses");
    std::optional<dissect::SliceMap> adopted = dissect::adoptSliceMap(probe, map);
    if (!adopted) throw Error("slices of {} cannot be distinguished by timing", gpu.name());
    return std::move(*adopted);
}

}  // namespace

SliceSight::SliceSight(gpu::Gpu& gpu, Sight& sight, const dissect::MapFile& map, driver::CUdeviceptr memory,
                       Bytes bytes)
    : gpu_(gpu),
      sight_(sight),
      memory_(memory, bytes),
      probe_(sight.probe(), memory_, dissect::SliceMapOptions::forGpu(gpu), silent_),
      map_(adopt(probe_, map, gpu)) {}

std::vector<dissect::L2Region> SliceSight::regions() const {
    if (const auto& regions = sight_.regions())
        return dissect::regionsOfSlices(*regions, *map_.latencies, map_.hash.modulus);
    // The side is the first of the parities that make a group.
    std::vector<dissect::L2Region> found;
    for (unsigned slice = 0; slice < map_.hash.slices(); ++slice)
        found.push_back({static_cast<std::uint8_t>(sight_.sides() ? slice / map_.hash.modulus & 1 : 0), 0});
    return found;
}

std::vector<std::optional<PageLabel>> SliceSight::labels() {
    return dissect::labelFirstPages(probe_, map_.hash, memory_.bytes() / dissect::kPageBytes);
}

std::vector<std::optional<std::uint32_t>> SliceSight::slicesOf(const std::vector<dissect::Target>& targets) {
    return probe_.labeller().identify(targets);
}

/// Some blocks are looked at page by page, and most of them agree.
std::vector<PageLabel> SliceSight::placesInBlock(unsigned pagesPerBlock, const std::vector<std::size_t>& blocks) {
    constexpr std::size_t kSome = 8;
    const std::size_t some = std::min(blocks.size(), kSome);
    std::vector<std::uint64_t> pages;
    for (std::size_t i = 0; i < some; ++i)
        for (unsigned page = 0; page < pagesPerBlock; ++page)
            pages.push_back(addressOf(blocks[i * blocks.size() / some], pagesPerBlock) + page * dissect::kPageBytes);
    const auto labels = dissect::labelPages(probe_, map_.hash, pages);
    const std::uint32_t modulus = map_.hash.modulus;
    std::vector<PageLabel> found;
    for (unsigned page = 0; page < pagesPerBlock; ++page) {
        std::vector<PageLabel> seen;
        for (std::size_t first = 0; first < labels.size(); first += pagesPerBlock) {
            const auto &block = labels[first], &label = labels[first + page];
            if (block && label)
                seen.push_back({label->groupFlips ^ block->groupFlips, label->flips ^ block->flips,
                                (label->addend + modulus - block->addend) % modulus});
        }
        const auto agreeing = [&](const PageLabel& one) { return std::count(seen.begin(), seen.end(), one); };
        const auto most = std::max_element(seen.begin(), seen.end(), [&](const PageLabel& a, const PageLabel& b) {
            return agreeing(a) < agreeing(b);
        });
        if (most == seen.end() || 2 * static_cast<std::size_t>(agreeing(*most)) <= some)
            throw Error(
                "{} is too busy to measure which slices its memory is on, or its pages do not follow each other",
                gpu_.name());
        found.push_back(*most);
    }
    return found;
}

std::uint64_t SliceSight::addressOf(std::size_t block, unsigned pagesPerBlock) const {
    return memory_.base() + block * pagesPerBlock * dissect::kPageBytes;
}

/// Of labelled blocks, those in which addresses are not on the slices that their label says. Blocks are laid out as a
/// whole, so pages far from the first are tried: where others begin at another multiple of pages, these differ.
std::vector<std::size_t> SliceSight::wrong(const Blocks& seen, const std::vector<std::size_t>& blocks) {
    constexpr unsigned kVotes = 3;
    const auto perBlock = static_cast<unsigned>(seen.survey.inBlock.size());
    std::vector<std::pair<dissect::Target, dissect::Target>> pairs;
    std::vector<std::size_t> blockOf;
    for (const std::size_t block : blocks)
        for (const unsigned page : {perBlock / 2, perBlock - 1}) {
            const PageLabel label = labelInBlock(*seen.labels[block], seen.survey.inBlock[page], map_.hash.modulus);
            const std::uint64_t offset = probe_.randomLine();
            const std::uint32_t slice =
                map_.hash.residue(offset, label) + map_.hash.modulus * map_.hash.group(offset, label);
            const dissect::Target& known = probe_.labeller().representatives().at(slice);
            pairs.push_back({{addressOf(block, perBlock) + page * dissect::kPageBytes + offset, known.side}, known});
            blockOf.push_back(block);
        }
    const std::vector<bool> same = probe_.labeller().sameSlice(pairs, kVotes);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < same.size(); ++i)
        if (!same[i] && (found.empty() || found.back() != blockOf[i])) found.push_back(blockOf[i]);
    return found;
}

/// Labels blocks, and takes back what is not so; what went wrong once may go right.
void SliceSight::labelBlocks(Blocks& seen, std::vector<std::size_t> blocks) {
    constexpr int kAttempts = 3;
    const auto perBlock = static_cast<unsigned>(seen.survey.inBlock.size());
    for (int attempt = 0; attempt < kAttempts && !blocks.empty(); ++attempt) {
        std::vector<std::uint64_t> first(blocks.size());
        std::transform(blocks.begin(), blocks.end(), first.begin(),
                       [&](std::size_t block) { return addressOf(block, perBlock); });
        const auto labels = dissect::labelPages(probe_, map_.hash, first);
        std::vector<std::size_t> open, labelled;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            seen.labels[blocks[i]] = labels[i];
            (labels[i] ? labelled : open).push_back(blocks[i]);
        }
        // Timing errs on some addresses in a thousand.
        const std::vector<std::size_t> doubtful = wrong(seen, labelled), bad = wrong(seen, doubtful);
        open.insert(open.end(), bad.begin(), bad.end());
        for (const std::size_t block : open) seen.labels[block].reset();
        std::sort(open.begin(), open.end());
        blocks = std::move(open);
    }
}

SliceSight::Blocks SliceSight::blocks(unsigned pagesPerBlock, const std::vector<bool>& usable) {
    constexpr double kMost = 0.75;
    std::vector<std::size_t> known;
    for (std::size_t block = 0; block < usable.size(); ++block)
        if (usable[block]) known.push_back(block);
    Blocks seen;
    seen.survey.hash = map_.hash;
    seen.survey.regionOfSlice = regions();
    seen.survey.inBlock = placesInBlock(pagesPerBlock, known);
    seen.labels.resize(usable.size());
    labelBlocks(seen, known);
    const auto count =
        std::count_if(seen.labels.begin(), seen.labels.end(), [](const auto& l) { return l.has_value(); });
    if (static_cast<double>(count) < kMost * static_cast<double>(known.size()))
        throw Error("the slices of {} of {} blocks of {}'s memory were found: is it too busy?", count, known.size(),
                    gpu_.name());
    letIndexRise(seen.survey, seen.labels);
    for (const auto& label : seen.labels)
        if (label) seen.survey.inverted = invertedByEither(seen.survey.inverted, *label);
    // Whoever joins lays rows out by it: what cannot be laid out is told now.
    SliceLayout(seen.survey.hash, seen.survey.inBlock, seen.survey.inverted, {0}, dissect::kPageBytes);
    return seen;
}

}  // namespace bulkhead::walls
