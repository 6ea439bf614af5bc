#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "base/error.h"
#include "corun/aggressors/patterns.h"
#include "corun/corun.h"
#include "corun/marker.h"

namespace bulkhead::corun {
namespace {

constexpr Bytes kCopyBytes = 4_MiB;
constexpr unsigned kAhead = 4;  // copies on the way: the engine has the next one before the host looks again
constexpr auto kPause = std::chrono::microseconds(50);

void expect(driver::CUresult result, const char* what) {
    if (result != driver::CUDA_SUCCESS) throw Error("aggressor: {} failed with {}", what, static_cast<int>(result));
}

/// Memory of the host that copy engines reach by themselves.
class PinnedMemory {
  public:
    PinnedMemory(gpu::Context& context, Bytes bytes) : context_(context) {
        context_.makeCurrent();
        expect(context_.api().cuMemAllocHost(&address_, bytes), "cuMemAllocHost");
    }
    ~PinnedMemory() {
        context_.makeCurrent();
        context_.api().cuMemFreeHost(address_);
    }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    void* address() const { return address_; }

  private:
    gpu::Context& context_;
    void* address_ = nullptr;
};

/// One copy after the other in a stream. Where the GPU runs by itself a thread puts in more; otherwise whoever waits
/// for the victim does.
class Copies final : public Actor {
  public:
    enum class Direction : std::uint8_t { in, out };

    Copies(const Stage& stage, const AggressorSpec& spec, Direction direction)
        : context_(stage.context),
          runsByItself_(stage.gpu.capabilities().runsByItself),
          direction_(direction),
          bytes_(spec.bytes ? spec.bytes : kCopyBytes),
          host_(context_, bytes_),
          memory_(context_.allocate(bytes_)),
          stream_(context_.createStream()) {
        if (spec.dutyPercent != 100 || spec.gigabytesPerSecond > 0)
            throw Error("aggressor {}: copies go as fast as their engine: leave out duty and rate", spec.kind);
    }
    ~Copies() override {
        try {
            if (begun_ > 0) stop();
        } catch (const std::exception&) {
            // Its context is gone, and the copies with it.
        }
    }

    void start(double) override {
        begun_ = 0;
        since_ = context_.now();
        putIn();
        if (!runsByItself_) return;
        stop_ = false;
        thread_ = std::thread([this] { loop(); });
    }
    void keepBusy() override {
        if (!runsByItself_) putIn();
    }
    ActorReport stop() override {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
        if (!failure_.empty()) throw Error("a neighbour's copy failed: {}", std::exchange(failure_, {}));
        stream_.synchronize();
        pending_.clear();
        ActorReport report;
        report.accesses = std::exchange(begun_, 0);
        report.bytes = report.accesses * bytes_;
        report.hostSeconds = context_.now() - since_;
        return report;
    }

  private:
    void putIn() {
        while (!pending_.empty() && pending_.front()->passed()) pending_.pop_front();
        for (; pending_.size() < kAhead; ++begun_) {
            copy();
            pending_.push_back(std::make_unique<Marker>(context_, stream_));
        }
    }
    void copy() {
        context_.makeCurrent();
        if (direction_ == Direction::in) {
            expect(context_.api().cuMemcpyHtoDAsync(memory_.address(), host_.address(), bytes_, stream_.handle()),
                   "cuMemcpyHtoDAsync");
        } else {
            expect(context_.api().cuMemcpyDtoHAsync(host_.address(), memory_.address(), bytes_, stream_.handle()),
                   "cuMemcpyDtoHAsync");
        }
    }
    void loop() {
        try {
            while (!stop_) {
                putIn();
                std::this_thread::sleep_for(kPause);
            }
        } catch (const std::exception& e) {
            failure_ = e.what();
        }
    }

    gpu::Context context_;
    bool runsByItself_;
    Direction direction_;
    Bytes bytes_;
    PinnedMemory host_;
    gpu::Buffer memory_;
    gpu::Stream stream_;
    std::deque<std::unique_ptr<Marker>> pending_;
    std::uint64_t begun_ = 0;  ///< copies since start()
    double since_ = 0;
    std::atomic<bool> stop_ = false;
    std::string failure_;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<Actor> copyingIn(const Stage& stage, const AggressorSpec& spec) {
    return std::make_unique<Copies>(stage, spec, Copies::Direction::in);
}

std::unique_ptr<Actor> copyingOut(const Stage& stage, const AggressorSpec& spec) {
    return std::make_unique<Copies>(stage, spec, Copies::Direction::out);
}

}  // namespace bulkhead::corun
