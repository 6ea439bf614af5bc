#include "workloads/inference/paged_decode.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "paged_decode.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/inference/attended.h"
#include "workloads/inference/short_floats.h"
#include "workloads/reference.h"

namespace bulkhead::workloads {
namespace {

/// As the kernel reads it.
struct Weights {
    float largest, total;
};

class PagedDecode final : public Instance {
  public:
    PagedDecode(gpu::Context& context, Size size, std::uint64_t seed)
        : keyHeads_(forSize<unsigned>(size, 2, 8, 8)), sequences_(forSize<unsigned>(size, 3, 8, 16, 32)) {
        Random random(seed);
        const auto most = forSize<unsigned>(size, 600, 1024, 4096, 4096);
        for (unsigned i = 0; i < sequences_; ++i)
            lengths_.push_back(static_cast<int>(most / 2 + 1 + random.below(most / 2)));
        mostPages_ = blocksFor(most, kPageTokens);
        mostParts_ = blocksFor(most, kSplitTokens);
        dealPages(random);

        q_ = uniformBf16(random, std::size_t{sequences_} * heads() * kRow, -1, 1);
        const std::size_t numbers = pageCount_ * keyHeads_ * kPageTokens * kRow;
        keys_ = uniformBf16(random, numbers, -1, 1);
        values_ = uniformBf16(random, numbers, 0, 1);

        const gpu::Module module = context.load(kPagedDecodePtx);
        parts_ = module.kernel("decodeParts");
        join_ = module.kernel("decodeJoin");
        deviceQ_ = context.array(q_);
        deviceKeys_ = context.array(keys_);
        deviceValues_ = context.array(values_);
        devicePages_ = context.array(pages_);
        deviceLengths_ = context.array(lengths_);
        const std::size_t parts = std::size_t{sequences_} * heads() * mostParts_;
        partSums_ = context.array<float>(parts * kRow);
        partWeights_ = context.array<Weights>(parts);
        out_ = context.array<float>(q_.size());
    }

    void run(gpu::Stream& stream) override {
        const auto scale = static_cast<float>(kScale * std::numbers::log2e);
        parts_.launch(stream, {mostParts_, keyHeads_, sequences_}, {kDecodeThreads}, 0, partSums_, partWeights_,
                      deviceQ_, deviceKeys_, deviceValues_, devicePages_, deviceLengths_, static_cast<int>(mostPages_),
                      scale);
        join_.launch(stream, {heads(), sequences_}, {kDecodeHeadSize}, 0, out_, partSums_, partWeights_, deviceLengths_,
                     static_cast<int>(mostParts_));
    }

    void check() override {
        expectNear("attention", reference_([&] { return attend(); }), out_.take(), 1e-4, 0);
    }

    std::size_t footprint() const override {
        return bytesOf(deviceQ_, deviceKeys_, deviceValues_, devicePages_, deviceLengths_, partSums_, partWeights_,
                       out_);
    }

  private:
    static constexpr std::size_t kRow = kDecodeHeadSize;
    static constexpr double kScale = 0.088388347648318447;  // 1 / sqrt(128)

    unsigned heads() const { return keyHeads_ * kQueriesPerKey; }
    std::size_t pagesOf(int length) const { return blocksFor(static_cast<std::size_t>(length), kPageTokens); }

    /// Sequences grow side by side, so that pages of one lie anywhere.
    void dealPages(Random& random) {
        for (const int length : lengths_) pageCount_ += pagesOf(length);
        std::vector<int> free(pageCount_);
        std::iota(free.begin(), free.end(), 0);
        for (std::size_t i = free.size(); i > 1; --i) std::swap(free[i - 1], free[random.below(i)]);
        pages_.assign(std::size_t{sequences_} * mostPages_, 0);
        for (std::size_t s = 0; s < sequences_; ++s)
            for (std::size_t page = 0; page < pagesOf(lengths_[s]); ++page) {
                pages_[s * mostPages_ + page] = free.back();
                free.pop_back();
            }
    }

    std::vector<float> attend() const {
        const std::vector<float> q = bf16Values(q_), keys = bf16Values(keys_), values = bf16Values(values_);
        std::vector<float> out(q.size());
        for (std::size_t sequence = 0; sequence < sequences_; ++sequence)
            for (std::size_t head = 0; head < heads(); ++head) {
                const std::size_t at = (sequence * heads() + head) * kRow;
                Attended<kRow> attended(&q[at], kScale);
                for (std::size_t token = 0; token < static_cast<std::size_t>(lengths_[sequence]); ++token) {
                    const auto page = static_cast<std::size_t>(pages_[sequence * mostPages_ + token / kPageTokens]);
                    const std::size_t row =
                        (page * keyHeads_ + head / kQueriesPerKey) * kPageTokens + token % kPageTokens;
                    attended.add(&keys[row * kRow], &values[row * kRow]);
                }
                attended.store(&out[at]);
            }
        return out;
    }

    unsigned keyHeads_, sequences_, mostPages_, mostParts_;
    std::size_t pageCount_ = 0;
    std::vector<int> lengths_, pages_;
    std::vector<std::uint16_t> q_, keys_, values_;
    gpu::Kernel parts_, join_;
    gpu::Array<std::uint16_t> deviceQ_, deviceKeys_, deviceValues_;
    gpu::Array<int> devicePages_, deviceLengths_;
    gpu::Array<float> partSums_, out_;
    gpu::Array<Weights> partWeights_;
    Reference<std::vector<float>> reference_;
};

}  // namespace

std::unique_ptr<Instance> createPagedDecode(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<PagedDecode>(context, size, seed);
}

}  // namespace bulkhead::workloads
