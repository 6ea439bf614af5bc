#include "ptx/assembler/unrolling.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "ptx/assembler/dataflow.h"

namespace bulkhead::ptx {
namespace {

constexpr unsigned kTimes = 4;
/// Of a body that is repeated.
constexpr std::size_t kMostInstructions = 64;
/// Of a function in all.
constexpr std::size_t kMostRepeated = 4096;

/// A register's value at some place of the body: that of `base` at its begin, and a number.
struct Stepped {
    int base = -1;
    std::int64_t offset = 0;
};

enum class Comparison : std::uint8_t { notEqual, less, lessEqual, greater, greaterEqual };

/// `base`, which steps by `step`, decides: iterations follow while COMPARISON(base + tested, bound).
struct Count {
    int counter = -1;
    std::int64_t step = 0;
    std::int64_t tested = 0;  ///< what the comparison adds to the counter's value at the begin of the iteration
    Comparison comparison = Comparison::notEqual;
    Operand bound;
    Type type = Type::none;  ///< of the comparison
    std::size_t test = 0;    ///< the instruction that compares
};

Operand registerOperand(const Function& function, int reg) {
    Operand operand;
    operand.kind = Operand::Kind::reg;
    operand.reg = reg;
    operand.name = function.registers[static_cast<std::size_t>(reg)].name;
    operand.type = function.registers[static_cast<std::size_t>(reg)].type;
    return operand;
}

Operand integerOperand(std::int64_t value) {
    Operand operand;
    operand.kind = Operand::Kind::integer;
    operand.integer = value;
    return operand;
}

/// Whether a write leaves some lanes or parts of its register as they were.
bool writesInPart(const Instruction& instruction) {
    if (instruction.guard >= 0) return true;
    return !instruction.operands.empty() && instruction.operands[0].element >= 0;
}

std::optional<std::int64_t> addedNumber(const Instruction& i) {
    const bool adds = i.opcode == "add", subtracts = i.opcode == "sub";
    if ((!adds && !subtracts) || i.guard >= 0 || i.modifiers.size() != 1 || i.operands.size() != 3) return std::nullopt;
    const Type type = typeOf(i);
    if (isFloat(type) || (bitsOf(type) != 32 && bitsOf(type) != 64)) return std::nullopt;
    if (i.operands[0].kind != Operand::Kind::reg || i.operands[1].kind != Operand::Kind::reg ||
        i.operands[2].kind != Operand::Kind::integer)
        return std::nullopt;
    const std::int64_t n = i.operands[2].integer;
    constexpr std::int64_t kLargest = std::int64_t{1} << 24;
    if (n > kLargest || n < -kLargest) return std::nullopt;
    return adds ? n : -n;
}

std::optional<Comparison> comparisonNamed(std::string_view name, bool inverted) {
    using C = Comparison;
    struct Row {
        std::string_view name;
        std::optional<C> plain, inverted;
    };
    static const Row rows[] = {{"ne", C::notEqual, std::nullopt}, {"eq", std::nullopt, C::notEqual},
                               {"lt", C::less, C::greaterEqual},  {"le", C::lessEqual, C::greater},
                               {"gt", C::greater, C::lessEqual},  {"ge", C::greaterEqual, C::less},
                               {"lo", C::less, C::greaterEqual},  {"ls", C::lessEqual, C::greater},
                               {"hi", C::greater, C::lessEqual},  {"hs", C::greaterEqual, C::less}};
    for (const Row& row : rows)
        if (row.name == name) return inverted ? row.inverted : row.plain;
    return std::nullopt;
}

Comparison mirrored(Comparison c) {
    switch (c) {
        case Comparison::less:
            return Comparison::greater;
        case Comparison::lessEqual:
            return Comparison::greaterEqual;
        case Comparison::greater:
            return Comparison::less;
        case Comparison::greaterEqual:
            return Comparison::lessEqual;
        default:
            return c;
    }
}

bool goesUp(Comparison c) {
    return c == Comparison::less || c == Comparison::lessEqual;
}

/// What a body does to its registers.
class LoopBody {
  public:
    LoopBody(const Function& function, const BlockGraph::Block& block) : function_(function), block_(block) {
        for (const Instruction& i : block.code)
            for (const int reg : effectsOf(function, i).writes) ++writes_[reg];
    }

    bool changes(int reg) const { return writes_.contains(reg); }

    bool canBeRepeated() const {
        if (block_.code.empty() || block_.code.size() > kMostInstructions) return false;
        return std::all_of(block_.code.begin(), block_.code.end(), [&](const Instruction& i) {
            const Motion motion = motionOf(function_, i);
            return !isConvergent(i) && !usesCarry(i) && motion != Motion::fixed && !takesSequence(i);
        });
    }

    /// Whether an access goes by a register that the loop itself moves on, or by the sum of such a register and one
    /// that the loop leaves alone.
    bool walksMemory() const {
        return std::any_of(block_.code.begin(), block_.code.end(), [&](const Instruction& i) {
            return (i.opcode == "ld" || i.opcode == "st") &&
                   std::any_of(i.operands.begin(), i.operands.end(), [&](const Operand& o) {
                       return o.kind == Operand::Kind::address && o.baseIsReg && (isCarried(o.reg) || isOffset(o.reg));
                   });
        });
    }

    std::optional<Count> count() const {
        const Instruction& branch = *block_.branch;
        const auto test = testOf(branch.guard);
        if (!test) return std::nullopt;
        return countAt(*test);
    }

    bool continuesIfHolds(int self) const { return (block_.taken == self) != block_.branch->guardNegated; }
    void setSelf(int self) { self_ = self; }

  private:
    /// A division is long enough that repeating it gains nothing.
    static bool takesSequence(const Instruction& i) {
        return (i.opcode == "div" || i.opcode == "rem" || i.opcode == "sqrt" || i.opcode == "rcp") && !i.has("approx");
    }

    bool isOffset(int reg) const {
        for (const Instruction& i : block_.code) {
            const bool isSum = i.opcode == "add" && i.guard < 0 && i.operands.size() == 3 &&
                               i.operands[0].kind == Operand::Kind::reg && i.operands[0].reg == reg &&
                               i.operands[1].kind == Operand::Kind::reg && i.operands[2].kind == Operand::Kind::reg;
            if (!isSum || bitsOf(typeOf(i)) != 64) continue;
            const int a = i.operands[1].reg, b = i.operands[2].reg;
            return (isCarried(a) && !changes(b)) || (isCarried(b) && !changes(a));
        }
        return false;
    }

    /// Read before it is written.
    bool isCarried(int reg) const {
        if (!changes(reg)) return false;
        for (const Instruction& i : block_.code) {
            const Effects effects = effectsOf(function_, i);
            if (std::find(effects.reads.begin(), effects.reads.end(), reg) != effects.reads.end()) return true;
            if (std::find(effects.writes.begin(), effects.writes.end(), reg) != effects.writes.end()) return false;
        }
        return false;
    }

    std::optional<std::size_t> testOf(int guard) const {
        for (std::size_t k = block_.code.size(); k-- > 0;) {
            const Instruction& i = block_.code[k];
            const Effects effects = effectsOf(function_, i);
            if (std::find(effects.writes.begin(), effects.writes.end(), guard) == effects.writes.end()) continue;
            const bool isPlain = i.opcode == "setp" && i.guard < 0 && i.modifiers.size() == 2 &&
                                 i.operands.size() == 3 && i.operands[0].kind == Operand::Kind::reg;
            return isPlain ? std::optional(k) : std::nullopt;
        }
        return std::nullopt;
    }

    /// Values of registers before an instruction, where they are those of the begin and a number.
    std::map<int, Stepped> valuesBefore(std::size_t place) const {
        std::map<int, Stepped> values;
        const auto valueOf = [&](int reg) {
            const auto known = values.find(reg);
            return known == values.end() ? Stepped{reg, 0} : known->second;
        };
        for (std::size_t k = 0; k < place; ++k) {
            const Instruction& i = block_.code[k];
            const auto added = addedNumber(i);
            const bool copies = i.opcode == "mov" && i.guard < 0 && i.operands.size() == 2 &&
                                i.operands[0].kind == Operand::Kind::reg && i.operands[1].kind == Operand::Kind::reg &&
                                bitsOf(i.operands[0].type) == bitsOf(i.operands[1].type) && i.operands[0].element < 0 &&
                                i.operands[1].element < 0;
            Stepped result;
            if (added || copies) {
                result = valueOf(i.operands[1].reg);
                if (result.base >= 0) result.offset += added.value_or(0);
            }
            for (const int reg : effectsOf(function_, i).writes) values[reg] = Stepped{};
            if (added || copies) values[i.operands[0].reg] = result;
        }
        return values;
    }

    static Stepped valueIn(const std::map<int, Stepped>& values, int reg) {
        const auto known = values.find(reg);
        return known == values.end() ? Stepped{reg, 0} : known->second;
    }

    std::optional<Count> countAt(std::size_t test) const {
        const Instruction& i = block_.code[test];
        Count count;
        count.test = test;
        count.type = modifierType(i.modifiers[1]);
        if (isFloat(count.type) || (bitsOf(count.type) != 32 && bitsOf(count.type) != 64)) return std::nullopt;
        auto comparison = comparisonNamed(i.modifiers[0], !continuesIfHolds(self_));
        if (!comparison) return std::nullopt;
        const auto before = valuesBefore(test), end = valuesBefore(block_.code.size());
        for (const int side : {1, 2}) {
            const Operand &moving = i.operands[static_cast<std::size_t>(side)],
                          &bound = i.operands[static_cast<std::size_t>(3 - side)];
            if (moving.kind != Operand::Kind::reg || moving.element >= 0 || bitsOf(moving.type) != bitsOf(count.type))
                continue;
            const bool isFixed = bound.kind == Operand::Kind::integer ||
                                 (bound.kind == Operand::Kind::reg && bound.element < 0 && !changes(bound.reg));
            const Stepped tested = valueIn(before, moving.reg);
            if (!isFixed || tested.base < 0 || !changes(tested.base)) continue;
            const Stepped after = valueIn(end, tested.base);
            if (after.base != tested.base || after.offset == 0) continue;
            count.counter = tested.base;
            count.step = after.offset;
            count.tested = tested.offset;
            count.bound = bound;
            count.comparison = side == 1 ? *comparison : mirrored(*comparison);
            return isSound(count) ? std::optional(count) : std::nullopt;
        }
        return std::nullopt;
    }

    /// Whether the number of iterations can be told from counter and bound.
    static bool isSound(const Count& c) {
        if (c.comparison == Comparison::notEqual) return c.tested == c.step || c.tested == 0;
        // The counter must not be ahead of what was tested: where it wraps, the test would not have.
        return goesUp(c.comparison) ? c.step > 0 && c.tested >= c.step : c.step < 0 && c.tested <= c.step;
    }

    const Function& function_;
    const BlockGraph::Block& block_;
    int self_ = -1;
    std::map<int, int> writes_;
};

class Unrolling {
  public:
    Unrolling(Function& function, BlockGraph& graph) : function_(function), graph_(graph) {}

    void run() {
        const std::size_t count = graph_.blocks.size();
        std::size_t repeated = 0;
        for (std::size_t b = 0; b < count; ++b) {
            const int self = static_cast<int>(b);
            const BlockGraph::Block& block = graph_.blocks[b];
            if (!block.isConditional() || (block.taken == self) == (block.next == self) || b == 0) continue;
            LoopBody body(function_, block);
            body.setSelf(self);
            if (!body.canBeRepeated() || !body.walksMemory()) continue;
            const auto counted = body.count();
            if (!counted || isShort(self, *counted)) continue;
            if (repeated += block.code.size() * (kTimes + 2); repeated > kMostRepeated) return;
            unroll(self, *counted);
        }
    }

  private:
    using Block = BlockGraph::Block;
    Block& at(int block) { return graph_.blocks[static_cast<std::size_t>(block)]; }

    /// The only value that the counter can come to the loop with, if it is known to be below what repeating needs.
    bool isShort(int self, const Count& count) const {
        bool isBelow = false;
        for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
            if (static_cast<int>(b) == self) continue;
            for (const Instruction& i : graph_.blocks[b].code) {
                const Effects effects = effectsOf(function_, i);
                if (std::find(effects.writes.begin(), effects.writes.end(), count.counter) == effects.writes.end())
                    continue;
                const bool isMasked = i.opcode == "and" && i.guard < 0 && i.operands.size() == 3 &&
                                      i.operands[2].kind == Operand::Kind::integer && i.operands[2].integer >= 0 &&
                                      i.operands[2].integer < kTimes;
                if (!isMasked || count.step != -1 || count.bound.kind != Operand::Kind::integer ||
                    count.bound.integer != 0)
                    return false;
                isBelow = true;
            }
        }
        return isBelow;
    }

    void unroll(int self, const Count& count) {
        const int exit = at(self).taken == self ? at(self).next : at(self).taken;
        const int before = addBlock(), fours = addBlock(), left = addBlock(), pair = addBlock(), two = addBlock();
        // Everything that led to the loop now leads to where the iterations left are counted.
        for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
            const int from = static_cast<int>(b);
            if (from == self || from >= before) continue;
            if (graph_.blocks[b].next == self) graph_.blocks[b].next = before;
            if (graph_.blocks[b].taken == self) graph_.blocks[b].taken = before;
            for (int& to : graph_.blocks[b].table)
                if (to == self) to = before;
        }
        position_ = at(self).code.front().position;
        const Guarantee guarantee = prepare(before, count);

        branchTo(before, fours, pair, atLeast(before, guarantee, count, kTimes));

        repeat(self, fours, kTimes);
        takeFromLeft(fours, guarantee, count, kTimes);
        branchTo(fours, fours, left, atLeast(fours, guarantee, count, kTimes));

        // The loop's own test of the last iteration says whether any are left.
        moveTest(fours, left, (kTimes - 1) * at(self).code.size() + count.test);
        leaveBy(left, self, pair, exit);

        branchTo(pair, two, self, atLeast(pair, guarantee, count, 2));
        repeat(self, two, 2);
        leaveBy(two, self, self, exit);
    }

    int addBlock() {
        graph_.blocks.emplace_back();
        return static_cast<int>(graph_.blocks.size()) - 1;
    }

    void branchTo(int from, int taken, int next, int guard) {
        Instruction branch;
        branch.opcode = "bra";
        branch.guard = guard;
        branch.position = position_;
        branch.text = "bra";
        Operand label;
        label.kind = Operand::Kind::label;
        branch.operands.push_back(label);
        at(from).branch = std::move(branch);
        at(from).taken = taken;
        at(from).next = next;
    }

    /// As the loop's own branch, with other targets.
    void leaveBy(int from, int self, int more, int exit) {
        at(from).branch = at(self).branch;
        const bool continuesIfTaken = at(self).taken == self;
        at(from).taken = continuesIfTaken ? more : exit;
        at(from).next = continuesIfTaken ? exit : more;
    }

    /// What tells how many iterations are left. Towards inequality: a register that holds the distance, in steps of the
    /// loop. Towards an order: for each number of iterations a limit that the counter must not have reached, if the
    /// bound is far enough from the end of its type.
    struct Guarantee {
        int distance = -1;
        bool isCounter = false;          ///< the distance is the counter itself
        std::map<unsigned, int> limits;  ///< by number of iterations
        std::map<unsigned, int> holds;   ///< a predicate: the limit means what it says
    };

    std::string suffixOf(Type type, bool isUnsigned) const {
        return (isUnsigned ? "u" : isSigned(type) ? "s" : "u") + std::to_string(bitsOf(type));
    }

    void emit(int block, const std::string& opcode, std::vector<std::string> modifiers, std::vector<Operand> operands) {
        Instruction i;
        i.opcode = opcode;
        i.modifiers = std::move(modifiers);
        i.operands = std::move(operands);
        i.position = position_;
        i.text = "loop";
        at(block).code.push_back(std::move(i));
    }

    Operand reg(int r) const { return registerOperand(function_, r); }

    int newPredicate() {
        function_.registers.push_back({"%unrolled" + std::to_string(function_.registers.size()), Type::pred, 1});
        return static_cast<int>(function_.registers.size()) - 1;
    }

    Guarantee prepare(int block, const Count& c) {
        Guarantee g;
        const std::string whole = suffixOf(c.type, true);
        if (c.comparison == Comparison::notEqual) {
            const bool down = c.step < 0;
            // Iterations left x |step|: bound - counter upwards, and one step more if the test comes before the step.
            if (down && c.bound.kind == Operand::Kind::integer && c.bound.integer == 0 && c.tested == c.step) {
                g.distance = c.counter;
                g.isCounter = true;
                return g;
            }
            g.distance = addRegisterLike(function_, c.counter);
            emit(block, "sub", {whole},
                 {reg(g.distance), down ? reg(c.counter) : c.bound, down ? c.bound : reg(c.counter)});
            if (c.tested == 0)
                emit(block, "add", {whole}, {reg(g.distance), reg(g.distance), integerOperand(std::abs(c.step))});
            return g;
        }
        for (const unsigned times : {kTimes, 2U}) limitFor(block, c, times, g);
        return g;
    }

    /// The counter must be below bound - tested - (times - 2) x step, computed without wrapping; likewise upside down.
    void limitFor(int block, const Count& c, unsigned times, Guarantee& g) {
        const std::int64_t margin = c.tested + (static_cast<std::int64_t>(times) - 2) * c.step;
        const std::string type = suffixOf(c.type, false);
        const bool up = goesUp(c.comparison);
        g.limits[times] = addRegisterLike(function_, c.counter);
        g.holds[times] = newPredicate();
        const std::int64_t end = endOf(c.type, up);
        const Operand bound = c.bound.kind == Operand::Kind::reg ? c.bound : asRegister(block, c);
        emit(block, "setp", {up ? "ge" : "le", type}, {reg(g.holds[times]), bound, integerOperand(end + margin)});
        emit(block, "sub", {type}, {reg(g.limits[times]), bound, integerOperand(margin)});
    }

    /// The least number of a type, or the greatest.
    static std::int64_t endOf(Type type, bool least) {
        const bool wide = bitsOf(type) == 64;
        if (!isSigned(type)) return least ? 0 : wide ? -1 : 0xFFFF'FFFF;
        if (wide) return least ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
        return least ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max();
    }

    /// A bound that is a number, in a register.
    Operand asRegister(int block, const Count& c) {
        const int r = addRegisterLike(function_, c.counter);
        emit(block, "mov", {bitsOf(c.type) == 64 ? "b64" : "b32"}, {reg(r), c.bound});
        return reg(r);
    }

    /// A predicate that says whether so many iterations are left.
    int atLeast(int block, const Guarantee& g, const Count& c, unsigned times) {
        const int p = newPredicate();
        if (c.comparison == Comparison::notEqual) {
            emit(block, "setp", {"ge", suffixOf(c.type, true)},
                 {reg(p), reg(g.distance), integerOperand(std::abs(c.step) * times)});
            return p;
        }
        static const std::map<Comparison, std::string> names = {{Comparison::less, "lt"},
                                                                {Comparison::lessEqual, "le"},
                                                                {Comparison::greater, "gt"},
                                                                {Comparison::greaterEqual, "ge"}};
        emit(block, "setp", {names.at(c.comparison), "and", suffixOf(c.type, false)},
             {reg(p), reg(c.counter), reg(g.limits.at(times)), reg(g.holds.at(times))});
        return p;
    }

    void takeFromLeft(int block, const Guarantee& g, const Count& c, unsigned times) {
        if (c.comparison != Comparison::notEqual || g.isCounter) return;
        emit(block, "sub", {suffixOf(c.type, true)},
             {reg(g.distance), reg(g.distance), integerOperand(std::abs(c.step) * times)});
    }

    /// So many copies of the loop's body. What one copy leaves to the next has registers of its own, so that the copies
    /// can overlap; the last one leaves its results where the loop does.
    void repeat(int self, int block, unsigned times) {
        std::map<int, int> now;  // register of the loop -> where its value is
        for (unsigned copy = 1; copy <= times; ++copy) {
            const bool isLast = copy == times;
            for (const Instruction& original : at(self).code) {
                Instruction i = original;
                const Effects effects = effectsOf(function_, original);
                std::map<int, int> reads;
                for (const auto& [from, to] : now)
                    if (from != to) reads[from] = to;
                renameAll(i, reads, false);
                std::map<int, int> writes;
                for (const int r : effects.writes) {
                    if (writesInPart(original)) {
                        writes[r] = now.contains(r) ? now[r] : r;
                    } else {
                        writes[r] = isLast ? r : addRegisterLike(function_, r);
                        now[r] = writes[r];
                    }
                }
                renameAll(i, writes, true);
                at(block).code.push_back(std::move(i));
            }
        }
    }

    /// At once: a new name must not be renamed again.
    void renameAll(Instruction& i, const std::map<int, int>& names, bool results) {
        std::vector<std::pair<int, int>> second;
        for (const auto& [from, to] : names) {
            const int stand = kStandIn - static_cast<int>(second.size());
            if (results) {
                replaceResult(i, from, stand);
            } else {
                replaceSource(i, from, stand);
            }
            second.emplace_back(stand, to);
        }
        for (const auto& [stand, to] : second) {
            if (results)
                renameWrites(i, function_, stand, to);
            else
                renameReads(i, function_, stand, to);
        }
    }

    static constexpr int kStandIn = -1000;  ///< no register has such a number
    static void replaceIn(Operand& operand, int from, int to) {
        if ((operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::address) && operand.reg == from)
            operand.reg = to;
        for (Operand& part : operand.parts) replaceIn(part, from, to);
    }
    void replaceSource(Instruction& i, int from, int to) {
        if (i.guard == from) i.guard = to;
        for (std::size_t k = firstSource(i); k < i.operands.size(); ++k) replaceIn(i.operands[k], from, to);
    }
    void replaceResult(Instruction& i, int from, int to) {
        if (firstSource(i) == 1) replaceIn(i.operands[0], from, to);
    }
    std::size_t firstSource(const Instruction& i) const {
        // Bodies that are repeated have instructions that compute, loads and stores.
        return i.opcode == "st" || i.operands.empty() ? 0 : 1;
    }

    /// The last copy of the loop's test is only needed where the block is left for good, if nothing behind it changes
    /// what it compares or needs its result.
    void moveTest(int from, int to, std::size_t place) {
        std::vector<Instruction>& code = at(from).code;
        const Effects needed = effectsOf(function_, code[place]);
        const auto has = [](const std::vector<int>& registers, int r) {
            return std::find(registers.begin(), registers.end(), r) != registers.end();
        };
        for (std::size_t k = place + 1; k < code.size(); ++k) {
            const Effects effects = effectsOf(function_, code[k]);
            for (const int r : effects.writes)
                if (has(needed.reads, r) || has(needed.writes, r)) return;
            for (const int r : effects.reads)
                if (has(needed.writes, r)) return;
        }
        at(to).code.push_back(code[place]);
        code.erase(code.begin() + static_cast<std::ptrdiff_t>(place));
    }

    Function& function_;
    BlockGraph& graph_;
    Position position_;  ///< of the loop that is unrolled
};

}  // namespace

void unrollCountedLoops(Function& function, BlockGraph& graph) {
    Unrolling(function, graph).run();
}

}  // namespace bulkhead::ptx
