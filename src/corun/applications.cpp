#include "corun/applications.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "applications.ptx.h"
#include "base/error.h"
#include "base/random.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/reference.h"

namespace bulkhead::corun {
namespace {

using workloads::blocksFor;
using workloads::forSize;

/// One element a line, in an order that no prefetcher guesses.
class Latency final : public workloads::Instance {
  public:
    Latency(gpu::Context& context, workloads::Size size, std::uint64_t seed)
        : lines_(forSize<unsigned>(size, 1 << 10, 1 << 13, 1 << 16)), steps_(2 * lines_) {
        Random random(seed);
        std::vector<unsigned> order(lines_);
        std::iota(order.begin(), order.end(), 0u);
        for (unsigned i = lines_; i > 2; --i) std::swap(order[i - 1], order[1 + random.below(i - 1)]);
        host_.assign(std::size_t{lines_} * kStep, 0);
        for (unsigned i = 0; i < lines_; ++i) host_[order[i] * kStep] = order[(i + 1) % lines_] * kStep;
        ring_ = context.array(host_);
        last_ = context.array<unsigned>(1);
        kernel_ = context.load(kApplicationsPtx).kernel("chase");
    }
    void run(gpu::Stream& stream) override { kernel_.launch(stream, {1}, {1}, 0, ring_, steps_, last_); }
    void check() override {
        const auto& last = reference_([&] {
            unsigned at = 0;
            for (unsigned i = 0; i < steps_; ++i) at = host_[at];
            return std::vector<unsigned>{at};
        });
        workloads::expectEqual("last place", last, last_.take());
    }
    std::size_t footprint() const override { return workloads::bytesOf(ring_, last_); }

  private:
    static constexpr unsigned kStep = 128 / sizeof(unsigned);
    unsigned lines_, steps_;
    std::vector<unsigned> host_;
    gpu::Kernel kernel_;
    gpu::Array<unsigned> ring_, last_;
    workloads::Reference<std::vector<unsigned>> reference_;
};

class StreamThrough final : public workloads::Instance {
  public:
    StreamThrough(gpu::Context& context, workloads::Size size, std::uint64_t seed)
        : seed_(seed), count_(forSize<unsigned>(size, 1 << 14, 1 << 19, 1 << 23)) {
        in_ = context.array<Vector>(count_);
        out_ = context.array<Vector>(count_);
        in_.upload(content());
        kernel_ = context.load(kApplicationsPtx).kernel("streamThrough");
    }
    void run(gpu::Stream& stream) override { kernel_.launch(stream, {kBlocks}, {kBlock}, 0, in_, out_, count_); }
    void check() override {
        const std::vector<Vector>& in = reference_([&] { return content(); });
        const std::vector<Vector> out = out_.take();
        for (std::size_t i = 0; i < in.size(); ++i)
            if (out[i].x != in[i].x + 1 || out[i].rest != in[i].rest)
                throw Error("element {} of the stream is wrong", i);
    }
    std::size_t footprint() const override { return workloads::bytesOf(in_, out_); }

  private:
    struct Vector {
        std::uint32_t x, y;
        std::uint64_t rest;
    };
    std::vector<Vector> content() const {
        Random random(seed_);
        std::vector<Vector> values(count_);
        for (Vector& v : values) v = {static_cast<std::uint32_t>(random.below(1u << 31)), 0, random.below(1u << 31)};
        return values;
    }
    static constexpr unsigned kBlocks = 1024, kBlock = 256;
    std::uint64_t seed_;
    unsigned count_;
    gpu::Kernel kernel_;
    gpu::Array<Vector> in_, out_;
    workloads::Reference<std::vector<Vector>> reference_;
};

/// The step of a linear congruential generator, as applications.cu has it.
constexpr unsigned kFactor = 1664525, kSummand = 1013904223;

class StreamWithin final : public workloads::Instance {
  public:
    StreamWithin(gpu::Context& context, workloads::Size size, std::uint64_t seed)
        : count_(forSize<unsigned>(size, 1 << 12, 1 << 13, 1 << 18)),
          passes_(forSize<unsigned>(size, 2, 8, 64)),
          seed_(seed) {
        in_ = context.array(content());
        out_ = context.array<Vector>(count_);
        kernel_ = context.load(kApplicationsPtx).kernel("streamWithin");
    }
    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocksFor(count_, kBlock)}, {kBlock}, 0, in_, out_, count_, passes_);
    }
    void check() override {
        const std::vector<Vector> in = content(), out = out_.take();
        for (std::size_t i = 0; i < in.size(); ++i)
            if (out[i].x != in[i].x + passes_ || out[i].y != in[i].y)
                throw Error("element {} of the stream within the cache is wrong", i);
    }
    std::size_t footprint() const override { return workloads::bytesOf(in_, out_); }

  private:
    struct Vector {
        std::uint32_t x, y, z, w;
    };
    std::vector<Vector> content() const {
        Random random(seed_);
        std::vector<Vector> values(count_);
        for (Vector& v : values) v = {static_cast<std::uint32_t>(random.below(1u << 31)), kFactor, 0, 0};
        return values;
    }
    static constexpr unsigned kBlock = 256;
    unsigned count_, passes_;
    std::uint64_t seed_;
    gpu::Kernel kernel_;
    gpu::Array<Vector> in_, out_;
};

class Gather final : public workloads::Instance {
  public:
    Gather(gpu::Context& context, workloads::Size size, std::uint64_t seed)
        : words_(forSize<unsigned>(size, 1 << 18, 1 << 22, 1 << 25)),
          blocks_(forSize<unsigned>(size, 32, 64, 2048)),
          each_(forSize<unsigned>(size, 4, 8, 64)) {
        Random random(seed);
        host_.resize(words_);
        for (unsigned& word : host_) word = static_cast<unsigned>(random.below(1u << 31));
        memory_ = context.array(host_);
        sums_ = context.array<unsigned>(std::size_t{blocks_} * kBlock);
        kernel_ = context.load(kApplicationsPtx).kernel("gather");
    }
    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocks_}, {kBlock}, 0, memory_, words_ - 1, each_, sums_);
    }
    void check() override {
        const auto& sums = reference_([&] {
            std::vector<unsigned> all(sums_.size(), 0);
            for (unsigned thread = 0; thread < all.size(); ++thread)
                for (unsigned i = 0, at = thread; i < each_; ++i) {
                    at = at * kFactor + kSummand;
                    all[thread] += host_[(at ^ at >> 15) & (words_ - 1)];
                }
            return all;
        });
        workloads::expectEqual("sum", sums, sums_.take());
    }
    std::size_t footprint() const override { return workloads::bytesOf(memory_, sums_); }

  private:
    static constexpr unsigned kBlock = 256;
    unsigned words_, blocks_, each_;
    std::vector<unsigned> host_;
    gpu::Kernel kernel_;
    gpu::Array<unsigned> memory_, sums_;
    workloads::Reference<std::vector<unsigned>> reference_;
};

class Compute final : public workloads::Instance {
  public:
    Compute(gpu::Context& context, workloads::Size size)
        : blocks_(forSize<unsigned>(size, 64, 128, 2112)), rounds_(forSize<unsigned>(size, 64, 256, 4096)) {
        numbers_ = context.array<unsigned>(std::size_t{blocks_} * kBlock);
        kernel_ = context.load(kApplicationsPtx).kernel("compute");
    }
    void run(gpu::Stream& stream) override { kernel_.launch(stream, {blocks_}, {kBlock}, 0, rounds_, numbers_); }
    void check() override {
        // All rounds are one: a factor and a summand.
        unsigned factor = 1, summand = 0;
        for (unsigned i = 0; i < rounds_; ++i) {
            factor *= kFactor;
            summand = summand * kFactor + kSummand;
        }
        std::vector<unsigned> expected(numbers_.size());
        for (unsigned thread = 0; thread < expected.size(); ++thread) expected[thread] = thread * factor + summand;
        workloads::expectEqual("number", expected, numbers_.take());
    }
    std::size_t footprint() const override { return workloads::bytesOf(numbers_); }

  private:
    static constexpr unsigned kBlock = 256;
    unsigned blocks_, rounds_;
    gpu::Kernel kernel_;
    gpu::Array<unsigned> numbers_;
};

/// A kernel with nothing to do but to say that it was there.
class Empty final : public workloads::Instance {
  public:
    explicit Empty(gpu::Context& context)
        : kernel_(context.load(kApplicationsPtx).kernel("countLaunch")), launches_(context.array<unsigned>(1)) {
        launches_.buffer().fill(0);
        context.synchronize();
    }
    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {1}, {1}, 0, launches_);
        ++expected_;
    }
    void check() override {
        workloads::expectEqual("launches", std::vector<unsigned>{expected_}, launches_.download());
    }
    std::size_t footprint() const override { return workloads::bytesOf(launches_); }

  private:
    gpu::Kernel kernel_;
    gpu::Array<unsigned> launches_;
    unsigned expected_ = 0;
};

/// Writes where nothing is.
class Fault final : public workloads::Instance {
  public:
    explicit Fault(gpu::Context& context) : kernel_(context.load(kApplicationsPtx).kernel("writeTo")) {}
    void run(gpu::Stream& stream) override {
        constexpr std::uint64_t kNowhere = 64;
        kernel_.launch(stream, {1}, {1}, 0, kNowhere);
    }
    void check() override { throw Error("a fault has no result"); }
    std::size_t footprint() const override { return 0; }

  private:
    gpu::Kernel kernel_;
};

/// One kernel that stays on the GPU for longer than anybody waits, however often it is run.
class Lasting final : public workloads::Instance {
  public:
    explicit Lasting(gpu::Context& context) : kernel_(context.load(kApplicationsPtx).kernel("pause")) {}
    void run(gpu::Stream& stream) override {
        constexpr std::uint64_t kNanoseconds = 20'000'000'000;
        if (!std::exchange(there_, true)) kernel_.launch(stream, {1}, {1}, 0, kNanoseconds);
    }
    void check() override {}
    std::size_t footprint() const override { return 0; }

  private:
    bool there_ = false;
    gpu::Kernel kernel_;
};

}  // namespace

std::unique_ptr<workloads::Instance> makeInstance(gpu::Context& context, const std::string& name, workloads::Size size,
                                                  std::uint64_t seed) {
    if (name == "latency") return std::make_unique<Latency>(context, size, seed);
    if (name == "stream") return std::make_unique<StreamThrough>(context, size, seed);
    if (name == "stream-l2") return std::make_unique<StreamWithin>(context, size, seed);
    if (name == "gather") return std::make_unique<Gather>(context, size, seed);
    if (name == "compute") return std::make_unique<Compute>(context, size);
    if (name == "empty") return std::make_unique<Empty>(context);
    if (name == "fault") return std::make_unique<Fault>(context);
    if (name == "lasting") return std::make_unique<Lasting>(context);
    return workloads::find(name).create(context, size, seed);
}

const std::vector<std::string>& ownApplications() {
    static const std::vector<std::string> names = {"latency", "stream", "stream-l2", "gather", "compute"};
    return names;
}

void expectApplication(const std::string& name) {
    const std::vector<std::string>& own = ownApplications();
    if (std::find(own.begin(), own.end(), name) == own.end()) workloads::find(name);
}

}  // namespace bulkhead::corun
