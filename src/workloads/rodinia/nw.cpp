// Rodinia's Needleman-Wunsch: the table of scores for aligning two sequences, antidiagonal by antidiagonal of tiles.
#include <algorithm>
#include <array>

#include "nw.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/rodinia/tile.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace {

constexpr int kPenalty = 10;
constexpr std::size_t kLetters = 24;

/// What it is worth to put one letter against another, in the range of the tables biologists use: alike letters gain,
/// most others lose.
std::array<std::array<int, kLetters>, kLetters> substitutionTable(Random& random) {
    std::array<std::array<int, kLetters>, kLetters> table{};
    for (std::size_t a = 0; a < kLetters; ++a) {
        table[a][a] = 4 + static_cast<int>(random.below(8));
        for (std::size_t b = 0; b < a; ++b) table[a][b] = table[b][a] = -4 + static_cast<int>(random.below(7));
    }
    return table;
}

class NeedlemanWunsch : public Instance {
  public:
    NeedlemanWunsch(gpu::Context& context, std::size_t tiles, std::uint64_t seed)
        : tiles_(static_cast<unsigned>(tiles)), columns_(tiles * kTile + 1), hostSimilarity_(columns_ * columns_) {
        fillSimilarity(seed);
        similarity_ = context.array(hostSimilarity_);
        scores_ = context.array(emptyScores());
        const gpu::Module module = context.load(kNwPtx);
        upperLeft_ = module.kernel("nwUpperLeft");
        lowerRight_ = module.kernel("nwLowerRight");
    }

    /// Every score but those of the first row and column is written before it is read, so there is nothing to restore.
    void run(gpu::Stream& stream) override {
        const int columns = static_cast<int>(columns_), width = static_cast<int>(tiles_);
        for (unsigned length = 1; length <= tiles_; ++length)
            upperLeft_.launch(stream, {length}, {kTile}, 0, similarity_, scores_, columns, kPenalty,
                              static_cast<int>(length));
        for (unsigned length = tiles_ - 1; length > 0; --length)
            lowerRight_.launch(stream, {length}, {kTile}, 0, similarity_, scores_, columns, kPenalty,
                               static_cast<int>(length), width);
    }

    void check() override {
        std::vector<int> scores = emptyScores();
        for (std::size_t row = 1; row < columns_; ++row)
            for (std::size_t column = 1; column < columns_; ++column) {
                const std::size_t at = row * columns_ + column;
                scores[at] = std::max({scores[at - columns_ - 1] + hostSimilarity_[at], scores[at - 1] - kPenalty,
                                       scores[at - columns_] - kPenalty});
            }
        const std::vector<int> found = scores_.download();
        scores_.upload(emptyScores());
        expectEqual("score", scores, found);
    }

    std::size_t footprint() const override { return bytesOf(similarity_, scores_); }

  private:
    void fillSimilarity(std::uint64_t seed) {
        Random random(seed);
        const auto table = substitutionTable(random);
        std::vector<std::size_t> down(columns_), across(columns_);
        for (std::size_t& letter : down) letter = random.below(kLetters);
        for (std::size_t& letter : across) letter = random.below(kLetters);
        for (std::size_t row = 1; row < columns_; ++row)
            for (std::size_t column = 1; column < columns_; ++column)
                hostSimilarity_[row * columns_ + column] = table[down[row]][across[column]];
    }

    std::vector<int> emptyScores() const {
        std::vector<int> scores(columns_ * columns_);
        for (std::size_t i = 0; i < columns_; ++i) scores[i] = scores[i * columns_] = -kPenalty * static_cast<int>(i);
        return scores;
    }

    unsigned tiles_;
    std::size_t columns_;
    std::vector<int> hostSimilarity_;
    gpu::Array<int> similarity_, scores_;
    gpu::Kernel upperLeft_, lowerRight_;
};

}  // namespace

std::unique_ptr<Instance> createNw(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<NeedlemanWunsch>(context, forSize<std::size_t>(size, 8, 64, 128), seed);
}

}  // namespace bulkhead::workloads
