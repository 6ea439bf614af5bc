#pragma once

#include <vector>

#include "arch/address_map.h"
#include "dissect/gf2.h"

namespace bulkhead::dissect {

/// What the functions of digits can be added up to.
inline Subspace spanOf(const std::vector<arch::Digit>& digits) {
    Subspace span;
    for (const arch::Digit& d : digits)
        for (Mask m : d.bits) span.add(m);
    return span;
}

}  // namespace bulkhead::dissect
