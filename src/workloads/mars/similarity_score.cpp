#include <cmath>

#include "base/error.h"
#include "similarity_score.ptx.h"
#include "workloads/host_code.h"
#include "workloads/mars/layouts.h"
#include "workloads/mars/mapreduce.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace mars {
namespace {

// Sums of 128 products that are not negative, in single precision, each within 128 roundings.
constexpr double kTolerance = 3 * 128 * 0x1p-24;

class SimilarityScore final : public Instance {
  public:
    SimilarityScore(gpu::Context& context, Size size, std::uint64_t seed)
        // The pairs' records, of 36 bytes each, are the input: 23 MB of them at the paper's size.
        : documents_(forSize(size, 40, 256, 1150)), job_(context, kSimilarityScorePtx) {
        Random random(seed);
        matrix_.resize(static_cast<std::size_t>(documents_) * kDimensions);
        for (float& weight : matrix_) weight = static_cast<float>(random.below(100));
        deviceMatrix_ = context.array(matrix_);
        RecordBuilder input;
        for (int i = 0; i < documents_; ++i)
            for (int j = i + 1; j < documents_; ++j)
                input.add(MatrixKey{deviceMatrix_.address()}, DocumentPair{i, j, kDimensions});
        input_ = input.upload(context);
    }

    void run(gpu::Stream& stream) override { job_.group(stream, job_.map(stream, input_), SortIn::sharedChunks); }

    void check() override {
        const HostRecords records(job_.groups().records);
        checkPairs(records);
        checkOrder(records);
        job_.forget();
    }

    std::size_t footprint() const override { return matrix_.size() * sizeof(float) + input_.bytes() + job_.bytes(); }

  private:
    static constexpr int kDimensions = 128;

    struct Pair {
        int first, second;
    };

    double product(int i, int j) const {
        const float* a = &matrix_[static_cast<std::size_t>(i) * kDimensions];
        const float* b = &matrix_[static_cast<std::size_t>(j) * kDimensions];
        double sum = 0;
        for (int k = 0; k < kDimensions; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
        return sum;
    }

    /// Each pair is there once, with its score.
    void checkPairs(const HostRecords& records) const {
        const auto documents = static_cast<std::size_t>(documents_);
        std::vector<double> lengths;
        lengths.reserve(documents);
        for (int i = 0; i < documents_; ++i) lengths.push_back(std::sqrt(product(i, i)));
        std::vector<bool> seen(documents * documents);
        if (records.size() != documents * (documents - 1) / 2)
            throw Error("{} scores of {} documents", records.size(), documents_);
        for (std::size_t record = 0; record < records.size(); ++record) {
            const auto [i, j] = records.valueAs<Pair>(record);
            const std::size_t pair = static_cast<std::size_t>(i) * documents + static_cast<std::size_t>(j);
            if (i < 0 || j <= i || j >= documents_ || seen[pair])
                throw Error("score {} is of the documents {} and {}, which are no pair or were one before", record, i,
                            j);
            seen[pair] = true;
            const double expected =
                product(i, j) / (lengths[static_cast<std::size_t>(i)] * lengths[static_cast<std::size_t>(j)]);
            const auto score = static_cast<double>(records.keyAs<float>(record));
            if (!(std::abs(score - expected) <= kTolerance * expected))
                throw Error("the score of the documents {} and {} is {}, the reference has {}", i, j, score, expected);
        }
    }

    /// Scores rise from group to group and are the same within one.
    void checkOrder(const HostRecords& records) const {
        float before = -1;
        for (const Range& range : hostRanges(job_.groups())) {
            const auto score = records.keyAs<float>(static_cast<std::size_t>(range.begin));
            if (!(score > before)) throw Error("the score {} comes after {}", score, before);
            before = score;
            for (int i = range.begin; i < range.end; ++i)
                if (records.keyAs<float>(static_cast<std::size_t>(i)) != score)
                    throw Error("the score {} is in the group of {}", records.keyAs<float>(static_cast<std::size_t>(i)),
                                score);
        }
    }

    int documents_;
    std::vector<float> matrix_;
    gpu::Array<float> deviceMatrix_;
    Records input_;
    MapReduce job_;
};

}  // namespace
}  // namespace mars

std::unique_ptr<Instance> createSimilarityScore(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<mars::SimilarityScore>(context, size, seed);
}

}  // namespace bulkhead::workloads
