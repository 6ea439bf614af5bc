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

/// Registers that each instruction reads and writes.
struct RegisterUses {
    explicit RegisterUses(const Function& function) {
        for (const Instruction& instruction : function.body) {
            const Effects effects = effectsOf(function, instruction);
            reads.add(effects.reads);
            reads.close();
            writes.add(effects.writes);
            writes.close();
        }
    }
    Lists reads, writes;
};

/// By register: blocks that write it, and blocks that read it before they write it, in order.
struct RegisterBlocks {
    explicit RegisterBlocks(std::size_t registers) : exposed(registers), written(registers) {}
    std::vector<std::vector<int>> exposed, written;
};

void cover(Liveness::Interval& interval, int instruction) {
    interval.first = interval.first < 0 ? instruction : std::min(interval.first, instruction);
    interval.last = std::max(interval.last, instruction);
}

/// Intervals begin as what lies between the first and the last use of a register.
RegisterBlocks findUses(const ControlFlow& flow, const RegisterUses& uses, Liveness& result) {
    RegisterBlocks blocks(result.intervals.size());
    const auto endsWith = [](const std::vector<int>& list, int block) { return !list.empty() && list.back() == block; };
    for (int b = 0; b < static_cast<int>(flow.blocks.size()); ++b) {
        for (int i = flow.blocks[b].first; i < flow.blocks[b].last; ++i) {
            for (int reg : uses.reads[i]) {
                cover(result.intervals[reg], i);
                if (!endsWith(blocks.written[reg], b) && !endsWith(blocks.exposed[reg], b))
                    blocks.exposed[reg].push_back(b);
            }
            for (int reg : uses.writes[i]) {
                cover(result.intervals[reg], i);
                if (!endsWith(blocks.written[reg], b)) blocks.written[reg].push_back(b);
            }
        }
    }
    return blocks;
}

/// By block.
std::vector<std::vector<int>> predecessorsOf(const ControlFlow& flow) {
    std::vector<std::vector<int>> predecessors(flow.blocks.size());
    for (int b = 0; b < static_cast<int>(flow.blocks.size()); ++b)
        for (int successor : flow.blocks[b].successors) predecessors[successor].push_back(b);
    return predecessors;
}

/// Extends intervals over the blocks that a register is live in. Returns, by block, what is live at its end.
///
/// A register's live range is found by walking backward from each block that reads it before writing it, through
/// predecessors, until a block that writes it. The work is the size of the answer, where sets of bits over all blocks
/// and registers would cost their product.
std::vector<std::vector<int>> spreadBackward(const ControlFlow& flow, const RegisterBlocks& blocks, Liveness& result) {
    const std::vector<std::vector<int>> predecessors = predecessorsOf(flow);
    std::vector<std::vector<int>> liveOut(flow.blocks.size());
    // The last register that was found live at a block's begin, live at its end, and written in it.
    std::vector<int> liveAtBegin(flow.blocks.size(), -1), liveAtEnd = liveAtBegin, writtenIn = liveAtBegin, work;
    for (int reg = 0; reg < static_cast<int>(blocks.exposed.size()); ++reg) {
        if (blocks.exposed[reg].empty()) continue;
        for (int b : blocks.written[reg]) writtenIn[b] = reg;
        for (int b : blocks.exposed[reg]) liveAtBegin[b] = reg;
        work = blocks.exposed[reg];
        while (!work.empty()) {
            const int b = work.back();
            work.pop_back();
            cover(result.intervals[reg], flow.blocks[b].first);
            for (int predecessor : predecessors[b]) {
                if (liveAtEnd[predecessor] == reg) continue;
                liveAtEnd[predecessor] = reg;
                liveOut[predecessor].push_back(reg);
                cover(result.intervals[reg], flow.blocks[predecessor].last - 1);
                if (writtenIn[predecessor] == reg || liveAtBegin[predecessor] == reg) continue;
                liveAtBegin[predecessor] = reg;
                work.push_back(predecessor);
            }
        }
    }
    return liveOut;
}

/// Registers that are live at one place of a function, and the most that were at any.
class LiveRegisters {
  public:
    LiveRegisters(const std::vector<Register>& registers, Liveness& result)
        : registers_(registers), result_(result), isLive_(registers.size(), false) {}

    void start(int reg) {
        if (isLive_[reg]) return;
        isLive_[reg] = true;
        live_.push_back(reg);
        live32_ += size32(registers_[reg]);
        livePredicates_ += registers_[reg].type == Type::pred;
    }
    void stop(int reg) {
        if (!isLive_[reg]) return;
        isLive_[reg] = false;
        live32_ -= size32(registers_[reg]);
        livePredicates_ -= registers_[reg].type == Type::pred;
    }
    void stopAll() {
        for (int reg : live_) stop(reg);
        live_.clear();
    }
    void count() {
        result_.maxLive32 = std::max(result_.maxLive32, live32_);
        result_.maxLivePredicates = std::max(result_.maxLivePredicates, livePredicates_);
    }

  private:
    const std::vector<Register>& registers_;
    Liveness& result_;
    std::vector<bool> isLive_;
    std::vector<int> live_;  ///< every one that is, and some that were
    int live32_ = 0, livePredicates_ = 0;
};

/// Goes through each block from its end, where what is live is known.
void countLive(const Function& function, const ControlFlow& flow, const RegisterUses& uses,
               const std::vector<std::vector<int>>& liveOut, Liveness& result) {
    LiveRegisters live(function.registers, result);
    for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
        for (int reg : liveOut[b]) live.start(reg);
        for (int i = flow.blocks[b].last - 1; i >= flow.blocks[b].first; --i) {
            // A result needs a register even if nobody reads it.
            for (int reg : uses.writes[i]) live.start(reg);
            live.count();
            for (int reg : uses.writes[i]) live.stop(reg);
            for (int reg : uses.reads[i]) live.start(reg);
            live.count();
        }
        live.stopAll();
    }
}

}  // namespace

Liveness analyseLiveness(const Function& function, const ControlFlow& flow) {
    Liveness result;
    result.intervals.resize(function.registers.size());
    const RegisterUses uses(function);
    const RegisterBlocks blocks = findUses(flow, uses, result);
    countLive(function, flow, uses, spreadBackward(flow, blocks, result), result);
    return result;
}

}  // namespace bulkhead::ptx
