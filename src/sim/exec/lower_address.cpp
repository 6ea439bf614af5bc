#include "sim/exec/function_lowering.h"
#include "sim/exec/instruction_details.h"
#include "sim/exec/special_registers.h"
#include "sim/exec/warp.h"

// Addresses and special registers as values: mov, cvta, isspacep.

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

namespace {

std::uint64_t windowOf(Space space) {
    switch (space) {
        case Space::shared:
            return kSharedWindow;
        case Space::local:
            return kLocalWindow;
        case Space::param:
            return kParamWindow;
        default:
            return 0;
    }
}

/// The bits of a special register or an address that mov gives such a type; none if it does not.
Type movedAs(std::string_view type) {
    if (type.starts_with('b') || type.starts_with('u') || type.starts_with('s'))
        for (const Type bits : {Type::b16, Type::b32, Type::b64})
            if (type.substr(1) == nameOf(bits).substr(1)) return bits;
    return type == "f32" ? Type::b32 : type == "f64" ? Type::b64 : Type::none;
}

Space spaceNamed(std::string_view name) {
    if (name == "global") return Space::global;
    if (name == "const") return Space::constant;
    if (name == "local") return Space::local;
    if (name.starts_with("shared")) return Space::shared;
    if (name.starts_with("param")) return Space::param;
    return Space::none;
}

}  // namespace

FunctionLowering::Address FunctionLowering::addressOf(const std::string& symbol, std::int64_t addend) {
    Address a;
    a.value = addend;
    if (const auto local = locals_.find(symbol); local != locals_.end()) {
        const Local& v = local->second;
        a.space = v.space;
        a.local = &v;
        a.value += v.offset;
        if (v.space == Space::local)
            a.kind = Address::Kind::local;
        else if (!v.isKernelParam)
            a.value += kCallParamBase;
        return a;
    }
    auto shared = symbols_.shared.find(function_.name + "/" + symbol);
    if (shared == symbols_.shared.end()) shared = symbols_.shared.find(symbol);
    if (shared != symbols_.shared.end()) {
        a.space = Space::shared;
        if (shared->second.isDynamic)
            a.kind = Address::Kind::dynamicShared;
        else
            a.value += shared->second.offset;
        return a;
    }
    if (const auto global = symbols_.globals.find(symbol); global != symbols_.globals.end()) {
        a.kind = Address::Kind::global;
        a.space = program_.globals[global->second].space;
        a.global = global->second;
        return a;
    }
    if (const auto callee = symbols_.functions.find(symbol); callee != symbols_.functions.end()) {
        if (callee->second.builtin != Builtin::none)
            refuse(fmt::format("the address of '{}' cannot be taken: the runtime provides it", symbol));
        a.space = Space::none;
        a.value = static_cast<std::int64_t>(kCodeWindow + callee->second.index * 16) + addend;
        return a;
    }
    refuse(fmt::format("'{}' is declared but not defined here", symbol));
}

Slot FunctionLowering::addressSlot(const Address& a, unsigned bytes, std::uint64_t window) {
    if (a.kind == Address::Kind::constant) return constants_.value(static_cast<std::uint64_t>(a.value) + window, bytes);
    if (a.kind == Address::Kind::global) {
        if (bytes != 8) refuse("the address of a global variable has 64 bits");
        return constants_.address(a.global, a.value);
    }
    Instr i = begin(*current_);
    std::uint16_t id = 0;
    i.dst[0] = temporary(id);
    i.dstCount = 1;
    i.elementBytes = static_cast<std::uint8_t>(bytes);
    i.immediate = a.value + static_cast<std::int64_t>(window);
    i.run = a.kind == Address::Kind::local ? runLocalAddress : runDynamicShared;
    emit(*current_, i, {id}, {});
    reads_.push_back(id);
    return i.dst[0];
}

void FunctionLowering::takeAddress(Instr& i, const Address& a, unsigned bytes, std::uint64_t window) {
    i.dstCount = 1;
    i.elementBytes = static_cast<std::uint8_t>(bytes);
    if (a.kind == Address::Kind::local || a.kind == Address::Kind::dynamicShared) {
        i.immediate = a.value + static_cast<std::int64_t>(window);
        i.run = a.kind == Address::Kind::local ? runLocalAddress : runDynamicShared;
        return;
    }
    i.src[0] = addressSlot(a, bytes, window);
    i.srcCount = 1;
    i.run = bytes == 4 ? runCopy32 : runCopy64;
}

bool FunctionLowering::lowerAddress(Instr& i) {
    if (current_->opcode == "mov") return lowerMove(i);
    if (current_->opcode == "cvta") {
        lowerCvta(i);
        return true;
    }
    if (current_->opcode == "isspacep") {
        lowerIsSpace(i);
        return true;
    }
    return false;
}

/// mov of special registers and addresses; all other moves are computation.
bool FunctionLowering::lowerMove(Instr& i) {
    const auto& operands = current_->operands;
    if (operands.size() != 2) return false;
    const Operand& from = operands[1];
    if (from.kind != Operand::Kind::sreg && from.kind != Operand::Kind::symbol) return false;
    const Operand& to = operands[0];
    if (from.name == "is_explicit_cluster") {
        i.dst[0] = predicateResult(to);
        i.dstCount = 1;
        i.run = runIsExplicitCluster;
        return true;
    }
    if (current_->modifiers.size() != 1) refuse("mov has one type");
    const std::string& type = current_->modifiers[0];
    const Type wanted = movedAs(type);
    if (wanted == Type::none) refuse(fmt::format("mov.{} cannot have this operand", type));
    const unsigned bits = ptx::bitsOf(wanted);
    i.dst[0] = result(to, wanted);
    if (from.kind == Operand::Kind::sreg) {
        i.run = specialRegister(from, wanted);
        i.dstCount = 1;
        return true;
    }
    if (bits == 16) refuse(fmt::format("the address of '{}' does not fit in 16 bits", from.name));
    takeAddress(i, addressOf(from.name, from.integer), bits / 8, 0);
    return true;
}

void FunctionLowering::lowerCvta(Instr& i) {
    expectOperands(2, 2);
    Space space = Space::none;
    bool to = false;
    for (const std::string& m : current_->modifiers) {
        if (m == "to")
            to = true;
        else if (m == "u32")
            refuse("addresses have 64 bits");
        else if (const Space named = spaceNamed(m); named != Space::none)
            space = named;
        else if (m != "u64")
            refuse(fmt::format("unknown modifier '.{}'", m));
    }
    if (space == Space::none) refuse("cvta needs a state space");
    const std::uint64_t window = windowOf(space);
    const Operand& from = current_->operands[1];
    i.dst[0] = result(current_->operands[0], Type::u64);
    if (from.kind == Operand::Kind::symbol && !to) {
        const Address a = addressOf(from.name, from.integer);
        if (a.space != space) refuse(fmt::format("'{}' is not a .{} variable", from.name, nameOf(space)));
        takeAddress(i, a, 8, window);
        return;
    }
    i.dstCount = 1;
    i.src[0] = source(from, Type::u64);
    i.srcCount = 1;
    i.immediate = static_cast<std::int64_t>(to ? -window : window);
    i.run = runAddImmediate;
}

void FunctionLowering::lowerIsSpace(Instr& i) {
    expectOperands(2, 2);
    if (current_->modifiers.size() != 1) refuse("isspacep has one state space");
    i.run = isSpaceHandler(spaceNamed(current_->modifiers[0]), current_->has("shared::cluster"));
    if (!i.run) refuse(fmt::format("'.{}' is no state space of generic addresses", current_->modifiers[0]));
    i.dst[0] = predicateResult(current_->operands[0]);
    i.dstCount = 1;
    i.src[0] = source(current_->operands[1], Type::u64);
    i.srcCount = 1;
}

}  // namespace bulkhead::sim
