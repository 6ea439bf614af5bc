#include <algorithm>
#include <array>

#include "sim/exec/function_lowering.h"
#include "sim/exec/mbarrier.h"

// mbarrier, and what copies of cp.async do to it.

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

namespace {

/// What is said of order and of who sees it (execution is in order), and that arriving does not end a phase.
constexpr std::array<std::string_view, 10> kSaidBeside = {
    "b64", "release", "relaxed", "acquire", "cta", "cluster", "noComplete", "shared", "shared::cta", "shared::cluster"};

constexpr std::array<std::string_view, 11> kSaid = {"init",   "inval",         "expect_tx", "complete_tx",
                                                    "arrive", "arrive_drop",   "test_wait", "try_wait",
                                                    "parity", "pending_count", "noinc"};

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

/// The object, in shared memory: `[a]`, or a generic address.
void FunctionLowering::mbarrierObject(Instr& i, const Operand& object) {
    const bool isShared = std::any_of(current_->modifiers.begin(), current_->modifiers.end(),
                                      [](const std::string& m) { return m.starts_with("shared"); });
    i.kind = Kind::changePhase;
    i.opClass = arch::OpClass::memory;
    i.space = isShared ? Space::shared : Space::none;
    i.type = Type::b64;
    i.elementBytes = 8;
    i.srcCount = 1;
    if (memoryAddress(object, 8, i)) refuse("there are no mbarrier objects among parameters");
    if (i.space != Space::shared && i.space != Space::none) refuse("mbarrier objects are in shared memory");
}

bool FunctionLowering::lowerMbarrier(Instr& i) {
    const auto& operands = current_->operands;
    for (const std::string& m : current_->modifiers)
        if (!contains(kSaidBeside, m) && !contains(kSaid, m)) refuse(fmt::format("unknown modifier '.{}'", m));
    const auto operation = [&](MbarrierOperation o) { i.run = mbarrierHandler(o); };
    const auto second = [&](const Operand& operand, Type type) {
        i.src[1] = source(operand, type);
        i.srcCount = 2;
    };
    if (current_->has("pending_count")) {
        expectOperands(2, 2);
        i.opClass = arch::OpClass::integer;
        i.run = runPendingCount;
        i.dst[0] = result(operands[0], Type::b32);
        i.src[0] = source(operands[1], Type::b64);
        i.dstCount = i.srcCount = 1;
    } else if (current_->has("init")) {
        expectOperands(2, 2);
        mbarrierObject(i, operands[0]);
        second(operands[1], Type::u32);
        operation(MbarrierOperation::init);
    } else if (current_->has("inval")) {
        expectOperands(1, 1);
        mbarrierObject(i, operands[0]);
        operation(MbarrierOperation::invalidate);
    } else if (current_->has("test_wait") || current_->has("try_wait")) {
        lowerMbarrierTest(i);
    } else if (current_->has("arrive") || current_->has("arrive_drop")) {
        lowerMbarrierArrival(i);
    } else if (current_->has("expect_tx") || current_->has("complete_tx")) {
        expectOperands(2, 2);
        mbarrierObject(i, operands[0]);
        second(operands[1], Type::u32);
        operation(current_->has("expect_tx") ? MbarrierOperation::expectBytes : MbarrierOperation::completeBytes);
    } else {
        refuse("the instruction has no operation");
    }
    return true;
}

/// test_wait answers at once; try_wait may wait for the end of the phase, for so long.
void FunctionLowering::lowerMbarrierTest(Instr& i) {
    const auto& operands = current_->operands;
    const bool isTry = current_->has("try_wait"), byParity = current_->has("parity");
    expectOperands(3, isTry ? 4 : 3);
    mbarrierObject(i, operands[1]);
    i.src[1] = source(operands[2], byParity ? Type::u32 : Type::b64);
    i.srcCount = 2;
    i.kind = isTry ? Kind::awaitPhase : Kind::memory;
    if (operands.size() > 3) {
        i.src[2] = source(operands[3], Type::u32);
        i.srcCount = 3;
    }
    i.run = mbarrierHandler(byParity ? MbarrierOperation::testParity : MbarrierOperation::test);
    i.dst[0] = predicateResult(operands[0]);
    i.dstCount = 1;
}

void FunctionLowering::lowerMbarrierArrival(Instr& i) {
    const auto& operands = current_->operands;
    const bool drops = current_->has("arrive_drop"), expects = current_->has("expect_tx");
    expectOperands(expects ? 3 : 2, 3);
    mbarrierObject(i, operands[1]);
    i.src[1] = operands.size() > 2 ? source(operands[2], Type::u32) : constants_.value(1, 4);
    i.srcCount = 2;
    using Operation = MbarrierOperation;
    i.run = mbarrierHandler(drops ? (expects ? Operation::dropExpecting : Operation::drop)
                                  : (expects ? Operation::arriveExpecting : Operation::arrive));
    if (operands[0].kind == Operand::Kind::sink) return;
    i.dst[0] = result(operands[0], Type::b64);
    i.dstCount = 1;
}

/// cp.async.mbarrier.arrive: the thread's copies so far arrive when they are done. Here the warp waits for them.
void FunctionLowering::lowerArrivalOfCopies(Instr& i) {
    expectOperands(1, 1);
    Instr wait = i;
    wait.opClass = arch::OpClass::control;
    wait.kind = Kind::asyncCommit;
    emit(*current_, wait, {}, {});
    wait.kind = Kind::asyncWait;
    wait.immediate = 0;
    emit(*current_, wait, {}, {});
    mbarrierObject(i, current_->operands[0]);
    i.src[1] = constants_.value(1, 4);
    i.srcCount = 2;
    i.run = mbarrierHandler(current_->has("noinc") ? MbarrierOperation::arrive : MbarrierOperation::arriveCopied);
}

}  // namespace bulkhead::sim
