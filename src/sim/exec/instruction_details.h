#pragma once

#include <cstdint>

namespace bulkhead::sim {

/// Instr::extra of a barrier. Sources: [0] the barrier, [1] how many threads (only if Instr::hasAddress), [2] the
/// predicate that is voted on, negated if Instr::immediate.
enum class BarrierOperation : std::uint32_t { sync, arrive, redPopc, redAnd, redOr };

/// What a call costs on a thread's stack besides the function's variables: the return address and what it saves,
/// neither of which PTX shows.
constexpr std::uint32_t kFrameOverheadBytes = 16;

/// Stack of a thread whose kernel can recurse or allocates stack as it goes, beyond what one pass through the call
/// graph needs.
constexpr std::uint32_t kDynamicStackBytes = 64 << 10;

/// Addresses in the .param space: the kernel's parameter block begins at 0, the parameter area of the running device
/// function (its formals, and the .param variables of its calls) here.
constexpr std::uint64_t kCallParamBase = 0x10'0000;

}  // namespace bulkhead::sim
