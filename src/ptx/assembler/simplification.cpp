#include "ptx/assembler/simplification.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ptx/assembler/dataflow.h"

namespace bulkhead::ptx {
namespace {

bool isWholeRegister(const Operand& operand) {
    return operand.kind == Operand::Kind::reg && operand.element < 0 && !operand.negated;
}

bool areAlike(const Function& function, int a, int b) {
    const Register &x = function.registers[static_cast<std::size_t>(a)],
                   &y = function.registers[static_cast<std::size_t>(b)];
    return x.vector == 1 && y.vector == 1 && bitsOf(x.type) == bitsOf(y.type) && isFloat(x.type) == isFloat(y.type);
}

bool copiesRegister(const Function& function, const Instruction& i) {
    if (i.guard >= 0 || i.operands.size() != 2 || !isWholeRegister(i.operands[0]) || !isWholeRegister(i.operands[1]))
        return false;
    const bool isCopy = i.opcode == "mov" || (i.opcode == "cvta" && i.has("global"));
    return isCopy && areAlike(function, i.operands[0].reg, i.operands[1].reg);
}

/// Versions of registers along a block: what was computed from a register is of use while that has its version.
class Versions {
  public:
    unsigned of(int reg) const {
        const auto known = versions_.find(reg);
        return known == versions_.end() ? 0 : known->second;
    }
    void written(int reg) { ++versions_[reg]; }

  private:
    std::unordered_map<int, unsigned> versions_;
};

/// A register's value: that of another, as it was, and a number.
struct Sum {
    int base;
    unsigned version;
    std::int64_t number;
    unsigned bits;
};

/// The sum that an instruction computes: add or sub of a register and a number.
std::optional<std::pair<int, std::int64_t>> sumOf(const Instruction& i) {
    if ((i.opcode != "add" && i.opcode != "sub") || i.modifiers.size() != 1 || i.operands.size() != 3)
        return std::nullopt;
    const Type type = typeOf(i);
    if (isFloat(type) || (bitsOf(type) != 32 && bitsOf(type) != 64)) return std::nullopt;
    if (!isWholeRegister(i.operands[0]) || !isWholeRegister(i.operands[1]) ||
        i.operands[2].kind != Operand::Kind::integer)
        return std::nullopt;
    const std::int64_t n = i.operands[2].integer;
    return std::pair(i.operands[1].reg, i.opcode == "add" ? n : -n);
}

/// Displacements and numbers that machine instructions have room for.
bool fitsDisplacement(std::int64_t n) {
    constexpr std::int64_t kMost = (1 << 23) - 1;
    return n >= -kMost && n <= kMost;
}

void setRegister(const Function& function, Operand& operand, int reg) {
    operand.reg = reg;
    operand.name = function.registers[static_cast<std::size_t>(reg)].name;
    operand.type = function.registers[static_cast<std::size_t>(reg)].type;
}

class NumberFolding {
  public:
    NumberFolding(const Function& function, BlockGraph::Block& block) : function_(function), block_(block) {}

    void run() {
        for (Instruction& i : block_.code) {
            if (i.opcode == "ld" || i.opcode == "st")
                for (Operand& operand : i.operands) foldAddress(operand);
            std::optional<Sum> sum = foldSum(i);
            const std::optional<Terms> terms = termsOf(i);
            if (terms && !sum) sum = knownSum(*terms);
            for (const int reg : effectsOf(function_, i).writes) {
                versions_.written(reg);
                sums_.erase(reg);
            }
            if (sum && sum->base != i.operands[0].reg) sums_.insert_or_assign(i.operands[0].reg, *sum);
            if (terms && !sum) {
                const int reg = i.operands[0].reg;
                totals_.insert_or_assign(terms->of, Total{reg, versions_.of(reg), terms->number});
            }
        }
    }

  private:
    /// What a sum of two registers is made of: two registers as they were, the smaller first, and a number.
    struct Terms {
        std::array<std::pair<int, unsigned>, 2> of;
        std::int64_t number;
    };
    /// A register that has the sum of two others, and a number.
    struct Total {
        int reg;
        unsigned version;
        std::int64_t number;
    };

    /// Of 64 bits, as addresses are.
    std::optional<Terms> termsOf(const Instruction& i) const {
        const bool isSum = i.opcode == "add" && i.guard < 0 && i.modifiers.size() == 1 && i.operands.size() == 3 &&
                           bitsOf(typeOf(i)) == 64 && !isFloat(typeOf(i));
        if (!isSum || !std::all_of(i.operands.begin(), i.operands.end(), isWholeRegister)) return std::nullopt;
        Terms terms{{}, 0};
        for (const std::size_t side : {1U, 2U}) {
            const int reg = i.operands[side].reg;
            const auto value = valueOf(reg);
            const bool isSteps = value && value->bits == 64;
            terms.of[side - 1] = isSteps ? std::pair(value->base, value->version) : std::pair(reg, versions_.of(reg));
            terms.number += isSteps ? value->number : 0;
            if (reg == i.operands[0].reg) return std::nullopt;
        }
        std::sort(terms.of.begin(), terms.of.end());
        return terms;
    }

    /// The sum by another register that has that of the same two, and a number.
    std::optional<Sum> knownSum(const Terms& terms) const {
        const auto known = totals_.find(terms.of);
        if (known == totals_.end() || versions_.of(known->second.reg) != known->second.version) return std::nullopt;
        const std::int64_t number = terms.number - known->second.number;
        if (!fitsDisplacement(number)) return std::nullopt;
        return Sum{known->second.reg, known->second.version, number, 64};
    }

    std::optional<Sum> valueOf(int reg) const {
        const auto known = sums_.find(reg);
        if (known == sums_.end() || versions_.of(known->second.base) != known->second.version) return std::nullopt;
        return known->second;
    }

    void foldAddress(Operand& operand) {
        if (operand.kind != Operand::Kind::address || !operand.baseIsReg) return;
        const auto value = valueOf(operand.reg);
        // Addresses of 32 bits wrap before a displacement is added.
        if (!value || value->bits != 64 || !fitsDisplacement(operand.integer + value->number)) return;
        operand.integer += value->number;
        setRegister(function_, operand, value->base);
    }

    std::optional<Sum> foldSum(Instruction& i) {
        const auto sum = sumOf(i);
        if (!sum) return std::nullopt;
        const unsigned bits = bitsOf(typeOf(i));
        Sum result{sum->first, versions_.of(sum->first), sum->second, bits};
        const auto value = valueOf(sum->first);
        if (value && value->bits == bits && fitsDisplacement(value->number + sum->second)) {
            result.base = value->base;
            result.version = value->version;
            result.number += value->number;
            i.opcode = "add";
            setRegister(function_, i.operands[1], result.base);
            i.operands[2].integer = result.number;
        }
        return i.guard < 0 ? std::optional(result) : std::nullopt;
    }

    const Function& function_;
    BlockGraph::Block& block_;
    Versions versions_;
    std::unordered_map<int, Sum> sums_;
    std::map<std::array<std::pair<int, unsigned>, 2>, Total> totals_;  ///< by terms
};

/// A product, or a shift to the left, that an add can take in.
struct Product {
    Instruction instruction;
    unsigned versions[2];
};

class ProductFusing {
  public:
    ProductFusing(const Function& function, BlockGraph::Block& block) : function_(function), block_(block) {}

    void run() {
        for (Instruction& i : block_.code) {
            fuse(i);
            const bool isProduct = isFusible(i);
            Product product{i, {versionOf(i, 1), versionOf(i, 2)}};
            for (const int reg : effectsOf(function_, i).writes) {
                versions_.written(reg);
                products_.erase(reg);
            }
            const auto reads = [&](std::size_t k) {
                return isWholeRegister(i.operands[k]) && i.operands[k].reg == i.operands[0].reg;
            };
            if (isProduct && !reads(1) && !reads(2)) products_.insert_or_assign(i.operands[0].reg, product);
        }
    }

  private:
    unsigned versionOf(const Instruction& i, std::size_t operand) const {
        return operand < i.operands.size() && isWholeRegister(i.operands[operand])
                   ? versions_.of(i.operands[operand].reg)
                   : 0;
    }

    static bool isFusible(const Instruction& i) {
        if (i.guard >= 0 || i.operands.size() != 3 || !isWholeRegister(i.operands[0]) ||
            !isWholeRegister(i.operands[1]))
            return false;
        const Operand& second = i.operands[2];
        const bool isNumber = second.kind == Operand::Kind::integer;
        if (!isNumber && !isWholeRegister(second)) return false;
        const Type type = typeOf(i);
        if (i.opcode == "mul")
            return i.modifiers.size() == 2 && (i.modifiers[0] == "wide" || i.modifiers[0] == "lo") &&
                   (type == Type::s32 || type == Type::u32);
        return i.opcode == "shl" && type == Type::b32 && isNumber && second.integer >= 0 && second.integer < 31;
    }

    static bool isSum(const Instruction& i, bool wide) {
        if (i.opcode != "add" || i.modifiers.size() != 1 || i.operands.size() != 3) return false;
        const Type type = typeOf(i);
        return wide ? type == Type::s64 || type == Type::u64 : type == Type::s32 || type == Type::u32;
    }

    void fuse(Instruction& sum) {
        for (const std::size_t side : {2U, 1U}) {
            if (sum.operands.size() != 3 || !isWholeRegister(sum.operands[side])) continue;
            const auto known = products_.find(sum.operands[side].reg);
            if (known == products_.end()) continue;
            const Instruction& product = known->second.instruction;
            const bool wide = product.has("wide");
            const Operand& other = sum.operands[3 - side];
            if (!isSum(sum, wide) || !(isWholeRegister(other) || other.kind == Operand::Kind::integer)) continue;
            if (versionOf(product, 1) != known->second.versions[0] ||
                versionOf(product, 2) != known->second.versions[1])
                continue;
            Operand factor = product.operands[2];
            if (product.opcode == "shl") factor.integer = std::int64_t{1} << factor.integer;
            const bool isUnsigned = product.opcode == "mul" && typeOf(product) == Type::u32;
            sum.opcode = "mad";
            sum.modifiers = {wide ? "wide" : "lo", isUnsigned ? "u32" : "s32"};
            sum.operands = {sum.operands[0], product.operands[1], factor, other};
            return;
        }
    }

    const Function& function_;
    BlockGraph::Block& block_;
    Versions versions_;
    std::unordered_map<int, Product> products_;
};

/// Where registers that are written once are.
struct Writers {
    std::vector<int> block, place;
};

Writers findWriters(const Function& function, const BlockGraph& graph) {
    Writers w{std::vector<int>(function.registers.size(), -1), std::vector<int>(function.registers.size(), -1)};
    for (std::size_t b = 0; b < graph.blocks.size(); ++b)
        for (std::size_t k = 0; k < graph.blocks[b].code.size(); ++k)
            for (const int reg : effectsOf(function, graph.blocks[b].code[k]).writes) {
                w.block[static_cast<std::size_t>(reg)] = static_cast<int>(b);
                w.place[static_cast<std::size_t>(reg)] = static_cast<int>(k);
            }
    return w;
}

}  // namespace

void propagateCopies(Function& function, BlockGraph& graph) {
    const RegisterCounts counts(function, graph);
    const Writers writers = findWriters(function, graph);
    const std::vector<int> depth = graph.loopDepths();
    std::vector<int> sourceOf(function.registers.size(), -1);
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
        for (std::size_t k = 0; k < graph.blocks[b].code.size(); ++k) {
            const Instruction& i = graph.blocks[b].code[k];
            if (!copiesRegister(function, i)) continue;
            const auto to = static_cast<std::size_t>(i.operands[0].reg),
                       from = static_cast<std::size_t>(i.operands[1].reg);
            if (counts.writes[to] != 1 || counts.writes[from] != 1 || to == from) continue;
            // The source keeps the value until the copy is made again: it is computed once, or just before the copy.
            const bool isOnce = writers.block[from] >= 0 && depth[static_cast<std::size_t>(writers.block[from])] == 0;
            if (!isOnce) continue;
            sourceOf[to] = static_cast<int>(from);
        }
    }
    const auto rename = [&](Instruction& i) {
        for (const int reg : effectsOf(function, i).reads) {
            int source = reg;
            while (sourceOf[static_cast<std::size_t>(source)] >= 0) source = sourceOf[static_cast<std::size_t>(source)];
            if (source != reg) renameReads(i, function, reg, source);
        }
    };
    for (BlockGraph::Block& block : graph.blocks) {
        for (Instruction& i : block.code) rename(i);
        if (block.branch) rename(*block.branch);
    }
}

void foldNumbers(const Function& function, BlockGraph& graph) {
    for (BlockGraph::Block& block : graph.blocks) NumberFolding(function, block).run();
}

void fuseProducts(const Function& function, BlockGraph& graph) {
    for (BlockGraph::Block& block : graph.blocks) ProductFusing(function, block).run();
}

void removeUnused(const Function& function, BlockGraph& graph) {
    constexpr int kMostRounds = 8;  // chains of unused results seldom cross more blocks
    bool removed = true;
    for (int round = 0; removed && round < kMostRounds; ++round) {
        removed = false;
        const BlockLiveness liveness(function, graph);
        for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
            BlockGraph::Block& block = graph.blocks[b];
            RegisterSet live = liveness.out[b];
            if (block.branch)
                for (const int reg : effectsOf(function, *block.branch).reads) live.add(reg);
            std::vector<bool> unused(block.code.size(), false);
            for (std::size_t k = block.code.size(); k-- > 0;) {
                const Instruction& i = block.code[k];
                const Effects effects = effectsOf(function, i);
                const Motion motion = motionOf(function, i);
                const bool isPure = (motion == Motion::free && !isConvergent(i) && !usesCarry(i)) ||
                                    (motion == Motion::constantLoad && !i.operands[1].baseIsReg);
                const auto needed = [&](int reg) { return live.has(reg); };
                if (isPure && !effects.writes.empty() &&
                    std::none_of(effects.writes.begin(), effects.writes.end(), needed)) {
                    unused[k] = removed = true;
                    continue;
                }
                for (const int reg : effects.writes)
                    if (i.guard < 0) live.remove(reg);
                for (const int reg : effects.reads) live.add(reg);
            }
            std::size_t kept = 0;
            for (std::size_t k = 0; k < block.code.size(); ++k) {
                if (unused[k]) continue;
                if (kept != k) block.code[kept] = std::move(block.code[k]);
                ++kept;
            }
            block.code.resize(kept);
        }
    }
}

}  // namespace bulkhead::ptx
