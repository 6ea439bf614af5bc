#include <algorithm>

#include "sim/exec/function_lowering.h"
#include "sim/exec/instruction_details.h"
#include "sim/exec/memory_access.h"

// Branches, calls, barriers, fences, and what the simulator does not have.

namespace bulkhead::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

struct Refusal {
    std::string_view opcode, why;
};
constexpr std::string_view kTensorCores = "the tensor cores of sm_100 are not supported";
constexpr std::string_view kTextures = "references to textures are not supported";
constexpr std::string_view kBulk = "accesses to several GPUs are not supported";
constexpr Refusal kRefusals[] = {
    {"tcgen05", kTensorCores},
    {"istypep", kTextures},
    {"cp", "this asynchronous copy is not supported"},
    {"tensormap", "a tensor map is changed by replace and copied by cp_fenceproxy"},
    {"prefetch", kBulk},
    {"multimem", kBulk},
    {"st", "bulk stores are not supported"},
    {"clusterlaunchcontrol", "work that a block takes over from another is not supported"},
};

Type untyped(std::uint32_t bytes) {
    return bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : bytes == 2 ? Type::b16 : Type::b8;
}

}  // namespace

bool FunctionLowering::lowerControl(Instr& i) {
    const std::string& opcode = current_->opcode;
    const auto simple = [&](Kind kind) {
        i.kind = kind;
        i.opClass = arch::OpClass::control;
        return true;
    };
    if (opcode == "bra") {
        lowerBranch(i);
    } else if (opcode == "brx") {
        lowerIndexedBranch(i);
    } else if (opcode == "call") {
        lowerCall(i);
    } else if (opcode == "ret") {
        lowerReturn(i);
    } else if (opcode == "exit") {
        return simple(Kind::exit);
    } else if (opcode == "trap") {
        return simple(Kind::trap);
    } else if (opcode == "membar") {
        return simple(current_->has("proxy") ? Kind::nop : Kind::fence);
    } else if (opcode == "fence") {
        const bool orders =
            current_->has("sc") || current_->has("acq_rel") || current_->has("acquire") || current_->has("release");
        const bool isProxy = std::any_of(current_->modifiers.begin(), current_->modifiers.end(),
                                         [](const std::string& m) { return m.starts_with("proxy"); });
        return simple(orders && !isProxy ? Kind::fence : Kind::nop);
    } else if (opcode == "bar" || opcode == "barrier") {
        lowerBarrier(i);
    } else if (opcode == "brkpt" || opcode == "pmevent") {
        return simple(Kind::nop);
    } else if (opcode == "griddepcontrol") {
        expectOperands(0, 0);
        if (current_->modifiers.size() != 1 || current_->has("wait") == current_->has("launch_dependents"))
            refuse("griddepcontrol is .wait or .launch_dependents");
        return simple(current_->has("wait") ? Kind::awaitEarlier : Kind::letDependents);
    } else if (opcode == "setmaxnreg") {
        lowerRegisterCount(i);
    } else if (opcode == "nanosleep") {
        expectOperands(1, 1);
        i.src[0] = source(current_->operands[0], Type::u32);
        i.srcCount = 1;
        return simple(Kind::sleep);
    } else {
        return false;
    }
    return true;
}

void FunctionLowering::lowerRegisterCount(Instr& i) {
    constexpr std::int64_t kFewest = 24, kMost = 256, kStep = 8;
    expectOperands(1, 1);
    const Operand& count = current_->operands[0];
    if (current_->has("inc") == current_->has("dec")) refuse("setmaxnreg is .inc or .dec");
    if (count.kind != Operand::Kind::integer || count.integer < kFewest || count.integer > kMost ||
        count.integer % kStep)
        refuse("a number of registers is wanted: a multiple of 8 from 24 to 256");
    i.kind = Kind::setRegisters;
    i.opClass = arch::OpClass::control;
    i.immediate = count.integer;
    i.extra = current_->has("inc") ? 1 : 0;
    code_.changesRegisters = true;
}

void FunctionLowering::refuseUnsupported() {
    for (const Refusal& r : kRefusals)
        if (r.opcode == current_->opcode) refuse(r.why);
    refuse(fmt::format("the instruction '{}' is not supported", current_->opcode));
}

void FunctionLowering::lowerBranch(Instr& i) {
    i.kind = Kind::branch;
    i.opClass = arch::OpClass::control;
    i.target = static_cast<std::uint32_t>(function_.labels.at(current_->operands.at(0).name));
    i.reconverge = static_cast<std::uint32_t>(flow_.reconvergenceOf(currentIndex_));
}

void FunctionLowering::lowerIndexedBranch(Instr& i) {
    if (!current_->has("idx")) refuse("brx needs '.idx'");
    i.kind = Kind::branchIndexed;
    i.opClass = arch::OpClass::control;
    i.src[0] = source(current_->operands.at(0), Type::u32);
    i.srcCount = 1;
    i.reconverge = static_cast<std::uint32_t>(flow_.reconvergenceOf(currentIndex_));
    const std::string& name = current_->operands.at(1).name;
    const auto [known, isNew] = branchTables_.try_emplace(name, static_cast<std::uint32_t>(code_.branchTables.size()));
    i.target = known->second;
    if (!isNew) return;
    auto& table = code_.branchTables.emplace_back();
    for (const ptx::BranchTargets& targets : function_.branchTargets) {
        if (targets.name != name) continue;
        for (const std::string& label : targets.labels)
            table.push_back(static_cast<std::uint32_t>(function_.labels.at(label)));
    }
}

/// Moves between a register and the parameter area, as an instruction of its own.
void FunctionLowering::moveFormal(const Instruction& instruction, int reg, Type type, std::uint32_t offset,
                                  bool intoRegister) {
    Instr i = begin(instruction);
    const auto place = registers_->of(reg);
    const unsigned bits = ptx::bitsOf(function_.registers[static_cast<std::size_t>(reg)].type);
    i.elementBytes = static_cast<std::uint8_t>(ptx::bitsOf(type) / 8);
    i.immediate = offset;
    if (intoRegister) {
        i.run = loadCallParamHandler(type, bits);
        i.dst[0] = Slot::reg(place.offset);
        i.dstCount = 1;
        i.srcCount = 1;
    } else {
        i.run = storeCallParamHandler(type, bits);
        i.src[1] = Slot::reg(place.offset);
        i.srcCount = 2;
    }
    if (!i.run || type == Type::pred) refuse(instruction, "a parameter in a register of the wrong width");
    if (intoRegister)
        emit(instruction, i, {place.id}, {});
    else
        emit(instruction, i, {}, {place.id});
}

/// Functions whose parameters are registers find them in the parameter area like all others.
void FunctionLowering::receiveRegisterFormals() {
    if (function_.isKernel) return;
    std::size_t formal = function_.results.size();
    Instruction entry;
    entry.opcode = "call";
    entry.position = function_.position;
    entry.text = function_.name;
    for (const ptx::Variable& v : function_.params) {
        const Formal& f = code_.formals[formal++];
        if (v.space != Space::reg) continue;
        for (std::size_t r = 0; r < function_.registers.size(); ++r)
            if (function_.registers[r].name == v.name)
                moveFormal(entry, static_cast<int>(r), untyped(f.bytes), f.offset, true);
    }
}

void FunctionLowering::lowerReturn(Instr& i) {
    i.kind = function_.isKernel ? Kind::exit : Kind::ret;
    i.opClass = arch::OpClass::control;
    std::size_t formal = 0;
    for (const ptx::Variable& v : function_.results) {
        const std::size_t index = formal++;
        if (v.space != Space::reg) continue;
        for (std::size_t r = 0; r < function_.registers.size(); ++r)
            if (function_.registers[r].name == v.name)
                moveFormal(*current_, static_cast<int>(r), untyped(code_.formals[index].bytes),
                           code_.formals[index].offset, false);
    }
}

/// Where in the caller's parameter area an argument lies. One given in a register or as a number is put there first.
std::uint32_t FunctionLowering::passArgument(const Operand& operand, const Formal& formal, Type type,
                                             std::uint32_t& scratchOffset) {
    if (operand.kind == Operand::Kind::symbol) {
        if (const auto local = locals_.find(operand.name);
            local != locals_.end() && local->second.space == Space::param && !local->second.isKernelParam) {
            if (local->second.bytes < formal.bytes)
                refuse(fmt::format("'{}' has {} bytes, the parameter {}", operand.name, local->second.bytes,
                                   formal.bytes));
            return local->second.offset;
        }
    }
    const std::uint32_t offset = std::exchange(scratchOffset, scratchOffset + kScratchBytes);
    std::vector<std::uint16_t> reads;
    std::swap(reads, reads_);
    Instr i = begin(*current_);
    const Type moved = type == Type::none ? untyped(formal.bytes) : type;
    if (formal.bytes > 8 || ptx::bitsOf(moved) != formal.bytes * 8) refuse("this argument needs a .param variable");
    i.src[1] = source(operand, moved);
    i.srcCount = 2;
    i.elementBytes = static_cast<std::uint8_t>(formal.bytes);
    i.immediate = offset;
    i.run = storeCallParamHandler(untyped(formal.bytes), std::max(ptx::bitsOf(moved), 32u));
    if (!i.run) refuse("this argument needs a .param variable");
    emit(*current_, i, {}, reads_);
    std::swap(reads, reads_);
    return offset;
}

namespace {

/// A call's operands: (results), callee, (arguments). Results and arguments may be missing.
struct CallOperands {
    explicit CallOperands(const std::vector<Operand>& operands) {
        const std::size_t at = operands[0].kind == Operand::Kind::list ? 1 : 0;
        if (at) results = operands[0].parts;
        callee = &operands[at];
        if (operands.size() > at + 1 && operands[at + 1].kind == Operand::Kind::list)
            arguments = operands[at + 1].parts;
    }
    std::span<const Operand> results, arguments;
    const Operand* callee;
};

}  // namespace

FunctionLowering::Signature FunctionLowering::signatureOf(const std::vector<ptx::Variable>& results,
                                                          const std::vector<ptx::Variable>& params) {
    Signature signature{layoutFormals(results, params), {}};
    for (const auto* variables : {&results, &params})
        for (const ptx::Variable& v : *variables) signature.types.push_back(v.isArray ? Type::none : v.type);
    return signature;
}

FunctionLowering::Signature FunctionLowering::callByName(Instr& i, const std::string& name, CallSite& site) {
    const auto known = symbols_.functions.find(name);
    if (known == symbols_.functions.end())
        refuse(fmt::format("the function '{}' is neither defined here nor provided by the runtime", name));
    i.kind = Kind::call;
    i.target = known->second.index;
    site.builtin = known->second.builtin;
    code_.blocksCommunicate |= site.builtin == Builtin::vprintf;
    const ptx::Function& target = *module_.find(name);
    Signature signature = signatureOf(target.results, target.params);
    signature.formals = known->second.formals;
    return signature;
}

/// The last operand names a prototype, or the functions that the address may be of, which have the same one.
FunctionLowering::Signature FunctionLowering::callByAddress(Instr& i, const Operand& callee, CallSite& site) {
    i.kind = Kind::callIndirect;
    i.src[0] = source(callee, Type::b64);
    i.srcCount = 1;
    const std::string& table = current_->operands.back().name;
    Signature signature;
    for (const ptx::Prototype& p : function_.prototypes)
        if (p.name == table) signature = signatureOf(p.results, p.params);
    for (const ptx::BranchTargets& t : function_.callTargets) {
        if (t.name != table || t.labels.empty()) continue;
        const ptx::Function* target = module_.find(t.labels[0]);
        signature = signatureOf(target->results, target->params);
    }
    site.formals = signature.formals;
    return signature;
}

/// Where results go in the caller's parameter area. Returns the registers that are loaded from there after the call.
std::vector<FunctionLowering::RegisterResult> FunctionLowering::takeResults(std::span<const Operand> results,
                                                                            const std::vector<Formal>& formals,
                                                                            CallSite& site,
                                                                            std::uint32_t& scratchOffset) {
    std::vector<RegisterResult> intoRegisters;
    for (std::size_t k = 0; k < results.size(); ++k) {
        const Formal& f = formals[k];
        const Operand& to = results[k];
        if (to.kind == Operand::Kind::sink) continue;
        if (to.kind == Operand::Kind::reg) {
            if (f.bytes > 8 || ptx::bitsOf(to.type) != f.bytes * 8) refuse("this result needs a .param variable");
            const std::uint32_t offset = std::exchange(scratchOffset, scratchOffset + kScratchBytes);
            site.results.push_back({f.offset, offset, f.bytes});
            intoRegisters.push_back({to.reg, offset});
            continue;
        }
        const auto local = locals_.find(to.name);
        if (local == locals_.end() || local->second.space != Space::param || local->second.isKernelParam)
            refuse(fmt::format("'{}' cannot take a result", to.name));
        site.results.push_back({f.offset, local->second.offset, std::min(f.bytes, local->second.bytes)});
    }
    return intoRegisters;
}

void FunctionLowering::lowerCall(Instr& i) {
    const CallOperands call(current_->operands);
    CallSite site;
    i.opClass = arch::OpClass::control;
    const Signature signature = call.callee->kind == Operand::Kind::symbol ? callByName(i, call.callee->name, site)
                                                                           : callByAddress(i, *call.callee, site);
    const std::size_t results = call.results.size(), arguments = call.arguments.size();
    if (signature.formals.size() != results + arguments)
        refuse(fmt::format("{} results and {} arguments do not fit the prototype", results, arguments));

    std::uint32_t scratchOffset = registerArguments_;
    for (std::size_t k = 0; k < arguments; ++k) {
        const Formal& f = signature.formals[results + k];
        site.arguments.push_back(
            {passArgument(call.arguments[k], f, signature.types[results + k], scratchOffset), f.offset, f.bytes});
    }
    const std::vector<RegisterResult> intoRegisters = takeResults(call.results, signature.formals, site, scratchOffset);
    i.extra = static_cast<std::uint32_t>(code_.callSites.size());
    code_.callSites.push_back(std::move(site));
    finish(*current_, i);
    for (const auto& [reg, offset] : intoRegisters)
        moveFormal(*current_, reg, untyped(ptx::bitsOf(function_.registers[static_cast<std::size_t>(reg)].type) / 8),
                   offset, true);
    consumed_ = true;
}

void FunctionLowering::lowerBarrier(Instr& i) {
    const auto& operands = current_->operands;
    i.opClass = arch::OpClass::control;
    if (current_->has("warp")) {
        // Lanes of a warp run together: they are always synchronised where they meet.
        expectOperands(1, 1);
        source(operands[0], Type::b32);
        i.kind = Kind::nop;
        return;
    }
    i.kind = Kind::barrier;
    std::size_t next = 0;
    auto operation = BarrierOperation::sync;
    for (const std::string& m : current_->modifiers) {
        if (m == "arrive")
            operation = BarrierOperation::arrive;
        else if (m == "popc")
            operation = BarrierOperation::redPopc;
        else if (m == "and")
            operation = BarrierOperation::redAnd;
        else if (m == "or")
            operation = BarrierOperation::redOr;
        else if (m != "sync" && m != "red" && m != "cta" && m != "aligned" && m != "pred" && m != "u32")
            refuse(fmt::format("unknown modifier '.{}'", m));
    }
    const bool isReduction = operation >= BarrierOperation::redPopc;
    if (isReduction != current_->has("red")) refuse("a reduction is bar.red.popc, bar.red.and or bar.red.or");
    i.extra = static_cast<std::uint32_t>(operation);
    if (isReduction) {
        expectOperands(3, 4);
        i.dst[0] =
            operation == BarrierOperation::redPopc ? result(operands[0], Type::u32) : predicateResult(operands[0]);
        i.dstCount = 1;
        next = 1;
        i.src[2] = predicateSource(operands.back());
        i.immediate = operands.back().negated;
    } else {
        expectOperands(operation == BarrierOperation::arrive ? 2 : 1, 2);
    }
    const std::size_t counts = operands.size() - next - (isReduction ? 1 : 0);
    if (operands[next].kind == Operand::Kind::integer && (operands[next].integer < 0 || operands[next].integer > 15))
        refuse(fmt::format("there is no barrier {}, only 0 to 15", operands[next].integer));
    i.src[0] = source(operands[next], Type::u32);
    i.hasAddress = counts == 2;
    if (i.hasAddress) i.src[1] = source(operands[next + 1], Type::u32);
    i.srcCount = 3;
}

}  // namespace bulkhead::sim
