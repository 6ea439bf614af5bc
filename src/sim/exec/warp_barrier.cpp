#include <algorithm>
#include <bit>

#include "sim/exec/instruction_details.h"
#include "sim/exec/warp.h"

// Barriers count warps: one that arrives counts as 32 threads. Where lanes have parted, those that come first let the
// others of their warp go on, and the warp arrives when none of them can.

namespace bulkhead::sim {

std::uint64_t Block::complete(Barrier& barrier) {
    if (barrier.arrivedThreads == 0) return 0;
    const std::uint32_t expected = barrier.expectedThreads ? barrier.expectedThreads : liveWarps * kLanes;
    if (barrier.arrivedThreads < expected) return 0;
    const std::uint64_t released = barrier.waiting;
    for (std::uint64_t rest = released; rest; rest &= rest - 1)
        members[static_cast<unsigned>(std::countr_zero(rest))]->learn(barrier);
    barrier = {};
    return released;
}

/// A barrier lets the warp through.
void Warp::learn(const Block::Barrier& barrier) {
    if (waitingAt_) takeVotes(*std::exchange(waitingAt_, nullptr), waitingLanes_, barrier.votes, barrier.voters);
    for (EarlyLanes& early : early_) {
        if (early.barrier != &barrier || early.released) continue;
        early.released = true;
        early.votes = barrier.votes;
        early.voters = barrier.voters;
    }
}

/// What the votes of a bar.red came to.
void Warp::takeVotes(const Instr& i, LaneMask lanes, std::uint32_t votes, std::uint32_t voters) {
    const auto operation = static_cast<BarrierOperation>(i.extra);
    if (operation < BarrierOperation::redPopc) return;
    if (operation == BarrierOperation::redPopc) {
        std::uint32_t* d = this->lanes<std::uint32_t>(i.dst[0]);
        for (LaneMask m = lanes; m; m &= m - 1) d[std::countr_zero(m)] = votes;
    } else {
        const bool value = operation == BarrierOperation::redAnd ? votes == voters : votes > 0;
        LaneMask& p = predicate(i.dst[0]);
        p = value ? p | lanes : p & ~lanes;
    }
}

Step Warp::barrier(const Instr& i, LaneMask mask) {
    if (!mask) {
        advance();
        return {StepKind::barrierPass, 0};
    }
    const auto operation = static_cast<BarrierOperation>(i.extra);
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint32_t id = this->lanes<std::uint32_t>(i.src[0])[first];
    if (id >= std::size(block_->barriers))
        fail(LaunchError::Cause::illegalInstruction, i, first, fmt::format("there is no barrier {}, only 0 to 15", id));
    Block::Barrier& b = block_->barriers[id];
    b.expectedThreads = 0;
    if (i.hasAddress) {
        const std::uint32_t count = this->lanes<std::uint32_t>(i.src[1])[first];
        if (count == 0 || count % kLanes != 0 || count > block_->warps * kLanes)
            fail(LaunchError::Cause::illegalInstruction, i, first,
                 fmt::format("barrier {} cannot wait for {} threads: a multiple of 32 up to {} is needed", id, count,
                             block_->warps * kLanes));
        b.expectedThreads = count;
    }
    if ((mask != live_ || !early_.empty()) && operation != BarrierOperation::arrive) [[unlikely]]
        return barrierOfSome(i, b, mask);
    vote(i, b, mask);
    return arrive(i, b, mask);
}

void Warp::vote(const Instr& i, Block::Barrier& b, LaneMask mask) const {
    if (static_cast<BarrierOperation>(i.extra) < BarrierOperation::redPopc) return;
    const LaneMask p = const_cast<Warp*>(this)->predicate(i.src[2]);
    b.votes += static_cast<std::uint32_t>(std::popcount((i.immediate ? ~p : p) & mask));
    b.voters += static_cast<std::uint32_t>(std::popcount(mask));
}

Step Warp::arrive(const Instr& i, Block::Barrier& b, LaneMask mask) {
    const auto operation = static_cast<BarrierOperation>(i.extra);
    const auto lanes = static_cast<std::uint8_t>(std::popcount(mask));
    b.arrivedThreads += kLanes;
    const bool waits = operation != BarrierOperation::arrive;
    if (waits) b.waiting |= std::uint64_t{1} << index_;
    if (operation >= BarrierOperation::redPopc) {
        waitingAt_ = &i;
        waitingLanes_ = mask;
    }
    advance();
    const std::uint64_t released = block_->complete(b);
    const std::uint64_t self = std::uint64_t{1} << index_;
    const bool passes = !waits || (released & self);
    return {passes ? StepKind::barrierPass : StepKind::barrierWait, lanes, 0, released & ~self};
}

/// Lanes come to a barrier from which others of their warp have parted. Threads wait for all that have not left, so
/// those have the next turn, and these look again when it is theirs. The warp arrives when nobody in it can go on.
Step Warp::barrierOfSome(const Instr& i, Block::Barrier& b, LaneMask mask) {
    const auto lanes = static_cast<std::uint8_t>(std::popcount(mask));
    const auto own =
        std::find_if(early_.begin(), early_.end(), [&](const EarlyLanes& e) { return e.at == &i && e.lanes == mask; });
    if (own == early_.end()) {
        vote(i, b, mask);
        early_.push_back({&i, &b, mask});
    } else if (own->released) {
        takeVotes(i, mask, own->votes, own->voters);
        early_.erase(own);
        advance();
        return {StepKind::barrierPass, lanes};
    }
    if (giveTurn()) return {StepKind::control, lanes};
    if (std::any_of(early_.begin(), early_.end(),
                    [&](const EarlyLanes& e) { return e.barrier && e.barrier != &b && !e.released; }))
        fail(LaunchError::Cause::illegalInstruction, i, static_cast<unsigned>(std::countr_zero(mask)),
             "lanes of one warp wait at different barriers");
    std::erase_if(early_, [&](const EarlyLanes& e) { return e.at == &i && e.lanes == mask; });
    return arrive(i, b, mask);
}

/// Lets lanes go on that have parted from the running ones and wait for nothing but their turn. False if there are
/// none.
bool Warp::giveTurn() {
    LaneMask above = active_;
    std::size_t depth = callers_.size();
    std::uint32_t base = stackBase_;
    for (std::size_t k = stack_.size(); k-- > 0;) {
        while (k < base) {
            --depth;
            base = callers_[depth].stackBase;
            above |= callers_[depth].resume.mask & live_;
        }
        const Entry next = stack_[k];
        const Code& code = depth < callers_.size() ? *callers_[depth].code : *code_;
        // Entries that hold lanes of those above wait for these to join them.
        if (next.mask != 0 && (next.mask & above) == 0 && waitsForTurn(next, code)) {
            const Entry running = depth < callers_.size() ? setCallAside(depth) : Entry{pc_, reconverge_, active_};
            stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(k));
            stack_.push_back(running);
            pc_ = next.pc;
            reconverge_ = next.reconverge;
            active_ = next.mask;
            if (isSetAside(pc_)) resumeCall(next);
            return true;
        }
        above |= next.mask;
    }
    return false;
}

/// Whether lanes on the stack could go on, rather than wait at a barrier.
bool Warp::waitsForTurn(const Entry& entry, const Code& code) const {
    return std::none_of(early_.begin(), early_.end(), [&](const EarlyLanes& e) {
        const bool there = isSetAside(entry.pc) || e.at == &code.instrs[entry.pc];
        const bool released = e.barrier ? e.released : clusterPassed(e.lanes);
        return !released && there && (e.lanes & entry.mask) != 0;
    });
}

/// Leaves all functions above the given depth, with their lanes inside. Returns what those are on the stack of the
/// function that goes on.
Warp::Entry Warp::setCallAside(std::size_t depth) {
    std::uint32_t id = 0;
    while (setAside_.contains(id)) ++id;
    Call& call = setAside_[id];
    call.current = {code_, nullptr, frameBase_, paramBase_, localBase_, localEnd_, stackBase_, {}, 0};
    call.running = {pc_, reconverge_, active_};
    call.callers.assign(callers_.begin() + static_cast<std::ptrdiff_t>(depth), callers_.end());
    const Caller& first = depth + 1 < callers_.size() ? callers_[depth + 1] : call.current;
    call.stack.assign(stack_.begin() + first.stackBase, stack_.end());
    call.registers.assign(registers_.data() + first.frameBase, registers_.data() + frameEnd_);
    call.params.assign(params_.data() + first.paramBase, params_.data() + paramEnd_);

    stack_.resize(first.stackBase);
    frameBase_ = first.frameBase;
    paramBase_ = first.paramBase;
    callers_.resize(depth);
    const Caller& outside = call.callers.front();
    returnTo(outside);
    return {kSetAside + id, outside.resume.reconverge, outside.resume.mask & live_};
}

/// Back into a call that was set aside, where the function that called it runs.
void Warp::resumeCall(const Entry& entry) {
    auto node = setAside_.extract(entry.pc - kSetAside);
    Call& call = node.mapped();
    // Registers and parameters come back to where they were: the functions below are the same. The stack below may not
    // be.
    const auto stackAt = static_cast<std::uint32_t>(stack_.size());
    const std::uint32_t oldStack = call.callers.size() > 1 ? call.callers[1].stackBase : call.current.stackBase;
    call.callers.front().stackBase = stackBase_;
    for (std::size_t k = 1; k < call.callers.size(); ++k) call.callers[k].stackBase += stackAt - oldStack;
    callers_.insert(callers_.end(), call.callers.begin(), call.callers.end());
    stack_.insert(stack_.end(), call.stack.begin(), call.stack.end());
    std::copy(call.registers.begin(), call.registers.end(), registers_.data() + frameEnd_);
    std::copy(call.params.begin(), call.params.end(), params_.data() + paramEnd_);
    frameEnd_ += static_cast<std::uint32_t>(call.registers.size());
    paramEnd_ += static_cast<std::uint32_t>(call.params.size());
    const Caller& current = call.current;
    code_ = current.code;
    frameBase_ = current.frameBase;
    paramBase_ = current.paramBase;
    localBase_ = current.localBase;
    localEnd_ = current.localEnd;
    stackBase_ = current.stackBase + stackAt - oldStack;
    frame_ = registers_.data() + frameBase_;
    pc_ = call.running.pc;
    reconverge_ = call.running.reconverge;
    active_ = call.running.mask & live_;
}

}  // namespace bulkhead::sim
