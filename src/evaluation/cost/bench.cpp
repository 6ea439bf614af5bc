#include "evaluation/cost/bench.h"

#include "base/error.h"
#include "base/files.h"
#include "base/statistics.h"
#include "corun/corun.h"
#include "cost_kernels.ptx.h"
#include "evaluation/cost/memory_kernels.h"
#include "isolate/divided_gpu.h"

namespace bulkhead::evaluation::cost {
namespace {

gpu::Gpu open(const CostSpec& spec) {
    corun::loadModulesEagerly();
    gpu::SimulationOptions options;
    options.settings = spec.settings;
    return gpu::Gpu::open(spec.gpu, options);
}

walls::Coloring coloringOf(const CostSpec& spec, gpu::Gpu& gpu) {
    if (spec.coloring == "pages") return walls::Coloring::pages;
    if (spec.coloring == "sides") return walls::Coloring::sides;
    if (spec.coloring == "usual") return isolate::coloringFor(gpu, spec.partitions, spec.map);
    if (spec.coloring != "slices")
        throw Error("no coloring {}: there are usual, pages, sides and slices", spec.coloring);
    if (spec.map.empty())
        throw Error("{}: memory walls between slices need a map of them: --map FILE of bulkhead dissect", spec.gpu);
    return walls::Coloring::slices;
}

Effort effortFor(const CostSpec& spec, gpu::Gpu& gpu) {
    Effort effort = Effort::forGpu(gpu);
    if (spec.repeats) effort.repeats = spec.repeats;
    if (spec.megabytes) effort.megabytes = spec.megabytes;
    if (!spec.size.empty()) effort.size = workloads::parseSize(spec.size);
    return effort;
}

void expectDeviceCode(gpu::Gpu& gpu, const std::string& file, const std::string& ptx) {
    try {
        gpu.context().load(ptx.c_str());
    } catch (const Error& error) {
        throw Error("{}: {}", file, error.what());
    }
}

}  // namespace

Bench::Bench(const CostSpec& spec)
    : spec_(spec),
      deviceCode_(spec.ptx.empty() ? kCostKernelsPtx : readFile(spec.ptx)),
      gpu_(open(spec)),
      effort_(effortFor(spec, gpu_)) {
    // What cannot be used is refused, also where no measurement needs it.
    if (!spec.ptx.empty()) expectDeviceCode(gpu_, spec.ptx, deviceCode_);
    const walls::Coloring coloring = coloringOf(spec, gpu_);
    const std::optional<walls::BlockPlacement> placement = isolate::parsePlacement(spec.placement);
    for (const std::string& workload : spec_.workloads) workloads::find(workload);
    walled_.emplace(isolate::makeWalledGpu(gpu_, coloring, spec.map, placement));
    plan_ = isolate::makePlan(isolate::divisibleGpuOf(gpu_, *walled_), isolate::equalPartitions(spec.partitions));
    expectRoom();
}

void Bench::expectRoom() const {
    const Bytes needed = Bytes{mostArrays()} * effort_.megabytes << 20;
    for (std::size_t i = 0; i < partitions(); ++i)
        if (needed > memoryOf(i))
            throw Error("{} arrays of {} MB do not fit into the {} MB of a partition: choose smaller ones",
                        mostArrays(), effort_.megabytes, memoryOf(i) >> 20);
}

walls::PartitionContext Bench::enclose(std::size_t partition, Around around) {
    walls::Walls walls = isolate::wallsOf(plan_.shares.at(partition), *walled_);
    if (around == Around::compute) walls = {walls.sms, {}, 0};
    return walled_->enclose(walls);
}

std::vector<walls::PartitionContext> Bench::encloseAll(Around around) {
    std::vector<walls::PartitionContext> all;
    for (std::size_t i = 0; i < partitions(); ++i) all.push_back(enclose(i, around));
    return all;
}

walls::PartitionContext Bench::encloseWhole() {
    return walled_->enclose({walls::SmSet(walled_->topology().sms(), true), {}, 0});
}

TimedContext::TimedContext(Bench& bench, gpu::Context context)
    : bench_(bench),
      context_(std::move(context)),
      stream_(context_.createStream()),
      module_(context_.load(bench.deviceCode())) {}

double TimedContext::time(const std::function<void()>& work) {
    const Effort& effort = bench_.effort();
    std::vector<double> seconds;
    for (unsigned i = 0; i < effort.warmUps + effort.repeats; ++i) {
        gpu::Event begin = context_.createEvent(), end = context_.createEvent();
        begin.record(stream_);
        work();
        end.record(stream_);
        end.synchronize();
        if (i >= effort.warmUps) seconds.push_back(end.secondsSince(begin));
    }
    return median(seconds);
}

double median(const std::vector<double>& values) {
    return percentile(values, 50);
}

Result tableOf(const std::string& title, const char* first, const std::vector<const char*>& names, const char* unit) {
    Result result;
    result.title = title;
    result.columns = {{first, ""}};
    for (const char* name : names) result.columns.push_back({name, unit});
    return result;
}

}  // namespace bulkhead::evaluation::cost
