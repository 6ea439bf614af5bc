#include "calibrate/probe_text.h"

#include <fmt/format.h>

namespace bulkhead::calibrate {

// As the project's other device code: PTX 6.3 has the warp instructions with masks.
const char* const kPtxHead = ".version 6.3\n.target sm_60\n.address_size 64\n";

std::string await32(const std::string& name) {
    return fmt::format("st.volatile.global.b32 [%sink], {};\n", name);
}

std::string await64(const std::string& name) {
    return fmt::format("st.volatile.global.b64 [%sink], {};\n", name);
}

namespace {

/// What every probe knows of itself. %sink is a line of every warp's own behind all results, which are four words a
/// warp and round at most, and as many a block.
constexpr const char* kOpening = R"(.reg .pred %p<8>, %again, %first;
.reg .b32 %r<32>, %rounds, %repeats, %left, %round, %lane, %warp, %warps, %thread, %block, %blocks, %index, %threads;
.reg .b64 %d<32>, %input, %region, %count, %sink, %result, %slot, %wide, %begin, %end, %until, %last;
ld.param.u64 %result, [result];
ld.param.u64 %input, [input];
ld.param.u64 %region, [region];
ld.param.u64 %count, [count];
ld.param.u32 %rounds, [rounds];
mov.u32 %thread, %tid.x;
mov.u32 %block, %ctaid.x;
mov.u32 %blocks, %nctaid.x;
mov.u32 %threads, %ntid.x;
and.b32 %lane, %thread, 31;
shr.u32 %warp, %thread, 5;
add.u32 %warps, %threads, 31;
shr.u32 %warps, %warps, 5;
setp.eq.u32 %first, %lane, 0;
mul.wide.u32 %wide, %lane, 128;
add.u64 %input, %input, %wide;
mad.lo.u32 %index, %block, %warps, %warp;
mad.lo.u32 %left, %blocks, %warps, %blocks;
mul.lo.u32 %left, %left, %rounds;
mul.wide.u32 %sink, %left, 32;
mul.wide.u32 %wide, %index, 128;
add.u64 %sink, %sink, %wide;
add.u64 %sink, %sink, %result;
and.b32 %left, %lane, 30;
mul.wide.u32 %wide, %left, 4;
add.u64 %sink, %sink, %wide;
)";

}  // namespace

std::string ptxOf(const ProbeText& probe) {
    // Of each warp and round, when it began and ended: result[((round x blocks + block) x warps + warp) x 2].
    return fmt::format(R"({}{}
.visible .entry probe(.param .u64 result, .param .u64 input, .param .u64 region, .param .u64 count,
                      .param .u32 rounds, .param .u32 repeats)
{{
{}ld.param.u32 %repeats, [repeats];
mov.u32 %round, 0;
{}ROUND:
{}bar.sync 0;
mov.u64 %begin, %clock64;
mov.u32 %left, %repeats;
REPEAT:
.pragma "nounroll";
{}sub.u32 %left, %left, 1;
setp.ne.u32 %again, %left, 0;
@%again bra REPEAT;
{}mov.u64 %end, %clock64;
bar.sync 0;
mad.lo.u32 %left, %round, %blocks, %block;
mad.lo.u32 %left, %left, %warps, %warp;
mul.wide.u32 %slot, %left, 16;
add.u64 %slot, %slot, %result;
@%first st.global.u64 [%slot], %begin;
@%first st.global.u64 [%slot+8], %end;
add.u32 %round, %round, 1;
setp.lt.u32 %again, %round, %rounds;
@%again bra ROUND;
ret;
}}
)",
                       kPtxHead, probe.module, kOpening, probe.setup, probe.perRound, probe.body, probe.awaited);
}

std::string ratePtxOf(const ProbeText& probe) {
    // Of each warp: when it began, how often it repeated the body, when the last time began and ended. Behind those of
    // all warps of a block, the time until which they do: result[(block x (warps + 1) + warp) x 4].
    return fmt::format(R"({}{}
.visible .entry rate(.param .u64 result, .param .u64 input, .param .u64 region, .param .u64 count,
                     .param .u32 rounds, .param .u64 duration)
{{
.shared .align 8 .b64 deadline;
{}{}{}mov.u32 %round, 0;
setp.ne.u32 %again, %thread, 0;
bar.sync 0;
@%again bra READY;
ld.param.u64 %wide, [duration];
mov.u64 %until, %clock64;
add.u64 %until, %until, %wide;
st.volatile.shared.u64 [deadline], %until;
READY:
bar.sync 0;
ld.volatile.shared.u64 %until, [deadline];
mov.u64 %begin, %clock64;
mov.u64 %end, %begin;
REPEAT:
.pragma "nounroll";
mov.u64 %last, %end;
{}mov.u64 %end, %clock64;
add.u32 %round, %round, 1;
setp.lt.u64 %again, %end, %until;
@%again bra REPEAT;
{}mad.lo.u32 %left, %block, %warps, %warp;
add.u32 %left, %left, %block;
mul.wide.u32 %slot, %left, 32;
add.u64 %slot, %slot, %result;
cvt.u64.u32 %wide, %round;
@%first st.global.u64 [%slot], %begin;
@%first st.global.u64 [%slot+8], %wide;
@%first st.global.u64 [%slot+16], %last;
@%first st.global.u64 [%slot+24], %end;
sub.u32 %left, %warps, %warp;
mul.wide.u32 %wide, %left, 32;
add.u64 %slot, %slot, %wide;
@%first st.global.u64 [%slot], %until;
ret;
}}
)",
                       kPtxHead, probe.module, kOpening, probe.setup, probe.perRound, probe.body, probe.awaited);
}

void addChains(ProbeText& text, unsigned chains, std::uint32_t length, const std::string& load, char registers) {
    for (unsigned c = 0; c < chains; ++c) text.setup += fmt::format("{0} %{1}{2}, [%{1}8];\n", load, registers, c);
    for (std::uint32_t i = 0; i < length; ++i)
        for (unsigned c = 0; c < chains; ++c) text.body += fmt::format("{0} %{1}{2}, [%{1}{2}];\n", load, registers, c);
    for (unsigned c = 0; c < chains; ++c) {
        const std::string name = fmt::format("%{}{}", registers, c);
        text.awaited += registers == 'd' ? await64(name) : await32(name);
    }
}

}  // namespace bulkhead::calibrate
