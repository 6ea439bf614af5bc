#include "ptx/persistent_loop.h"

#include <fmt/format.h>

#include <cstddef>

#include "ptx/persistent_blocks.h"

namespace bulkhead::ptx {
namespace {

constexpr unsigned byteOf(unsigned word) {
    return 4 * word;
}

// Words that threads of a block share.
constexpr unsigned kIndex = 0;      ///< of the block to work at
constexpr unsigned kLeft = 1;       ///< threads that have left it
constexpr unsigned kLastPhase = 2;  ///< of the body's barrier
constexpr unsigned kWarps = 4;      ///< from here on one a warp: phases that its lanes have seen
constexpr unsigned kMaxWarps = 32;

// Bytes of what functions share with the loop.
constexpr unsigned kBlockIndex = 0;  ///< ctaid.x, .y, .z, nctaid.x, .y, .z
constexpr unsigned kCountAt = 24;    ///< where a thread counts phases: an address in local memory, the same for all

}  // namespace

std::string blockIndexRegister(std::string_view sreg) {
    return fmt::format("%bulkhead_{}_{}", sreg.substr(0, sreg.find('.')), sreg.back());
}

unsigned PersistentLoop::wordBytes() const {
    if (usesSlot) return 0;
    return byteOf(standIns ? kWarps + kMaxWarps : 1);
}

unsigned PersistentLoop::sharedBytes() const {
    return wordBytes() + (sharesWithFunctions() ? LoopOfCaller::kBytes : 0);
}

std::string PersistentLoop::word(unsigned number) const {
    return usesSlot ? fmt::format("[%bulkhead_slot+{}]", byteOf(number))
                    : fmt::format("[{}_bulkhead_words+{}]", kernel, byteOf(number));
}

std::string PersistentLoop::parameter(bool isOnly) const {
    return fmt::format("{1}\n\t.param .align 8 .b8 {0}_bulkhead_launch[{2}]\n", kernel, isOnly ? "" : ",",
                       sizeof(PersistentLaunch));
}

std::string PersistentLoop::leave() const {
    return fmt::format("bra $bulkhead_{};", hasWayOut() ? "leave" : "next");
}

std::string PersistentLoop::barrierOfBody(std::string_view guard) const {
    const std::string sync = fmt::format("{}{} {};", guard, standIns->sync, standIns->barrier);
    if (!standIns->inFunctions) return fmt::format("{}add.u32 %bulkhead_phase, %bulkhead_phase, 1; {}", guard, sync);
    return fmt::format(
        "{0}ld.local.u32 %bulkhead_phase, [{1}_bulkhead_phase]; {0}add.u32 %bulkhead_phase, %bulkhead_phase, 1; "
        "{0}st.local.u32 [{1}_bulkhead_phase], %bulkhead_phase; {2}",
        guard, kernel, sync);
}

std::string PersistentLoop::declarations() const {
    std::string text = R"(
	.reg .pred %bulkhead_p<2>;
	.reg .pred %bulkhead_other, %bulkhead_ahead;
	.reg .b32 %bulkhead_r<5>;
	.reg .b32 %bulkhead_blocks, %bulkhead_sm, %bulkhead_fetched;
	.reg .b32 %bulkhead_ctaid_x, %bulkhead_ctaid_y, %bulkhead_ctaid_z;
	.reg .b32 %bulkhead_nctaid_x, %bulkhead_nctaid_y, %bulkhead_nctaid_z;
	.reg .b64 %bulkhead_queue, %bulkhead_turn, %bulkhead_q<3>;
)";
    if (standIns) text += "\t.reg .b32 %bulkhead_phase, %bulkhead_warp, %bulkhead_threads;\n";
    if (standIns && standIns->inFunctions) text += fmt::format("\t.local .align 4 .b32 {}_bulkhead_phase;\n", kernel);
    if (usesSlot) return text + "\t.reg .b64 %bulkhead_slot;\n";
    return text +
           fmt::format("\t.shared .align {1} .b8 {0}_bulkhead_words[{2}];\n", kernel, standIns ? 16 : 4, wordBytes());
}

/// Blocks outside are many and only pass by, and others wait for their room, so they have as little to do as possible.
std::string PersistentLoop::isInside() const {
    return fmt::format(R"(
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

/// What the first thread of a block that stays must know: where to count, and that no index has been fetched yet.
std::string PersistentLoop::firstThread() const {
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
std::string PersistentLoop::worker() const {
    std::string text = fmt::format(R"(
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
    if (usesSlot)
        text += fmt::format(R"(
	ld.param.u64 %bulkhead_slot, [{0}_bulkhead_launch+{1}];
	cvta.to.global.u64 %bulkhead_slot, %bulkhead_slot;
	mov.u32 %bulkhead_r2, %ctaid.x;
	mad.wide.u32 %bulkhead_slot, %bulkhead_r2, 4, %bulkhead_slot;
)",
                            kernel, offsetof(PersistentLaunch, slots));
    return standIns ? text + standInWorker() : text;
}

/// Besides: how many threads the block has, where its warp's count is, and that no phase has been seen yet.
std::string PersistentLoop::standInWorker() const {
    std::string text = fmt::format(R"(
	mov.u32 %bulkhead_r1, %ntid.y;
	mov.u32 %bulkhead_r2, %tid.z;
	mov.u32 %bulkhead_r3, %tid.y;
	mad.lo.u32 %bulkhead_r2, %bulkhead_r2, %bulkhead_r1, %bulkhead_r3;
	mov.u32 %bulkhead_threads, %ntid.x;
	mov.u32 %bulkhead_r3, %tid.x;
	mad.lo.u32 %bulkhead_r2, %bulkhead_r2, %bulkhead_threads, %bulkhead_r3;
	mul.lo.u32 %bulkhead_threads, %bulkhead_threads, %bulkhead_r1;
	mov.u32 %bulkhead_r1, %ntid.z;
	mul.lo.u32 %bulkhead_threads, %bulkhead_threads, %bulkhead_r1;
	shr.u32 %bulkhead_r2, %bulkhead_r2, 5;
	mov.u32 %bulkhead_r1, {0}_bulkhead_words;
	mad.lo.u32 %bulkhead_warp, %bulkhead_r2, 4, %bulkhead_r1;
	mov.u32 %bulkhead_phase, 0;
	st.shared.u32 [%bulkhead_warp+{1}], %bulkhead_phase;
)",
                                   kernel, byteOf(kWarps));
    if (!standIns->inFunctions) return text;
    return text + fmt::format(R"(
	st.local.u32 [{0}_bulkhead_phase], %bulkhead_phase;
	mov.u64 %bulkhead_q1, {0}_bulkhead_phase;
	cvta.local.u64 %bulkhead_q1, %bulkhead_q1;
	st.shared.u64 [bulkhead_caller+{1}], %bulkhead_q1;
)",
                              kernel, kCountAt);
}

/// Whoever is outside leaves. Blocks start in the order of their numbers, so when the last of the row is there, the
/// others are, and those inside say so in less than a microsecond; if nobody does, the last one stays. It would do no
/// harm if somebody came later.
std::string PersistentLoop::outside() const {
    return fmt::format(R"(
	mov.u32 %bulkhead_r2, %ctaid.x;
	mov.u32 %bulkhead_r3, %nctaid.x;
	sub.u32 %bulkhead_r3, %bulkhead_r3, 1;
	setp.ne.u32 %bulkhead_p1, %bulkhead_r2, %bulkhead_r3;
	@%bulkhead_p1 bra $bulkhead_end;
{0}
	@%bulkhead_other bra $bulkhead_told;
{1}
	mov.u64 %bulkhead_q1, %clock64;
$bulkhead_wait:
	ld.volatile.global.u32 %bulkhead_r1, [%bulkhead_turn+{2}];
	setp.ne.u32 %bulkhead_p1, %bulkhead_r1, 0;
	@%bulkhead_p1 bra $bulkhead_tell;
	mov.u64 %bulkhead_q2, %clock64;
	sub.u64 %bulkhead_q2, %bulkhead_q2, %bulkhead_q1;
	setp.lt.u64 %bulkhead_p0, %bulkhead_q2, 20000;
	@%bulkhead_p0 bra $bulkhead_wait;
	red.global.add.u32 [%bulkhead_queue+{3}], 1;
$bulkhead_tell:
	st.{4}.u32 {5}, %bulkhead_r1;
$bulkhead_told:
	bar.sync {6};
	{7}
	setp.ne.u32 %bulkhead_p1, %bulkhead_r1, 0;
	@%bulkhead_p1 bra $bulkhead_end;
	bra $bulkhead_next;
)",
                       worker(), firstThread(), byteOf(PersistentQueue::kInside), byteOf(PersistentQueue::kStrays),
                       space(), word(kIndex), barrier, loadIndex("%bulkhead_r1"));
}

/// A block that is one too many on its SM goes on as if it had come too late for the last index.
std::string PersistentLoop::inside() const {
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
                       offsetof(PersistentLaunch, most), byteOf(PersistentQueue::kPlaced), worker(), firstThread());
}

/// Clears the turn of the launch before. The first that finds no more indices does: it has nothing else to do, and is
/// inside, where no neighbour's accesses come before its own.
std::string PersistentLoop::clear() const {
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

/// With it, where threads stand in, that nobody has left the block and that no phase is the last.
std::string PersistentLoop::storeIndex() const {
    if (!standIns) return fmt::format("st.{}.u32 {}, %bulkhead_fetched;", space(), word(kIndex));
    return fmt::format(
        "mov.u32 %bulkhead_r1, 0; mov.u32 %bulkhead_r2, 4294967295; "
        "st.shared.v4.u32 {}, {{%bulkhead_fetched, %bulkhead_r1, %bulkhead_r2, %bulkhead_r1}};",
        word(kIndex));
}

/// Caches of an SM need not see what is written to memory.
std::string PersistentLoop::loadIndex(std::string_view reg) const {
    return fmt::format("ld{}.u32 {}, {};", usesSlot ? ".volatile.global" : ".shared", reg, word(kIndex));
}

/// All threads come in at the head of the loop: were some to jump into it, ptxas would not bring a warp's threads
/// together before the barrier there. Indices are fetched by `inc`: what `add` gives, ptxas shares out among the lanes
/// of a warp at once, and so waits for it before the block that should hide the wait.
std::string PersistentLoop::nextIndex() const {
    std::string text = fmt::format(R"(
$bulkhead_next:
	bar.sync {5};
	@%bulkhead_other bra $bulkhead_taken;
	@%bulkhead_ahead bra $bulkhead_fetched_ahead;
	atom.global.inc.u32 %bulkhead_fetched, [%bulkhead_turn+{1}], 4294967295;
$bulkhead_fetched_ahead:
	{4}
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
	bar.sync {5};
	{6}
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
                                   kernel, byteOf(PersistentQueue::kNext), offsetof(PersistentLaunch, ahead), clear(),
                                   storeIndex(), barrier, loadIndex("%bulkhead_ctaid_x"));
    if (!functionsAskForBlock) return text;
    // Each thread, so that it needs no barrier to read what it wrote; all write the same.
    return text + fmt::format(R"(
	st.shared.v4.u32 [bulkhead_caller+{0}], {{%bulkhead_ctaid_x, %bulkhead_ctaid_y, %bulkhead_ctaid_z, %bulkhead_nctaid_x}};
	st.shared.v2.u32 [bulkhead_caller+{1}], {{%bulkhead_nctaid_y, %bulkhead_nctaid_z}};
)",
                              kBlockIndex, kBlockIndex + 16);
}

/// Between the body and the head of the loop.
std::string PersistentLoop::wayOut() const {
    std::string text = "$bulkhead_leave:\n";
    if (copiesAsynchronously) text += "\tcp.async.wait_all;\n";
    if (!standIns) return text;
    if (standIns->inFunctions) text += fmt::format("\tld.local.u32 %bulkhead_phase, [{}_bulkhead_phase];\n", kernel);
    text += fmt::format(R"(
	red.shared.max.u32 [%bulkhead_warp+{0}], %bulkhead_phase;
	ld.volatile.shared.u32 %bulkhead_phase, [%bulkhead_warp+{0}];
	atom.shared.add.u32 %bulkhead_r1, {1}, 1;
	add.u32 %bulkhead_r1, %bulkhead_r1, 1;
	setp.ne.u32 %bulkhead_p1, %bulkhead_r1, %bulkhead_threads;
	@%bulkhead_p1 bra $bulkhead_stand_in;
	st.shared.u32 {2}, %bulkhead_phase;
$bulkhead_stand_in:
	{3} {4};
	ld.volatile.shared.u32 %bulkhead_r1, {2};
	setp.ne.u32 %bulkhead_p1, %bulkhead_r1, %bulkhead_phase;
	add.u32 %bulkhead_phase, %bulkhead_phase, 1;
	@%bulkhead_p1 bra $bulkhead_stand_in;
)",
                        byteOf(kWarps), word(kLeft), word(kLastPhase), standIns->sync, standIns->barrier);
    if (standIns->inFunctions) text += fmt::format("\tst.local.u32 [{}_bulkhead_phase], %bulkhead_phase;\n", kernel);
    return text;
}

std::string PersistentLoop::prologue() const {
    return declarations() + isInside() + outside() + inside() + nextIndex();
}

std::string PersistentLoop::epilogue() const {
    return fmt::format("\n{}\tbra $bulkhead_next;\n$bulkhead_end:\n\tret;\n", hasWayOut() ? wayOut() : "");
}

std::string_view LoopOfCaller::declaration() {
    static const std::string text = fmt::format(".shared .align 16 .b8 bulkhead_caller[{}];\n", kBytes);
    return text;
}

std::string_view LoopOfCaller::registers() {
    return "\n\t.reg .b32 %bulkhead_ctaid_x, %bulkhead_ctaid_y, %bulkhead_ctaid_z;\n"
           "\t.reg .b32 %bulkhead_nctaid_x, %bulkhead_nctaid_y, %bulkhead_nctaid_z, %bulkhead_phase;\n"
           "\t.reg .b64 %bulkhead_count_at;\n";
}

std::string LoopOfCaller::load(std::string_view sreg) {
    const unsigned dimension = static_cast<unsigned>(sreg.back() - 'x');
    return fmt::format("ld.volatile.shared.u32 {}, [bulkhead_caller+{}]; ", blockIndexRegister(sreg),
                       kBlockIndex + byteOf(dimension + (sreg.starts_with("n") ? 3 : 0)));
}

/// The address is a generic one. Through one of local memory, ptxas does not see that a variable of the kernel's is
/// meant, and keeps that in a register.
std::string LoopOfCaller::barrier(std::string_view guard, const PersistentLoop::StandIns& standIns) {
    return fmt::format(
        "{0}ld.volatile.shared.u64 %bulkhead_count_at, [bulkhead_caller+{1}]; "
        "{0}ld.u32 %bulkhead_phase, [%bulkhead_count_at]; {0}add.u32 %bulkhead_phase, %bulkhead_phase, 1; "
        "{0}st.u32 [%bulkhead_count_at], %bulkhead_phase; {0}{2} {3};",
        guard, kCountAt, standIns.sync, standIns.barrier);
}

}  // namespace bulkhead::ptx
