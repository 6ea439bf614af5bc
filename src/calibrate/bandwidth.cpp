#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

enum class Move { read, write, copy };

constexpr unsigned kAhead = 8;  ///< accesses of a thread under way

/// All threads of the GPU move bytes in pieces of 16, each warp whole lines, several at a time; `passes` times over.
/// `stride`: what all of them move at once.
std::string streamText(Move move, Bytes stride) {
    std::string loads, uses, stores, clear;
    for (unsigned i = 0; i < kAhead; ++i) {
        const std::string words = fmt::format("{{%r{}, %r{}, %r{}, %r{}}}", 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
        loads += fmt::format("ld.global.cg.v4.u32 {}, [%d0+{}];\n", words, i * stride);
        stores += fmt::format("st.global.v4.u32 [%d{}+{}], {};\n", move == Move::copy ? 1 : 0, i * stride, words);
        // Nothing that is loaded may be left out: XOR of three, as one instruction.
        for (unsigned word = 4 * i; word < 4 * i + 4; word += 2)
            uses += fmt::format("lop3.b32 %r40, %r40, %r{}, %r{}, 0x96;\n", word, word + 1);
        for (unsigned word = 4 * i; word < 4 * i + 4; ++word) clear += fmt::format("mov.u32 %r{}, 0;\n", word);
    }
    const std::string body = move == Move::read    ? loads + uses
                             : move == Move::write ? stores
                                                   : loads + stores + "add.u64 %d1, %d1, %d6;\n";
    return fmt::format(R"({}
.visible .entry move(.param .u64 from, .param .u64 bytes, .param .u64 apart, .param .u32 passes, .param .u64 sink)
{{
.reg .pred %p<4>;
.reg .b32 %r<48>;
.reg .b64 %d<12>;
ld.param.u64 %d2, [from];
ld.param.u64 %d3, [bytes];
ld.param.u64 %d4, [apart];
ld.param.u32 %r41, [passes];
ld.param.u64 %d8, [sink];
mov.u32 %r42, %ctaid.x;
mov.u32 %r43, %ntid.x;
mov.u32 %r44, %tid.x;
mad.lo.u32 %r45, %r42, %r43, %r44;
add.u64 %d5, %d2, %d3;
mul.wide.u32 %d7, %r45, 16;
add.u64 %d2, %d2, %d7;
mov.u64 %d6, {};
mov.u32 %r40, 0;
{}PASS:
mov.u64 %d0, %d2;
add.u64 %d1, %d2, %d4;
MOVE:
{}add.u64 %d0, %d0, %d6;
setp.lt.u64 %p0, %d0, %d5;
@%p0 bra MOVE;
sub.u32 %r41, %r41, 1;
setp.ne.u32 %p0, %r41, 0;
@%p0 bra PASS;
setp.eq.u32 %p1, %r40, 12345;
@%p1 st.global.u32 [%d8], %r40;
ret;
}}
)",
                       kPtxHead, kAhead * stride, clear, body);
}

/// A block on every SM, and the bytes that one turn of its threads moves: more under way than any latency asks for.
class MovingGrid {
  public:
    /// One that moves at most so much at once, if blocks need not be small for that.
    MovingGrid(Session& s, Move move, Bytes most)
        : bench_(s.bench()), move_(move), blocks_(bench_.sms()), threads_(bench_.threadsPerBlock()) {
        while (threads_ > 256 && turn() > most) threads_ /= 2;
        while (threads_ > 32 && kernel().blocksPerSm(threads_) == 0) threads_ /= 2;
    }
    Bytes turn() const { return kAhead * stride(); }
    /// Whole turns.
    Bytes rounded(Bytes bytes) const { return std::max<Bytes>(1, (bytes + turn() / 2) / turn()) * turn(); }
    void launch(std::uint64_t from, Bytes bytes, Bytes apart, std::uint32_t passes, std::uint64_t sink) {
        kernel().launch(bench_.stream(), {blocks_}, {threads_}, 0, from, bytes, apart, passes, sink);
    }

  private:
    Bytes stride() const { return Bytes{blocks_} * threads_ * 16; }
    gpu::Kernel kernel() { return bench_.kernel(streamText(move_, stride()), "move"); }

    Bench& bench_;
    Move move_;
    unsigned blocks_, threads_;
};

/// Bytes a second that go through DRAM while more than L2 holds is moved.
double dramRate(Session& s, Move move, std::uint64_t sink) {
    Bench& b = s.bench();
    MovingGrid grid(s, move, b.effort<Bytes>(2_MiB, ~Bytes{0}));
    const Bytes l2 = b.gpu().info().l2Bytes;
    // What is written stays in L2 until that is full: as much goes before. What is read was never there.
    const Bytes before = grid.rounded(b.effort<Bytes>(move == Move::read ? 4_MiB : l2, 2 * l2));
    const Bytes timed = grid.rounded(
        b.effort<Bytes>(move == Move::read ? 16_MiB : std::max<Bytes>(l2, 4_MiB), std::max<Bytes>(8 * l2, 1_GiB)));
    const gpu::Buffer from = b.freshMemory(2 * (before + timed));
    const gpu::Buffer to = b.freshMemory(move == Move::copy ? 2 * (before + timed) : 64);
    const std::uint64_t apart = to.address() - from.address();
    Bytes used = 0;
    const auto taken = [&](Bytes bytes) {
        const std::uint64_t first = from.address() + used;
        const double seconds = b.secondsOf([&] { grid.launch(first, bytes, apart, 1, sink); });
        used += bytes;
        return seconds;
    };
    const double some = taken(before), all = taken(before + timed);
    return (move == Move::copy ? 2.0 : 1.0) * static_cast<double>(timed) / (all - some);
}

}  // namespace

void measureL2Bandwidth(Session& s) {
    Bench& b = s.bench();
    const gpu::Buffer sink = b.context().allocate(64);
    // A part of L2 that stays even where sides keep copies of each other's lines.
    const Bytes l2 = b.gpu().info().l2Bytes;
    MovingGrid grid(s, Move::read, l2 / 4);
    const Bytes bytes = grid.rounded(l2 / 4);
    if (bytes > l2 / 2) {
        s.undecided(fmt::format("clock.l2MHz: all SMs have {:.3g} MB under way, more than half of L2",
                                static_cast<double>(bytes) / 1e6));
        return;
    }
    const gpu::Buffer memory = b.freshMemory(bytes);
    const auto seconds = [&](std::uint32_t passes) {
        return b.secondsOf([&] { grid.launch(memory.address(), bytes, 0, passes, sink.address()); });
    };
    const auto passes =
        b.effort<std::uint32_t>(3, static_cast<std::uint32_t>(std::clamp<Bytes>(8_GiB / bytes, 4, 4000)));
    seconds(1);  // into L2
    const double once = seconds(passes), twice = seconds(2 * passes);
    const double rate = static_cast<double>(bytes) * passes / (twice - once);
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
    const double read = dramRate(s, Move::read, sink.address());
    s.foundOther("DRAM read bandwidth", read / 1e9, "GB/s");
    // Channels move at most a burst in so many cycles: what is lost to rows and refreshes is less than one.
    const arch::DeviceProfile& p = s.base();
    const double burstsPerSecond = p.map.channels() * s.known("clock.memoryMHz") * 1e6;
    const double cycles = burstsPerSecond * static_cast<double>(p.dram.burstBytes) / read;
    const double ports = s.known("sm.count") * s.known("crossbar.responseBytesPerCycle") * s.known("clock.l2MHz") * 1e6;
    if (read > 0.85 * ports)
        s.undecided("dram.tCCD: ports of SMs take no more than what was read");
    else
        s.found("dram.tCCD", std::max(1.0, std::floor(1.02 * cycles)),
                fmt::format("{:.3g} memory cycles a burst of a channel", cycles));
    if (b.costly() && b.gpu().info().l2Bytes > 4_MiB) {
        s.undecided("DRAM write bandwidth: to fill so large an L2 takes the simulator long");
        return;
    }
    s.foundOther("DRAM write bandwidth", dramRate(s, Move::write, sink.address()) / 1e9, "GB/s");
    s.foundOther("DRAM copy bandwidth, read and written", dramRate(s, Move::copy, sink.address()) / 1e9, "GB/s");
}

}  // namespace bulkhead::calibrate
