#include "ptx/assembler/issue_slots.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ptx/assembler/dataflow.h"
#include "ptx/assembler/high_halves.h"

// The numbers are those of machine code that ptxas of CUDA 13.0 makes for sm_90, read with cuobjdump.

namespace bulkhead::ptx {
namespace {

bool isLogic(const Instruction& i) {
    return isOpcode(i, {"and", "or", "xor"});
}

bool isIntegerSum(const Instruction& i) {
    return isOpcode(i, {"add", "sub"}) && i.modifiers.size() == 1 && !isFloat(typeOf(i));
}

bool hasNumber(const Instruction& i) {
    return std::any_of(i.operands.begin(), i.operands.end(),
                       [](const Operand& o) { return o.kind == Operand::Kind::integer; });
}

/// Of instructions that have no machine instruction of their own.
unsigned sequenceOf(const Instruction& i) {
    const Type type = typeOf(i);
    const unsigned bits = bitsOf(type);
    const bool byNumber = i.operands.size() == 3 && i.operands[2].kind == Operand::Kind::integer;
    const bool flushes = i.has("ftz");
    if (isOpcode(i, {"div", "rem"}) && !isFloat(type)) {
        const unsigned back = i.opcode == "rem" ? 1 : 0;
        if (byNumber) return (bits == 64 ? 12 : 3) + back;
        return bits == 64 ? 80 : isSigned(type) ? 20 + back : 17 + back;
    }
    if (type == Type::f64) {
        if (i.opcode == "div") return 17;
        if (i.opcode == "sqrt") return 20;
        if (i.opcode == "rcp") return 11;
        return 1;
    }
    if (i.opcode == "div") return i.has("approx") || i.has("full") ? 5 : 10;
    if (i.opcode == "sqrt") return i.has("approx") ? (flushes ? 2 : 5) : 10;
    if (i.opcode == "rcp") return i.has("approx") ? (flushes ? 1 : 4) : 9;
    if (isOpcode(i, {"rsqrt", "ex2", "lg2"})) return flushes || type != Type::f32 ? 1 : 4;
    if (isOpcode(i, {"sin", "cos"})) return 2;
    return 0;
}

class Slots {
  public:
    Slots(const Function& function, BlockGraph& graph)
        : function_(function),
          graph_(graph),
          counts_(function, graph),
          high_(function, graph),
          uniform_(function, graph) {}

    void run() {
        for (BlockGraph::Block& block : graph_.blocks)
            for (Instruction& i : block.code) i.slots = static_cast<std::uint8_t>(slotsOf(i));
        for (BlockGraph::Block& block : graph_.blocks) takeIn(block);
        for (std::size_t b = 0; b < graph_.blocks.size(); ++b) movePointers(static_cast<int>(b));
        for (std::size_t b = 0; b < graph_.blocks.size(); ++b) endBlock(static_cast<int>(b));
        if (function_.isKernel) addPrologue();
    }

  private:
    bool isWide(const Instruction& i) const {
        const Effects effects = effectsOf(function_, i);
        return !effects.writes.empty() && high_.needed(effects.writes.front());
    }

    unsigned slotsOf(const Instruction& i) const {
        if (const unsigned sequence = sequenceOf(i)) return sequence;
        const Type type = typeOf(i);
        const bool wide = bitsOf(type) == 64 && !isFloat(type);
        if (isOpcode(i, {"add", "sub", "and", "or", "xor", "not", "shl", "neg", "abs"}))
            return wide && isWide(i) ? 2 : 1;
        if (i.opcode == "shr" || i.opcode == "selp" || i.opcode == "min" || i.opcode == "max")
            return bitsOf(type) == 64 && type != Type::f64 ? 2 : i.opcode == "selp" && type == Type::f64 ? 2 : 1;
        if (i.opcode == "setp" || i.opcode == "set") return wide ? 2 : 1;
        if (i.opcode == "mul" || i.opcode == "mad") return wide && !i.has("wide") ? (isWide(i) ? 4 : 1) : 1;
        if (isOpcode(i, {"bfe", "clz", "sad", "cnot", "copysign"})) return 2;
        if (i.opcode == "bfi") return 3;
        if (i.opcode == "cvta") return i.has("global") ? 0 : 2;
        if (i.opcode == "mov") return slotsOfMove(i);
        return 1;
    }

    unsigned slotsOfMove(const Instruction& i) const {
        const Operand& from = i.operands.back();
        const Effects effects = effectsOf(function_, i);
        const bool isOnly =
            effects.writes.size() == 1 && counts_.writes[static_cast<std::size_t>(effects.writes[0])] == 1;
        if (from.kind == Operand::Kind::integer || from.kind == Operand::Kind::real)
            return isOnly && i.guard < 0 ? 0 : 1;
        const bool packs = from.kind == Operand::Kind::vector || i.operands[0].kind == Operand::Kind::vector;
        if (packs) return 1;
        return bitsOf(typeOf(i)) == 64 && from.kind == Operand::Kind::reg && isWide(i) ? 2 : 1;
    }

    /// How many others an instruction can take in of one kind.
    struct Room {
        int terms = 1;
    };

    /// Whether the machine has an instruction that does both.
    bool takesIn(const Instruction& user, const Instruction& part, Room& room) const {
        const Type type = typeOf(user), partType = typeOf(part);
        // Other names for the same bits.
        if (part.opcode == "cvt" && isRenaming(part)) return true;
        if (part.opcode == "mov" && part.operands[1].kind == Operand::Kind::reg) return true;
        const bool isArithmetic = isOpcode(user, {"add", "sub", "mul", "fma", "mad", "min", "max", "setp"});
        if (isOpcode(part, {"neg", "abs"}) && type == partType && isArithmetic)
            return isFloat(type) || isOpcode(user, {"add", "sub"});
        if (part.opcode == "not" && isLogic(user) && type != Type::pred) return true;
        if (room.terms == 0) return false;
        const bool joins = joinsTerms(user, part, type, partType);
        if (joins) --room.terms;
        return joins;
    }

    static bool joinsTerms(const Instruction& user, const Instruction& part, Type type, Type partType) {
        const bool sameWidth = bitsOf(type) == bitsOf(partType);
        if (isIntegerSum(user) && isIntegerSum(part)) return sameWidth && !(hasNumber(user) && hasNumber(part));
        if (isIntegerSum(user) && part.opcode == "shl") return sameWidth && bitsOf(type) == 64 && hasNumber(part);
        if (isLogic(user) && isLogic(part))
            return sameWidth && type != Type::pred && !(hasNumber(user) && hasNumber(part));
        if (user.opcode == "setp" && isLogic(part)) return comparesWithZero(user) && sameWidth && bitsOf(type) == 32;
        if (isLogic(user) && type == Type::pred) return part.opcode == "setp" && bitsOf(partType) != 64;
        const bool mayContract = isFloat(type) && !user.has("rn") && !part.has("rn");
        return isOpcode(user, {"add", "sub"}) && part.opcode == "mul" && mayContract && type == partType;
    }

    /// Logic tells whether its result is zero.
    static bool comparesWithZero(const Instruction& setp) {
        return setp.operands.size() == 3 && setp.modifiers.size() == 2 && (setp.has("eq") || setp.has("ne")) &&
               setp.operands[2].kind == Operand::Kind::integer && setp.operands[2].integer == 0;
    }

    /// Conversions between widths that leave the bits alone.
    static bool isRenaming(const Instruction& cvt) {
        if (cvt.modifiers.size() != 2) return false;
        const Type to = modifierType(cvt.modifiers[0]), from = modifierType(cvt.modifiers[1]);
        if (isFloat(to) || isFloat(from) || to == Type::none || from == Type::none) return false;
        const bool narrows = bitsOf(to) <= bitsOf(from) && bitsOf(to) >= 32;
        return narrows || (!isSigned(from) && bitsOf(to) > bitsOf(from)) || (bitsOf(to) == 16 && bitsOf(from) >= 16);
    }

    void takeIn(BlockGraph::Block& block) {
        std::vector<Instruction>& code = block.code;
        std::vector<Effects> effects;
        effects.reserve(code.size());
        for (const Instruction& i : code) effects.push_back(effectsOf(function_, i));
        for (std::size_t user = code.size(); user-- > 0;) {
            Room room;
            // Parts of the one behind it take in nothing more: machine instructions have three operands.
            if (code[user].slots == 0) continue;
            std::size_t place = user;
            for (const int reg : effects[user].reads) {
                const auto r = static_cast<std::size_t>(reg);
                if (counts_.reads[r] != 1 || counts_.writes[r] != 1) continue;
                const std::size_t part = writerBefore(effects, place, reg);
                if (part == place || !canMove(code[part], effects, part, place) ||
                    !takesIn(code[user], code[part], room))
                    continue;
                code[part].slots = 0;
                moveTo(code, part, place);
                moveTo(effects, part, place);
                --place;
            }
            user = place;
        }
    }

    /// Right before a later place.
    template <class T>
    static void moveTo(std::vector<T>& list, std::size_t from, std::size_t to) {
        std::rotate(list.begin() + static_cast<std::ptrdiff_t>(from),
                    list.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                    list.begin() + static_cast<std::ptrdiff_t>(to));
    }

    /// Pointers that a loop of one block moves on, by which it accesses memory: the assembler adds in one pair of
    /// registers and addresses by another, at the cost of a move.
    void movePointers(int b) {
        BlockGraph::Block& block = graph_.blocks[static_cast<std::size_t>(b)];
        if (block.taken != b && block.next != b) return;
        for (Instruction& i : block.code) {
            const bool movesOn =
                isIntegerSum(i) && i.slots == 2 && hasNumber(i) && i.operands[0].reg == i.operands[1].reg;
            if (!movesOn) continue;
            const auto accesses = [&](const Instruction& other) {
                return std::any_of(other.operands.begin(), other.operands.end(), [&](const Operand& o) {
                    return o.kind == Operand::Kind::address && o.reg == i.operands[0].reg;
                });
            };
            if (std::any_of(block.code.begin(), block.code.end(), accesses)) i.slots = 3;
        }
    }

    static std::size_t writerBefore(const std::vector<Effects>& effects, std::size_t place, int reg) {
        constexpr std::size_t kFurthest = 64;
        for (std::size_t k = place; k-- > 0 && place - k <= kFurthest;)
            if (std::find(effects[k].writes.begin(), effects[k].writes.end(), reg) != effects[k].writes.end()) return k;
        return place;
    }

    /// Whether an instruction can be moved right before a later one.
    bool canMove(const Instruction& i, const std::vector<Effects>& effects, std::size_t from, std::size_t to) const {
        if (i.guard >= 0 || motionOf(function_, i) != Motion::free || isConvergent(i) || usesCarry(i) || i.slots > 2)
            return false;
        const Effects& own = effects[from];
        if (own.writes.size() != 1) return false;
        for (std::size_t k = from + 1; k < to; ++k)
            for (const int reg : effects[k].writes)
                if (reg == own.writes[0] || std::find(own.reads.begin(), own.reads.end(), reg) != own.reads.end())
                    return false;
        return true;
    }

    bool onlyLeaves(int block) const {
        const BlockGraph::Block& b = graph_.blocks[static_cast<std::size_t>(block)];
        return b.code.size() == 1 && endsThread(b.code[0]);
    }

    /// Lanes that may part are told where to meet, and meet there. What ends a block is issued by itself.
    void endBlock(int b) {
        BlockGraph::Block& block = graph_.blocks[static_cast<std::size_t>(b)];
        if (block.branch) {
            const bool parts = block.isConditional() && uniform_.varies(block.branch->guard);
            const bool isBack = block.taken <= b || block.next <= b;
            const bool leaves =
                block.taken >= 0 && block.next >= 0 && (onlyLeaves(block.taken) || onlyLeaves(block.next));
            block.branch->slots = parts && !isBack && !leaves ? 3 : 1;
        } else if (!block.code.empty() && block.code.back().slots == 0) {
            block.code.back().slots = 1;
        }
    }

    /// What every kernel begins with: the stack pointer, the descriptor of global memory, where shared memory lies.
    void addPrologue() {
        bool usesGlobal = false, namesShared = false;
        for (const BlockGraph::Block& block : graph_.blocks)
            for (const Instruction& i : block.code) {
                if (isOpcode(i, {"ld", "st", "atom", "red"}))
                    usesGlobal |= !i.has("shared") && !i.has("local") && !i.has("param") && !i.has("const");
                for (const Operand& o : i.operands) namesShared |= !o.name.empty() && !o.baseIsReg && isSharedName(o);
            }
        for (BlockGraph::Block& block : graph_.blocks)
            for (Instruction& i : block.code) {
                if (i.slots == 0) continue;
                i.slots = static_cast<std::uint8_t>(i.slots + 1 + (usesGlobal ? 1 : 0) + (namesShared ? 2 : 0));
                return;
            }
    }

    bool isSharedName(const Operand& o) const {
        if (o.kind != Operand::Kind::symbol && o.kind != Operand::Kind::address) return false;
        return std::any_of(function_.variables.begin(), function_.variables.end(),
                           [&](const Variable& v) { return v.space == Space::shared && v.name == o.name; });
    }

    const Function& function_;
    BlockGraph& graph_;
    RegisterCounts counts_;
    HighHalves high_;
    UniformRegisters uniform_;
};

}  // namespace

void countIssueSlots(const Function& function, BlockGraph& graph) {
    Slots(function, graph).run();
}

}  // namespace bulkhead::ptx
