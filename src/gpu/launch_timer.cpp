#include "gpu/launch_timer.h"

namespace bulkhead::gpu {
namespace {

/// Longer than the host takes to put a launch and two events into a stream.
constexpr std::uint64_t kHoldNs = 100'000;

constexpr const char* kHoldPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry hold(.param .u64 nanoseconds) {
    .reg .u64 %begin, %now, %least;
    .reg .pred %waits;
    ld.param.u64 %least, [nanoseconds];
    mov.u64 %begin, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %waits, %now, %least;
    @%waits bra again;
    ret;
}
)";

}  // namespace

LaunchTimer::LaunchTimer(Context context)
    : context_(std::move(context)), hold_(context_.load(kHoldPtx).kernel("hold")) {
    context_.timeLaunches(this);
}

LaunchTimer::~LaunchTimer() {
    context_.timeLaunches(nullptr);
}

void LaunchTimer::before(const std::string& kernel, Dim3 grid, Dim3 block, const Stream& stream) {
    if (holding_) return;
    pending_.push_back({{kernel, grid, block, 0}, context_.createEvent(), context_.createEvent()});
    holding_ = true;
    hold_.launch(stream, {1}, {1}, 0, kHoldNs);
    holding_ = false;
    pending_.back().begin.record(stream);
}

void LaunchTimer::behind(const Stream& stream) {
    if (!holding_) pending_.back().end.record(stream);
}

std::vector<LaunchTimer::Launch> LaunchTimer::launches() {
    context_.synchronize();
    std::vector<Launch> all;
    for (Pending& one : pending_) {
        one.launch.seconds = one.end.secondsSince(one.begin);
        all.push_back(one.launch);
    }
    return all;
}

}  // namespace bulkhead::gpu
