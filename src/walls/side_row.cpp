#include "walls/side_row.h"

#include <algorithm>
#include <map>

#include "base/parity.h"
#include "dissect/sides.h"

namespace bulkhead::walls {
namespace {

/// The bits of a page's number in its block that change the side, where nothing else does.
std::optional<std::uint32_t> parityOfPages(const std::vector<bool>& sides, std::size_t first, unsigned pages) {
    std::uint32_t mask = 0;
    for (unsigned bit = 1; bit < pages; bit *= 2)
        if (sides[first + bit] != sides[first]) mask |= bit;
    for (unsigned i = 0; i < pages; ++i)
        if (parity(i & mask) != (sides[first + i] != sides[first])) return std::nullopt;
    return mask;
}

}  // namespace

Bytes SideRow::blockBytes() const {
    return pagesPerBlock * dissect::kPageBytes;
}

unsigned SideRow::kindAt(std::size_t place) const {
    return parity(place * blockBytes() & mask) ? 1 : 0;
}

bool SideRow::alternates() const {
    return mask >= blockBytes();
}

std::optional<SeenBlocks> seeBlocks(dissect::Mask inPage, const std::vector<bool>& sideOfPage, unsigned pagesPerBlock) {
    constexpr double kMost = 0.9;  // of the blocks fit: memory is in few pieces
    std::map<std::pair<unsigned, std::uint32_t>, std::size_t> fits;
    for (unsigned skip = 0; skip < pagesPerBlock; ++skip)
        for (std::size_t first = skip; first + pagesPerBlock <= sideOfPage.size(); first += pagesPerBlock)
            if (const auto mask = parityOfPages(sideOfPage, first, pagesPerBlock)) ++fits[{skip, *mask}];
    const auto best =
        std::max_element(fits.begin(), fits.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::size_t blocks = sideOfPage.size() / pagesPerBlock;
    if (best == fits.end() || static_cast<double>(best->second) < kMost * static_cast<double>(blocks) - 1)
        return std::nullopt;
    const auto [skip, ofPages] = best->first;
    const auto fitsAt = [&, mask = ofPages](std::size_t first) {
        return parityOfPages(sideOfPage, first, pagesPerBlock) == mask;
    };
    SeenBlocks seen;
    seen.leaveOut.pages = skip;
    // The last of the first tenth that does not fit, and all before it.
    for (std::size_t i = 0; i < blocks / 10 && skip != 0; ++i)
        if (!fitsAt(skip + i * pagesPerBlock)) seen.leaveOut.after = i + 1;
    seen.kinds.assign(blocks, SeenBlocks::kOdd);
    std::size_t ofKind[2] = {};
    for (std::size_t i = 0; i < blocks && skip == 0; ++i)
        if (fitsAt(i * pagesPerBlock)) {
            seen.kinds[i] = sideOfPage[i * pagesPerBlock] ? 1 : 0;
            ++ofKind[seen.kinds[i]];
        }
    seen.row.pagesPerBlock = pagesPerBlock;
    seen.row.mask = inPage | dissect::Mask{ofPages} << dissect::kPageShift;
    // Kinds take turns, as far as there are both.
    if (ofKind[1] > 0) seen.row.mask |= seen.row.blockBytes();
    return seen;
}

PagesLeftOut leaveOutMore(PagesLeftOut before, PagesLeftOut more, unsigned pagesPerBlock) {
    constexpr std::size_t kSpare = 8;  // small pieces are not the same each time
    const std::size_t behind = more.after == 0 ? 0 : 2 * more.after + kSpare;
    if (before.pages == 0) return {behind, more.pages, false};
    if (!before.together || more.after > before.after) return {std::max(before.after, behind), more.pages, true};
    return {before.after, (before.pages + more.pages) % pagesPerBlock, true};
}

}  // namespace bulkhead::walls
