#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

enum class Move { read, write, copy };

/// All threads of the GPU move bytes in pieces of 16, each warp whole lines, four at a time; `passes` times over.
std::string streamText(Move move) {
    constexpr unsigned kAhead = 4;
    std::string loads, stores;
    for (unsigned i = 0; i < kAhead; ++i) {
        loads += fmt::format("ld.global.cg.v4.u32 {{%r{}, %r{}, %r{}, %r{}}}, [%d{}];\n", 4 * i, 4 * i + 1, 4 * i + 2,
                             4 * i + 3, 10 + i);
        stores += fmt::format("st.global.v4.u32 [%d{}], {{%r{}, %r{}, %r{}, %r{}}};\n",
                              (move == Move::copy ? 14 : 10) + i, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
    }
    std::string used;
    for (unsigned i = 0; i < 4 * kAhead; ++i) used += fmt::format("xor.b32 %r20, %r20, %r{};\n", i);
    std::string clear;
    for (unsigned i = 0; i < 4 * kAhead; ++i) clear += fmt::format("mov.u32 %r{}, 0;\n", i);
    std::string addresses = "add.u64 %d10, %d0, %d5;\n";
    for (unsigned i = 1; i < kAhead; ++i) addresses += fmt::format("add.u64 %d{}, %d{}, %d4;\n", 10 + i, 9 + i);
    if (move == Move::copy)
        for (unsigned i = 0; i < kAhead; ++i) addresses += fmt::format("add.u64 %d{}, %d{}, %d3;\n", 14 + i, 10 + i);
    return fmt::format(R"({}
.visible .entry move(.param .u64 from, .param .u64 bytes, .param .u64 apart, .param .u32 passes, .param .u64 sink)
{{
.reg .pred %p<4>;
.reg .b32 %r<32>;
.reg .b64 %d<24>;
ld.param.u64 %d0, [from];
ld.param.u64 %d1, [bytes];
ld.param.u64 %d3, [apart];
ld.param.u32 %r21, [passes];
ld.param.u64 %d8, [sink];
mov.u32 %r22, %ctaid.x;
mov.u32 %r23, %ntid.x;
mov.u32 %r24, %tid.x;
mov.u32 %r25, %nctaid.x;
mad.lo.u32 %r26, %r22, %r23, %r24;
mul.lo.u32 %r27, %r25, %r23;
mul.wide.u32 %d4, %r27, 16;
mul.lo.u64 %d6, %d4, {};
mov.u32 %r20, 0;
{}PASS:
mul.wide.u32 %d5, %r26, 16;
MOVE:
{}{}{}add.u64 %d5, %d5, %d6;
setp.lt.u64 %p0, %d5, %d1;
@%p0 bra MOVE;
sub.u32 %r21, %r21, 1;
setp.ne.u32 %p0, %r21, 0;
@%p0 bra PASS;
setp.eq.u32 %p1, %r20, 12345;
@%p1 st.global.u32 [%d8], %r20;
ret;
}}
)",
                       kPtxHead, kAhead, clear, addresses, move == Move::write ? "" : loads + used,
                       move == Move::read ? "" : stores);
}

/// A grid that fills the GPU, and the bytes that one turn of its threads moves.
struct Stream {
    gpu::Kernel kernel;
    unsigned blocks = 0;
    static constexpr unsigned kThreads = 512;

    Stream(Bench& b, Move move) : kernel(b.kernel(streamText(move), "move")) {
        blocks = b.sms() * static_cast<unsigned>(std::max(1, kernel.blocksPerSm(kThreads)));
    }
    Bytes turn() const { return Bytes{blocks} * kThreads * 64; }
    Bytes rounded(Bytes bytes) const { return std::max<Bytes>(1, (bytes + turn() / 2) / turn()) * turn(); }
    void launch(Bench& b, std::uint64_t from, Bytes bytes, Bytes apart, std::uint32_t passes, std::uint64_t sink) {
        kernel.launch(b.stream(), {blocks}, {kThreads}, 0, from, bytes, apart, passes, sink);
    }
};

}  // namespace

void measureL2Bandwidth(Session& s) {
    Bench& b = s.bench();
    Stream stream(b, Move::read);
    const gpu::Buffer sink = b.context().allocate(64);
    // A part of L2 that stays even where sides keep copies of each other's lines.
    const Bytes bytes = stream.rounded(b.gpu().info().l2Bytes / 4);
    const gpu::Buffer memory = b.context().allocate(bytes);
    const auto seconds = [&](std::uint32_t passes) {
        return b.secondsOf([&] { stream.launch(b, memory.address(), bytes, 0, passes, sink.address()); });
    };
    // As many passes as make the time of a launch small beside them.
    const auto passes =
        b.effort<std::uint32_t>(2, static_cast<std::uint32_t>(std::clamp<Bytes>(8_GiB / bytes, 4, 4000)));
    const double rate = static_cast<double>(bytes) * passes / (seconds(2 * passes) - seconds(passes));
    s.foundOther("L2 read bandwidth", rate / 1e9, "GB/s",
                 fmt::format("of {:.4g} MB", static_cast<double>(bytes) / 1e6));
    // Ports of SMs or of slices, whichever are fewer, each a response at a time.
    const double ports = std::min(s.known("sm.count"), static_cast<double>(s.base().map.slices()));
    const double width = s.known("crossbar.responseBytesPerCycle");
    s.found("clock.l2MHz", rate / (ports * width) / 1e6,
            fmt::format("{:.0f} ports of {:.0f} B a cycle would have this clock", ports, width));
}

void measureDramBandwidth(Session& s) {
    Bench& b = s.bench();
    const gpu::Buffer sink = b.context().allocate(64);
    const Bytes l2 = b.gpu().info().l2Bytes;
    const auto report = [&](Move move, const char* name) {
        Stream stream(b, move);
        // Twice what L2 holds goes before, so that it is full of what is moved; as much again is timed.
        const Bytes some = stream.rounded(b.effort<Bytes>(std::max<Bytes>(l2, 4_MiB), std::max<Bytes>(8 * l2, 1_GiB)));
        const Bytes all = 3 * some;
        const gpu::Buffer from = b.context().allocate(all + 256);
        const gpu::Buffer to = b.context().allocate(move == Move::copy ? all + 256 : 256);
        const std::uint64_t apart = to.address() - from.address();
        const auto move1 = [&](Bytes bytes) {
            return b.secondsOf([&] { stream.launch(b, from.address(), bytes, apart, 1, sink.address()); });
        };
        const double taken = move1(3 * some) - move1(2 * some);
        const double rate = (move == Move::copy ? 2.0 : 1.0) * static_cast<double>(some) / taken;
        s.foundOther(name, rate / 1e9, "GB/s");
        return rate;
    };
    const double read = report(Move::read, "DRAM read bandwidth");
    report(Move::write, "DRAM write bandwidth");
    report(Move::copy, "DRAM copy bandwidth, read and written");
    // Channels move at most a burst in so many cycles: what is lost to rows and refreshes is less than one.
    const arch::DeviceProfile& p = s.base();
    const double burstsPerSecond = p.map.channels() * s.known("clock.memoryMHz") * 1e6;
    const double cycles = burstsPerSecond * static_cast<double>(p.dram.burstBytes) / read;
    s.found("dram.tCCD", std::max(1.0, std::floor(1.02 * cycles)),
            fmt::format("{:.3g} memory cycles a burst of a channel", cycles));
}

}  // namespace bulkhead::calibrate
