#pragma once

#include <functional>
#include <optional>
#include <set>

#include "ptx/uniformity.h"

namespace bulkhead::ptx {

/// Which threads of a block come to which of its barriers, in a kernel and all functions that it may call.
///
/// All threads come to the same barriers if they never part before one. Threads part at a branch, return or exit whose
/// guard or index may differ between them (see Uniformity), and meet again where it is post-dominated; a function's
/// returns meet in its caller. So in the kernel, and in every function that may come to a barrier: between a parting
/// and where threads meet again stands no barrier and no call that may lead to one, neither has a guard that may
/// differ, and no such call goes through a pointer that may. Recursion needs nothing more: the call is one of these.
class BarrierPairing {
  public:
    BarrierPairing(const Function& kernel, const CallGraph&);

    bool hasBarriers() const { return !toBarriers_.empty(); }
    /// Whether some stand in functions that the kernel calls.
    bool hasBarriersInFunctions() const;
    /// Where threads may part so that only some of them come to a barrier; null if all come to the same ones.
    const Instruction* parting() const;
    /// Where lanes of a warp part that met again before a barrier or an operation of their warp as long as a guarded
    /// return between simply took lanes away, and would not any more if it were a jump to the kernel's end.
    const Instruction* lostMeeting() const;

  private:
    using Predicate = std::function<bool(const Instruction&)>;
    std::set<const Function*> thatMayComeTo(const Predicate&) const;
    bool leadsTo(const std::set<const Function*>&, const Predicate&, const Function&, const Instruction&) const;
    bool leadsToBarrier(const Function&, const Instruction&) const;
    const Instruction* partingIn(const Function&) const;

    const Function& kernel_;
    const CallGraph& graph_;
    std::vector<const Function*> functions_;  ///< all that may run, the kernel first
    std::set<const Function*> toBarriers_;    ///< those that may come to a barrier
    std::optional<Uniformity> uniformity_;    ///< where anything depends on it
};

}  // namespace bulkhead::ptx
