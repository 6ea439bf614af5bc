#include "ptx/persistent_blocks.h"

#include <fmt/format.h>

#include <algorithm>

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

/// Indices are fetched by `inc`: what `add` gives, ptxas shares out among the lanes of a warp at once, and so waits for it
/// before the block that should hide the wait.
std::string prologue(std::string_view kernel) {
    return fmt::format(R"(
	.reg .pred %bulkhead_p<3>;
	.reg .b32 %bulkhead_r<5>;
	.reg .b32 %bulkhead_fetched;
	.reg .b32 %bulkhead_ctaid_x, %bulkhead_ctaid_y, %bulkhead_ctaid_z;
	.reg .b32 %bulkhead_nctaid_x, %bulkhead_nctaid_y, %bulkhead_nctaid_z;
	.reg .b64 %bulkhead_q<2>;
	.shared .align 4 .u32 {0}_bulkhead_block;
	.shared .align 4 .u32 {0}_bulkhead_stray;
	ld.param.u64 %bulkhead_q0, [{0}_bulkhead_queue];
	cvta.to.global.u64 %bulkhead_q0, %bulkhead_q0;
	ld.param.u32 %bulkhead_nctaid_x, [{0}_bulkhead_grid_x];
	ld.param.u32 %bulkhead_nctaid_y, [{0}_bulkhead_grid_y];
	ld.param.u32 %bulkhead_nctaid_z, [{0}_bulkhead_grid_z];
	mul.lo.u32 %bulkhead_r0, %bulkhead_nctaid_x, %bulkhead_nctaid_y;
	mul.lo.u32 %bulkhead_r0, %bulkhead_r0, %bulkhead_nctaid_z;
	mov.u32 %bulkhead_r1, %tid.x;
	mov.u32 %bulkhead_r2, %tid.y;
	or.b32 %bulkhead_r1, %bulkhead_r1, %bulkhead_r2;
	mov.u32 %bulkhead_r2, %tid.z;
	or.b32 %bulkhead_r1, %bulkhead_r1, %bulkhead_r2;
	setp.ne.u32 %bulkhead_p0, %bulkhead_r1, 0;
	mov.u32 %bulkhead_r1, %smid;
	shr.u32 %bulkhead_r2, %bulkhead_r1, 5;
	mul.wide.u32 %bulkhead_q1, %bulkhead_r2, 4;
	add.u64 %bulkhead_q1, %bulkhead_q0, %bulkhead_q1;
	ld.global.u32 %bulkhead_r2, [%bulkhead_q1+{1}];
	and.b32 %bulkhead_r3, %bulkhead_r1, 31;
	mov.u32 %bulkhead_r1, 1;
	shl.b32 %bulkhead_r1, %bulkhead_r1, %bulkhead_r3;
	and.b32 %bulkhead_r2, %bulkhead_r2, %bulkhead_r1;
	mov.u32 %bulkhead_r4, 0;
	setp.ne.u32 %bulkhead_p1, %bulkhead_r2, 0;
	@%bulkhead_p1 bra $bulkhead_inside;
	@%bulkhead_p0 bra $bulkhead_told;
	atom.global.add.u32 %bulkhead_r2, [%bulkhead_q0+{4}], 1;
	mov.u32 %bulkhead_r3, %nctaid.x;
	sub.u32 %bulkhead_r3, %bulkhead_r3, 1;
	setp.ne.u32 %bulkhead_p1, %bulkhead_r2, %bulkhead_r3;
	@%bulkhead_p1 bra $bulkhead_tell;
	ld.volatile.global.u32 %bulkhead_r2, [%bulkhead_q0+{2}];
	setp.lt.u32 %bulkhead_p1, %bulkhead_r2, %bulkhead_r0;
	selp.u32 %bulkhead_r4, 1, 0, %bulkhead_p1;
	red.global.add.u32 [%bulkhead_q0+{5}], %bulkhead_r4;
	@%bulkhead_p1 bra $bulkhead_tell;
	mov.u32 %bulkhead_r2, 0;
	st.global.u32 [%bulkhead_q0+{2}], %bulkhead_r2;
	st.global.u32 [%bulkhead_q0+{4}], %bulkhead_r2;
$bulkhead_tell:
	st.shared.u32 [{0}_bulkhead_block], %bulkhead_r4;
$bulkhead_told:
	bar.sync 0;
	ld.shared.u32 %bulkhead_r4, [{0}_bulkhead_block];
	setp.eq.u32 %bulkhead_p1, %bulkhead_r4, 0;
	@%bulkhead_p1 bra $bulkhead_end;
$bulkhead_inside:
	@%bulkhead_p0 bra $bulkhead_next;
	red.global.or.b32 [%bulkhead_q1+{3}], %bulkhead_r1;
	st.shared.u32 [{0}_bulkhead_stray], %bulkhead_r4;
	atom.global.inc.u32 %bulkhead_fetched, [%bulkhead_q0+{2}], 4294967295;
$bulkhead_next:
	bar.sync 0;
	@%bulkhead_p0 bra $bulkhead_taken;
	st.shared.u32 [{0}_bulkhead_block], %bulkhead_fetched;
	atom.global.inc.u32 %bulkhead_fetched, [%bulkhead_q0+{2}], 4294967295;
$bulkhead_taken:
	bar.sync 0;
	ld.shared.u32 %bulkhead_ctaid_x, [{0}_bulkhead_block];
	setp.ge.u32 %bulkhead_p1, %bulkhead_ctaid_x, %bulkhead_r0;
	@%bulkhead_p1 bra $bulkhead_leave;
	mov.u32 %bulkhead_ctaid_y, 0;
	mov.u32 %bulkhead_ctaid_z, 0;
	setp.lt.u32 %bulkhead_p2, %bulkhead_ctaid_x, %bulkhead_nctaid_x;
	@%bulkhead_p2 bra $bulkhead_body;
	div.u32 %bulkhead_r2, %bulkhead_ctaid_x, %bulkhead_nctaid_x;
	rem.u32 %bulkhead_ctaid_x, %bulkhead_ctaid_x, %bulkhead_nctaid_x;
	rem.u32 %bulkhead_ctaid_y, %bulkhead_r2, %bulkhead_nctaid_y;
	div.u32 %bulkhead_ctaid_z, %bulkhead_r2, %bulkhead_nctaid_y;
$bulkhead_body:
)",
                       kernel, 4 * PersistentQueue::kSms, 4 * PersistentQueue::kNext, 4 * PersistentQueue::kUsed,
                       4 * PersistentQueue::kDone, 4 * PersistentQueue::kStrays);
}

std::string epilogue(std::string_view kernel) {
    return fmt::format(R"(
	bra $bulkhead_next;
$bulkhead_leave:
	@%bulkhead_p0 bra $bulkhead_end;
	membar.gl;
	ld.shared.u32 %bulkhead_r2, [{0}_bulkhead_stray];
	setp.ne.u32 %bulkhead_p1, %bulkhead_r2, 0;
	@%bulkhead_p1 bra $bulkhead_reset;
	atom.global.add.u32 %bulkhead_r2, [%bulkhead_q0+{2}], 1;
	mov.u32 %bulkhead_r3, %nctaid.x;
	sub.u32 %bulkhead_r3, %bulkhead_r3, 1;
	setp.ne.u32 %bulkhead_p1, %bulkhead_r2, %bulkhead_r3;
	@%bulkhead_p1 bra $bulkhead_end;
$bulkhead_reset:
	mov.u32 %bulkhead_r2, 0;
	st.global.u32 [%bulkhead_q0+{1}], %bulkhead_r2;
	st.global.u32 [%bulkhead_q0+{2}], %bulkhead_r2;
$bulkhead_end:
	ret;
)",
                       kernel, 4 * PersistentQueue::kNext, 4 * PersistentQueue::kDone);
}

std::string parameters(const Function& kernel) {
    return fmt::format(
        "{1}\n\t.param .u64 {0}_bulkhead_queue,\n\t.param .u32 {0}_bulkhead_grid_x,\n\t.param .u32 {0}_bulkhead_grid_y,"
        "\n\t.param .u32 {0}_bulkhead_grid_z\n",
        kernel.name, kernel.params.empty() ? "" : ",");
}

void rewriteKernel(const Module& module, const Function& kernel, const FunctionText& text, SourceEdit& edit) {
    expectBarriersForAll(module, kernel);
    if (text.parametersEnd) {
        edit.insert(text.parametersEnd, parameters(kernel));
    } else {
        edit.insert(text.name.data() + text.name.size(), "(" + parameters(kernel) + ")");
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
    edit.insert(text.bodyEnd, epilogue(kernel.name));
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
