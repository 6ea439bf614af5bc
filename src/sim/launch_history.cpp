#include "sim/launch_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bulkhead::sim {
namespace {

constexpr std::size_t kFirst = 4;                    ///< launches of a group that are timed; one found caches cold
constexpr std::uint64_t kLongestPeriod = 32;         ///< launches, of which one is timed
constexpr std::size_t kFewArguments = 8;             ///< each timed when it comes for the first time
constexpr std::size_t kNeighbours = 8, kFewest = 3;  ///< that a launch is compared with
constexpr double kAlike = 0.02, kHardToTell = 0.1;   ///< relative

std::string keyOf(const Launch& launch) {
    const Dim3 &grid = launch.spec.grid, &block = launch.spec.block;
    return fmt::format("{} {}x{}x{} {}x{}x{} {} {} {}", launch.record.kernel, grid.x, grid.y, grid.z, block.x, block.y,
                       block.z, launch.spec.dynamicShared, launch.record.occupancy.onChip.l1Bytes,
                       launch.spec.code->instrs.size());
}

/// A launch's arguments but for pointers, which are those that lead to memory.
std::string argumentsOf(const Launch& launch) {
    std::string bytes;
    for (const Code::Param& param : launch.spec.code->params) {
        std::uint64_t value = 0;
        if (param.bytes == sizeof value) {
            std::memcpy(&value, launch.spec.params.data() + param.offset, sizeof value);
            if (launch.context.memory->find(value)) continue;
        }
        bytes.append(reinterpret_cast<const char*>(launch.spec.params.data()) + param.offset, param.bytes);
    }
    return bytes;
}

/// How far two launches' profiles lie apart: the largest ratio of their quantities, as a logarithm.
double distance(const Counters& a, const Counters& b) {
    const auto apart = [](std::uint64_t x, std::uint64_t y) {
        return std::abs(std::log(static_cast<double>(std::max<std::uint64_t>(x, 1)) /
                                 static_cast<double>(std::max<std::uint64_t>(y, 1))));
    };
    return std::max({apart(a.warpInstructions, b.warpInstructions), apart(a.threadInstructions, b.threadInstructions),
                     apart(a.memoryInstructions, b.memoryInstructions), apart(a.bytesL1, b.bytesL1)});
}

}  // namespace

LaunchHistory::Group& LaunchHistory::groupOf(const Launch& launch) {
    return groups_[keyOf(launch)];
}

bool LaunchHistory::wantsTiming(const Launch& launch) {
    Group& group = groupOf(launch);
    const std::uint64_t index = group.seen++;
    const bool isNew = group.arguments.size() < kFewArguments && !group.arguments.contains(argumentsOf(launch));
    if (group.timed.size() < kFirst || isNew) return true;
    if (index < group.next) return false;
    group.period = std::min(2 * group.period, kLongestPeriod);
    group.next = index + group.period;
    return true;
}

void LaunchHistory::timed(const Launch& launch, const Estimate& cycles, const Counters& counters) {
    Group& group = groupOf(launch);
    group.timed.push_back({cycles, counters});
    group.arguments.insert(argumentsOf(launch));
}

LaunchHistory::Guess LaunchHistory::guess(const Launch& launch, const Counters& work) {
    Group& group = groupOf(launch);
    struct Neighbour {
        const Timed* timed;
        double apart;
    };
    std::vector<Neighbour> near;
    // The first launch of a group has found caches without its data.
    for (std::size_t i = group.timed.size() > kFewest ? 1 : 0; i < group.timed.size(); ++i)
        near.push_back({&group.timed[i], distance(group.timed[i].counters, work)});
    std::ranges::reverse(near);  // of equals, the latest
    std::ranges::stable_sort(near, {}, &Neighbour::apart);
    const double apart = near.front().apart;
    std::size_t count = std::min(kFewest, near.size());
    while (count < std::min(kNeighbours, near.size()) && near[count].apart <= apart + kAlike) ++count;
    near.resize(count);

    std::vector<MeasuredPiece> pieces;
    double own = 0;  // what the neighbours' cycles are not known to, relative
    for (const Neighbour& neighbour : near) {
        const Estimate& cycles = neighbour.timed->cycles;
        pieces.push_back({cycles.value, static_cast<double>(neighbour.timed->counters.warpInstructions)});
        own += cycles.halfWidth / cycles.value / static_cast<double>(count);
    }
    Guess guess;
    guess.cycles = estimateRest(pieces, static_cast<double>(work.warpInstructions));
    guess.cycles.halfWidth += guess.cycles.value * (own + std::min(apart, 1.0));
    guess.counters =
        scaled(near.front().timed->counters, static_cast<double>(work.warpInstructions) /
                                                 static_cast<double>(near.front().timed->counters.warpInstructions));
    if (guess.cycles.halfWidth > kHardToTell * guess.cycles.value) {
        group.next = group.seen;
        group.period = 1;
    }
    return guess;
}

}  // namespace bulkhead::sim
