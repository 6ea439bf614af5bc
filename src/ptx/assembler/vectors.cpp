#include "ptx/assembler/vectors.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include "ptx/assembler/dataflow.h"

namespace bulkhead::ptx {
namespace {

constexpr std::uint64_t kMostAlignment = 4096;

std::uint64_t lowestBit(std::int64_t n) {
    const auto bits = static_cast<std::uint64_t>(n);
    return bits == 0 ? kMostAlignment : std::min(kMostAlignment, bits & (~bits + 1));
}

/// Powers of two that divide registers, wherever they are read.
class Alignments {
  public:
    Alignments(const Function& function, const BlockGraph& graph, const Module& module)
        : function_(function), module_(module), of_(function.registers.size(), kMostAlignment) {
        for (const auto* formals : {&function.params, &function.results})
            for (const Variable& formal : *formals)
                for (std::size_t r = 0; formal.space == Space::reg && r < function.registers.size(); ++r)
                    if (function.registers[r].name == formal.name) of_[r] = 1;
        for (bool changed = true; changed;) {
            changed = false;
            for (const BlockGraph::Block& block : graph.blocks)
                for (const Instruction& i : block.code) {
                    const std::uint64_t value = resultOf(i);
                    for (const int reg : effectsOf(function_, i).writes) {
                        std::uint64_t& known = of_[static_cast<std::size_t>(reg)];
                        if (value >= known) continue;
                        known = value;
                        changed = true;
                    }
                }
        }
    }

    std::uint64_t of(int reg) const { return of_[static_cast<std::size_t>(reg)]; }

  private:
    std::uint64_t of(const Operand& operand) const {
        switch (operand.kind) {
            case Operand::Kind::reg:
                return operand.element < 0 ? of(operand.reg) : 1;
            case Operand::Kind::integer:
                return lowestBit(operand.integer);
            case Operand::Kind::symbol:
                return std::min(ofVariable(operand.name), lowestBit(operand.integer));
            default:
                return 1;
        }
    }

    std::uint64_t ofVariable(const std::string& name) const {
        for (const auto* variables : {&function_.variables, &module_.variables})
            for (const Variable& v : *variables)
                if (v.name == name && v.space == Space::shared)
                    return std::bit_floor(std::max<std::uint64_t>(v.align, 1));
        return 1;
    }

    std::uint64_t resultOf(const Instruction& i) const {
        const Type type = typeOf(i);
        if (isFloat(type) || bitsOf(type) < 32 || i.operands.size() < 2) return 1;
        const auto at = [&](std::size_t k) { return of(i.operands[k]); };
        const std::size_t count = i.operands.size();
        const auto times = [](std::uint64_t a, std::uint64_t b) { return std::min(a * b, kMostAlignment); };
        const bool isPlain = i.modifiers.size() == 1;
        if (i.opcode == "mov" && count == 2) return at(1);
        if ((i.opcode == "add" || i.opcode == "sub" || i.opcode == "or" || i.opcode == "xor") && isPlain && count == 3)
            return std::min(at(1), at(2));
        if (i.opcode == "and" && count == 3) return std::max(at(1), at(2));
        if (i.opcode == "mul" && count == 3 && (i.has("lo") || i.has("wide"))) return times(at(1), at(2));
        if (i.opcode == "mad" && count == 4 && i.modifiers.size() == 2 && (i.has("lo") || i.has("wide")))
            return std::min(times(at(1), at(2)), at(3));
        if (i.opcode == "shl" && count == 3 && i.operands[2].kind == Operand::Kind::integer &&
            i.operands[2].integer >= 0 && i.operands[2].integer < 12)
            return times(at(1), std::uint64_t{1} << i.operands[2].integer);
        if ((i.opcode == "selp" || i.opcode == "min" || i.opcode == "max") && isPlain) return std::min(at(1), at(2));
        const bool keepsBits = i.opcode == "cvt" && i.modifiers.size() == 2 &&
                               bitsOf(modifierType(i.modifiers[0])) >= 32 && !isFloat(modifierType(i.modifiers[0]));
        return keepsBits && count == 2 ? at(1) : 1;
    }

    const Function& function_;
    const Module& module_;
    std::vector<std::uint64_t> of_;
};

/// Loads of one block that could be one: the same base, as it was, and guard.
struct Neighbours {
    int base = -1, guard = -1;
    bool guardNegated = false;
    std::vector<std::string> modifiers;
    std::map<std::int64_t, std::size_t> places;  ///< by displacement: which instruction
};

class LoadJoining {
  public:
    LoadJoining(const Function& function, std::vector<Instruction>& code, const Alignments& alignments)
        : function_(function), code_(code), alignments_(alignments) {}

    void run() {
        for (std::size_t k = 0; k < code_.size(); ++k) {
            const Instruction& i = code_[k];
            const Motion motion = motionOf(function_, i);
            const bool mayStore = motion == Motion::store && !i.has("global") && !i.has("local");
            if (isCandidate(i)) {
                collect(k);
            } else if (motion >= Motion::ordered || mayStore) {
                close();
            }
            const Effects effects = effectsOf(function_, i);
            // A later load is made earlier: nobody in between may have its registers, nor change its base or guard.
            for (const int reg : effects.writes) {
                closeIf([&](const Neighbours& n) { return n.base == reg || n.guard == reg; });
                touched_[reg] = k;
            }
            for (const int reg : effects.reads) touched_[reg] = k;
        }
        close();
        std::vector<Instruction> kept;
        for (std::size_t k = 0; k < code_.size(); ++k)
            if (!gone_.contains(k)) kept.push_back(std::move(code_[k]));
        code_ = std::move(kept);
    }

  private:
    static bool isCandidate(const Instruction& i) {
        return i.opcode == "ld" && i.modifiers.size() == 2 && i.modifiers[0] == "shared" && bitsOf(typeOf(i)) == 32 &&
               i.operands.size() == 2 && i.operands[0].kind == Operand::Kind::reg && i.operands[0].element < 0 &&
               i.operands[1].kind == Operand::Kind::address && i.operands[1].baseIsReg;
    }

    void collect(std::size_t k) {
        const Instruction& i = code_[k];
        const int base = i.operands[1].reg;
        if (i.operands[0].reg == base) return;
        for (Neighbours& n : open_) {
            if (n.base != base || n.guard != i.guard || n.guardNegated != i.guardNegated || n.modifiers != i.modifiers)
                continue;
            const std::size_t first = n.places.empty() ? k : firstOf(n);
            const auto known = touched_.find(i.operands[0].reg);
            const bool isFree = known == touched_.end() || known->second < first;
            if (isFree && !n.places.contains(i.operands[1].integer)) {
                n.places[i.operands[1].integer] = k;
                return;
            }
        }
        open_.push_back({base, i.guard, i.guardNegated, i.modifiers, {{i.operands[1].integer, k}}});
    }

    static std::size_t firstOf(const Neighbours& n) {
        std::size_t first = n.places.begin()->second;
        for (const auto& [displacement, place] : n.places) first = std::min(first, place);
        return first;
    }

    template <class Which>
    void closeIf(Which&& which) {
        for (std::size_t n = 0; n < open_.size();) {
            if (!which(open_[n])) {
                ++n;
                continue;
            }
            join(open_[n]);
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(n));
        }
    }
    void close() {
        closeIf([](const Neighbours&) { return true; });
    }

    void join(const Neighbours& n) {
        for (auto at = n.places.begin(); at != n.places.end();) {
            std::size_t words = 1;
            for (const std::size_t wanted : {4U, 2U}) {
                const auto bytes = static_cast<std::int64_t>(wanted) * 4;
                if (at->first % bytes != 0 || alignments_.of(n.base) < static_cast<std::uint64_t>(bytes)) continue;
                bool all = true;
                for (std::int64_t w = 1; w < static_cast<std::int64_t>(wanted); ++w)
                    all = all && n.places.contains(at->first + 4 * w);
                if (!all) continue;
                words = wanted;
                break;
            }
            if (words > 1) replace(n, at->first, words);
            std::advance(at, words);
        }
    }

    void replace(const Neighbours& n, std::int64_t displacement, std::size_t words) {
        std::vector<std::size_t> places;
        for (std::size_t w = 0; w < words; ++w)
            places.push_back(n.places.at(displacement + 4 * static_cast<std::int64_t>(w)));
        Operand all;
        all.kind = Operand::Kind::vector;
        for (const std::size_t place : places) all.parts.push_back(code_[place].operands[0]);
        const std::size_t first = *std::min_element(places.begin(), places.end());
        Instruction load = code_[first];
        load.operands[1] = code_[places.front()].operands[1];
        load.operands[0] = std::move(all);
        load.modifiers.insert(load.modifiers.end() - 1, words == 4 ? "v4" : "v2");
        for (const std::size_t place : places) gone_[place] = true;
        gone_.erase(first);
        code_[first] = std::move(load);
    }

    const Function& function_;
    std::vector<Instruction>& code_;
    const Alignments& alignments_;
    std::vector<Neighbours> open_;
    std::map<int, std::size_t> touched_;  ///< where a register was last read or written
    std::map<std::size_t, bool> gone_;
};

}  // namespace

void joinSharedLoads(const Function& function, BlockGraph& graph, const Module& module) {
    const Alignments alignments(function, graph, module);
    for (BlockGraph::Block& block : graph.blocks) LoadJoining(function, block.code, alignments).run();
}

}  // namespace bulkhead::ptx
