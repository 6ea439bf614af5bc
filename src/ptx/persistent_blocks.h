#pragma once

#include <cstdint>
#include <string>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// Words of the queue that a kernel with persistent blocks is given the address of.
struct PersistentQueue {
    static constexpr unsigned kNext = 0;    ///< the next block index to hand out
    static constexpr unsigned kDone = 1;    ///< blocks that have left; the last one makes both zero again
    static constexpr unsigned kStrays = 2;  ///< blocks that had to work outside the walls, of all launches so far
    static constexpr unsigned kSms = 4;     ///< from here on one bit an SM: whether blocks may work there
    static constexpr unsigned kSmWords = 32;
    static constexpr unsigned kUsed = kSms + kSmWords;  ///< one bit an SM: whether blocks have worked there
    static constexpr unsigned kWords = kUsed + kSmWords;
    static constexpr unsigned kMaxSms = 32 * kSmWords;
};

/// The compute walls of Fractional GPUs (III-B), put into kernels by rewriting their PTX, so that any kernel can have
/// them unchanged. Each kernel gets four more parameters: the address of a queue (.u64) and the grid it is meant to
/// have (three .u32). It is launched on a row of physical blocks, as many as the GPU holds. Blocks that find themselves
/// on an SM outside the walls leave; the others take block indices from the queue until there are no more. Two barriers
/// a block index keep a slow warp from reading an index that the next one has overwritten, and each index is fetched
/// while the block before it is at work. A launch is never lost: should all of its blocks have come to SMs outside, the
/// last one to leave stays and does the work, and is counted.
///
/// Throws PtxError where that would change what a kernel does: one whose threads leave before a barrier that others
/// still wait at, or a function that is not inlined and asks for its block index.
std::string withPersistentBlocks(const Module&);

}  // namespace bulkhead::ptx
