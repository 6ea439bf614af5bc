#include <fmt/format.h>

#include <algorithm>

#include "sim/exec/compute.h"

namespace bulkhead::sim {
namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

bool isTypeName(std::string_view modifier) {
    static const std::unordered_map<std::string_view, int> names = [] {
        std::unordered_map<std::string_view, int> map;
        for (std::string_view name : {"pred", "b8",    "b16",   "b32", "b64", "b128",  "u8",   "u16",    "u32",   "u64",
                                      "s8",   "s16",   "s32",   "s64", "f16", "f16x2", "bf16", "bf16x2", "f32",   "f64",
                                      "tf32", "u16x2", "s16x2", "u4",  "s4",  "u2",    "s2",   "e4m3x2", "e5m2x2"})
            map.emplace(name, 0);
        return map;
    }();
    return names.contains(modifier);
}

/// Types in the order written, the other modifiers sorted: "cvt.rn.ftz.f32.f64" and "cvt.ftz.rn.f32.f64" are one.
std::string keyOf(std::string_view opcode, std::vector<std::string_view> modifiers) {
    const auto types =
        std::stable_partition(modifiers.begin(), modifiers.end(), [](std::string_view m) { return !isTypeName(m); });
    std::sort(modifiers.begin(), types);
    std::string key(opcode);
    for (std::string_view modifier : modifiers) (key += '.') += modifier;
    return key;
}

Type untypedOf(Type type) {
    switch (ptx::bitsOf(type)) {
        case 8:
            return Type::b8;
        case 16:
            return Type::b16;
        case 32:
            return Type::b32;
        case 64:
            return Type::b64;
        default:
            return type;
    }
}

const Forms& table() {
    static const Forms forms = [] {
        Forms all;
        addIntegerForms(all);
        addBitForms(all);
        addMoveForms(all);
        addCompareForms(all);
        addFloatForms(all);
        addHalfForms(all);
        addApproxForms(all);
        addConvertForms(all);
        addWarpForms(all);
        addVideoForms(all);

        return all;
    }();
    return forms;
}

}  // namespace

Form& Form::untyped() {
    result = untypedOf(result);
    for (Type& type : arguments) type = untypedOf(type);
    return *this;
}

Form& Forms::add(std::string_view name, Handler run, arch::OpClass opClass, Type result,
                 std::initializer_list<Type> arguments, Lower lower) {
    std::vector<std::string_view> parts;
    for (std::string_view rest = name;;) {
        const std::size_t dot = rest.find('.');
        parts.push_back(rest.substr(0, dot));
        if (dot == std::string_view::npos) break;
        rest.remove_prefix(dot + 1);
    }
    const std::string_view opcode = parts.front();
    parts.erase(parts.begin());
    ++opcodes_[std::string(opcode)];
    Form& form = forms_[keyOf(opcode, parts)];
    form = {};
    form.run = run;
    form.opClass = opClass;
    form.result = result;
    form.arguments = arguments;
    form.lower = lower ? lower : &lowerPlain;
    return form;
}

const Form* Forms::find(const Instruction& instruction) const {
    const auto found =
        forms_.find(keyOf(instruction.opcode, {instruction.modifiers.begin(), instruction.modifiers.end()}));
    return found == forms_.end() ? nullptr : &found->second;
}

bool Forms::knowsOpcode(std::string_view opcode) const {
    return opcodes_.contains(std::string(opcode));
}

void expectOperands(const Instruction& instruction, Operands& operands, std::size_t least, std::size_t most) {
    const std::size_t count = instruction.operands.size();
    if (count >= least && count <= most) return;
    operands.refuse(instruction, least == most
                                     ? fmt::format("{} operands expected, {} given", least, count)
                                     : fmt::format("{} to {} operands expected, {} given", least, most, count));
}

void addSource(Instr& instr, Slot slot) {
    instr.src[instr.srcCount++] = slot;
}

void addResult(Instr& instr, Slot slot) {
    instr.dst[instr.dstCount++] = slot;
}

void addPredicateSource(const Operand& operand, Operands& operands, Instr& instr) {
    if (operand.negated) instr.immediate |= std::int64_t{1} << instr.srcCount;
    addSource(instr, operands.predicateSource(operand));
}

void lowerPlain(const Instruction& instruction, Operands& operands, Instr& instr, const Form& form) {
    expectOperands(instruction, operands, 1 + form.arguments.size(), 1 + form.arguments.size());
    const Operand& result = instruction.operands[0];
    addResult(instr,
              form.result == Type::pred ? operands.predicateResult(result) : operands.result(result, form.result));
    for (std::size_t i = 0; i < form.arguments.size(); ++i) {
        const Operand& argument = instruction.operands[i + 1];
        if (form.arguments[i] == Type::pred)
            addPredicateSource(argument, operands, instr);
        else
            addSource(instr, operands.source(argument, form.arguments[i]));
    }
}

bool lowerCompute(const Instruction& instruction, Operands& operands, Instr& instr) {
    // Addresses and special registers are not computed from lanes: whoever knows them moves them.
    if (instruction.opcode == "mov" && instruction.operands.size() == 2) switch (instruction.operands[1].kind) {
            case Operand::Kind::sreg:
            case Operand::Kind::symbol:
            case Operand::Kind::label:
            case Operand::Kind::address:
                return false;
            default:
                break;
        }
    const Form* form = table().find(instruction);
    if (!form) {
        if (!table().knowsOpcode(instruction.opcode)) return false;
        std::string name = instruction.opcode;
        for (const std::string& modifier : instruction.modifiers) (name += '.') += modifier;
        operands.refuse(instruction, fmt::format("'{}' is no supported form of '{}'", name, instruction.opcode));
    }
    instr.kind = Kind::compute;
    instr.run = form->run;
    instr.opClass = form->opClass;
    instr.immediate = form->immediate;
    instr.dstCount = instr.srcCount = 0;
    form->lower(instruction, operands, instr, *form);
    return true;
}

}  // namespace bulkhead::sim
