#include "sim/untimed_grid.h"

#include <algorithm>

namespace bulkhead::sim {

namespace {

/// More than there are threads, so that none is idle for long; not more, since each has a block's registers at hand.
constexpr std::uint64_t kParts = 32;

std::uint64_t partsOf(const LaunchContext& launch) {
    const bool communicates = launch.code->blocksCommunicate || launch.gridWorkspace;
    return communicates ? 1 : std::min(kParts, launch.grid.count() / launch.cluster.count());
}

}  // namespace

UntimedGrid::UntimedGrid(const LaunchContext& launch, std::uint64_t resident, const Cycles& now, ThreadTeam& team)
    : blocks_(launch.grid.count()), together_(launch.cluster.count()), team_(team) {
    const std::uint64_t parts = partsOf(launch);
    for (std::uint64_t p = 0; p < parts; ++p)
        parts_.push_back(std::make_unique<Part>(Part{UntimedBlocks(launch, resident / parts, now)}));
}

/// Those that have nothing left get as many blocks as so many instructions take, by what blocks have taken so far.
void UntimedGrid::deal(std::uint64_t instructions) {
    std::uint64_t stretch = together_;
    if (parts_.size() == 1) {
        stretch = blocks_;
    } else if (counted_.blocks) {
        const std::uint64_t each = std::max<std::uint64_t>(counted_.warpInstructions / counted_.blocks, 1);
        const std::uint64_t fair = (blocks_ - next_) / parts_.size();  // so that all have some to the end
        stretch = std::max(std::min(instructions / each, fair) / together_, std::uint64_t{1}) * together_;
    }
    for (const auto& part : parts_) {
        if (next_ == blocks_) return;
        if (part->blocks.left()) continue;
        part->first = next_;
        next_ += std::min(stretch, blocks_ - next_);
        part->blocks.add(part->first, next_);
    }
}

void UntimedGrid::execute(std::uint64_t instructions, bool others) {
    team_.run(parts_.size(), [&](std::size_t p) {
        Part& part = *parts_[p];
        if (!part.blocks.left()) return;
        try {
            part.outcome = part.blocks.run(part.blocks.counted().warpInstructions + instructions, others);
        } catch (const LaunchError& error) {
            part.error = error;
        }
    });
    counted_ = {};
    for (const auto& part : parts_) counted_ += part->blocks.counted();
}

/// Of all parts; of several errors the one in the first blocks.
UntimedGrid::Outcome UntimedGrid::outcome() const {
    const Part* wrong = nullptr;
    bool idle = false, waits = true;
    for (const auto& part : parts_) {
        if (part->error && (!wrong || part->first < wrong->first)) wrong = part.get();
        if (!part->blocks.left())
            idle = true;
        else if (part->outcome != Outcome::waiting)
            waits = false;
    }
    if (wrong) throw LaunchError(*wrong->error);
    if (left() == 0) return Outcome::done;
    return waits && !(idle && next_ < blocks_) ? Outcome::waiting : Outcome::limited;
}

UntimedGrid::Outcome UntimedGrid::run(std::uint64_t instructions, bool others) {
    const std::uint64_t each = std::max<std::uint64_t>(instructions / parts_.size(), 1);
    deal(each);
    execute(each, others);
    return outcome();
}

std::uint64_t UntimedGrid::left() const {
    std::uint64_t left = blocks_ - next_;
    for (const auto& part : parts_) left += part->blocks.left();
    return left;
}

std::uint64_t UntimedGrid::changes() const {
    std::uint64_t changes = 0;
    for (const auto& part : parts_) changes += part->blocks.changes();
    return changes;
}

}  // namespace bulkhead::sim
