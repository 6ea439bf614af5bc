#include "ptx/translated_accesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/function_text.h"
#include "ptx/source_edit.h"

namespace bulkhead::ptx {
namespace {

/// The operand that holds the address of an access to global memory, or null.
const Operand* globalAddress(const Instruction& i) {
    static const char* const kAccesses[] = {"ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu"};
    if (std::none_of(std::begin(kAccesses), std::end(kAccesses), [&](const char* o) { return i.opcode == o; }))
        return nullptr;
    for (const char* other : {"shared", "local", "param", "const"})
        for (const std::string& modifier : i.modifiers)
            if (modifier == other || modifier.starts_with(std::string(other) + "::")) return nullptr;
    for (const Operand& operand : i.operands)
        if (operand.kind == Operand::Kind::address) return operand.baseIsReg ? &operand : nullptr;
    return nullptr;
}

std::string translation(const AccessTranslation& t, const Operand& address) {
    // The parser marks names that another scope declares too; the text does without.
    return fmt::format(
        "add.s64 %bulkhead_a0, {}, {}; sub.u64 %bulkhead_a1, %bulkhead_a0, {}; "
        "setp.lt.u64 %bulkhead_inside, %bulkhead_a1, {}; {} add.u64 %bulkhead_a2, %bulkhead_a2, {}; "
        "selp.b64 %bulkhead_a0, %bulkhead_a2, %bulkhead_a0, %bulkhead_inside; ",
        address.name.substr(0, address.name.find('#')), address.integer, t.base, t.bytes,
        t.translate("%bulkhead_a1", "%bulkhead_a2"), t.base);
}

/// The instruction with its address replaced. Only the first bracket of an access holds an address.
std::string withAddress(const Instruction& i, std::string_view address) {
    const std::size_t open = i.text.find('['), close = i.text.find(']', open);
    return fmt::format("{}[{}]{}", i.text.substr(0, open), address, i.text.substr(close + 1));
}

}  // namespace

std::string withTranslatedAccesses(const Module& module, const AccessTranslation& t) {
    SourceEdit edit(*module.source);
    const std::vector<FunctionText> texts = functionTexts(module);
    for (const Function& function : module.functions) {
        bool any = false;
        for (const Instruction& i : function.body)
            if (const Operand* address = globalAddress(i)) {
                any = true;
                edit.replace(i.text, translation(t, *address) + withAddress(i, "%bulkhead_a0"));
            }
        const FunctionText* text = any ? find(texts, function.name) : nullptr;
        if (text)
            edit.insert(
                text->bodyBegin,
                fmt::format("\n\t.reg .pred %bulkhead_inside;\n\t.reg .b64 %bulkhead_a<3>;\n\t{}\n", t.declarations));
    }
    return edit.apply();
}

}  // namespace bulkhead::ptx
