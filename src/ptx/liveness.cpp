#include <algorithm>

#include "ptx/control_flow.h"

namespace bulkhead::ptx {

namespace {

/// Lists of ints end to end: one allocation where a vector of vectors has thousands.
class Lists {
  public:
    void add(const std::vector<int>& values) { values_.insert(values_.end(), values.begin(), values.end()); }
    void close() { ends_.push_back(values_.size()); }

    struct Range {
        const int *first, *last;
        const int* begin() const { return first; }
        const int* end() const { return last; }
    };
    Range operator[](std::size_t i) const {
        return {values_.data() + (i == 0 ? 0 : ends_[i - 1]), values_.data() + ends_[i]};
    }

  private:
    std::vector<int> values_;
    std::vector<std::size_t> ends_;
};

int size32(const Register& reg) {
    if (reg.type == Type::pred) return 0;
    return static_cast<int>(std::max(1u, bitsOf(reg.type) / 32) * reg.vector);
}

}  // namespace

/// A register's live range is found by walking backward from each block that reads it before writing it, through
/// predecessors, until a block that writes it. The work is the size of the answer, where sets of bits over all blocks
/// and registers would cost their product.
Liveness analyseLiveness(const Function& function, const ControlFlow& flow) {
    Liveness result;
    const std::size_t registerCount = function.registers.size();
    result.intervals.resize(registerCount);
    const int blockCount = static_cast<int>(flow.blocks.size());

    Lists reads, writes;
    for (const Instruction& instruction : function.body) {
        Effects effects = effectsOf(function, instruction);
        reads.add(effects.reads);
        reads.close();
        writes.add(effects.writes);
        writes.close();
    }

    std::vector<std::vector<int>> predecessors(blockCount);
    for (int b = 0; b < blockCount; ++b) {
        for (int successor : flow.blocks[b].successors) predecessors[successor].push_back(b);
    }

    auto cover = [&](int reg, int instruction) {
        Liveness::Interval& interval = result.intervals[reg];
        interval.first = interval.first < 0 ? instruction : std::min(interval.first, instruction);
        interval.last = std::max(interval.last, instruction);
    };

    // Per block: registers written, and registers read before any write. Stamps say "already in this block's list".
    std::vector<std::vector<int>> exposedIn(registerCount);
    std::vector<std::vector<int>> writtenIn(registerCount);
    for (int b = 0; b < blockCount; ++b) {
        for (int i = flow.blocks[b].first; i < flow.blocks[b].last; ++i) {
            for (int reg : reads[i]) {
                cover(reg, i);
                bool isWritten = !writtenIn[reg].empty() && writtenIn[reg].back() == b;
                bool isKnown = !exposedIn[reg].empty() && exposedIn[reg].back() == b;
                if (!isWritten && !isKnown) exposedIn[reg].push_back(b);
            }
            for (int reg : writes[i]) {
                cover(reg, i);
                if (writtenIn[reg].empty() || writtenIn[reg].back() != b) writtenIn[reg].push_back(b);
            }
        }
    }

    std::vector<std::vector<int>> liveOut(blockCount);
    std::vector<int> inStamp(blockCount, -1), outStamp(blockCount, -1), writeStamp(blockCount, -1), work;
    for (int reg = 0; reg < static_cast<int>(registerCount); ++reg) {
        if (exposedIn[reg].empty()) continue;
        for (int b : writtenIn[reg]) writeStamp[b] = reg;
        for (int b : exposedIn[reg]) {
            inStamp[b] = reg;
            work.push_back(b);
        }
        while (!work.empty()) {
            int b = work.back();
            work.pop_back();
            cover(reg, flow.blocks[b].first);
            for (int predecessor : predecessors[b]) {
                if (outStamp[predecessor] == reg) continue;
                outStamp[predecessor] = reg;
                liveOut[predecessor].push_back(reg);
                cover(reg, flow.blocks[predecessor].last - 1);
                if (writeStamp[predecessor] == reg || inStamp[predecessor] == reg) continue;
                inStamp[predecessor] = reg;
                work.push_back(predecessor);
            }
        }
    }

    // How many are live at once: each block from its end, where what is live is known.
    std::vector<bool> isLive(registerCount, false);
    std::vector<int> live;
    int live32 = 0, livePredicates = 0;
    auto start = [&](int reg) {
        if (isLive[reg]) return;
        isLive[reg] = true;
        live.push_back(reg);
        live32 += size32(function.registers[reg]);
        livePredicates += function.registers[reg].type == Type::pred;
    };
    auto stop = [&](int reg) {
        if (!isLive[reg]) return;
        isLive[reg] = false;
        live32 -= size32(function.registers[reg]);
        livePredicates -= function.registers[reg].type == Type::pred;
    };
    auto note = [&] {
        result.maxLive32 = std::max(result.maxLive32, live32);
        result.maxLivePredicates = std::max(result.maxLivePredicates, livePredicates);
    };
    for (int b = 0; b < blockCount; ++b) {
        for (int reg : liveOut[b]) start(reg);
        for (int i = flow.blocks[b].last - 1; i >= flow.blocks[b].first; --i) {
            // A result needs a register even if nobody reads it.
            for (int reg : writes[i]) start(reg);
            note();
            for (int reg : writes[i]) stop(reg);
            for (int reg : reads[i]) start(reg);
            note();
        }
        for (int reg : live) stop(reg);
        live.clear();
    }
    return result;
}

}  // namespace bulkhead::ptx
