#include "dissect/page_labels.h"

#include <algorithm>
#include <numeric>

namespace bulkhead::dissect {
namespace {

constexpr std::size_t kPageSamples = 5;

}  // namespace

std::vector<std::optional<PageLabel>> labelAt(SliceProbe& probe, const ResidueHash& hash,
                                              const std::vector<std::uint64_t>& pages, Mask offsetBits) {
    const std::vector<std::uint8_t> flips = probe.flipsOf(pages);
    std::vector<std::optional<PageLabel>> labels(pages.size());
    std::vector<std::vector<Labelled>> known(pages.size());
    std::vector<std::size_t> open(pages.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    for (int round = 0; round < 4 && !open.empty(); ++round) {
        std::vector<Target> targets;
        std::vector<std::pair<std::size_t, std::uint64_t>> place;
        for (std::size_t p : open)
            for (std::size_t i = 0; i < kPageSamples; ++i) {
                const std::uint64_t offset = probe.random().next() & offsetBits;
                const auto t = probe.target({pages[p], offset, flips[p] != 0});
                if (!t) continue;
                place.emplace_back(p, offset);
                targets.push_back(*t);
            }
        const auto slices = probe.labeller().identify(targets);
        for (std::size_t i = 0; i < targets.size(); ++i)
            if (slices[i] && *slices[i] < hash.groupOf.size())
                known[place[i].first].push_back({place[i].second, *slices[i]});
        std::erase_if(open, [&](std::size_t p) { return (labels[p] = fitPage(hash, known[p])).has_value(); });
    }
    return labels;
}

std::vector<std::optional<PageLabel>> labelPages(SliceProbe& probe, const ResidueHash& hash,
                                                 std::span<const std::uint64_t> pages) {
    constexpr std::size_t kTogether = 512;  // enough to keep the GPU busy, few enough to tell how far it is
    std::vector<std::optional<PageLabel>> labels;
    const Mask offsets = bitRange(probe.options().lineShift, kPageShift);
    for (std::size_t first = 0; first < pages.size(); first += kTogether) {
        std::vector<std::uint64_t> some;
        for (std::size_t i = first; i < std::min(first + kTogether, pages.size()); ++i)
            some.push_back(pages[i] - probe.firstPage());
        std::vector<std::optional<PageLabel>> found = labelAt(probe, hash, some, offsets);
        // What went wrong once may go right: sides and slices anew.
        for (std::size_t i = 0; i < some.size(); ++i)
            for (int again = 0; again < 2 && !found[i]; ++again)
                found[i] = labelAt(probe, hash, {some[i]}, offsets).front();
        labels.insert(labels.end(), found.begin(), found.end());
        probe.listener().progress(static_cast<double>(labels.size()) / static_cast<double>(pages.size()));
    }
    return labels;
}

std::vector<std::optional<PageLabel>> labelFirstPages(SliceProbe& probe, const ResidueHash& hash, std::size_t count) {
    std::vector<std::uint64_t> pages;
    for (std::size_t p = 0; p < count; ++p) pages.push_back(probe.firstPage() + p * kPageBytes);
    return labelPages(probe, hash, pages);
}

}  // namespace bulkhead::dissect
