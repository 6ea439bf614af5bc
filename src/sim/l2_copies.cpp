#include "sim/l2_copies.h"

#include <algorithm>

namespace bulkhead::sim {

L2Copies::L2Copies(const SimShared& shared, Units& units)
    : config_(shared.config), units_(units), capacity_(static_cast<Bytes>(shared.profile.l2.bytes)) {}

void L2Copies::pass(const AddressSpace& memory, VirtualAddress address, Bytes bytes, Passing how) {
    if (!config_.l2.holdsCopies || bytes == 0) return;
    const Bytes lineBytes = config_.l2.lineBytes, sectorBytes = config_.l2.sectorBytes;
    const VirtualAddress end = address + bytes;
    // Of more than fits, the end is what stays of a fill.
    const Bytes some = how == Passing::write ? bytes : std::min(bytes, 2 * capacity_);
    VirtualAddress line = std::max(address, end - some) / lineBytes * lineBytes;
    std::uint32_t hint = 0;
    for (; line < end; line += lineBytes) {
        Transaction t;
        for (Bytes sector = 0; sector < lineBytes / sectorBytes; ++sector) {
            const VirtualAddress first = line + sector * sectorBytes, last = first + sectorBytes;
            const auto bit = static_cast<std::uint8_t>(1u << sector);
            if (first < end && last > address) t.sectors |= bit;
            if (first >= address && last <= end) t.complete |= bit;
        }
        t.line = memory.physical(line, hint);
        if (how == Passing::write)
            units_.keepCopiedInL2(t);
        else
            units_.touchL2(t, how == Passing::fill ? AccessKind::store : AccessKind::load, 0);
    }
}

}  // namespace bulkhead::sim
