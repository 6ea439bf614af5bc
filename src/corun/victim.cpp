#include "corun/victim.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "corun/aggressor.h"
#include "corun/machine_watch.h"
#include "corun/waiting.h"
#include "driver/simulator_api.h"
#include "sim/gpu.h"
#include "victims.ptx.h"
#include "workloads/workload.h"

namespace bulkhead::corun {
namespace {

constexpr Bytes kResidentPart = 8;                 // of the cache, that a latency victim's array is
constexpr std::uint64_t kLatencyAccesses = 32768;  // of a latency victim: a few milliseconds

/// The launches of a context since a moment, on a simulated GPU.
class LaunchWatch {
  public:
    LaunchWatch(gpu::Gpu& gpu, gpu::Context& context) : machine_(gpu.simulator()), context_(context) {
        if (machine_) before_ = launches().size();
    }
    std::vector<sim::LaunchId> since() {
        const std::vector<sim::LaunchId> ids = launches();
        return {ids.begin() + static_cast<std::ptrdiff_t>(before_), ids.end()};
    }

  private:
    std::vector<sim::LaunchId> launches() {
        context_.makeCurrent();
        std::vector<sim::LaunchId> ids;
        driver::simulator().launches(&ids);
        return ids;
    }
    sim::Gpu* machine_;
    gpu::Context& context_;
    std::size_t before_ = 0;
};

VictimRun summarize(const std::vector<BlockLog>& logs) {
    VictimRun run;
    run.multiprocessors = multiprocessorsOf(logs);
    for (const BlockLog& log : logs) {
        run.startNs = run.startNs == 0 ? log.startNs : std::min(run.startNs, log.startNs);
        run.endNs = std::max(run.endNs, log.endNs);
        run.cycles = std::max(run.cycles, log.cycles);
    }
    run.seconds = static_cast<double>(run.endNs - run.startNs) * 1e-9;
    return run;
}

/// A victim of kernels/victims.cu.
class KernelVictim : public Victim {
  public:
    KernelVictim(gpu::Gpu& gpu, gpu::Context context, const CacheShape& shape, const VictimSpec& spec,
                 const MachineWatch* watch, const char* kernel)
        : gpu_(gpu),
          context_(std::move(context)),
          shape_(shape),
          spec_(spec),
          watch_(watch),
          stream_(context_.createStream()),
          kernel_(context_, shape.multiprocessors, context_.load(kVictimsPtx).kernel(kernel), spec.layout),
          sweep_(context_, shape.multiprocessors, context_.load(kVictimsPtx).kernel("readAll"), {1, 32, {}}),
          result_(context_.array<std::uint32_t>(2)) {
        if (spec_.bytes == 0) spec_.bytes = shape.bytes;
    }

    std::optional<VictimRun> run() override {
        LaunchWatch launches(gpu_, context_);
        launch();
        if (!waitFor(context_, stream_, spec_.limitSeconds)) return std::nullopt;
        check();
        VictimRun run = summarize(kernel_.logs());
        if (!watch_) return run;
        for (const sim::LaunchId id : launches.since()) run.counters += gpu_.simulator()->counters(id);
        addMachineSide(run, *gpu_.simulator(), *watch_);
        return run;
    }
    void settle() override { stream_.synchronize(); }
    void prepare() override {
        if (spec_.cold) {
            cool();
        } else {
            warm();
        }
        if (!waitFor(context_, stream_, spec_.limitSeconds)) throw Error("the victim could not be prepared");
    }

  protected:
    virtual void launch() = 0;
    virtual void check() {}
    virtual void warm() = 0;
    /// Reads something else, several times as large as the cache.
    void cool() {
        constexpr Bytes kTimes = 4;
        if (other_.bytes() == 0) other_ = context_.allocate(kTimes * shape_.bytes);
        sweep(other_.address(), other_.bytes());
    }
    void sweep(std::uint64_t address, Bytes bytes) {
        result_.buffer().fill(0, stream_);
        sweep_.launch(stream_, std::tuple(address, std::uint64_t{bytes / 16}, 1u), result_);
    }

    gpu::Gpu& gpu_;
    gpu::Context context_;
    CacheShape shape_;
    VictimSpec spec_;
    const MachineWatch* watch_;
    gpu::Stream stream_;
    PlacedKernel kernel_, sweep_;
    gpu::Array<std::uint32_t> result_;
    gpu::Buffer other_;
};

/// The paper's applications: a sum over an array, element by element, in order or at random. The random one's order is
/// a list of its own, as long as the array, which it reads ahead.
class Walk final : public KernelVictim {
  public:
    Walk(gpu::Gpu& gpu, gpu::Context context, const CacheShape& shape, const VictimSpec& spec,
         const MachineWatch* watch, bool isRandom)
        : KernelVictim(gpu, std::move(context), shape, spec, watch, "walk"),
          values_(spec_.bytes / sizeof(std::uint32_t)) {
        if (values_.empty()) throw Error("a working set of {} bytes is too small to walk over", spec_.bytes);
        steps_ = spec_.accesses ? std::min<std::size_t>(spec_.accesses, values_.size()) : values_.size();
        Random random(spec_.seed);
        for (std::uint32_t& value : values_) value = static_cast<std::uint32_t>(random.below(1u << 31));
        data_ = context_.array(values_);
        order_.resize(values_.size());
        std::iota(order_.begin(), order_.end(), 0u);
        if (!isRandom) return;
        for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
        std::vector<std::uint32_t> offsets(order_.size() + 1, 0);
        for (std::size_t i = 0; i < order_.size(); ++i) offsets[i] = order_[i] * sizeof(std::uint32_t);
        offsets_ = context_.array(offsets);
    }
    Ring lines() const override { return sequentialRing(data_.address(), data_.buffer().bytes(), shape_.lineBytes); }
    std::uint64_t dependentAccesses() const override { return steps_; }

  private:
    void launchWalk(std::size_t steps) {
        const std::uint64_t offsets = offsets_.address();  // 0 where it has none
        kernel_.launch(stream_, std::tuple(data_.address(), offsets, static_cast<std::uint32_t>(steps)), result_);
    }
    /// Walks all of the way once: what stays in the cache is what a program that walks again and again would find.
    /// Where that would take too long everything is read quickly.
    void warm() override {
        if (spec_.bytes <= kLongestWarmWalk) {
            launchWalk(values_.size());
        } else {
            sweep(data_.address(), data_.buffer().bytes());
        }
    }
    /// Runs that are shorter than the way are its beginning, so that all of them do the same.
    void launch() override { launchWalk(steps_); }
    void check() override {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < steps_; ++i) sum += values_[order_[i]];
        const std::uint32_t found = result_.download()[0];
        if (found != sum) throw Error("the victim's sum is {}, the CPU's {}", found, sum);
    }

    static constexpr Bytes kLongestWarmWalk = 4_MiB;
    std::vector<std::uint32_t> values_, order_;
    gpu::Array<std::uint32_t> data_, offsets_;
    std::size_t steps_ = 0;
};

class Bandwidth final : public KernelVictim {
  public:
    Bandwidth(gpu::Gpu& gpu, gpu::Context context, const CacheShape& shape, const VictimSpec& spec,
              const MachineWatch* watch)
        : KernelVictim(gpu, std::move(context), shape, spec, watch, "readAll") {
        const Bytes each = Bytes{spec_.layout.blocks} * spec_.layout.warps * 32 * kVectorBytes;
        const Bytes wanted = spec.bytes ? spec.bytes : shape.bytes / 2;
        const Bytes bytes = std::max<Bytes>(wanted / each, 1) * each;
        data_ = context_.allocate(bytes);
        data_.fill(1);
        context_.synchronize();
        passes_ = gpu.simulator() ? kSimulatedPasses : kPasses;
        if (spec_.accesses) passes_ = static_cast<unsigned>(std::max<Bytes>(1, spec_.accesses * kVectorBytes / bytes));
    }
    Ring lines() const override { return sequentialRing(data_.address(), data_.bytes(), shape_.lineBytes); }

  private:
    static constexpr Bytes kVectorBytes = 16;
    static constexpr unsigned kPasses = 200, kSimulatedPasses = 4;
    void warm() override { launch(); }
    void launch() override {
        result_.buffer().fill(0, stream_);
        kernel_.launch(stream_, std::tuple(data_.address(), std::uint64_t{data_.bytes() / kVectorBytes}, passes_),
                       result_);
    }
    void check() override {
        const auto expected = static_cast<std::uint32_t>(data_.bytes() / 4 * passes_ * 0x01010101u);
        if (result_.download()[0] != expected) throw Error("the victim's sum differs from the CPU's");
    }

    gpu::Buffer data_;
    unsigned passes_ = 1;
};

/// A workload of the project. Its kernels go where the driver puts them.
class WorkloadVictim final : public Victim {
  public:
    WorkloadVictim(gpu::Gpu& gpu, gpu::Context context, const VictimSpec& spec, const MachineWatch* watch)
        : gpu_(gpu),
          context_(std::move(context)),
          watch_(watch),
          stream_(context_.createStream()),
          instance_(workloads::find(spec.name).create(context_, workloads::parseSize(spec.size), spec.seed)),
          start_(context_.createEvent()),
          end_(context_.createEvent()),
          limit_(spec.limitSeconds) {}

    std::optional<VictimRun> run() override {
        LaunchWatch launches(gpu_, context_);
        start_.record(stream_);
        instance_->run(stream_);
        end_.record(stream_);
        if (!waitFor(context_, stream_, limit_)) return std::nullopt;
        VictimRun run;
        if (watch_) run = runOfLaunches(launches.since(), *gpu_.simulator(), *watch_).value_or(run);
        run.seconds = end_.secondsSince(start_);
        if (watch_) addMachineSide(run, *gpu_.simulator(), *watch_);
        instance_->check();
        return run;
    }
    void settle() override { stream_.synchronize(); }

  private:
    gpu::Gpu& gpu_;
    gpu::Context context_;
    const MachineWatch* watch_;
    gpu::Stream stream_;
    std::unique_ptr<workloads::Instance> instance_;
    gpu::Event start_, end_;
    double limit_;
};

}  // namespace

const std::vector<std::string>& ownVictims() {
    static const std::vector<std::string> names = {"random", "sequential", "latency", "bandwidth"};
    return names;
}

std::unique_ptr<Victim> makeVictim(gpu::Gpu& gpu, gpu::Context context, const CacheShape& shape, const VictimSpec& spec,
                                   const MachineWatch* watch) {
    if (spec.name == "random") return std::make_unique<Walk>(gpu, std::move(context), shape, spec, watch, true);
    if (spec.name == "latency") {
        VictimSpec resident = spec;
        if (spec.bytes == 0) resident.bytes = shape.bytes / kResidentPart;
        if (spec.accesses == 0) resident.accesses = kLatencyAccesses;
        return std::make_unique<Walk>(gpu, std::move(context), shape, resident, watch, true);
    }
    if (spec.name == "sequential") return std::make_unique<Walk>(gpu, std::move(context), shape, spec, watch, false);
    if (spec.name == "bandwidth") return std::make_unique<Bandwidth>(gpu, std::move(context), shape, spec, watch);
    return std::make_unique<WorkloadVictim>(gpu, std::move(context), spec, watch);
}

}  // namespace bulkhead::corun
