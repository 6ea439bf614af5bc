#include "ptx/translated_accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "ptx/function_text.h"
#include "ptx/parameter_pointers.h"
#include "ptx/source_edit.h"

namespace bulkhead::ptx {
namespace {

bool isOneOf(std::string_view word, std::initializer_list<std::string_view> list) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

bool namesSpace(const Instruction& i, std::string_view space) {
    return std::any_of(i.modifiers.begin(), i.modifiers.end(), [&](const std::string& modifier) {
        return modifier == space || modifier.starts_with(std::string(space) + "::");
    });
}

bool canBeTranslated(const Instruction& i) {
    return !isOneOf(i.opcode, {"tex", "tld4", "txq", "suld", "sust", "sured", "multimem", "tensormap"}) &&
           !(i.opcode == "cp" && (i.has("bulk") || i.has("reduce")));
}

/// Which address operand of an instruction is one of global memory, from 0; -1 if none is.
int globalAddress(const Instruction& i) {
    if (i.opcode == "cp" && i.has("async")) return namesSpace(i, "global") ? 1 : -1;
    if (!isOneOf(i.opcode, {"ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu"})) return -1;
    for (const char* other : {"shared", "local", "param", "const"})
        if (namesSpace(i, other)) return -1;
    return 0;
}

/// The address operand of that number, if its base is a register or nothing; variables stay where they are.
const Operand* addressOperand(const Instruction& i, int number) {
    for (const Operand& operand : i.operands)
        if (operand.kind == Operand::Kind::address && number-- == 0)
            return operand.baseIsReg || operand.name.empty() ? &operand : nullptr;
    return nullptr;
}

/// PTX that puts an address into %bulkhead_a0.
std::string address(const Function& function, const Operand& operand) {
    if (!operand.baseIsReg) return fmt::format("mov.b64 %bulkhead_a0, {}; ", operand.integer);
    // The parser marks names that another scope declares too; the text does without.
    std::string base = operand.name.substr(0, operand.name.find('#'));
    std::string text;
    if (bitsOf(function.registers[static_cast<std::size_t>(operand.reg)].type) == 32) {
        text = fmt::format("cvt.u64.u32 %bulkhead_a0, {}; ", base);
        if (operand.integer == 0) return text;
        base = "%bulkhead_a0";
    }
    return text + (operand.integer == 0 ? fmt::format("mov.b64 %bulkhead_a0, {}; ", base)
                                        : fmt::format("add.s64 %bulkhead_a0, {}, {}; ", base, operand.integer));
}

/// Puts into `inside` whether the address that was split into low and high is in the window, and the offset into both.
std::string test(const AccessTranslation& t) {
    const std::uint64_t first = t.base / AccessTranslation::kAlignment, count = t.bytes / AccessTranslation::kAlignment;
    if (t.bytes == AccessTranslation::kAlignment)
        return fmt::format("setp.eq.u32 %bulkhead_inside, %bulkhead_high, {}; mov.u32 %bulkhead_high, 0; ", first);
    if (t.bytes % AccessTranslation::kAlignment == 0)  // no look at the lower half is needed
        return fmt::format(
            "sub.u32 %bulkhead_high, %bulkhead_high, {}; setp.lt.u32 %bulkhead_inside, %bulkhead_high, {}; ", first,
            count);
    return fmt::format(
        "sub.u32 %bulkhead_high, %bulkhead_high, {}; mov.b64 %bulkhead_a1, {{%bulkhead_low, %bulkhead_high}}; "
        "setp.lt.u64 %bulkhead_inside, %bulkhead_a1, {}; ",
        first, t.bytes);
}

/// The same without looking.
std::string offset(const AccessTranslation& t) {
    if (!t.seesBase) return "";
    if (t.bytes == AccessTranslation::kAlignment) return "mov.u32 %bulkhead_high, 0; ";
    return fmt::format("sub.u32 %bulkhead_high, %bulkhead_high, {}; ", t.base / AccessTranslation::kAlignment);
}

/// PTX that moves the address in %bulkhead_a0.
std::string translation(const AccessTranslation& t, bool takenToBeInside) {
    const std::string_view inside = takenToBeInside ? "" : "%bulkhead_inside";
    return "mov.b64 {%bulkhead_low, %bulkhead_high}, %bulkhead_a0; " + (takenToBeInside ? offset(t) : test(t)) +
           t.translate({"%bulkhead_a0", inside, "%bulkhead_low", "%bulkhead_high"}) + " ";
}

/// Where a bracket is that is not in a comment.
std::size_t findBracket(std::string_view text, char bracket, std::size_t from) {
    for (std::size_t i = from; i < text.size(); ++i) {
        if (text.substr(i, 2) == "//")
            i = std::min(text.find('\n', i), text.size() - 1);
        else if (text.substr(i, 2) == "/*")
            i = std::min(text.find("*/", i + 2), text.size() - 2) + 1;
        else if (text[i] == bracket)
            return i;
    }
    return text.size();
}

/// The instruction with the address in one of its brackets replaced.
std::string withAddress(const Instruction& i, int number, std::string_view address) {
    std::size_t open = findBracket(i.text, '[', 0);
    while (number-- > 0) open = findBracket(i.text, '[', open + 1);
    const std::size_t close = findBracket(i.text, ']', open);
    return fmt::format("{}[{}]{}", i.text.substr(0, open), address, i.text.substr(close + 1));
}

/// Pointers that came as parameters, by the accesses of a kernel that go through them; none where two bodies would not
/// do: memory that a body declares would be there twice.
std::vector<std::set<ParameterSlot>> trustedPointers(const Function& function, const AccessTranslation& t) {
    if (!function.isKernel || t.bytes % AccessTranslation::kAlignment != 0 || !function.branchTargets.empty() ||
        !function.callTargets.empty() || !function.prototypes.empty() ||
        std::any_of(function.variables.begin(), function.variables.end(),
                    [](const Variable& v) { return v.space == Space::shared || v.space == Space::local; }))
        return std::vector<std::set<ParameterSlot>>(function.registers.size());
    return parameterPointers(function);
}

/// Writes the bodies of one function.
class AccessRewriting {
  public:
    AccessRewriting(const Function& function, const AccessTranslation& t)
        : function_(function), translation_(t), pointers_(trustedPointers(function, t)) {
        for (const Instruction& i : function.body) {
            const int number = globalAddress(i);
            const Operand* address = addressOperand(i, number);
            if (address == nullptr) continue;
            accesses_.push_back({&i, number, address});
            if (!isTrusted(accesses_.back())) continue;
            const auto& slots = pointers_[static_cast<std::size_t>(address->reg)];
            slots_.insert(slots.begin(), slots.end());
        }
    }
    bool isNeeded() const { return !accesses_.empty(); }

    std::string bodies(std::string_view source) const {
        std::string text = fmt::format(
            "\n\t.reg .pred %bulkhead_inside;\n\t.reg .b64 %bulkhead_a<2>;\n\t"
            ".reg .b32 %bulkhead_low, %bulkhead_high;\n\t{}\n",
            translation_.declarations);
        if (slots_.empty()) return text + body(source, false);
        // Registers of their own: what they hold is the same for all threads, as those who come later can see.
        text +=
            "\t.reg .pred %bulkhead_known;\n\t.reg .b64 %bulkhead_pointer;\n\t"
            ".reg .b32 %bulkhead_pointer_low, %bulkhead_pointer_high, %bulkhead_beside;\n\t"
            "mov.b32 %bulkhead_beside, 0;\n";
        const std::uint64_t first = translation_.base / AccessTranslation::kAlignment;
        const std::uint64_t count = translation_.bytes / AccessTranslation::kAlignment;
        // Where the window begins at a multiple of its size, which is a power of two, all pointers are told together.
        const bool aligned = std::has_single_bit(count) && first % count == 0;
        for (const ParameterSlot& slot : slots_) {
            text += fmt::format(
                "\tld.param.u64 %bulkhead_pointer, [{}+{}]; "
                "mov.b64 {{%bulkhead_pointer_low, %bulkhead_pointer_high}}, %bulkhead_pointer; ",
                slot.parameter, slot.offset);
            text += aligned ? fmt::format(
                                  "xor.b32 %bulkhead_pointer_high, %bulkhead_pointer_high, {}; "
                                  "or.b32 %bulkhead_beside, %bulkhead_beside, %bulkhead_pointer_high;\n",
                                  first)
                            : fmt::format(
                                  "sub.u32 %bulkhead_pointer_high, %bulkhead_pointer_high, {}; "
                                  "max.u32 %bulkhead_beside, %bulkhead_beside, %bulkhead_pointer_high;\n",
                                  first);
        }
        text += fmt::format("\tsetp.lt.u32 %bulkhead_known, %bulkhead_beside, {};\n", count);
        return text + "\t@!%bulkhead_known bra $bulkhead_unknown;\n\t{" + body(source, true) +
               "\tret;\n\t}\n$bulkhead_unknown:\n\t{" + body(source, false) + "\t}\n";
    }

  private:
    struct Access {
        const Instruction* instruction;
        int number;  ///< of its address among its operands
        const Operand* address;
    };
    bool isTrusted(const Access& access) const {
        return namesSpace(*access.instruction, "global") && access.address->baseIsReg &&
               !pointers_[static_cast<std::size_t>(access.address->reg)].empty();
    }
    std::string body(std::string_view text, bool pointersAreInside) const {
        SourceEdit edit(text);
        for (const Access& access : accesses_)
            edit.replace(access.instruction->text,
                         address(function_, *access.address) +
                             translation(translation_, pointersAreInside && isTrusted(access)) +
                             withAddress(*access.instruction, access.number, "%bulkhead_a0"));
        return edit.apply();
    }

    const Function& function_;
    const AccessTranslation& translation_;
    std::vector<std::set<ParameterSlot>> pointers_;  ///< by register
    std::vector<Access> accesses_;
    std::set<ParameterSlot> slots_;
};

}  // namespace

std::string AccessTranslation::Registers::moved(std::string_view lower, std::string_view upper,
                                                std::string_view scratch) const {
    if (inside.empty()) return fmt::format("mov.b64 {}, {{{}, {}}};", address, lower, upper);
    return fmt::format("mov.b64 {2}, {{{0}, {1}}}; selp.b64 {3}, {2}, {3}, {4};", lower, upper, scratch, address,
                       inside);
}

std::uint64_t constantBytesLeft(const Module& module) {
    constexpr std::uint64_t kAll = 64 * 1024;
    std::uint64_t used = 0;
    for (const Variable& v : module.variables)
        if (v.space == Space::constant) used += v.bytes + v.align;
    return used < kAll ? kAll - used : 0;
}

RewrittenModule withTranslatedAccesses(const Module& module, const AccessTranslation& t) {
    if (t.base % AccessTranslation::kAlignment != 0)
        throw Error("a window that begins at 0x{:x} cannot be translated", t.base);
    const CallGraph graph(module);
    Refusals refusals(module, graph);
    for (const Function& function : module.functions)
        for (const Instruction& i : function.body)
            if (!canBeTranslated(i))
                refusals.refuse(function, i, "an access that cannot be translated: the kernel cannot be walled");
    refusals.passOn();
    SourceEdit edit(*module.source);
    const std::vector<FunctionText> texts = functionTexts(module);
    if (!t.constants.empty()) edit.insert(firstDeclaration(module), t.constants + "\n");
    for (const Function& function : module.functions) {
        if (refusals.contains(function)) continue;
        const AccessRewriting rewriting(function, t);
        const FunctionText* text = rewriting.isNeeded() ? find(texts, function.name) : nullptr;
        if (text != nullptr) edit.replace(text->body(), rewriting.bodies(text->body()));
    }
    RewrittenModule result;
    result.refused = refusals.apply(texts, edit);
    result.text = edit.apply();
    return result;
}

}  // namespace bulkhead::ptx
