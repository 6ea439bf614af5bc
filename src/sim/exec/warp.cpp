#include "sim/exec/warp.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

#include "sim/exec/builtins.h"
#include "sim/exec/cluster.h"
#include "sim/exec/instruction_details.h"

namespace bulkhead::sim {

namespace {

std::string oneLine(std::string_view text) {
    std::string line;
    for (const char c : text) {
        if (!std::isspace(static_cast<unsigned char>(c)))
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (!line.empty() && (line.back() == ' ' || line.back() == ';')) line.pop_back();
    return line;
}

std::string_view nameOf(LaunchError::Cause cause) {
    switch (cause) {
        case LaunchError::Cause::illegalAddress:
            return "illegal address";
        case LaunchError::Cause::misalignedAddress:
            return "misaligned address";
        case LaunchError::Cause::illegalInstruction:
            return "illegal instruction";
        case LaunchError::Cause::trap:
            return "trap";
        case LaunchError::Cause::assertion:
            return "assertion failed";
        case LaunchError::Cause::deadlock:
            return "deadlock";
        case LaunchError::Cause::noProgress:
            return "no progress";
        case LaunchError::Cause::stackOverflow:
            return "stack overflow";
        case LaunchError::Cause::outOfResources:
            return "out of resources";
        case LaunchError::Cause::timeout:
            return "timeout";
    }
    return "error";
}

/// Appends to a buffer that only ever grows; new bytes are zero.
void growTo(AlignedBytes& bytes, std::size_t size) {
    if (bytes.size() < size) bytes.resize(std::max(size, bytes.size() * 2));
}

}  // namespace

Block::Block(const LaunchContext& context, Dim3 blockIndex, std::uint32_t sm, const Cycles* time,
             PendingEffects* pending, Cluster* together, std::uint32_t rankInCluster)
    : launch(&context),
      index(blockIndex),
      smId(sm),
      now(time),
      effects(pending),
      cluster(together),
      rank(rankInCluster),
      warps(static_cast<std::uint32_t>((context.block.count() + kLanes - 1) / kLanes)),
      liveWarps(warps),
      members(warps),
      own_(together ? 0 : std::size_t{context.code->sharedBytes} + context.dynamicShared) {
    shared = together ? together->sharedOf(rank) : std::span(own_);
}

void Warp::start(Block& block, std::uint32_t indexInBlock, std::uint32_t hardwareSlot) {
    ++starts_;
    block_ = &block;
    launch_ = block.launch;
    index_ = indexInBlock;
    slot_ = hardwareSlot;
    block.members[indexInBlock] = this;
    code_ = launch_->code;
    // The pool is shared by all warps and written by none; at() hands out one pointer type for both kinds of slot.
    constants_ = const_cast<std::uint8_t*>(launch_->program->constants.data());

    const Dim3 size = launch_->block;
    const std::uint64_t first = std::uint64_t{indexInBlock} * kLanes;
    const std::uint64_t threads = std::min<std::uint64_t>(size.count() - first, kLanes);
    live_ = active_ = threads == kLanes ? kAllLanes : (LaneMask{1} << threads) - 1;
    const auto thread = static_cast<std::uint32_t>(first);
    std::uint32_t x = thread % size.x, y = thread / size.x % size.y, z = thread / size.x / size.y;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        tid_[0][lane] = x;
        tid_[1][lane] = y;
        tid_[2][lane] = z;
        if (++x != size.x) continue;
        x = 0;
        if (++y != size.y) continue;
        y = 0;
        ++z;
    }

    pc_ = 0;
    reconverge_ = kNever;
    stack_.clear();
    callers_.clear();
    stackBase_ = frameBase_ = paramBase_ = localBase_ = 0;
    accessCount_ = 0;
    waitingAt_ = nullptr;
    clusterParity_ = clusterWaiting_ = 0;
    early_.clear();
    setAside_.clear();
    frameEnd_ = code_->frameBytes;
    paramEnd_ = code_->paramBytes * kLanes;
    growTo(registers_, frameEnd_);
    growTo(params_, paramEnd_);
    // What nobody has written reads as zero, whichever warp was here before.
    std::memset(registers_.data(), 0, frameEnd_);
    if (paramEnd_) std::memset(params_.data(), 0, paramEnd_);
    if (localTouched_) std::memset(local_.data(), 0, std::size_t{localTouched_} * kLanes);
    localTouched_ = 0;
    frame_ = registers_.data();
    growLocal(code_->localBytes);
}

void Warp::growLocal(std::uint32_t end) {
    localEnd_ = end;
    const std::uint32_t whole = (end + 15) / 16 * 16;
    growTo(local_, std::size_t{whole} * kLanes);
    localTouched_ = std::max(localTouched_, whole);
}

void Warp::fitStack() {
    const std::uint32_t* taken = lanes<std::uint32_t>(Slot::reg(code_->stackSlot));
    growLocal(localBase_ + code_->localBytes + *std::max_element(taken, taken + kLanes));
}

std::span<Access> Warp::beginTexels(unsigned count, unsigned bytes) {
    texels_.resize(kMaxTexels);
    fetchesTexels_ = true;
    accessCount_ = count;
    for (unsigned t = 0; t < count; ++t) {
        Access& a = texels_[t];
        a = {};
        a.space = ptx::Space::global;
        a.kind = AccessKind::load;
        a.cacheOp = CacheOp::none;
        a.bytes = static_cast<std::uint8_t>(bytes);
        a.pattern = AccessPattern::scattered;
        a.texture = true;
    }
    return {texels_.data(), count};
}

void Warp::access(const Instr& i, LaneMask mask) {
    accessCount_ = 0;
    loadIsDeferred_ = fetchesTexels_ = false;
    if (mask) i.run(i, *this, mask);
    advance();
}

Step Warp::awaitPhase(const Instr& i, LaneMask mask) {
    // PTX leaves the time to the system. A warp of an H200 gives up after 3.92 us, whatever the instruction asks for.
    // One whose other lanes are elsewhere does after 0.1 us, or after about as long as it asks for.
    constexpr std::uint32_t kWhole = 3920, kPart = 100, kLongest = 1'000'000;
    access(i, mask);
    const auto lanes = static_cast<std::uint8_t>(std::popcount(mask));
    if ((mask & ~predicate(i.dst[0])) == 0) return {StepKind::memory, lanes};
    tried_ = &i;
    triedLanes_ = mask;
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    if (active_ == live_) return {StepKind::awaitPhase, lanes, kWhole};
    const std::uint32_t asked = i.srcCount > 2 ? this->lanes<std::uint32_t>(i.src[2])[first] : kPart;
    return {StepKind::awaitPhase, lanes, std::min(asked, kLongest)};
}

bool Warp::tryAgain() {
    accessCount_ = 0;
    tried_->run(*tried_, *this, triedLanes_);
    return (triedLanes_ & ~predicate(tried_->dst[0])) == 0;
}

/// What does more than to compute registers from registers.
Step Warp::stepBeyondRegisters(const Instr& i) {
    const LaneMask mask = guarded(i);
    const std::uint8_t lanes = countOf(mask);
    switch (i.kind) {
        case Kind::compute:
            break;
        case Kind::memory:
            access(i, mask);
            return {StepKind::memory, lanes};
        case Kind::changePhase:
            access(i, mask);
            return {mask ? StepKind::changePhase : StepKind::memory, lanes};
        case Kind::awaitPhase:
            return awaitPhase(i, mask);
        case Kind::branch:
            return branch(i, mask);
        case Kind::branchIndexed:
            return branchIndexed(i, mask);
        case Kind::call:
            return call(i, mask);
        case Kind::callIndirect:
            return callIndirect(i, mask);
        case Kind::ret:
            if (!callers_.empty()) {
                leave(mask);
                return {StepKind::control, lanes};
            }
            [[fallthrough]];
        case Kind::exit:
            exitLanes(mask);
            return finished() ? finish(lanes) : Step{StepKind::control, lanes};
        case Kind::trap:
            if (mask) fail(LaunchError::Cause::trap, i, static_cast<unsigned>(std::countr_zero(mask)), {});
            advance();
            return {StepKind::control, lanes};
        case Kind::barrier:
            return barrier(i, mask);
        case Kind::clusterArrive:
            return clusterArrive(mask);
        case Kind::clusterWait:
            return clusterWait(i, mask);
        case Kind::fence:
            advance();
            return {mask ? StepKind::fence : StepKind::control, lanes};
        case Kind::asyncCommit:
            advance();
            return {mask ? StepKind::asyncCommit : StepKind::control, lanes};
        case Kind::asyncWait:
            advance();
            return {mask ? StepKind::asyncWait : StepKind::control, lanes, static_cast<std::uint32_t>(i.immediate)};
        case Kind::bulkCommit:
            advance();
            return {mask ? StepKind::bulkCommit : StepKind::control, lanes};
        case Kind::bulkWait:
            advance();
            return {mask ? StepKind::bulkWait : StepKind::control, lanes, static_cast<std::uint32_t>(i.immediate),
                    i.extra};
        case Kind::matrixCommit:
            advance();
            return {mask ? StepKind::matrixCommit : StepKind::control, lanes};
        case Kind::matrixWait:
            advance();
            return {mask ? StepKind::matrixWait : StepKind::control, lanes, static_cast<std::uint32_t>(i.immediate)};
        case Kind::sleep:
            return sleep(i, mask);
        case Kind::setRegisters:
            advance();
            return {mask ? StepKind::setRegisters : StepKind::control, lanes, static_cast<std::uint32_t>(i.immediate),
                    i.extra};
        case Kind::letDependents: {
            advance();
            const bool isFirst = mask && !std::exchange(block_->letDependents, true);
            return {isFirst ? StepKind::letDependents : StepKind::control, lanes};
        }
        case Kind::awaitEarlier:
            advance();
            return {mask && launch_->followsRunning ? StepKind::awaitEarlier : StepKind::control, lanes};
        case Kind::nop:
            advance();
            return {StepKind::control, lanes};
    }
    return {StepKind::control};
}

/// The running lanes are all waiting further down, or gone: the next group has its turn.
void Warp::popEntry() {
    for (;;) {
        if (stack_.size() > stackBase_) {
            const Entry e = stack_.back();
            stack_.pop_back();
            pc_ = e.pc;
            reconverge_ = e.reconverge;
            active_ = e.mask;
            if (isSetAside(pc_)) [[unlikely]]
                resumeCall(e);
        } else if (!callers_.empty()) {
            // Every lane has left the function: its caller goes on.
            const Caller c = callers_.back();
            callers_.pop_back();
            const Code& callee = *code_;
            for (LaneMask m = c.called & live_; m; m &= m - 1) {
                const auto lane = static_cast<std::size_t>(std::countr_zero(m));
                const std::uint8_t* from = params_.data() + paramBase_ + lane * callee.paramBytes;
                std::uint8_t* to = params_.data() + c.paramBase + lane * c.code->paramBytes;
                for (const CallSite::Copy& copy : c.site->results)
                    std::memcpy(to + copy.to, from + copy.from, copy.bytes);
            }
            returnTo(c);
            pc_ = c.resume.pc;
            reconverge_ = c.resume.reconverge;
            active_ = c.resume.mask & live_;
        } else {
            active_ = 0;
            return;
        }
        if (active_ && pc_ != reconverge_) return;
    }
}

void Warp::returnTo(const Caller& c) {
    frameEnd_ = frameBase_;
    paramEnd_ = paramBase_;
    code_ = c.code;
    frameBase_ = c.frameBase;
    paramBase_ = c.paramBase;
    localBase_ = c.localBase;
    localEnd_ = c.localEnd;
    stackBase_ = c.stackBase;
    frame_ = registers_.data() + frameBase_;
    // Lanes that were not called may have allocated while the call was set aside.
    if (code_->stackSlot >= 0) fitStack();
}

/// Lanes return from a device function. They wait for those of the same call that are still inside.
void Warp::leave(LaneMask returning) {
    for (std::size_t k = stackBase_; k < stack_.size(); ++k) stack_[k].mask &= ~returning;
    active_ &= ~returning;
    if (active_)
        advance();
    else
        popEntry();
}

void Warp::exitLanes(LaneMask exiting) {
    if (block_->cluster && exiting) [[unlikely]]
        tellCluster(exiting, true);
    live_ &= ~exiting;
    for (Entry& e : stack_) e.mask &= ~exiting;
    active_ &= ~exiting;
    if (active_)
        advance();
    else
        popEntry();
}

Step Warp::branch(const Instr& i, LaneMask taken) {
    const auto lanes = static_cast<std::uint8_t>(std::popcount(taken));
    const LaneMask staying = active_ & ~taken;
    if (!taken) {
        advance();
    } else if (!staying) {
        jump(i.target);
    } else {
        // Lanes already at the meeting point need no entry of their own: the one that waits there has them.
        if (reconverge_ != i.reconverge) {
            stack_.push_back({i.reconverge, reconverge_, active_});
            reconverge_ = i.reconverge;
        }
        const bool takenIsThere = i.target == i.reconverge, stayingIsThere = pc_ + 1 == i.reconverge;
        if (takenIsThere && stayingIsThere) {
            popEntry();
        } else if (takenIsThere) {
            active_ = staying;
            ++pc_;
        } else if (stayingIsThere) {
            active_ = taken;
            pc_ = i.target;
        } else {
            stack_.push_back({i.target, i.reconverge, taken});
            active_ = staying;
            ++pc_;
        }
    }
    return {StepKind::control, lanes};
}

Step Warp::branchIndexed(const Instr& i, LaneMask mask) {
    const auto lanes = static_cast<std::uint8_t>(std::popcount(mask));
    if (!mask) {
        advance();
        return {StepKind::control, 0};
    }
    const std::vector<std::uint32_t>& table = code_->branchTables[i.target];
    const std::uint32_t* index = this->lanes<std::uint32_t>(i.src[0]);
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        if (index[lane] >= table.size())
            fail(LaunchError::Cause::illegalInstruction, i, lane,
                 fmt::format("branch index {} is not below {}", index[lane], table.size()));
    }
    const std::uint32_t here = pc_;
    if (mask == active_) {
        LaneMask elsewhere = 0;
        const std::uint32_t first = table[index[std::countr_zero(mask)]];
        for (LaneMask m = mask; m; m &= m - 1) {
            const int lane = std::countr_zero(m);
            if (table[index[lane]] != first) elsewhere |= LaneMask{1} << lane;
        }
        if (!elsewhere) {
            jump(first);
            return {StepKind::control, lanes};
        }
    }
    if (reconverge_ != i.reconverge) stack_.push_back({i.reconverge, reconverge_, active_});
    if (const LaneMask staying = active_ & ~mask; staying && here + 1 != i.reconverge)
        stack_.push_back({here + 1, i.reconverge, staying});
    for (LaneMask rest = mask; rest;) {
        const std::uint32_t target = table[index[std::countr_zero(rest)]];
        LaneMask group = 0;
        for (LaneMask m = rest; m; m &= m - 1) {
            const int lane = std::countr_zero(m);
            if (table[index[lane]] == target) group |= LaneMask{1} << lane;
        }
        rest &= ~group;
        if (target != i.reconverge) stack_.push_back({target, i.reconverge, group});
    }
    active_ = 0;
    popEntry();
    return {StepKind::control, lanes};
}

void Warp::enter(const Instr& i, const Code& callee, const CallSite& site, LaneMask mask) {
    const std::uint32_t local = (localEnd_ + kFrameOverheadBytes + 15) / 16 * 16;
    if (std::uint64_t{local} + callee.localBytes > launch_->code->stackBytes)
        fail(LaunchError::Cause::stackOverflow, i, static_cast<unsigned>(std::countr_zero(mask)),
             fmt::format("a call of {} at depth {} needs more than the {} bytes of stack a thread has", callee.name,
                         callers_.size() + 1, launch_->code->stackBytes));
    callers_.push_back({code_,
                        &site,
                        frameBase_,
                        paramBase_,
                        localBase_,
                        localEnd_,
                        stackBase_,
                        {pc_ + 1, reconverge_, active_},
                        mask});
    const std::uint32_t callerParams = paramBase_, callerParamBytes = code_->paramBytes;
    stackBase_ = static_cast<std::uint32_t>(stack_.size());
    frameBase_ = frameEnd_;
    paramBase_ = paramEnd_;
    frameEnd_ += callee.frameBytes;
    paramEnd_ += callee.paramBytes * kLanes;
    growTo(registers_, frameEnd_);
    growTo(params_, paramEnd_);
    frame_ = registers_.data() + frameBase_;
    std::memset(frame_, 0, callee.frameBytes);
    if (paramEnd_ != paramBase_) std::memset(params_.data() + paramBase_, 0, paramEnd_ - paramBase_);
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(m));
        const std::uint8_t* from = params_.data() + callerParams + lane * callerParamBytes;
        std::uint8_t* to = params_.data() + paramBase_ + lane * callee.paramBytes;
        for (const CallSite::Copy& copy : site.arguments) std::memcpy(to + copy.to, from + copy.from, copy.bytes);
    }
    localBase_ = local;
    growLocal(local + callee.localBytes);
    code_ = &callee;
    pc_ = 0;
    active_ = mask;
    reconverge_ = kNever;
}

Step Warp::call(const Instr& i, LaneMask mask) {
    const CallSite& site = code_->callSites[i.extra];
    const auto lanes = static_cast<std::uint8_t>(std::popcount(mask));
    if (!mask) {
        advance();
    } else if (site.builtin != Builtin::none) {
        callBuiltin(i, site, mask);
        advance();
    } else {
        enter(i, launch_->program->codes[i.target], site, mask);
    }
    return {StepKind::control, lanes};
}

Step Warp::callIndirect(const Instr& i, LaneMask mask) {
    if (!mask) {
        advance();
        return {StepKind::control, 0};
    }
    const CallSite& site = code_->callSites[i.extra];
    const std::uint64_t* target = this->lanes<std::uint64_t>(i.src[0]);
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t address = target[first], index = (address - kCodeWindow) / 16;
    const auto& codes = launch_->program->codes;
    if (address < kCodeWindow || address % 16 != 0 || index >= codes.size())
        failAddress(LaunchError::Cause::illegalAddress, i, first, address, "not a function");
    const Code& callee = codes[index];
    if (callee.formals != site.formals || callee.isKernel)
        fail(LaunchError::Cause::illegalInstruction, i, first,
             fmt::format("a call of {} with other parameters than it has", callee.name));
    LaneMask together = 0;
    for (LaneMask m = mask; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        if (target[lane] == address) together |= LaneMask{1} << lane;
    }
    if (together != mask) {
        // The others call from here when this group is back; all meet behind the call.
        stack_.push_back({pc_ + 1, reconverge_, active_});
        stack_.push_back({pc_, pc_ + 1, mask & ~together});
        reconverge_ = pc_ + 1;
        active_ = together;
    }
    enter(i, callee, site, together);
    return {StepKind::control, static_cast<std::uint8_t>(std::popcount(together))};
}

void Warp::callBuiltin(const Instr& i, const CallSite& site, LaneMask mask) {
    switch (site.builtin) {
        case Builtin::none:
            break;
        case Builtin::vprintf:
            runVprintf(i, *this, site, mask);
            break;
        case Builtin::assertFail:
            runAssertFail(i, *this, site, static_cast<unsigned>(std::countr_zero(mask)));
    }
}

Step Warp::finish(unsigned lanes) {
    --block_->liveWarps;
    std::uint64_t released = 0;
    if (block_->liveWarps > 0)
        for (Block::Barrier& b : block_->barriers)
            if (b.expectedThreads == 0) released |= block_->complete(b);
    return {StepKind::finished, static_cast<std::uint8_t>(lanes), 0, released};
}

void Warp::snapshot(Snapshot& s) const {
    s.pc = pc_;
    s.active = active_;
    s.bytes.clear();
    const auto append = [&s](const void* from, std::size_t n) {
        const auto* bytes = static_cast<const std::uint8_t*>(from);
        s.bytes.insert(s.bytes.end(), bytes, bytes + n);
    };
    append(registers_.data(), frameEnd_);
    append(params_.data(), paramEnd_);
    append(local_.data(), std::size_t{localTouched_} * kLanes);
    append(stack_.data(), stack_.size() * sizeof(Entry));
    for (const Caller& c : callers_) append(&c.resume, sizeof c.resume);
    for (const auto& [id, call] : setAside_) {
        append(&call.running, sizeof call.running);
        append(call.stack.data(), call.stack.size() * sizeof(Entry));
        append(call.registers.data(), call.registers.size());
        append(call.params.data(), call.params.size());
    }
}

bool Warp::matches(const Snapshot& s) const {
    if (pc_ != s.pc || active_ != s.active) return false;
    const std::uint8_t* expected = s.bytes.data();
    std::size_t left = s.bytes.size();
    const auto same = [&](const void* actual, std::size_t n) {
        if (n > left || (n && std::memcmp(actual, expected, n) != 0)) return false;
        expected += n;
        left -= n;
        return true;
    };
    if (!same(registers_.data(), frameEnd_) || !same(params_.data(), paramEnd_) ||
        !same(local_.data(), std::size_t{localTouched_} * kLanes) ||
        !same(stack_.data(), stack_.size() * sizeof(Entry)))
        return false;
    for (const Caller& c : callers_)
        if (!same(&c.resume, sizeof c.resume)) return false;
    for (const auto& [id, call] : setAside_)
        if (!same(&call.running, sizeof call.running) || !same(call.stack.data(), call.stack.size() * sizeof(Entry)) ||
            !same(call.registers.data(), call.registers.size()) || !same(call.params.data(), call.params.size()))
            return false;
    return left == 0;
}

/// "kernel K, PTX line L, block (x,y,z), thread (x,y,z)".
std::string Warp::place(std::int32_t line, unsigned lane) const {
    const Dim3& b = block_->index;
    return fmt::format("kernel {}, PTX line {}, block ({},{},{}), thread ({},{},{})", launch_->code->name, line, b.x,
                       b.y, b.z, tid_[0][lane], tid_[1][lane], tid_[2][lane]);
}

/// Lanes that sleep for different times are back when the last of them is.
Step Warp::sleep(const Instr& i, LaneMask mask) {
    constexpr std::uint32_t kLongestSleep = 1'000'000;
    const std::uint32_t* const nanoseconds = this->lanes<std::uint32_t>(i.src[0]);
    std::uint32_t longest = 0;
    for (LaneMask m = mask; m; m &= m - 1) longest = std::max(longest, nanoseconds[std::countr_zero(m)]);
    advance();
    return {StepKind::sleep, static_cast<std::uint8_t>(std::popcount(mask)), std::min(longest, kLongestSleep)};
}

std::string Warp::explainBarrier(std::uint32_t waiting) const {
    // The pc already points behind the barrier.
    if (const Instr& at = code_->instrs[pc_ - 1]; at.kind == Kind::setRegisters)
        return fmt::format("registers that never come: {}: a warp wants {} a thread, and the block's pool lacks them",
                           place(at.line, 0), at.immediate);
    return fmt::format("barrier that can never complete: {}: {} of the block's {} warps wait, the others never come",
                       place(code_->instrs[pc_ - 1].line, 0), waiting, block_->warps);
}

std::string Warp::explainLoop(std::string_view why) const {
    return fmt::format("no progress: {} goes round in circles, and {}",
                       place(next().line, static_cast<unsigned>(std::countr_zero(active_))), why);
}

/// "kernel K, function F, PTX line L (ld.global.u32 ...)".
std::string Warp::placeOf(const Instr& i) const {
    std::string where = fmt::format("kernel {}", launch_->code->name);
    if (code_ != launch_->code) where += fmt::format(", function {}", code_->name);
    const auto at = static_cast<std::size_t>(&i - code_->instrs.data());
    return fmt::format("{}, PTX line {} ({})", where, i.line, oneLine(code_->texts[at]));
}

void Warp::noteOverrun(const Instr& i, const std::string& note) const {
    launch_->overruns->note(code_, i.line,
                            [&] { return fmt::format("{} reads outside of its memory: {}", placeOf(i), note); });
}

void Warp::fail(LaunchError::Cause cause, const Instr& i, unsigned lane, const std::string& what) const {
    const Dim3 b = block_->index;
    throw LaunchError(
        cause, fmt::format("{}: {}, block ({},{},{}), thread ({},{},{}){}{}", nameOf(cause), placeOf(i), b.x, b.y, b.z,
                           tid_[0][lane], tid_[1][lane], tid_[2][lane], what.empty() ? "" : ": ", what));
}

void Warp::failAddress(LaunchError::Cause cause, const Instr& i, unsigned lane, std::uint64_t address,
                       const std::string& note) const {
    try {
        fail(cause, i, lane, {});
    } catch (const LaunchError& e) {
        LaunchError full(cause,
                         fmt::format("{}, address {:#x}{}{}", e.what(), address, note.empty() ? "" : ": ", note));
        full.address = address;
        throw full;
    }
}

}  // namespace bulkhead::sim
