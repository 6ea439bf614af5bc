#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <thread>

#include "applications.ptx.h"
#include "corun/applications.h"
#include "corun/corun.h"
#include "corun/marker.h"
#include "corun/waiting.h"

namespace bulkhead::corun {
namespace {

/// What a loop keeps on the way: enough for as long as its thread may sleep, less than a driver's queue takes.
constexpr double kAheadSeconds = 2e-3;
constexpr unsigned kFewest = 2, kMost = 64;

/// Kernels that go where the driver puts them. Timed, or run again and again: a thread sees to it where the GPU runs by
/// itself.
class Workload final : public Actor {
  public:
    Workload(const Stage& stage, const std::string& name, workloads::Size size, std::uint64_t seed, double limitSeconds)
        : gpu_(stage.gpu),
          context_(stage.context),
          watch_(stage.watch),
          stream_(context_.createStream()),
          instance_(makeInstance(context_, name, size, seed)),
          start_(context_.createEvent()),
          end_(context_.createEvent()),
          limit_(limitSeconds),
          runsByItself_(gpu_.capabilities().runsByItself) {}
    ~Workload() override {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

    /// The first launch waits until the GPU has changed over to this context: an empty one.
    void enter() {
        context_.load(kApplicationsPtx).kernel("nothing").launch(stream_, {1}, {1}, 0);
        stream_.synchronize();
    }

    void prepare() override {
        if (run(Rounds{})) check();
    }
    std::optional<ActorRun> run(const Rounds& rounds) override {
        std::optional<gpu::LaunchLog> log;
        if (watch_) log.emplace(gpu_, context_);
        pause(rounds.delaySeconds);
        start_.record(stream_);
        for (unsigned i = 0; i < rounds.count; ++i) instance_->run(stream_);
        end_.record(stream_);
        if (!wait(rounds)) return std::nullopt;
        ActorRun run;
        if (watch_) run = runOfLaunches(log->launches(), gpu_.launchCounters(), *watch_).value_or(run);
        run.seconds = secondsOfARun_ = end_.secondsSince(start_) / rounds.count;
        return run;
    }
    void check() override { instance_->check(); }
    void settle() override { stream_.synchronize(); }

    void start(double) override {
        const double runs = std::ceil(kAheadSeconds / std::max(secondsOfARun_, 1e-9));
        depth_ = runsByItself_ ? static_cast<unsigned>(std::clamp(runs, double{kFewest}, double{kMost})) : kFewest;
        completed_ = 0;
        putIn();
        if (!runsByItself_) return;
        stop_ = false;
        thread_ = std::thread([this] { loop(); });
    }
    ActorReport stop() override {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
        depth_ = 0;
        if (!failure_.empty()) throw Error("a neighbour failed: {}", std::exchange(failure_, {}));
        stream_.synchronize();
        completed_ += pending_.size();
        pending_.clear();
        return {};
    }
    void keepBusy() override {
        if (!runsByItself_) putIn();
    }
    std::uint64_t completed() override { return completed_; }

  private:
    void putIn() {
        while (!pending_.empty() && pending_.front()->passed()) {
            pending_.pop_front();
            ++completed_;
        }
        while (pending_.size() < depth_) {
            instance_->run(stream_);
            pending_.push_back(std::make_unique<Marker>(context_, stream_));
        }
    }
    void pause(double seconds) {
        if (seconds <= 0) return;
        if (!pauses_) pauses_ = context_.load(kApplicationsPtx);
        pauses_->kernel("pause").launch(stream_, {1}, {1}, 0, static_cast<std::uint64_t>(seconds * 1e9));
    }
    bool wait(const Rounds& rounds) {
        if (runsByItself_ && std::isinf(limit_)) {
            stream_.synchronize();
            return true;
        }
        return waitFor(context_, stream_, limit_, [&] {
            for (Actor* other : rounds.company) other->keepBusy();
        });
    }
    void loop() {
        try {
            while (!stop_) {
                putIn();
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        } catch (const std::exception& e) {
            failure_ = e.what();
        }
    }

    gpu::Gpu& gpu_;
    gpu::Context context_;
    const MachineWatch* watch_;
    gpu::Stream stream_;
    std::unique_ptr<workloads::Instance> instance_;
    gpu::Event start_, end_;
    double limit_, secondsOfARun_ = 0;
    std::optional<gpu::Module> pauses_;
    bool runsByItself_;
    std::deque<std::unique_ptr<Marker>> pending_;
    unsigned depth_ = 0;  ///< runs that the loop keeps on the way; 0: there is no loop
    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> completed_ = 0;
    std::string failure_;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<Actor> makeWorkload(const Stage& stage, const VictimSpec& spec) {
    return std::make_unique<Workload>(stage, spec.name, workloads::parseSize(spec.size), spec.seed, spec.limitSeconds);
}

std::unique_ptr<Actor> makeApplication(const Stage& stage, const ApplicationSpec& spec) {
    auto application =
        std::make_unique<Workload>(stage, spec.name, spec.size, spec.seed, std::numeric_limits<double>::infinity());
    application->enter();
    return application;
}

}  // namespace bulkhead::corun
