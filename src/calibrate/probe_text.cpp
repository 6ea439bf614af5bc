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

std::string ptxOf(const ProbeText& probe) {
    // Of each warp and round, when it began and ended: result[((round x blocks + block) x warps + warp) x 2]. Behind
    // them, %sink is a line of every warp's own, so that no two wait for each other.
    return fmt::format(R"({}{}
.visible .entry probe(.param .u64 result, .param .u64 input, .param .u64 region, .param .u64 count,
                      .param .u32 rounds, .param .u32 repeats)
{{
.reg .pred %p<8>, %again, %first;
.reg .b32 %r<32>, %rounds, %repeats, %left, %round, %lane, %warp, %warps, %thread, %block, %blocks, %index, %threads;
.reg .b64 %d<32>, %input, %region, %count, %sink, %result, %slot, %wide, %begin, %end;
ld.param.u64 %result, [result];
ld.param.u64 %input, [input];
ld.param.u64 %region, [region];
ld.param.u64 %count, [count];
ld.param.u32 %rounds, [rounds];
ld.param.u32 %repeats, [repeats];
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
mul.lo.u32 %left, %blocks, %warps;
mul.lo.u32 %left, %left, %rounds;
mul.wide.u32 %sink, %left, 16;
mul.wide.u32 %wide, %index, 128;
add.u64 %sink, %sink, %wide;
add.u64 %sink, %sink, %result;
mul.wide.u32 %wide, %lane, 4;
and.b64 %wide, %wide, -8;
add.u64 %sink, %sink, %wide;
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
                       kPtxHead, probe.module, probe.setup, probe.perRound, probe.body, probe.awaited);
}

}  // namespace bulkhead::calibrate
