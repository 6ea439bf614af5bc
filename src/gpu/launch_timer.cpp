#include "gpu/launch_timer.h"

namespace bulkhead::gpu {

LaunchTimer::LaunchTimer(Context context) : context_(std::move(context)) {
    context_.timeLaunches(this);
}

LaunchTimer::~LaunchTimer() {
    context_.timeLaunches(nullptr);
}

void LaunchTimer::before(const std::string& kernel, Dim3 grid, Dim3 block, const Stream& stream) {
    pending_.push_back({{kernel, grid, block, 0}, context_.createEvent(), context_.createEvent()});
    pending_.back().begin.record(stream);
}

void LaunchTimer::behind(const Stream& stream) {
    pending_.back().end.record(stream);
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
