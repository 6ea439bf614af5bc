#pragma once

#include "sdk/include/bulkhead/span.h"
#include "walls/walls.h"

namespace bulkhead::walls {

// Views of a tenant's arrays for kernels that are written over views, and need no walls put into their PTX. They may
// run in any context of the GPU's own, as their addresses are the real ones.

/// Throws Error unless the tenant is walled into a side of the L2.
template <class T>
ColoredSpan<T, SideColor> sideSpan(const PartitionContext& tenant, const gpu::Array<T>& array) {
    const auto [color, offset] = tenant.sideColor(array.address());
    return {color, offset, array.size()};
}

/// Throws Error unless it is walled into slices.
template <class T>
ColoredSpan<T, SliceColor> sliceSpan(const PartitionContext& tenant, const gpu::Array<T>& array) {
    const auto [color, offset] = tenant.sliceColor(array.address());
    return {color, offset, array.size()};
}

}  // namespace bulkhead::walls
