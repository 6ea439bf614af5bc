#include "sim/exec/function_lowering.h"
#include "sim/exec/warp.h"

// alloca, stacksave, stackrestore: memory of a function whose size is known when it runs. It lies behind the function's
// variables in each thread's local memory, and is gone when the function returns: its size is in the function's frame.

namespace bulkhead::sim {

using ptx::Type;

namespace {

constexpr std::uint64_t kLeastAlignment = 8, kMostAlignment = 1 << 23;

/// Where a function's allocations begin in local memory, the same for all lanes.
std::uint64_t stackBegin(const Warp& w) {
    return std::uint64_t{w.localBase()} + w.code().localBytes;
}

std::uint32_t* taken(Warp& w) {
    return w.lanes<std::uint32_t>(Slot::reg(w.code().stackSlot));
}

/// dst[0] is the place of src[0] bytes, at a multiple of `immediate`.
template <class Word>
void runAlloca(const Instr& i, Warp& w, LaneMask mask) {
    const std::uint64_t begin = stackBegin(w), limit = w.launch().code->stackBytes;
    const auto alignment = static_cast<std::uint64_t>(i.immediate);
    const Word* size = w.lanes<Word>(i.src[0]);
    Word* place = w.lanes<Word>(i.dst[0]);
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        const std::uint64_t top = begin + taken(w)[lane], at = (top + alignment - 1) / alignment * alignment;
        const std::uint64_t bytes = size[lane];
        if (at > limit || bytes > limit - at)
            w.fail(
                LaunchError::Cause::stackOverflow, i, lane,
                fmt::format("{} bytes behind {} are more than the {} bytes of stack a thread has", bytes, top, limit));
        taken(w)[lane] = static_cast<std::uint32_t>(at + bytes - begin);
        place[lane] = static_cast<Word>(at);
    }
    w.fitStack();
}

template <class Word>
void runStackSave(const Instr& i, Warp& w, LaneMask mask) {
    Word* to = w.lanes<Word>(i.dst[0]);
    for (LaneMask m = mask; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        to[lane] = static_cast<Word>(stackBegin(w) + taken(w)[lane]);
    }
}

template <class Word>
void runStackRestore(const Instr& i, Warp& w, LaneMask mask) {
    const Word* from = w.lanes<Word>(i.src[0]);
    for (LaneMask m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        const std::uint64_t bytes = from[lane] - stackBegin(w);
        if (bytes > taken(w)[lane])
            w.failAddress(LaunchError::Cause::illegalAddress, i, lane, from[lane],
                          "not where this function's stack has been");
        taken(w)[lane] = static_cast<std::uint32_t>(bytes);
    }
    w.fitStack();
}

}  // namespace

bool FunctionLowering::lowerStack(Instr& i) {
    const std::string& opcode = current_->opcode;
    if (opcode == "alloca") {
        lowerAlloca(i);
    } else if (opcode == "stacksave") {
        expectOperands(1, 1);
        const Type type = stackType();
        i.dst[0] = result(current_->operands[0], type);
        i.dstCount = 1;
        i.run = type == Type::u64 ? runStackSave<std::uint64_t> : runStackSave<std::uint32_t>;
    } else if (opcode == "stackrestore") {
        expectOperands(1, 1);
        const Type type = stackType();
        i.src[0] = source(current_->operands[0], type);
        i.srcCount = 1;
        i.run = type == Type::u64 ? runStackRestore<std::uint64_t> : runStackRestore<std::uint32_t>;
    } else {
        return false;
    }
    return true;
}

void FunctionLowering::lowerAlloca(Instr& i) {
    expectOperands(2, 3);
    const auto& operands = current_->operands;
    const Type type = stackType();
    i.immediate = kLeastAlignment;
    if (operands.size() == 3) {
        const std::int64_t alignment = operands[2].integer;
        if (operands[2].kind != Operand::Kind::integer || alignment < 1 ||
            alignment > static_cast<std::int64_t>(kMostAlignment) || (alignment & (alignment - 1)) != 0)
            refuse("the alignment is a power of two up to 2^23");
        i.immediate = std::max(i.immediate, alignment);
    }
    i.src[0] = source(operands[1], type);
    i.srcCount = 1;
    i.dst[0] = result(operands[0], type);
    i.dstCount = 1;
    i.run = type == Type::u64 ? runAlloca<std::uint64_t> : runAlloca<std::uint32_t>;
}

Type FunctionLowering::stackType() {
    const auto& modifiers = current_->modifiers;
    if (modifiers.size() == 1 && modifiers[0] == "u64") return Type::u64;
    if (modifiers.size() == 1 && modifiers[0] == "u32") return Type::u32;
    refuse(fmt::format("{} is .u32 or .u64", current_->opcode));
}

}  // namespace bulkhead::sim
