#include "ptx/translated_accesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/function_text.h"
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

/// Which address operand of an instruction is one of global memory, from 0; -1 if none is.
int globalAddress(const Module& module, const Instruction& i) {
    if (isOneOf(i.opcode, {"tex", "tld4", "txq", "suld", "sust", "sured", "multimem"}) ||
        (i.opcode == "cp" && (i.has("bulk") || i.has("reduce"))))
        throw PtxError(module.name, i.position, "an access that cannot be translated: the module cannot be walled",
                       i.text);
    if (i.opcode == "cp" && i.has("async")) return namesSpace(i, "global") ? 1 : -1;
    if (!isOneOf(i.opcode, {"ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu"})) return -1;
    for (const char* other : {"shared", "local", "param", "const"})
        if (namesSpace(i, other)) return -1;
    return 0;
}

/// The address operand of that number, if its base is a register; variables stay where they are.
const Operand* addressOperand(const Instruction& i, int number) {
    for (const Operand& operand : i.operands)
        if (operand.kind == Operand::Kind::address && number-- == 0) return operand.baseIsReg ? &operand : nullptr;
    return nullptr;
}

std::string translation(const AccessTranslation& t, const Operand& address) {
    // The parser marks names that another scope declares too; the text does without.
    const std::string base = address.name.substr(0, address.name.find('#'));
    std::string text = address.integer == 0 ? fmt::format("mov.b64 %bulkhead_a0, {}; ", base)
                                            : fmt::format("add.s64 %bulkhead_a0, {}, {}; ", base, address.integer);
    const std::uint64_t first = t.base / AccessTranslation::kAlignment, count = t.bytes / AccessTranslation::kAlignment;
    text += "mov.b64 {%bulkhead_low, %bulkhead_high}, %bulkhead_a0; ";
    if (t.bytes == AccessTranslation::kAlignment) {
        text += fmt::format("setp.eq.u32 %bulkhead_inside, %bulkhead_high, {}; mov.u32 %bulkhead_high, 0; ", first);
    } else if (t.bytes % AccessTranslation::kAlignment == 0) {  // no look at the lower half is needed
        text += fmt::format(
            "sub.u32 %bulkhead_high, %bulkhead_high, {}; setp.lt.u32 %bulkhead_inside, %bulkhead_high, {}; ", first,
            count);
    } else {
        text += fmt::format(
            "sub.u32 %bulkhead_high, %bulkhead_high, {}; mov.b64 %bulkhead_a1, {{%bulkhead_low, %bulkhead_high}}; "
            "setp.lt.u64 %bulkhead_inside, %bulkhead_a1, {}; ",
            first, t.bytes);
    }
    return text + t.translate({"%bulkhead_a0", "%bulkhead_inside", "%bulkhead_low", "%bulkhead_high"}) + " ";
}

/// The instruction with the address in one of its brackets replaced.
std::string withAddress(const Instruction& i, int number, std::string_view address) {
    std::size_t open = i.text.find('[');
    while (number-- > 0) open = i.text.find('[', open + 1);
    const std::size_t close = i.text.find(']', open);
    return fmt::format("{}[{}]{}", i.text.substr(0, open), address, i.text.substr(close + 1));
}

}  // namespace

std::string withTranslatedAccesses(const Module& module, const AccessTranslation& t) {
    if (t.base % AccessTranslation::kAlignment != 0)
        throw Error("a window that begins at 0x{:x} cannot be translated", t.base);
    SourceEdit edit(*module.source);
    const std::vector<FunctionText> texts = functionTexts(module);
    for (const Function& function : module.functions) {
        bool any = false;
        for (const Instruction& i : function.body)
            if (const int number = globalAddress(module, i); const Operand* address = addressOperand(i, number)) {
                any = true;
                edit.replace(i.text, translation(t, *address) + withAddress(i, number, "%bulkhead_a0"));
            }
        const FunctionText* text = any ? find(texts, function.name) : nullptr;
        if (text)
            edit.insert(text->bodyBegin, fmt::format("\n\t.reg .pred %bulkhead_inside;\n\t.reg .b64 %bulkhead_a<2>;\n\t"
                                                     ".reg .b32 %bulkhead_low, %bulkhead_high;\n\t{}\n",
                                                     t.declarations));
    }
    return edit.apply();
}

}  // namespace bulkhead::ptx
