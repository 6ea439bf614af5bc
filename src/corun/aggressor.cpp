#include "corun/aggressor.h"

#include <algorithm>
#include <cmath>

#include "aggressors.ptx.h"
#include "arch/device_profile.h"
#include "base/error.h"
#include "experiment/interruption.h"

namespace bulkhead::corun {
namespace {

constexpr unsigned kArrays = 8;      // of 4.2.1, each as large as the cache
constexpr unsigned kFlags = 2;       // stop, and a count of blocks
constexpr unsigned kShortBurst = 4;  // accesses between two looks at the flag, where the usual number is too many
constexpr double kLongestBurstNs = 1e9;
constexpr unsigned kLongestStride = 1024;  // lines

}  // namespace

std::string nameOf(const AggressorSpec& spec) {
    return spec.name.empty() ? spec.kind : spec.name;
}

void validate(const AggressorSpec& spec) {
    findAggressor(spec.kind);
    if (spec.dutyPercent < 1 || spec.dutyPercent > 100)
        throw Error("a duty cycle of {} %: choose from 1 to 100", spec.dutyPercent);
    if (spec.gigabytesPerSecond < 0) throw Error("{} GB/s: a rate must not be negative", spec.gigabytesPerSecond);
    if (spec.lanes < 1 || spec.lanes > 32) throw Error("{} lanes per warp: choose from 1 to 32", spec.lanes);
    if (spec.strideLines < 1 || spec.strideLines > kLongestStride)
        throw Error("a stride of {} lines: choose from 1 to {}", spec.strideLines, kLongestStride);
    if (spec.layout.warps > 32) throw Error("{} warps per block: choose from 1 to 32", spec.layout.warps);
    expectBytes(spec.bytes);
}

CacheGeometry CacheGeometry::of(gpu::Gpu& gpu) {
    CacheGeometry shape;
    shape.bytes = gpu.info().l2Bytes;
    shape.sms = static_cast<unsigned>(gpu.info().sms);
    if (const arch::DeviceProfile* profile = gpu.profile()) {
        shape.lineBytes = static_cast<Bytes>(profile->l2.lineBytes);
        shape.sectorBytes = static_cast<Bytes>(profile->l2.sectorBytes);
    }
    return shape;
}

int attributeOf(gpu::Context& context, driver::DeviceAttribute attribute) {
    context.makeCurrent();
    driver::CUdevice device = 0;
    int value = 0;
    if (context.api().cuCtxGetDevice(&device) != driver::CUDA_SUCCESS ||
        context.api().cuDeviceGetAttribute(&value, static_cast<driver::CUdevice_attribute>(attribute), device) !=
            driver::CUDA_SUCCESS)
        throw Error("the driver does not say what attribute {} is", static_cast<int>(attribute));
    return value;
}

unsigned workingBlocks(unsigned blocks, double share) {
    return std::max(1u, static_cast<unsigned>(std::lround(share * blocks)));
}

Aggressor::Aggressor(gpu::Context context, const CacheGeometry& shape, AggressorSpec spec, const MapMemory& mapMemory,
                     const Whereabouts& victimLines)
    : context_(std::move(context)),
      shape_(shape),
      spec_(std::move(spec)),
      type_(findAggressor(spec_.kind)),
      stream_(context_.createStream()),
      control_(context_.createStream()),
      module_(context_.load(kAggressorsPtx)) {
    validate(spec_);
    if (!type_.make) throw Error("aggressor {} cannot be used beside a program on a simulated GPU", spec_.kind);
    if (spec_.bytes == 0) spec_.bytes = type_.bytes ? type_.bytes(context_) : kArrays * shape_.bytes;
    completeLayout();
    kernel_ = std::make_unique<PlacedKernel>(context_, shape_.sms, module_.kernel(type_.kernel), spec_.layout);
    flags_ = context_.allocate(kFlags * sizeof(std::uint32_t));
    pattern_ = type_.make({context_, module_, stream_, shape_, spec_, mapMemory, victimLines});
    dials();  // a rate that cannot be kept is refused before anything runs
}

Aggressor::~Aggressor() {
    try {
        if (running_) stop();
    } catch (const std::exception&) {
        // Its context is gone, and the aggressor with it.
    }
}

void Aggressor::completeLayout() {
    Layout& layout = spec_.layout;
    if (layout.warps == 0) layout.warps = type_.warps;
    if (layout.blocks > 0) return;
    const gpu::Kernel kernel = module_.kernel(type_.kernel);
    const auto fit = static_cast<unsigned>(kernel.blocksPerSm(layout.warps * 32));
    const auto chosen = static_cast<unsigned>(layout.sms.size());
    layout.blocks = chosen ? chosen : static_cast<unsigned>(context_.info().sms);
    // Where a map says what to evict one block is enough; the others fill their SMs.
    if (!type_.needsMap) layout.blocks *= std::max(1u, spec_.leavesRoom ? fit / 2 : fit);
}

Dials Aggressor::dials() const {
    Dials dials;
    dials.dutyPercent = spec_.dutyPercent;
    // Nothing comes back from a store or a reduction: only where a warp waits for the flag can others of its
    // SM go on.
    if (pattern_->sendsOnly()) dials.burst = kShortBurst;
    if (spec_.gigabytesPerSecond > 0 && pattern_->bytesEach() > 0) {
        dials.burst = kShortBurst;
        const unsigned blocks = workingBlocks(spec_.layout.blocks, pattern_->workingShare());
        const auto burstBytes = static_cast<double>(Bytes{blocks} * spec_.layout.warps * pattern_->lanes() *
                                                    dials.burst * pattern_->bytesEach());
        const double ns = burstBytes / spec_.gigabytesPerSecond;
        if (ns > kLongestBurstNs)
            throw Error("{} GB/s is too low a rate for {} blocks of {} warps", spec_.gigabytesPerSecond,
                        spec_.layout.blocks, spec_.layout.warps);
        dials.burstNs = static_cast<std::uint32_t>(ns);
    }
    return dials;
}

void Aggressor::start(double limitSeconds) {
    const std::uint64_t stopFlag = flags_.address(), ranks = stopFlag + sizeof(std::uint32_t);
    flags_.fill(0, stream_);
    context_.launchAsNeighbour(true);
    pattern_->launch(*kernel_, stream_, stopFlag, ranks, dials());
    context_.launchAsNeighbour(false);
    running_ = true;
    const Deadline deadline(context_, limitSeconds);
    while (!kernel_->placed()) {
        experiment::throwIfInterrupted();
        if (ended() || deadline.passed()) {
            stop();
            throw Error("aggressor {}: not all of its {} blocks started within {} s", spec_.kind, spec_.layout.blocks,
                        limitSeconds);
        }
    }
}

ActorReport Aggressor::stop() {
    // A copy, not a fill: a fill is a kernel, which an aggressor on every SM would not let run.
    const std::uint32_t one = 1;
    context_.makeCurrent();
    context_.api().cuMemcpyHtoDAsync(flags_.address(), &one, sizeof one, control_.handle());
    control_.synchronize();
    stream_.synchronize();
    running_ = false;
    ActorReport report;
    const std::vector<BlockLog> logs = kernel_->logs();
    report.sms = smsOf(logs);
    for (const BlockLog& log : logs) {
        report.startNs = std::max(report.startNs, log.startNs);
        report.endNs = report.endNs == 0 ? log.endNs : std::min(report.endNs, log.endNs);
        report.accesses += log.accesses;
        report.bytes += log.bytes;
    }
    return report;
}

}  // namespace bulkhead::corun
