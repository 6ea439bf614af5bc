#include "sim/sm/address_translation.h"

namespace bulkhead::sim {

AddressTranslation::AddressTranslation(Smmt::Range unused) {
    constexpr std::uint32_t kRowBytes = 1u << kRowShift;
    const std::uint32_t first = (unused.start + kRowBytes - 1) / kRowBytes;
    const std::uint32_t end = (unused.start + unused.bytes) / kRowBytes;
    const std::uint32_t room = end > first ? end - first : 0;
    // One row of both groups holds the tags of 32 rows.
    const auto tagRows = [](std::uint32_t rows) { return (rows + (1u << kTagIndexBits) - 1) >> kTagIndexBits; };
    std::uint32_t rows = 1u << kRowBits;
    while (rows && rows + tagRows(rows) > room) rows >>= 1;
    if (!rows) return;
    rows_ = rows;
    tagOffset_ = first;
    blockOffset_ = first + tagRows(rows);
}

}  // namespace bulkhead::sim
