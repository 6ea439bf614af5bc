#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

/// One thread looks at the time again and again, and notes when it was not there to look. Divisions in between make a
/// look take a microsecond or less, and few instructions.
const char* const kWatch = R"(
.visible .entry watch(.param .u64 result, .param .u64 nanoseconds, .param .u64 gap, .param .u32 most)
{
.reg .pred %p<4>;
.reg .b32 %r<4>;
.reg .b64 %d<16>;
.reg .f64 %f<2>;
ld.param.u64 %d0, [result];
ld.param.u64 %d1, [nanoseconds];
ld.param.u64 %d2, [gap];
ld.param.u32 %r0, [most];
mov.u32 %r1, 0;
ld.volatile.global.f64 %f0, [%d0];
mov.u64 %d3, %globaltimer;
mov.u64 %d4, %d3;
add.u64 %d10, %d0, 16;
WATCH:
div.rn.f64 %f0, %f0, %f0;
div.rn.f64 %f0, %f0, %f0;
div.rn.f64 %f0, %f0, %f0;
div.rn.f64 %f0, %f0, %f0;
st.volatile.global.f64 [%d0], %f0;
mov.u64 %d5, %globaltimer;
sub.u64 %d6, %d5, %d4;
setp.lt.u64 %p0, %d6, %d2;
@%p0 bra ON;
setp.ge.u32 %p1, %r1, %r0;
@%p1 bra ON;
st.global.u64 [%d10], %d4;
st.global.u64 [%d10+8], %d5;
add.u64 %d10, %d10, 16;
add.u32 %r1, %r1, 1;
ON:
mov.u64 %d4, %d5;
sub.u64 %d7, %d5, %d3;
setp.lt.u64 %p0, %d7, %d1;
@%p0 bra WATCH;
cvt.u64.u32 %d8, %r1;
st.global.u64 [%d0+8], %d8;
ret;
}
)";

}  // namespace

/// Two contexts watch the time side by side: one does while the other does not.
void measureTimeSlice(Session& s) {
    Bench& b = s.bench();
    constexpr std::uint32_t kMost = 1000;
    const std::string ptx = std::string(kPtxHead) + kWatch;
    struct Watcher {
        gpu::Context context;
        gpu::Module module;
        gpu::Stream stream;
        gpu::Array<std::uint64_t> result;
    };
    std::vector<Watcher> watchers;
    for (int i = 0; i < 2; ++i) {
        gpu::Context context = b.gpu().createContext();
        gpu::Module module = context.load(ptx.c_str());
        gpu::Stream stream = context.createStream();
        std::vector<std::uint64_t> zeros(2 + 2 * kMost, 0);
        zeros[0] = 0x3ff0000000000000;  // 1.0
        watchers.push_back({context, module, stream, context.array(zeros)});
    }
    const double guess = s.known("sharing.quantumUs");
    // Some slices of each, as long as they may be.
    const auto nanoseconds =
        static_cast<std::uint64_t>(1e3 * std::clamp(6 * guess, 2000.0, b.effort(20'000.0, 200'000.0)));
    constexpr std::uint64_t kGap = 20'000;  // no look takes as long
    for (Watcher& w : watchers)
        w.module.kernel("watch").launch(w.stream, {1}, {1}, 0, w.result, nanoseconds, kGap, kMost);
    for (Watcher& w : watchers) w.stream.synchronize();
    b.spent(2e-9 * static_cast<double>(nanoseconds));
    std::vector<double> slices, gaps;
    for (Watcher& w : watchers) {
        const std::vector<std::uint64_t> told = w.result.download();
        const std::size_t count = std::min<std::size_t>(told[1], kMost);
        for (std::size_t i = 0; i < count; ++i) {
            gaps.push_back(1e-3 * static_cast<double>(told[3 + 2 * i] - told[2 + 2 * i]));
            if (i > 0) slices.push_back(1e-3 * static_cast<double>(told[2 + 2 * i] - told[1 + 2 * i]));
        }
    }
    if (slices.size() < 3)
        throw Error(
            "contexts of this process did not take turns {} times in {:.0f} ms: a slice is longer, or they ran "
            "side by side",
            4, 1e-6 * static_cast<double>(nanoseconds));
    const double slice = percentile(slices, 50), gap = percentile(gaps, 50);
    s.found("sharing.quantumUs", slice, fmt::format("median of {} slices", slices.size()));
    s.found("sharing.switchUs", std::max(0.0, (gap - slice) / 2), "half of what a pause is longer than a slice");
}

}  // namespace bulkhead::calibrate
