#include "ptx/persistent_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "ptx/function_text.h"
#include "ptx/source_edit.h"
#include "ptx/uniformity.h"

namespace bulkhead::ptx {
namespace {

bool isLeave(const Instruction& i) {
    return i.opcode == "ret" || i.opcode == "exit";
}
bool isBarrier(const Instruction& i) {
    return i.opcode == "bar" || i.opcode == "barrier";
}
bool isBlockIndex(std::string_view sreg) {
    return sreg.starts_with("ctaid") || sreg.starts_with("nctaid");
}
bool readsBlockIndex(const Operand& operand) {
    return (operand.kind == Operand::Kind::sreg && isBlockIndex(operand.name)) ||
           std::any_of(operand.parts.begin(), operand.parts.end(), readsBlockIndex);
}

[[noreturn]] void refuse(const Module& module, const Instruction& i, std::string_view why) {
    throw PtxError(module.name, i.position, why, i.text);
}

/// A thread that leaves is no longer waited for at barriers; one that only goes back to the queue is. So no thread may
/// leave, or part from the others, before a barrier that the others come to.
void expectBarriersForAll(const Module& module, const Function& kernel) {
    if (std::none_of(kernel.body.begin(), kernel.body.end(), isBarrier)) return;
    const ControlFlow flow = analyseControlFlow(kernel);
    const std::vector<bool> uniform = uniformRegisters(kernel, flow);
    const auto holdsBarrier = [&](int first, int last) {
        return std::any_of(kernel.body.begin() + first, kernel.body.begin() + last, isBarrier);
    };
    const auto barrierAfter = [&](int block, int meet) {
        const std::vector<int> blocks = flow.reachableFrom(block, meet);
        return std::any_of(blocks.begin(), blocks.end(),
                           [&](int b) { return holdsBarrier(flow.blocks[b].first, flow.blocks[b].last); });
    };
    for (std::size_t i = 0; i < kernel.body.size(); ++i) {
        const Instruction& instruction = kernel.body[i];
        if (instruction.guard < 0 || uniform[instruction.guard]) continue;
        const auto index = static_cast<int>(i);
        const int block = flow.blockOf[i];
        if (isLeave(instruction) && (holdsBarrier(index, flow.blocks[block].last) || barrierAfter(block, -1)))
            refuse(module, instruction, "some threads may leave here before a barrier: the kernel cannot be walled");
        if (instruction.opcode == "bra" && barrierAfter(block, flow.reconvergenceOf(index)))
            refuse(module, instruction, "some threads may pass by a barrier here: the kernel cannot be walled");
    }
}

/// The instruction's text with %ctaid and %nctaid replaced by the registers that stand for them.
std::string withBlockIndex(const Module& module, const Instruction& i) {
    std::string text(i.text);
    for (const char* name : {"%ctaid", "%nctaid"}) {
        std::size_t at = 0;
        const std::string_view word(name);
        while ((at = text.find(word, at)) != std::string::npos) {
            const std::size_t end = at + word.size();
            if (end + 1 >= text.size() || text[end] != '.')
                refuse(module, i, "a block index of all dimensions at once cannot be walled");
            const std::string replacement = fmt::format("%bulkhead_{}_{}", word.substr(1), text[end + 1]);
            text.replace(at, word.size() + 2, replacement);
            at += replacement.size();
        }
    }
    return text;
}

constexpr unsigned byteOf(unsigned word) {
    return 4 * word;
}

/// Clears the turn of the launch before. The first that finds no more indices does: it has nothing else to do, and is
/// inside, where no neighbour's accesses come before its own.
std::string clear(std::string_view kernel) {
    return fmt::format(R"(
	ld.param.u64 %bulkhead_q2, [{0}_bulkhead_launch+{1}];
	cvta.to.global.u64 %bulkhead_q2, %bulkhead_q2;
	ld.param.u32 %bulkhead_r2, [{0}_bulkhead_launch+{2}];
	mov.u32 %bulkhead_r3, 0;
$bulkhead_clear:
	setp.eq.u32 %bulkhead_p1, %bulkhead_r2, 0;
	@%bulkhead_p1 bra $bulkhead_taken;
	st.global.v4.u32 [%bulkhead_q2], {{%bulkhead_r3, %bulkhead_r3, %bulkhead_r3, %bulkhead_r3}};
	add.u64 %bulkhead_q2, %bulkhead_q2, 16;
	sub.u32 %bulkhead_r2, %bulkhead_r2, 16;
	bra $bulkhead_clear;
)",
                       kernel, offsetof(PersistentLaunch, before), offsetof(PersistentLaunch, clear));
}

/// What the first thread of a block that stays must know: where to count, and that no index has been fetched yet.
std::string firstThread(std::string_view kernel) {
    return fmt::format(R"(
	ld.param.u64 %bulkhead_queue, [{0}_bulkhead_launch+{1}];
	cvta.to.global.u64 %bulkhead_queue, %bulkhead_queue;
	ld.param.u64 %bulkhead_turn, [{0}_bulkhead_launch+{2}];
	cvta.to.global.u64 %bulkhead_turn, %bulkhead_turn;
	setp.ne.u32 %bulkhead_ahead, %bulkhead_sm, %bulkhead_sm;
)",
                       kernel, offsetof(PersistentLaunch, queue), offsetof(PersistentLaunch, turn));
}

/// What every thread that stays must know: whether it is the first of its block, and the grid that is meant.
std::string worker(std::string_view kernel) {
    return fmt::format(R"(
	mov.u32 %bulkhead_r2, %tid.x;
	mov.u32 %bulkhead_r3, %tid.y;
	or.b32 %bulkhead_r2, %bulkhead_r2, %bulkhead_r3;
	mov.u32 %bulkhead_r3, %tid.z;
	or.b32 %bulkhead_r2, %bulkhead_r2, %bulkhead_r3;
	setp.ne.u32 %bulkhead_other, %bulkhead_r2, 0;
	ld.param.u32 %bulkhead_nctaid_x, [{0}_bulkhead_launch+{1}];
	ld.param.u32 %bulkhead_nctaid_y, [{0}_bulkhead_launch+{2}];
	ld.param.u32 %bulkhead_nctaid_z, [{0}_bulkhead_launch+{3}];
	mul.lo.u32 %bulkhead_blocks, %bulkhead_nctaid_x, %bulkhead_nctaid_y;
	mul.lo.u32 %bulkhead_blocks, %bulkhead_blocks, %bulkhead_nctaid_z;
)",
                       kernel, offsetof(PersistentLaunch, grid), offsetof(PersistentLaunch, grid) + 4,
                       offsetof(PersistentLaunch, grid) + 8);
}

/// Names, and whether the SM is inside. Blocks outside are many and only pass by, and others wait for their room, so
/// they have as little to do as possible.
std::string preamble(std::string_view kernel) {
    return fmt::format(R"(
	.reg .pred %bulkhead_p<2>;
	.reg .pred %bulkhead_other, %bulkhead_ahead;
	.reg .b32 %bulkhead_r<5>;
	.reg .b32 %bulkhead_blocks, %bulkhead_sm, %bulkhead_fetched;
	.reg .b32 %bulkhead_ctaid_x, %bulkhead_ctaid_y, %bulkhead_ctaid_z;
	.reg .b32 %bulkhead_nctaid_x, %bulkhead_nctaid_y, %bulkhead_nctaid_z;
	.reg .b64 %bulkhead_queue, %bulkhead_turn, %bulkhead_q<3>;
	.shared .align 4 .u32 {0}_bulkhead_block;
	mov.u32 %bulkhead_sm, %smid;
	shr.u32 %bulkhead_r1, %bulkhead_sm, 5;
	mov.u64 %bulkhead_q1, {0}_bulkhead_launch;
	mad.wide.u32 %bulkhead_q1, %bulkhead_r1, 4, %bulkhead_q1;
	ld.param.u32 %bulkhead_r1, [%bulkhead_q1+{1}];
	and.b32 %bulkhead_r2, %bulkhead_sm, 31;
	bfe.u32 %bulkhead_r1, %bulkhead_r1, %bulkhead_r2, 1;
	setp.ne.u32 %bulkhead_p1, %bulkhead_r1, 0;
	@%bulkhead_p1 bra $bulkhead_inside;
)",
                       kernel, offsetof(PersistentLaunch, sms));
}

/// Whoever is outside leaves. Blocks start in the order of their numbers, so when the last of the row is there, the
/// others are, and those inside say so in less than a microsecond; if nobody does, the last one stays. It would do no
/// harm if somebody came later.
std::string outside(std::string_view kernel) {
    return fmt::format(R"(
	mov.u32 %bulkhead_r2, %ctaid.x;
	mov.u32 %bulkhead_r3, %nctaid.x;
	sub.u32 %bulkhead_r3, %bulkhead_r3, 1;
	setp.ne.u32 %bulkhead_p1, %bulkhead_r2, %bulkhead_r3;
	@%bulkhead_p1 bra $bulkhead_end;
{3}
	@%bulkhead_other bra $bulkhead_told;
{4}
	mov.u64 %bulkhead_q1, %clock64;
$bulkhead_wait:
	ld.volatile.global.u32 %bulkhead_r1, [%bulkhead_turn+{1}];
	setp.ne.u32 %bulkhead_p1, %bulkhead_r1, 0;
	@%bulkhead_p1 bra $bulkhead_tell;
	mov.u64 %bulkhead_q2, %clock64;
	sub.u64 %bulkhead_q2, %bulkhead_q2, %bulkhead_q1;
	setp.lt.u64 %bulkhead_p0, %bulkhead_q2, 20000;
	@%bulkhead_p0 bra $bulkhead_wait;
	red.global.add.u32 [%bulkhead_queue+{2}], 1;
$bulkhead_tell:
	st.shared.u32 [{0}_bulkhead_block], %bulkhead_r1;
$bulkhead_told:
	bar.sync 0;
	ld.shared.u32 %bulkhead_r1, [{0}_bulkhead_block];
	setp.ne.u32 %bulkhead_p1, %bulkhead_r1, 0;
	@%bulkhead_p1 bra $bulkhead_end;
	bra $bulkhead_next;
)",
                       kernel, byteOf(PersistentQueue::kInside), byteOf(PersistentQueue::kStrays), worker(kernel),
                       firstThread(kernel));
}

/// A block that is one too many on its SM goes on as if it had come too late for the last index.
std::string inside(std::string_view kernel) {
    return fmt::format(R"(
$bulkhead_inside:
{5}
	@%bulkhead_other bra $bulkhead_next;
{6}
	ld.param.u32 %bulkhead_r1, [{0}_bulkhead_launch+{3}];
	setp.eq.u32 %bulkhead_p1, %bulkhead_r1, 0;
	@%bulkhead_p1 bra $bulkhead_stay;
	mad.wide.u32 %bulkhead_q1, %bulkhead_sm, 4, %bulkhead_turn;
	atom.global.add.u32 %bulkhead_r2, [%bulkhead_q1+{4}], 1;
	mov.u32 %bulkhead_fetched, 4294967295;
	setp.ge.u32 %bulkhead_ahead, %bulkhead_r2, %bulkhead_r1;
	@%bulkhead_ahead bra $bulkhead_next;
$bulkhead_stay:
	mov.u32 %bulkhead_r1, 1;
	red.global.or.b32 [%bulkhead_turn+{2}], %bulkhead_r1;
	mad.wide.u32 %bulkhead_q1, %bulkhead_sm, 4, %bulkhead_queue;
	st.global.u32 [%bulkhead_q1+{1}], %bulkhead_r1;
)",
                       kernel, byteOf(PersistentQueue::kUsed), byteOf(PersistentQueue::kInside),
                       offsetof(PersistentLaunch, most), byteOf(PersistentQueue::kPlaced), worker(kernel),
                       firstThread(kernel));
}

/// All threads come in at the head of the loop: were some to jump into it, ptxas would not bring a warp's threads
/// together before the barrier there. Indices are fetched by `inc`: what `add` gives, ptxas shares out among the lanes
/// of a warp at once, and so waits for it before the block that should hide the wait.
std::string nextIndex(std::string_view kernel) {
    return fmt::format(R"(
$bulkhead_next:
	bar.sync 0;
	@%bulkhead_other bra $bulkhead_taken;
	@%bulkhead_ahead bra $bulkhead_fetched_ahead;
	atom.global.inc.u32 %bulkhead_fetched, [%bulkhead_turn+{1}], 4294967295;
$bulkhead_fetched_ahead:
	st.shared.u32 [{0}_bulkhead_block], %bulkhead_fetched;
	ld.param.u32 %bulkhead_r1, [{0}_bulkhead_launch+{2}];
	setp.lt.u32 %bulkhead_ahead, %bulkhead_fetched, %bulkhead_r1;
	@!%bulkhead_ahead bra $bulkhead_over;
	atom.global.inc.u32 %bulkhead_fetched, [%bulkhead_turn+{1}], 4294967295;
	bra $bulkhead_taken;
$bulkhead_over:
	setp.ne.u32 %bulkhead_p1, %bulkhead_fetched, %bulkhead_blocks;
	@%bulkhead_p1 bra $bulkhead_taken;
{3}
$bulkhead_taken:
	bar.sync 0;
	ld.shared.u32 %bulkhead_ctaid_x, [{0}_bulkhead_block];
	setp.ge.u32 %bulkhead_p1, %bulkhead_ctaid_x, %bulkhead_blocks;
	@%bulkhead_p1 bra $bulkhead_end;
	mov.u32 %bulkhead_ctaid_y, 0;
	mov.u32 %bulkhead_ctaid_z, 0;
	setp.lt.u32 %bulkhead_p1, %bulkhead_ctaid_x, %bulkhead_nctaid_x;
	@%bulkhead_p1 bra $bulkhead_body;
	div.u32 %bulkhead_r2, %bulkhead_ctaid_x, %bulkhead_nctaid_x;
	rem.u32 %bulkhead_ctaid_x, %bulkhead_ctaid_x, %bulkhead_nctaid_x;
	rem.u32 %bulkhead_ctaid_y, %bulkhead_r2, %bulkhead_nctaid_y;
	div.u32 %bulkhead_ctaid_z, %bulkhead_r2, %bulkhead_nctaid_y;
$bulkhead_body:
)",
                       kernel, byteOf(PersistentQueue::kNext), offsetof(PersistentLaunch, ahead), clear(kernel));
}

std::string prologue(std::string_view kernel) {
    return preamble(kernel) + outside(kernel) + inside(kernel) + nextIndex(kernel);
}

const char* const kEpilogue = "\n\tbra $bulkhead_next;\n$bulkhead_end:\n\tret;\n";

std::string parameter(const Function& kernel) {
    return fmt::format("{1}\n\t.param .align 8 .b8 {0}_bulkhead_launch[{2}]\n", kernel.name,
                       kernel.params.empty() ? "" : ",", sizeof(PersistentLaunch));
}

void rewriteKernel(const Module& module, const Function& kernel, const FunctionText& text, SourceEdit& edit) {
    expectBarriersForAll(module, kernel);
    if (text.parametersEnd) {
        edit.insert(text.parametersEnd, parameter(kernel));
    } else {
        edit.insert(text.name.data() + text.name.size(), "(" + parameter(kernel) + ")");
    }
    edit.insert(text.bodyBegin, prologue(kernel.name));
    for (const Instruction& i : kernel.body) {
        if (isLeave(i)) {
            // A guard, if there is one, stands before the opcode and stays.
            const std::size_t at = i.text.rfind(i.opcode);
            edit.replace(i.text.substr(at), "bra $bulkhead_next;");
        } else if (std::any_of(i.operands.begin(), i.operands.end(), readsBlockIndex)) {
            edit.replace(i.text, withBlockIndex(module, i));
        }
    }
    edit.insert(text.bodyEnd, kEpilogue);
}

}  // namespace

std::string withPersistentBlocks(const Module& module) {
    SourceEdit edit(*module.source);
    const std::vector<FunctionText> texts = functionTexts(module);
    for (const Function& function : module.functions) {
        if (function.isKernel) {
            if (const FunctionText* text = find(texts, function.name)) rewriteKernel(module, function, *text, edit);
            continue;
        }
        for (const Instruction& i : function.body)
            if (i.opcode == "exit" || std::any_of(i.operands.begin(), i.operands.end(), readsBlockIndex))
                refuse(module, i, "a function that asks for its block, or ends its thread, cannot be walled");
    }
    return edit.apply();
}

}  // namespace bulkhead::ptx
