#include "sim/grid_sample.h"

#include <algorithm>

#include "base/random.h"

namespace bulkhead::sim {
namespace {

constexpr std::uint64_t kFewestPieces = 4, kMostPieces = 8;
constexpr std::uint64_t kWavesForAPiece = 25;  ///< of the grid
constexpr std::uint64_t kBeginning = 2;        ///< waves
/// What a piece takes, where that is no more than its share of the launch. A wave of short blocks is over before DRAM
/// is in its stride.
constexpr Cycles kPieceCycles = 14'000;
constexpr double kWarmUpShare = 0.55;  ///< of a piece
constexpr double kTimedShare = 0.2;    ///< of a launch, by all of its pieces
constexpr double kShortestPiece = 4'000;
/// What intervals cannot tell: how far what is measured after a jump differs from the same without one. Relative, after
/// a full warm-up; after a shorter one, more in proportion.
constexpr double kJumpError = 0.01;
constexpr double kFullWarmUp = static_cast<double>(kPieceCycles) * kWarmUpShare;

/// Blocks by which a warm-up grows until it has been long enough.
std::uint64_t stepOf(std::uint64_t wave) {
    return std::max<std::uint64_t>(wave / 4, 1);
}

std::uint64_t pieceCount(std::uint64_t blocks, std::uint64_t wave) {
    return std::clamp(blocks / wave / kWavesForAPiece, kFewestPieces, kMostPieces);
}

}  // namespace

bool GridSample::worthwhile(std::uint64_t blocks, std::uint64_t wave) {
    const std::uint64_t piece = wave + stepOf(wave);
    return blocks >= 2 * (kBeginning * wave + piece + pieceCount(blocks, wave) * piece);
}

GridSample::GridSample(std::uint64_t blocks, std::uint64_t wave, std::uint64_t seed, Cycles started)
    : wave_(wave),
      step_(stepOf(wave)),
      endBegins_(blocks - wave_ - step_),
      stop_(kBeginning * wave),
      started_{started, 0} {
    Random random(seed);
    const std::uint64_t pieces = pieceCount(blocks, wave), stratum = (endBegins_ - stop_) / pieces;
    for (std::uint64_t piece = pieces; piece-- > 0;)
        starts_.push_back(stop_ + piece * stratum + random.below(stratum - wave_ - step_ + 1));
}

BlockRange GridSample::reached(Cycles now, std::uint64_t instructions) {
    const Moment moment{now, instructions};
    const Cycles passed = now - phaseBegan_.when;
    switch (phase_) {
        case Phase::beginning:
            beginningEnded_ = phaseBegan_ = moment;
            if (planPieces(now - started_.when)) return jump();
            giveUp(now, instructions);
            break;
        case Phase::warmUp:
            if (passed < warmUp_) return extend(step_);
            warmedUp_ += static_cast<double>(passed);
            phase_ = Phase::measured;
            phaseBegan_ = moment;
            return extend(wave_);
        case Phase::measured:
            if (passed < measured_) return extend(wave_);
            pieces_.push_back(
                {static_cast<double>(passed), static_cast<double>(instructions - phaseBegan_.instructions)});
            phaseBegan_ = moment;
            return jump();
        case Phase::lastWarmUp:
            giveUp(now, instructions);
            break;
    }
    return {};
}

/// So many more blocks are timed, unless they are the end's.
BlockRange GridSample::extend(std::uint64_t blocks) {
    if (stop_ + blocks > endBegins_) return jump();
    stop_ += blocks;
    return {};
}

/// How long pieces are, given what the beginning took. False: too short to tell anything.
bool GridSample::planPieces(Cycles beginning) {
    const double waves = static_cast<double>(endBegins_) / static_cast<double>(wave_);
    const double launch = static_cast<double>(beginning) * waves / static_cast<double>(kBeginning);
    const double share = kTimedShare * launch / static_cast<double>(starts_.size());
    const double piece = std::min(static_cast<double>(kPieceCycles), share);
    warmUp_ = static_cast<Cycles>(piece * kWarmUpShare);
    measured_ = static_cast<Cycles>(piece) - warmUp_;
    return piece >= kShortestPiece;
}

/// To the next piece, or to the end.
BlockRange GridSample::jump() {
    const std::uint64_t here = stop_;
    // Not to one that has been passed, nor if a piece would reach into the end.
    while (!starts_.empty() && (starts_.back() + wave_ < here || here + wave_ + step_ > endBegins_)) starts_.pop_back();
    phase_ = starts_.empty() ? Phase::lastWarmUp : Phase::warmUp;
    const std::uint64_t there = starts_.empty() ? endBegins_ : std::max(starts_.back(), here);
    if (!starts_.empty()) starts_.pop_back();
    stop_ = there + step_;
    return {here, there};
}

void GridSample::giveUp(Cycles now, std::uint64_t instructions) {
    endBegan_ = {now, instructions};
    stop_ = kNoStop;
}

double GridSample::jumpError() const {
    const double warmUp = pieces_.empty() ? 0 : warmedUp_ / static_cast<double>(pieces_.size());
    return kJumpError * std::max(1.0, kFullWarmUp / std::max(warmUp, 1.0));
}

Estimate GridSample::estimate(Cycles ended) const {
    const auto beginning = static_cast<double>(beginningEnded_.when - started_.when);
    auto rest = static_cast<double>(endBegan_.instructions - beginningEnded_.instructions);
    auto known = beginning + static_cast<double>(ended - endBegan_.when);
    std::vector<MeasuredPiece> pieces = pieces_;
    // Given up before anything was measured: the beginning has to do.
    if (pieces.empty()) pieces.push_back({beginning, static_cast<double>(beginningEnded_.instructions)});
    for (const MeasuredPiece& piece : pieces_) {
        known += piece.cost;
        rest -= piece.size;
    }
    Estimate estimate = estimateRest(pieces, rest);
    estimate.halfWidth += jumpError() * estimate.value;
    estimate.value += known;
    return estimate;
}

}  // namespace bulkhead::sim
