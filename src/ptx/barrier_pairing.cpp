#include "ptx/barrier_pairing.h"

#include <algorithm>

#include "ptx/block_barriers.h"

namespace bulkhead::ptx {
namespace {

bool isGuardedLeave(const Instruction& i) {
    return i.guard >= 0 && (i.opcode == "ret" || i.opcode == "exit");
}

/// What depends on which lanes of a warp are together: barriers of any kind, and what a warp does as one.
bool needsMeeting(const Instruction& i) {
    static constexpr std::string_view kOpcodes[] = {"bar", "barrier", "shfl", "vote", "match", "activemask"};
    return std::find(std::begin(kOpcodes), std::end(kOpcodes), i.opcode) != std::end(kOpcodes) || i.has("sync");
}

template <class Predicate>
bool anyIn(const Function& function, const ControlFlow& flow, const std::vector<int>& blocks, const Predicate& is) {
    return std::any_of(blocks.begin(), blocks.end(), [&](int b) {
        return std::any_of(function.body.begin() + flow.blocks[b].first, function.body.begin() + flow.blocks[b].last,
                           is);
    });
}

}  // namespace

BarrierPairing::BarrierPairing(const Function& kernel, const CallGraph& graph)
    : kernel_(kernel), graph_(graph), functions_(graph.reachable(kernel)), toBarriers_(thatMayComeTo(isBarrierForAll)) {
    if (hasBarriers() || std::any_of(kernel.body.begin(), kernel.body.end(), isGuardedLeave))
        uniformity_.emplace(kernel, graph);
}

std::set<const Function*> BarrierPairing::thatMayComeTo(const Predicate& is) const {
    std::set<const Function*> found;
    for (const Function* function : functions_) {
        const std::vector<const Function*> all = graph_.reachable(*function);
        if (std::any_of(all.begin(), all.end(),
                        [&](const Function* f) { return std::any_of(f->body.begin(), f->body.end(), is); }))
            found.insert(function);
    }
    return found;
}

bool BarrierPairing::hasBarriersInFunctions() const {
    return std::any_of(functions_.begin() + 1, functions_.end(),
                       [&](const Function* function) { return toBarriers_.contains(function); });
}

bool BarrierPairing::leadsTo(const std::set<const Function*>& functions, const Predicate& is, const Function& in,
                             const Instruction& i) const {
    if (i.opcode != "call") return is(i);
    const std::vector<const Function*> targets = graph_.targets(in, i);
    return std::any_of(targets.begin(), targets.end(), [&](const Function* f) { return functions.contains(f); });
}

bool BarrierPairing::leadsToBarrier(const Function& in, const Instruction& i) const {
    return leadsTo(toBarriers_, isBarrierForAll, in, i);
}

const Instruction* BarrierPairing::partingIn(const Function& function) const {
    const auto leads = [&](const Instruction& i) { return leadsToBarrier(function, i); };
    const ControlFlow& flow = uniformity_->flow(function);
    for (std::size_t n = 0; n < function.body.size(); ++n) {
        const Instruction& i = function.body[n];
        const auto index = static_cast<int>(n);
        const bool parts =
            uniformity_->parts(function, n) &&
            anyIn(function, flow, flow.reachableFrom(flow.blockOf[n], flow.reconvergenceOf(index)), leads);
        const bool isPointer = i.opcode == "call" && CallOperands(i).callee->kind == Operand::Kind::reg;
        const bool someCome = leads(i) && (uniformity_->guardDiffers(function, n) ||
                                           (isPointer && uniformity_->readsDiffer(function, n)));
        if (parts || someCome) return &i;
    }
    return nullptr;
}

const Instruction* BarrierPairing::parting() const {
    for (const Function* function : functions_)
        if (toBarriers_.contains(function))
            if (const Instruction* found = partingIn(*function)) return found;
    return nullptr;
}

const Instruction* BarrierPairing::lostMeeting() const {
    if (std::none_of(kernel_.body.begin(), kernel_.body.end(), isGuardedLeave)) return nullptr;
    const std::set<const Function*> functions = thatMayComeTo(needsMeeting);
    const auto leads = [&](const Instruction& i) { return leadsTo(functions, needsMeeting, kernel_, i); };
    const ControlFlow lanes = analyseControlFlow(kernel_);
    for (std::size_t n = 0; n < kernel_.body.size(); ++n) {
        const Instruction& i = kernel_.body[n];
        if ((i.opcode != "bra" && i.opcode != "brx") || !uniformity_->parts(kernel_, n)) continue;
        const int meet = lanes.reconvergenceOf(static_cast<int>(n));
        if (meet == lanes.bodySize || meet == uniformity_->flow(kernel_).reconvergenceOf(static_cast<int>(n))) continue;
        std::vector<int> after = lanes.reachableFrom(lanes.blockOf[meet], -1);
        after.push_back(lanes.blockOf[meet]);
        if (anyIn(kernel_, lanes, after, leads)) return &i;
    }
    return nullptr;
}

}  // namespace bulkhead::ptx
