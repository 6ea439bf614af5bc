#include "gpu/launch_log.h"

#include "base/error.h"
#include "driver/simulator_api.h"
#include "sim/machine.h"

namespace bulkhead::gpu {

const arch::DeviceProfile& LaunchCounters::profile() const {
    return machine_->profile();
}
sim::Timing LaunchCounters::timing() const {
    return machine_->timing();
}
Cycles LaunchCounters::now() const {
    return machine_->now();
}
double LaunchCounters::seconds(Cycles cycles) const {
    return machine_->seconds(cycles);
}

double LaunchCounters::fractionDone(std::uint32_t id) const {
    return machine_->fractionDone(id);
}

Launch LaunchCounters::launch(std::uint32_t id) const {
    const sim::LaunchRecord& record = machine_->record(id);
    const double shared = static_cast<double>(record.occupancy.needs.shared) * record.occupancy.blocksPerSm;
    const std::uint64_t blocks = record.grid.count();
    const sim::LaunchSample sample = record.sample.value_or(sim::LaunchSample{blocks, 0});
    return {id,
            record.kernel,
            record.error.has_value(),
            record.started,
            record.ended,
            machine_->counters(id),
            shared / static_cast<double>(profile().sm.sharedBytes),
            blocks,
            sample.timedBlocks,
            sample.halfWidth,
            {record.grid.x, record.grid.y, record.grid.z},
            {record.block.x, record.block.y, record.block.z}};
}

LaunchLog::LaunchLog(Gpu& gpu, const Context& context) : counters_(gpu.launchCounters()), context_(context) {
    context_.makeCurrent();
    driver::simulatorApi().keepLaunches(true);
    before_ = idsOfContext().size();
}

LaunchLog::~LaunchLog() {
    try {
        context_.makeCurrent();
    } catch (const Error&) {
        return;  // it is gone, and what it launched with it
    }
    driver::simulatorApi().keepLaunches(false);
}

std::vector<Launch> LaunchLog::launches() {
    const std::vector<std::uint32_t> ids = idsOfContext();
    std::vector<Launch> launches;
    launches.reserve(ids.size() - before_);
    for (std::size_t i = before_; i < ids.size(); ++i) launches.push_back(counters_.launch(ids[i]));
    return launches;
}

std::vector<std::uint32_t> LaunchLog::idsOfContext() {
    context_.makeCurrent();
    std::vector<sim::LaunchId> ids;
    driver::simulatorApi().launches(&ids);
    return ids;
}

}  // namespace bulkhead::gpu
