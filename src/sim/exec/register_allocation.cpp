#include "sim/exec/register_allocation.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace bulkhead::sim {

namespace {

enum Pool : unsigned { words, doubles, quads, predicates, kPools };
constexpr std::uint32_t kPlaceBytes[kPools] = {32 * 4, 32 * 8, 32 * 16, 4};

unsigned poolOf(ptx::Type type) {
    if (type == ptx::Type::pred) return predicates;
    const unsigned bits = ptx::bitsOf(type);
    return bits <= 32 ? words : bits == 64 ? doubles : quads;
}

template <class T>
using MinQueue = std::priority_queue<T, std::vector<T>, std::greater<>>;

}  // namespace

RegisterAllocation::RegisterAllocation(const ptx::Function& function, const ptx::Liveness& liveness) {
    const auto& registers = function.registers;
    std::vector<std::size_t> order;
    for (std::size_t r = 0; r < registers.size(); ++r) {
        first_.push_back(places_.size());
        places_.resize(places_.size() + registers[r].vector);
        if (liveness.intervals[r].first >= 0) order.push_back(r);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return liveness.intervals[a].first < liveness.intervals[b].first;
    });

    struct Use {
        int last;
        std::uint32_t place;
        bool operator>(const Use& o) const { return last != o.last ? last > o.last : place > o.place; }
    };
    MinQueue<Use> active[kPools];
    MinQueue<std::uint32_t> free[kPools];
    std::uint32_t count[kPools] = {};
    std::vector<std::uint32_t> place(places_.size());
    for (const std::size_t r : order) {
        const unsigned pool = poolOf(registers[r].type);
        const auto [start, last] = liveness.intervals[r];
        // A source that dies where a result is born keeps its place: handlers may write results before they have read
        // every lane of every source (vector loads, shuffles).
        while (!active[pool].empty() && active[pool].top().last < start) {
            free[pool].push(active[pool].top().place);
            active[pool].pop();
        }
        for (unsigned element = 0; element < registers[r].vector; ++element) {
            std::uint32_t chosen = count[pool];
            if (free[pool].empty()) {
                ++count[pool];
            } else {
                chosen = free[pool].top();
                free[pool].pop();
            }
            active[pool].push({last, chosen});
            place[first_[r] + element] = chosen;
        }
    }

    std::uint32_t poolBytes[kPools], poolIds[kPools];
    for (unsigned pool = 0; pool < kPools; ++pool) {
        poolBytes[pool] = bytes_;
        poolIds[pool] = ids_;
        bytes_ += count[pool] * kPlaceBytes[pool];
        ids_ += count[pool];
    }
    for (const std::size_t r : order) {
        const unsigned pool = poolOf(registers[r].type);
        for (unsigned element = 0; element < registers[r].vector; ++element) {
            const std::uint32_t p = place[first_[r] + element];
            places_[first_[r] + element] = {static_cast<std::int32_t>(poolBytes[pool] + p * kPlaceBytes[pool]),
                                            static_cast<std::uint16_t>(poolIds[pool] + p)};
        }
    }
}

}  // namespace bulkhead::sim
