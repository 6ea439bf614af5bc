#include "ptx/parameter_pointers.h"

#include "ptx/control_flow.h"

namespace bulkhead::ptx {
namespace {

/// What a register holds, as far as is known. Grows from `nothing` to `other`.
struct Content {
    enum class Kind : std::uint8_t { nothing, parameter, pointer, other };
    Kind kind = Kind::nothing;
    std::set<ParameterSlot> slots;
    bool operator==(const Content&) const = default;
};

const Content kOther = {Content::Kind::other, {}};

Content either(const Content& a, const Content& b) {
    if (a.kind == Content::Kind::nothing || a == b) return b;
    if (b.kind == Content::Kind::nothing) return a;
    if (a.kind != Content::Kind::pointer || b.kind != Content::Kind::pointer) return kOther;
    Content both = a;
    both.slots.insert(b.slots.begin(), b.slots.end());
    return both;
}

bool is64Bits(const Instruction& i) {
    return i.has("u64") || i.has("s64") || i.has("b64");
}

class Contents {
  public:
    explicit Contents(const Function& kernel) : of_(kernel.registers.size()) {
        for (bool changed = true; changed;) {
            changed = false;
            for (const Instruction& i : kernel.body) {
                const Content result = resultOf(i);
                for (const int r : effectsOf(kernel, i).writes) {
                    const Content now = either(of_[r], result);
                    changed = changed || now != of_[r];
                    of_[r] = now;
                }
            }
        }
    }
    const std::vector<Content>& all() const { return of_; }

  private:
    Content of(const Operand& operand) const {
        return operand.kind == Operand::Kind::reg && operand.element < 0 && !operand.negated ? of_[operand.reg]
                                                                                             : kOther;
    }

    /// A pointer and a distance.
    Content sum(const Content& a, const Content& b) const {
        const bool isA = a.kind == Content::Kind::pointer, isB = b.kind == Content::Kind::pointer;
        if (isA && isB) return kOther;
        if (isA || isB) return isA ? a : b;
        return a.kind == Content::Kind::nothing || b.kind == Content::Kind::nothing ? Content() : kOther;
    }

    Content resultOf(const Instruction& i) const {
        const auto& operands = i.operands;
        if (!is64Bits(i) && !(i.opcode == "mad" && i.has("wide"))) return kOther;
        if (i.opcode == "ld" && i.has("param") && operands.size() == 2 && operands[0].kind == Operand::Kind::reg &&
            !operands[1].baseIsReg)
            return {Content::Kind::parameter, {{operands[1].name, operands[1].integer}}};
        if (i.opcode == "cvta" && i.has("to") && i.has("global")) {
            Content from = of(operands[1]);
            if (from.kind == Content::Kind::parameter) from.kind = Content::Kind::pointer;
            return from;
        }
        if (i.opcode == "mov") return of(operands[1]);
        if (i.opcode == "add" && !i.has("cc")) return sum(of(operands[1]), of(operands[2]));
        if (i.opcode == "sub" && !i.has("cc")) {
            const Content distance = of(operands[2]);
            return distance.kind == Content::Kind::pointer ? kOther : sum(of(operands[1]), distance);
        }
        if (i.opcode == "mad" && !i.has("cc")) return sum(of(operands[3]), kOther);
        if (i.opcode == "selp") return either(of(operands[1]), of(operands[2]));
        return kOther;
    }

    std::vector<Content> of_;
};

}  // namespace

std::vector<std::set<ParameterSlot>> parameterPointers(const Function& kernel) {
    std::vector<std::set<ParameterSlot>> pointers;
    const Contents contents(kernel);
    for (const Content& content : contents.all())
        pointers.push_back(content.kind == Content::Kind::pointer ? content.slots : std::set<ParameterSlot>());
    return pointers;
}

}  // namespace bulkhead::ptx
