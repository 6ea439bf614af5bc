#pragma once

#include <set>

#include "walls/walls.h"

namespace bulkhead::walls {

inline SmSet setOf(const WalledGpu& walled, const std::set<unsigned>& members) {
    SmSet sms(walled.topology().sms(), false);
    for (const unsigned sm : members) sms.at(sm) = true;
    return sms;
}

/// Memory walls by the color of pages.
inline WalledGpuOptions byPages() {
    WalledGpuOptions options;
    options.coloring = Coloring::pages;
    return options;
}

}  // namespace bulkhead::walls
