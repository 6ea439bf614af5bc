#include "corun/applications.h"

#include <algorithm>
#include <numeric>

#include "applications.ptx.h"
#include "base/error.h"
#include "base/random.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/reference.h"

namespace bulkhead::corun {
namespace {

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

}  // namespace

std::unique_ptr<workloads::Instance> makeInstance(gpu::Context& context, const std::string& name, workloads::Size size,
                                                  std::uint64_t seed) {
    if (name == "latency") return std::make_unique<Latency>(context, size, seed);
    if (name == "stream") return std::make_unique<StreamThrough>(context, size, seed);
    return workloads::find(name).create(context, size, seed);
}

void expectApplication(const std::string& name) {
    if (name != "latency" && name != "stream") workloads::find(name);
}

}  // namespace bulkhead::corun
