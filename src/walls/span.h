#pragma once

#include "base/error.h"
#include "sdk/include/bulkhead/span.h"
#include "walls/walls.h"

namespace bulkhead::walls {

// Views of a tenant's arrays for kernels that are written over views, and need no walls put into their PTX. They may
// run in any context of the GPU's own, as their addresses are the real ones.

/// Throws Error unless the tenant is walled into a side of the L2, and that can be told with so many terms.
template <int Terms = 1, class T>
ColoredSpan<T, SideColorOf<Terms>> sideSpan(const PartitionContext& tenant, const gpu::Array<T>& array) {
    const auto [any, offset] = tenant.sideColor(array.address());
    SideColorOf<Terms> color;
    color.base = any.base;
    color.chunkShift = any.chunkShift;
    color.chunkMask = any.chunkMask;
    color.pairMask = any.pairMask;
    color.otherChunk = any.otherChunk;
    color.first = any.first;
    for (int t = 0; t < AnySideColor::kTerms; ++t) {
        if (t < Terms) {
            color.distance[t] = any.distance[t];
            color.changed[t] = any.changed[t];
        } else if (any.changed[t] != 0) {
            throw Error("sides of this GPU need a view of more than {} terms", Terms);
        }
    }
    return {color, offset, array.size()};
}

/// Throws Error unless it is walled into slices.
template <class T>
ColoredSpan<T, SliceColor> sliceSpan(const PartitionContext& tenant, const gpu::Array<T>& array) {
    const auto [color, offset] = tenant.sliceColor(array.address());
    return {color, offset, array.size()};
}

}  // namespace bulkhead::walls
