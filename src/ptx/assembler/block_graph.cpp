#include "ptx/assembler/block_graph.h"

#include <algorithm>
#include <utility>

namespace bulkhead::ptx {
namespace {

bool isJump(const Instruction& instruction) {
    return instruction.opcode == "bra" || instruction.opcode == "brx";
}

int placeOfLabel(const Function& function, const Instruction& at, const std::string& label) {
    const auto found = function.labels.find(label);
    if (found == function.labels.end())
        throw Error("{}: line {}: undefined label '{}'", function.name, at.position.line, label);
    return found->second;
}

const BranchTargets& tableNamed(const Function& function, const Instruction& at) {
    const std::string& name = at.operands.at(1).name;
    for (const BranchTargets& table : function.branchTargets)
        if (table.name == name) return table;
    throw Error("{}: line {}: undefined table '{}'", function.name, at.position.line, name);
}

/// The instructions at which blocks begin; one more for the end of the body.
std::vector<bool> findLeaders(const Function& function) {
    const std::vector<Instruction>& body = function.body;
    std::vector<bool> leads(body.size() + 1, false);
    leads[0] = leads[body.size()] = true;
    for (std::size_t i = 0; i < body.size(); ++i) {
        if (isJump(body[i]) || endsThread(body[i])) leads[i + 1] = true;
        if (body[i].opcode == "bra")
            leads[static_cast<std::size_t>(placeOfLabel(function, body[i], body[i].operands.at(0).name))] = true;
    }
    for (const BranchTargets& table : function.branchTargets)
        for (const std::string& label : table.labels)
            if (const auto found = function.labels.find(label); found != function.labels.end())
                leads[static_cast<std::size_t>(found->second)] = true;
    return leads;
}

Instruction returnAfter(const Function& function) {
    Instruction end;
    end.opcode = "ret";
    end.position = function.body.empty() ? function.position : function.body.back().position;
    end.text = "ret;";
    return end;
}

std::string labelOf(int block) {
    return "$block" + std::to_string(block);
}

Instruction jumpTo(int block, Position position) {
    Instruction jump;
    jump.opcode = "bra";
    jump.modifiers = {"uni"};
    jump.position = position;
    jump.text = "bra";
    Operand target;
    target.kind = Operand::Kind::label;
    target.name = labelOf(block);
    jump.operands.push_back(target);
    return jump;
}

}  // namespace

bool endsThread(const Instruction& instruction) {
    return instruction.guard < 0 &&
           (instruction.opcode == "ret" || instruction.opcode == "exit" || instruction.opcode == "trap");
}

std::vector<int> BlockGraph::Block::successors() const {
    std::vector<int> all = table;
    if (taken != kNone) all.push_back(taken);
    if (next != kNone) all.push_back(next);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

BlockGraph::BlockGraph(const Function& function) : tables_(function.branchTargets) {
    const std::vector<Instruction>& body = function.body;
    const std::vector<bool> leads = findLeaders(function);
    std::vector<int> blockAt(body.size() + 1, 0);
    int count = -1;
    for (std::size_t i = 0; i <= body.size(); ++i) blockAt[i] = count += leads[i] ? 1 : 0;
    blocks.resize(static_cast<std::size_t>(count) + 1);
    const auto blockOf = [&](const Instruction& at, const std::string& label) {
        return blockAt[static_cast<std::size_t>(placeOfLabel(function, at, label))];
    };
    for (std::size_t i = 0; i < body.size(); ++i) {
        const Instruction& instruction = body[i];
        Block& block = blocks[static_cast<std::size_t>(blockAt[i])];
        const bool isLast = leads[i + 1], leaves = endsThread(instruction);
        if (isLast && !leaves && !(isJump(instruction) && instruction.guard < 0)) block.next = blockAt[i + 1];
        if (!isJump(instruction)) {
            block.code.push_back(instruction);
        } else if (instruction.opcode == "brx") {
            block.branch = instruction;
            for (const std::string& label : tableNamed(function, instruction).labels)
                block.table.push_back(blockOf(instruction, label));
        } else if (instruction.guard < 0) {
            block.next = blockOf(instruction, instruction.operands.at(0).name);
        } else {
            block.branch = instruction;
            block.taken = blockOf(instruction, instruction.operands.at(0).name);
        }
    }
    // The end of the body is a block of its own, which returns.
    blocks.back().code.push_back(returnAfter(function));
    for (const BranchTargets& table : tables_) {
        std::vector<int> places;
        for (const std::string& label : table.labels) {
            const auto found = function.labels.find(label);
            places.push_back(found == function.labels.end() ? kNone : blockAt[static_cast<std::size_t>(found->second)]);
        }
        tableBlocks_.push_back(std::move(places));
    }
}

std::vector<std::vector<int>> BlockGraph::predecessors() const {
    std::vector<std::vector<int>> all(blocks.size());
    std::vector<bool> reached(blocks.size(), false);
    std::vector<int> work{0};
    reached[0] = true;
    while (!work.empty()) {
        const int b = work.back();
        work.pop_back();
        for (const int successor : blocks[static_cast<std::size_t>(b)].successors()) {
            all[static_cast<std::size_t>(successor)].push_back(b);
            if (reached[static_cast<std::size_t>(successor)]) continue;
            reached[static_cast<std::size_t>(successor)] = true;
            work.push_back(successor);
        }
    }
    return all;
}

std::vector<int> BlockGraph::loopDepths() const {
    std::vector<int> depth(blocks.size(), kNone);
    enum class Mark : std::uint8_t { unseen, open, done };
    std::vector<Mark> mark(blocks.size(), Mark::unseen);
    std::vector<std::pair<int, int>> backEdges;
    struct Frame {
        int block;
        std::vector<int> left;
    };
    std::vector<Frame> walk{{0, blocks[0].successors()}};
    mark[0] = Mark::open;
    while (!walk.empty()) {
        Frame& frame = walk.back();
        if (frame.left.empty()) {
            mark[static_cast<std::size_t>(frame.block)] = Mark::done;
            depth[static_cast<std::size_t>(frame.block)] = 0;
            walk.pop_back();
            continue;
        }
        const int to = frame.left.back();
        frame.left.pop_back();
        if (mark[static_cast<std::size_t>(to)] == Mark::open) backEdges.emplace_back(frame.block, to);
        if (mark[static_cast<std::size_t>(to)] != Mark::unseen) continue;
        mark[static_cast<std::size_t>(to)] = Mark::open;
        walk.push_back({to, blocks[static_cast<std::size_t>(to)].successors()});
    }
    // A loop: its head, and all that leads to a back edge to it without passing the head.
    const std::vector<std::vector<int>> before = predecessors();
    std::sort(backEdges.begin(), backEdges.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (std::size_t k = 0; k < backEdges.size();) {
        const int head = backEdges[k].second;
        std::vector<bool> inside(blocks.size(), false);
        inside[static_cast<std::size_t>(head)] = true;
        std::vector<int> work;
        for (; k < backEdges.size() && backEdges[k].second == head; ++k) work.push_back(backEdges[k].first);
        while (!work.empty()) {
            const auto b = static_cast<std::size_t>(work.back());
            work.pop_back();
            if (inside[b] || depth[b] == kNone) continue;
            inside[b] = true;
            work.insert(work.end(), before[b].begin(), before[b].end());
        }
        for (std::size_t b = 0; b < blocks.size(); ++b) depth[b] += inside[b] ? 1 : 0;
    }
    return depth;
}

/// Where a jump to a block ends up, past empty ones.
void BlockGraph::skipEmptyBlocks() {
    const auto endOf = [&](int block) {
        for (std::size_t steps = 0; steps < blocks.size(); ++steps) {
            const Block& b = blocks[static_cast<std::size_t>(block)];
            if (!b.code.empty() || b.branch || b.next == kNone || b.next == block) break;
            block = b.next;
        }
        return block;
    };
    for (Block& block : blocks) {
        if (block.next != kNone) block.next = endOf(block.next);
        if (block.taken != kNone) block.taken = endOf(block.taken);
        if (block.isConditional() && block.taken == block.next) {
            block.branch.reset();
            block.taken = kNone;
        }
    }
}

bool BlockGraph::joinFollowers() {
    bool joined = false;
    std::vector<std::size_t> entries(blocks.size(), 0);
    entries[0] = 1;
    const std::vector<int> depth = loopDepths();
    for (std::size_t b = 0; b < blocks.size(); ++b)
        if (depth[b] != kNone)
            for (const int to : blocks[b].successors()) ++entries[static_cast<std::size_t>(to)];
    for (const std::vector<int>& table : tableBlocks_)
        for (const int to : table)
            if (to != kNone) entries[static_cast<std::size_t>(to)] += 2;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        if (depth[b] == kNone || entries[b] == 0) continue;  // nothing leads there
        while (!blocks[b].branch && blocks[b].next != kNone) {
            const auto follower = static_cast<std::size_t>(blocks[b].next);
            if (follower == b || entries[follower] != 1) break;
            Block& from = blocks[follower];
            std::move(from.code.begin(), from.code.end(), std::back_inserter(blocks[b].code));
            blocks[b].branch = std::move(from.branch);
            blocks[b].taken = from.taken;
            blocks[b].next = from.next;
            blocks[b].table = std::move(from.table);
            from = Block{};
            from.next = static_cast<int>(b);  // nothing leads there any more
            entries[follower] = 0;
            joined = true;
        }
    }
    return joined;
}

void BlockGraph::straighten() {
    do skipEmptyBlocks();
    while (joinFollowers());
}

/// An order in which blocks that follow each other stand behind each other, loops in one piece; what nothing leads to
/// comes last.
std::vector<int> BlockGraph::layout() const {
    const std::vector<int> depth = loopDepths();
    std::vector<bool> placed(blocks.size(), false);
    std::vector<int> order;
    const auto follow = [&](int from) {
        for (int b = from; b != kNone;) {
            placed[static_cast<std::size_t>(b)] = true;
            order.push_back(b);
            const Block& block = blocks[static_cast<std::size_t>(b)];
            int best = kNone;
            for (const int to : {block.next, block.taken}) {
                if (to == kNone || placed[static_cast<std::size_t>(to)]) continue;
                if (best == kNone || depth[static_cast<std::size_t>(to)] > depth[static_cast<std::size_t>(best)])
                    best = to;
            }
            b = best;
        }
    };
    follow(0);
    for (std::size_t b = 0; b < blocks.size(); ++b)
        if (!placed[b] && depth[b] != kNone) follow(static_cast<int>(b));
    std::vector<bool> named(blocks.size(), false);
    for (const std::vector<int>& table : tableBlocks_)
        for (const int to : table)
            if (to != kNone) named[static_cast<std::size_t>(to)] = true;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        // What was emptied is no code; what was never reached stays, to be checked with the rest.
        const bool isEmpty = blocks[b].code.empty() && !blocks[b].branch;
        if (!placed[b] && (!isEmpty || named[b])) follow(static_cast<int>(b));
    }
    return order;
}

void BlockGraph::putBack(Function& function) const {
    const std::vector<int> order = layout();
    std::vector<Instruction> body;
    function.labels.clear();
    for (std::size_t k = 0; k < order.size(); ++k) {
        const Block& block = blocks[static_cast<std::size_t>(order[k])];
        const int following = k + 1 < order.size() ? order[k + 1] : kNone;
        function.labels[labelOf(order[k])] = static_cast<int>(body.size());
        body.insert(body.end(), block.code.begin(), block.code.end());
        const Position position = body.empty() ? function.position : body.back().position;
        if (block.isConditional()) {
            Instruction branch = *block.branch;
            int target = block.taken, other = block.next;
            if (target == following) {
                std::swap(target, other);
                branch.guardNegated = !branch.guardNegated;
            }
            branch.operands.at(0).name = labelOf(target);
            std::erase(branch.modifiers, "uni");
            body.push_back(std::move(branch));
            if (other != following) body.push_back(jumpTo(other, position));
            continue;
        }
        if (block.branch) body.push_back(*block.branch);
        if (block.next != kNone && block.next != following) body.push_back(jumpTo(block.next, position));
    }
    function.body = std::move(body);
    function.branchTargets = tables_;
    for (std::size_t t = 0; t < tables_.size(); ++t)
        for (std::size_t i = 0; i < tableBlocks_[t].size(); ++i)
            if (tableBlocks_[t][i] != kNone) function.branchTargets[t].labels[i] = labelOf(tableBlocks_[t][i]);
}

}  // namespace bulkhead::ptx
