#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "corun/corun.h"
#include "corun/waiting.h"
#include "victims.ptx.h"

namespace bulkhead::corun {
namespace {

constexpr Bytes kResidentPart = 8;                 // of the cache, that a latency victim's array is
constexpr std::uint64_t kLatencyAccesses = 32768;  // of a latency victim: a few milliseconds

ActorRun summarize(const std::vector<BlockLog>& logs) {
    ActorRun run;
    run.sms = smsOf(logs);
    for (const BlockLog& log : logs) {
        run.startNs = run.startNs == 0 ? log.startNs : std::min(run.startNs, log.startNs);
        run.endNs = std::max(run.endNs, log.endNs);
        run.cycles = std::max(run.cycles, log.cycles);
    }
    run.seconds = static_cast<double>(run.endNs - run.startNs) * 1e-9;
    return run;
}

/// A victim of kernels/victims.cu.
class KernelVictim : public Actor {
  public:
    KernelVictim(const Stage& stage, const VictimSpec& spec, const char* kernel)
        : gpu_(stage.gpu),
          context_(stage.context),
          shape_(stage.shape),
          spec_(spec),
          watch_(stage.watch),
          stream_(context_.createStream()),
          kernel_(context_, shape_.sms, context_.load(kVictimsPtx).kernel(kernel), spec.layout),
          sweep_(context_, shape_.sms, context_.load(kVictimsPtx).kernel("readAll"), {1, 32, {}}),
          result_(context_.array<std::uint32_t>(2)) {
        if (spec_.bytes == 0) spec_.bytes = shape_.bytes;
    }

    std::optional<ActorRun> run(const Rounds& rounds) override {
        if (rounds.count != 1) throw Error("a victim is timed one run at a time");
        std::optional<gpu::LaunchLog> log;
        if (watch_) log.emplace(gpu_, context_);
        launch();
        const auto meanwhile = [&] {
            for (Actor* other : rounds.company) other->keepBusy();
        };
        if (!waitFor(context_, stream_, spec_.limitSeconds, meanwhile)) return std::nullopt;
        ActorRun run = summarize(kernel_.logs());
        if (log)
            for (const gpu::Launch& launch : log->launches()) run.counters += launch.counters;
        return run;
    }
    void settle() override { stream_.synchronize(); }
    void prepare() override {
        if (spec_.cold) {
            cool();
        } else {
            warm();
        }
        if (!waitFor(context_, stream_, spec_.limitSeconds))
            throw Error("the victim was not prepared within its time limit");
    }

  protected:
    virtual void launch() = 0;
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
    CacheGeometry shape_;
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
    Walk(const Stage& stage, const VictimSpec& spec, bool isRandom)
        : KernelVictim(stage, spec, "walk"), values_(spec_.bytes / sizeof(std::uint32_t)) {
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
    Bandwidth(const Stage& stage, const VictimSpec& spec) : KernelVictim(stage, spec, "readAll") {
        const Bytes each = Bytes{spec_.layout.blocks} * spec_.layout.warps * 32 * kVectorBytes;
        const Bytes wanted = spec.bytes ? spec.bytes : shape_.bytes / 2;
        const Bytes bytes = std::max<Bytes>(wanted / each, 1) * each;
        data_ = context_.allocate(bytes);
        data_.fill(1);
        context_.synchronize();
        passes_ = gpu_.capabilities().costly ? kFewPasses : kPasses;
        if (spec_.accesses) passes_ = static_cast<unsigned>(std::max<Bytes>(1, spec_.accesses * kVectorBytes / bytes));
    }
    Ring lines() const override { return sequentialRing(data_.address(), data_.bytes(), shape_.lineBytes); }

  private:
    static constexpr Bytes kVectorBytes = 16;
    static constexpr unsigned kPasses = 200, kFewPasses = 4;
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

}  // namespace

const std::vector<std::string>& ownVictims() {
    static const std::vector<std::string> names = {"random", "sequential", "latency", "bandwidth"};
    return names;
}

std::unique_ptr<Actor> makeVictim(const Stage& stage, const VictimSpec& spec) {
    if (spec.name == "random") return std::make_unique<Walk>(stage, spec, true);
    if (spec.name == "latency") {
        VictimSpec resident = spec;
        if (spec.bytes == 0) resident.bytes = stage.shape.bytes / kResidentPart;
        if (spec.accesses == 0) resident.accesses = kLatencyAccesses;
        return std::make_unique<Walk>(stage, resident, true);
    }
    if (spec.name == "sequential") return std::make_unique<Walk>(stage, spec, false);
    if (spec.name == "bandwidth") return std::make_unique<Bandwidth>(stage, spec);
    return makeWorkload(stage, spec);
}

}  // namespace bulkhead::corun
