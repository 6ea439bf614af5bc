#pragma once

#include <set>

#include "walls/walls.h"

namespace bulkhead::walls {

inline SmSet setOf(const Site& site, const std::set<unsigned>& members) {
    SmSet sms(site.topology().multiprocessors(), false);
    for (const unsigned sm : members) sms.at(sm) = true;
    return sms;
}

}  // namespace bulkhead::walls
