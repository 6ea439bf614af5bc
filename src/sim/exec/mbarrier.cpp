#include "sim/exec/mbarrier.h"

#include "sim/exec/compute.h"
#include "sim/exec/memory_access.h"

namespace bulkhead::sim {

Mbarrier Mbarrier::read(std::uint64_t word) {
    Mbarrier m;
    m.phase = (word & 1) != 0;
    m.expected = static_cast<std::uint32_t>(word >> 1) & kMostArrivals;
    m.pending = static_cast<std::uint32_t>(word >> (1 + kCountBits)) & kMostArrivals;
    m.transactions = static_cast<std::int32_t>(static_cast<std::int64_t>(word) >> (64 - kTransactionBits));
    return m;
}

std::uint64_t Mbarrier::word() const {
    return (phase ? 1u : 0u) | std::uint64_t{expected} << 1 | std::uint64_t{pending} << (1 + kCountBits) |
           static_cast<std::uint64_t>(static_cast<std::int64_t>(transactions)) << (64 - kTransactionBits);
}

void Mbarrier::arrive(std::uint32_t count) {
    pending -= count;
    endPhase();
}

void Mbarrier::drop(std::uint32_t count) {
    expected -= count;
    arrive(count);
}

void Mbarrier::completeBytes(std::int32_t bytes) {
    transactions -= bytes;
    endPhase();
}

void Mbarrier::endPhase() {
    if (pending || transactions) return;
    phase = !phase;
    pending = expected;
}

bool Mbarrier::fits() const {
    return expected <= kMostArrivals && pending <= kMostArrivals && transactions >= -kMostTransactions &&
           transactions <= kMostTransactions;
}

namespace {

using Operation = MbarrierOperation;

constexpr bool isTest(Operation operation) {
    return operation == Operation::test || operation == Operation::testParity;
}

/// The object afterwards.
template <Operation kOperation>
Mbarrier after(Mbarrier m, std::uint64_t operand) {
    const auto count = static_cast<std::uint32_t>(operand);
    const auto bytes = static_cast<std::int32_t>(operand);
    switch (kOperation) {
        case Operation::init: {
            Mbarrier made;
            made.expected = made.pending = count;
            return made;
        }
        case Operation::invalidate:
            return {};
        case Operation::expectBytes:
            m.expectBytes(bytes);
            break;
        case Operation::completeBytes:
            m.completeBytes(bytes);
            break;
        case Operation::arrive:
            m.arrive(count);
            break;
        case Operation::arriveExpecting:
            m.expectBytes(bytes);
            m.arrive(1);
            break;
        case Operation::drop:
            m.drop(count);
            break;
        case Operation::dropExpecting:
            m.expectBytes(bytes);
            m.drop(1);
            break;
        case Operation::arriveCopied:
            ++m.pending;
            m.arrive(1);
            break;
        case Operation::test:
        case Operation::testParity:
            break;
    }
    return m;
}

template <Operation kOperation>
bool isComplete(std::uint64_t object, std::uint64_t operand) {
    const bool phase = Mbarrier::read(object).phase;
    return phase != (kOperation == Operation::test ? Mbarrier::read(operand).phase : (operand & 1) != 0);
}

/// Whether the operand has 64 bits: a token.
template <Operation kOperation>
std::uint64_t operandOf(const Instr& i, Warp& w, unsigned lane) {
    if (kOperation == Operation::test) return w.lanes<std::uint64_t>(i.src[1])[lane];
    return i.srcCount > 1 ? w.lanes<std::uint32_t>(i.src[1])[lane] : 0;
}

constexpr std::string_view kTooMany =
    "more arrivals or bytes at an mbarrier object than are pending, or than it can count";

/// What is done to an object of another block of the cluster, until it shows.
template <Operation kOperation>
struct Remote {
    std::uint8_t* at;
    std::uint64_t operand;
    PendingEffects* effects;
    const LaunchContext* launch;
    std::int32_t line;

    static bool run(void* what) {
        const auto& remote = *static_cast<const Remote*>(what);
        const auto before = readAs<std::uint64_t>(remote.at);
        const Mbarrier object = after<kOperation>(Mbarrier::read(before), remote.operand);
        if (!object.fits())
            remote.effects->fail(*remote.launch,
                                 LaunchError(LaunchError::Cause::illegalInstruction,
                                             fmt::format("illegal instruction: kernel {}, PTX line {}: {}",
                                                         remote.launch->code->name, remote.line, kTooMany)));
        writeAs(remote.at, object.word());
        return object.word() != before;
    }
};

template <Operation kOperation>
void defer(const Instr& i, Warp& w, unsigned lane, std::uint8_t* at) {
    if (isTest(kOperation) || i.dstCount)
        w.fail(LaunchError::Cause::illegalInstruction, i, lane, "the state of an mbarrier object of another block");
    w.effects().defer<Remote<kOperation>>(Remote<kOperation>::run) = {at, operandOf<kOperation>(i, w, lane),
                                                                      &w.effects(), &w.launch(), i.line};
}

template <Operation kOperation>
void run(const Instr& i, Warp& w, LaneMask mask) {
    const AccessKind kind = isTest(kOperation) ? AccessKind::load
                            : i.dstCount       ? AccessKind::atomic
                                               : AccessKind::reduction;
    LaneMask complete = 0;
    accessMemory(i, w, mask, kind, [&](const Access& a, const Places& p) {
        for (LaneMask m = a.lanes; m; m &= m - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(m));
            if (a.space != ptx::Space::shared)
                w.fail(LaunchError::Cause::illegalAddress, i, lane, "an mbarrier object that is not in shared memory");
            std::uint8_t* const at = p.of(a, lane);
            if (a.remote && isShownLater(a, w)) {
                defer<kOperation>(i, w, lane, at);
                continue;
            }
            const auto before = readAs<std::uint64_t>(at);
            const std::uint64_t operand = operandOf<kOperation>(i, w, lane);
            if constexpr (isTest(kOperation)) {
                if (isComplete<kOperation>(before, operand)) complete |= LaneMask{1} << lane;
            } else {
                const Mbarrier object = after<kOperation>(Mbarrier::read(before), operand);
                if (!object.fits()) w.fail(LaunchError::Cause::illegalInstruction, i, lane, std::string(kTooMany));
                const std::uint64_t now = object.word();
                writeAs(at, now);
                if (now != before) w.noteChange();
                if (i.dstCount) w.lanes<std::uint64_t>(i.dst[0])[lane] = before;
            }
        }
    });
    if constexpr (isTest(kOperation)) setPredicate(w.predicate(i.dst[0]), mask, complete);
}

}  // namespace

Handler mbarrierHandler(MbarrierOperation operation) {
    switch (operation) {
        case Operation::init:
            return run<Operation::init>;
        case Operation::invalidate:
            return run<Operation::invalidate>;
        case Operation::expectBytes:
            return run<Operation::expectBytes>;
        case Operation::completeBytes:
            return run<Operation::completeBytes>;
        case Operation::arrive:
            return run<Operation::arrive>;
        case Operation::arriveExpecting:
            return run<Operation::arriveExpecting>;
        case Operation::drop:
            return run<Operation::drop>;
        case Operation::dropExpecting:
            return run<Operation::dropExpecting>;
        case Operation::arriveCopied:
            return run<Operation::arriveCopied>;
        case Operation::test:
            return run<Operation::test>;
        case Operation::testParity:
            return run<Operation::testParity>;
    }
    return nullptr;
}

void completeBytes(std::uint8_t* object, std::uint32_t bytes, bool isRemote, PendingEffects& effects,
                   const LaunchContext& launch, std::int32_t line) {
    using Completion = Remote<Operation::completeBytes>;
    Completion completion{object, bytes, &effects, &launch, line};
    if (isRemote && !effects.showAtOnce())
        effects.defer<Completion>(Completion::run) = completion;
    else
        Completion::run(&completion);
}

void runPendingCount(const Instr& i, Warp& w, LaneMask mask) {
    const std::uint64_t* const token = w.lanes<std::uint64_t>(i.src[0]);
    std::uint32_t* const count = w.lanes<std::uint32_t>(i.dst[0]);
    for (LaneMask m = mask; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        count[lane] = Mbarrier::read(token[lane]).pending;
    }
}

}  // namespace bulkhead::sim
