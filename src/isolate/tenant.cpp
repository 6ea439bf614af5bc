#include "isolate/tenant.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

#include "applications.ptx.h"
#include "base/error.h"
#include "isolate/applications.h"

namespace bulkhead::isolate {
namespace {

/// What a loop keeps on the way: enough for as long as its thread may sleep, less than a driver's queue takes.
constexpr double kAheadSeconds = 2e-3;
constexpr unsigned kFewest = 2, kMost = 64;

/// The end of a run, which can be asked for without waiting.
class Marker {
  public:
    Marker(gpu::Context& context, const gpu::Stream& stream) : context_(context) {
        context_.makeCurrent();
        constexpr unsigned kNoTiming = 2;
        if (context_.api().cuEventCreate(&event_, kNoTiming) != driver::CUDA_SUCCESS ||
            context_.api().cuEventRecord(event_, stream.handle()) != driver::CUDA_SUCCESS)
            throw Error("cannot mark the end of a run");
    }
    ~Marker() { context_.api().cuEventDestroy(event_); }
    Marker(const Marker&) = delete;
    Marker& operator=(const Marker&) = delete;

    bool passed() const {
        context_.makeCurrent();
        return context_.api().cuEventQuery(event_) != driver::CUDA_ERROR_NOT_READY;
    }

  private:
    gpu::Context& context_;
    driver::CUevent event_ = nullptr;
};

class LocalTenant final : public Tenant {
  public:
    LocalTenant(Floor& floor, unsigned partition, const std::string& application, workloads::Size size,
                std::uint64_t seed)
        : floor_(floor),
          partition_(partition),
          context_(floor.place(partition)),
          stream_(context_.createStream()),
          instance_(makeApplication(context_, application, size, seed)),
          simulated_(floor.gpu().simulator() != nullptr) {
        // The first launch waits until the GPU has changed over to this context.
        context_.load(kApplicationsPtx).kernel("nothing").launch(stream_, {1}, {1}, 0);
        stream_.synchronize();
    }
    ~LocalTenant() override {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

    double time(unsigned runs, const Tenants& others) override {
        gpu::Event start = context_.createEvent(), end = context_.createEvent();
        start.record(stream_);
        for (unsigned i = 0; i < runs; ++i) instance_->run(stream_);
        end.record(stream_);
        if (simulated_) {
            const Marker done(context_, stream_);
            while (!done.passed())
                for (const auto& other : others) other->topUp();
        }
        stream_.synchronize();  // says what went wrong, if anything did
        return end.secondsSince(start) / runs;
    }
    void check() override { instance_->check(); }

    void startLoop(double secondsOfARun) override {
        const double runs = std::ceil(kAheadSeconds / std::max(secondsOfARun, 1e-9));
        depth_ = simulated_ ? kFewest : static_cast<unsigned>(std::clamp(runs, double{kFewest}, double{kMost}));
        looped_ = 0;
        topUp();
        if (simulated_) return;
        stop_ = false;
        thread_ = std::thread([this] { loop(); });
    }
    void stopLoop() override {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
        depth_ = 0;
        if (!failure_.empty()) throw Error("a neighbour failed: {}", std::exchange(failure_, {}));
        stream_.synchronize();
        looped_ += pending_.size();
        pending_.clear();
    }
    void topUp() override {
        while (!pending_.empty() && pending_.front()->passed()) {
            pending_.pop_front();
            ++looped_;
        }
        while (pending_.size() < depth_) {
            instance_->run(stream_);
            pending_.push_back(std::make_unique<Marker>(context_, stream_));
        }
    }
    std::uint64_t looped() override { return looped_; }

    Place place() override {
        return {floor_.multiprocessors(), floor_.colors(), floor_.placement(), floor_.strayBlocks(partition_)};
    }

  private:
    void loop() {
        try {
            while (!stop_) {
                topUp();
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        } catch (const std::exception& e) {
            failure_ = e.what();
        }
    }

    const Floor& floor_;
    unsigned partition_;
    gpu::Context context_;
    gpu::Stream stream_;
    std::unique_ptr<workloads::Instance> instance_;
    bool simulated_;
    std::deque<std::unique_ptr<Marker>> pending_;
    unsigned depth_ = 0;  ///< runs that the loop keeps on the way; 0: there is no loop
    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> looped_ = 0;
    std::string failure_;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<Tenant> makeLocalTenant(Floor& floor, unsigned partition, const std::string& application,
                                        workloads::Size size, std::uint64_t seed) {
    return std::make_unique<LocalTenant>(floor, partition, application, size, seed);
}

}  // namespace bulkhead::isolate
