#include "workloads/inference/attention.h"

#include <cmath>
#include <numbers>

#include "attention.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/inference/attended.h"
#include "workloads/inference/short_floats.h"
#include "workloads/reference.h"

namespace bulkhead::workloads {
namespace {

class Attention final : public Instance {
  public:
    Attention(gpu::Context& context, Size size, std::uint64_t seed)
        : tokens_(forSize<std::size_t>(size, 128, 512, 1024, 2048)),
          heads_(forSize<std::size_t>(size, 4, 8, 32, 32)),
          queriesPerKey_(4) {
        Random random(seed);
        q_ = uniformBf16(random, heads_ * tokens_ * kRow, -1, 1);
        k_ = uniformBf16(random, heads_ / queriesPerKey_ * tokens_ * kRow, -1, 1);
        v_ = uniformBf16(random, k_.size(), 0, 1);
        kernel_ = context.load(kAttentionPtx).kernel("attention");
        deviceQ_ = context.array(q_);
        deviceK_ = context.array(k_);
        deviceV_ = context.array(v_);
        out_ = context.array<float>(q_.size());
    }

    void run(gpu::Stream& stream) override {
        kernel_.launch(stream, {blocksFor(tokens_, kAttentionTile), static_cast<unsigned>(heads_)}, {kAttentionThreads},
                       0, out_, deviceQ_, deviceK_, deviceV_, static_cast<int>(tokens_),
                       static_cast<int>(queriesPerKey_), static_cast<float>(scale() * std::numbers::log2e));
    }

    void check() override {
        // Weights are rounded to bfloat16. That moves their mean of values from 0 to 1 by a part of the values' spread.
        expectNear("attention", reference_([&] { return attend(); }), out_.take(), 1e-5, 0x1p-8 / 4);
    }

    std::size_t footprint() const override { return bytesOf(deviceQ_, deviceK_, deviceV_, out_); }

  private:
    static constexpr std::size_t kRow = kHeadSize;
    static double scale() { return 1 / std::sqrt(static_cast<double>(kHeadSize)); }

    std::vector<float> attend() const {
        const std::vector<float> q = bf16Values(q_), k = bf16Values(k_), v = bf16Values(v_);
        std::vector<float> out(q.size());
        for (std::size_t head = 0; head < heads_; ++head)
            for (std::size_t token = 0; token < tokens_; ++token) {
                const std::size_t row = (head * tokens_ + token) * kRow, first = head / queriesPerKey_ * tokens_ * kRow;
                Attended<kRow> attended(&q[row], scale());
                for (std::size_t key = 0; key <= token; ++key)
                    attended.add(&k[first + key * kRow], &v[first + key * kRow]);
                attended.store(&out[row]);
            }
        return out;
    }

    std::size_t tokens_, heads_, queriesPerKey_;
    std::vector<std::uint16_t> q_, k_, v_;
    gpu::Kernel kernel_;
    gpu::Array<std::uint16_t> deviceQ_, deviceK_, deviceV_;
    gpu::Array<float> out_;
    Reference<std::vector<float>> reference_;
};

}  // namespace

std::unique_ptr<Instance> createAttention(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<Attention>(context, size, seed);
}

}  // namespace bulkhead::workloads
