#include "sim/exec/function_lowering.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/communication.h"
#include "sim/exec/instruction_details.h"
#include "sim/exec/special_registers.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

constexpr std::uint32_t kWideSlotBytes = kLanes * 8;

/// Registers that the hardware needs and PTX does not show: the stack pointer, and temporaries that address
/// arithmetic and wide constants take.
constexpr std::uint32_t kHiddenRegisters = 4;
constexpr std::uint32_t kMostRegisters = 255;

unsigned laneBytes(Type type) {
    return ptx::bitsOf(type) == 64 ? 8 : 4;
}

/// Machine instructions that an instruction becomes occupy its unit one after the other. The intervals of divisions and
/// approximations are those of their whole sequences.
bool takesPasses(arch::OpClass opClass) {
    return opClass == arch::OpClass::integer || opClass == arch::OpClass::integerMul ||
           opClass == arch::OpClass::control;
}

bool usesStackPointer(const ptx::Function& function) {
    return std::any_of(function.body.begin(), function.body.end(), [](const Instruction& i) {
        return i.opcode == "alloca" || i.opcode == "stacksave" || i.opcode == "stackrestore";
    });
}

void addUnique(std::vector<std::uint16_t>& ids, std::uint16_t id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

}  // namespace

Slot ConstantPool::value(std::uint64_t v, unsigned bytes) {
    if (bytes == 4) v &= 0xFFFF'FFFF;
    const auto [it, isNew] = values_.try_emplace({bytes, v});
    if (isNew) it->second = append(v, bytes);
    return Slot::constant(it->second);
}

Slot ConstantPool::address(std::uint32_t global, std::int64_t addend) {
    const auto [it, isNew] = addresses_.try_emplace({global, addend});
    if (isNew) {
        it->second = append(0, 8);
        program_.patches.push_back({static_cast<std::uint32_t>(it->second), global, addend});
    }
    return Slot::constant(it->second);
}

std::int32_t ConstantPool::append(std::uint64_t v, unsigned bytes) {
    const std::size_t offset = program_.constants.size();
    program_.constants.resize(offset + std::size_t{bytes} * kLanes);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        std::uint8_t* at = program_.constants.data() + offset + std::size_t{lane} * bytes;
        if (bytes == 4) {
            const auto low = static_cast<std::uint32_t>(v);
            std::memcpy(at, &low, 4);
        } else {
            std::memcpy(at, &v, 8);
        }
    }
    return static_cast<std::int32_t>(offset);
}

std::vector<Formal> layoutFormals(const std::vector<ptx::Variable>& results, const std::vector<ptx::Variable>& params) {
    std::vector<Formal> formals;
    std::uint64_t end = 0;
    const auto add = [&](const std::vector<ptx::Variable>& variables, bool isResult) {
        for (const ptx::Variable& v : variables) {
            const std::uint32_t offset = alignUp(end, std::max<std::uint64_t>(v.align, 1));
            formals.push_back({offset, static_cast<std::uint32_t>(v.bytes), isResult});
            end = offset + v.bytes;
        }
    };
    add(results, true);
    add(params, false);
    return formals;
}

std::string sharedName(const ptx::Function* function, const ptx::Variable& variable) {
    return function ? function->name + "/" + variable.name : variable.name;
}

FunctionLowering::FunctionLowering(const ptx::Module& module, const ptx::Function& function,
                                   const ModuleSymbols& symbols, Program& program, ConstantPool& constants, Code& code)
    : module_(module),
      function_(function),
      symbols_(symbols),
      program_(program),
      constants_(constants),
      code_(code),
      flow_(ptx::analyseControlFlow(function)),
      liveness_(ptx::analyseLiveness(function, flow_)) {
    // Formals in registers are filled before the first instruction and read when the function returns.
    for (const auto* formals : {&function.results, &function.params})
        for (const ptx::Variable& formal : *formals)
            for (std::size_t r = 0; formal.space == Space::reg && r < function.registers.size(); ++r)
                if (function.registers[r].name == formal.name)
                    liveness_.intervals[r] = {0, static_cast<int>(function.body.size())};
    registers_.emplace(function, liveness_);
}

void FunctionLowering::run() {
    layOut();
    extraOffset_ = alignUp(registers_->bytes() + sizeof(LaneMask), 64);
    if (usesStackPointer(function_)) {
        code_.stackSlot = static_cast<std::int32_t>(extraOffset_);
        extraOffset_ += kLanes * sizeof(std::uint32_t);
    }
    carryId_ = static_cast<std::uint16_t>(registers_->ids());
    receiveRegisterFormals();
    for (std::size_t index = 0; index < function_.body.size(); ++index) lowerInstruction(static_cast<int>(index));
    firstInstr_.push_back(static_cast<std::uint32_t>(code_.instrs.size()));

    // Lanes that reach the end of the body return there.
    Instruction end;
    end.opcode = "ret";
    end.position = function_.body.empty() ? function_.position : function_.body.back().position;
    end.text = "ret;";
    current_ = &end;
    writes_.clear();
    reads_.clear();
    Instr last = begin(end);
    lowerReturn(last);
    finish(end, last);

    for (Instr& i : code_.instrs) {
        if (i.kind == Kind::branch) i.target = firstInstr_[i.target];
        if (i.kind == Kind::branch || i.kind == Kind::branchIndexed) i.reconverge = firstInstr_[i.reconverge];
    }
    for (auto& table : code_.branchTables)
        for (std::uint32_t& target : table) target = firstInstr_[target];

    separateParts();
    code_.frameBytes = extraOffset_ + kWideSlotBytes * (1 + mostTemporaries_);
    code_.scoreboardIds = registers_->ids() + 1 + mostTemporaries_;
    const std::uint32_t live =
        function_.liveRegisters ? function_.liveRegisters : static_cast<std::uint32_t>(liveness_.maxLive32);
    code_.registersPerThread = std::min<std::uint32_t>(live + kHiddenRegisters, kMostRegisters);
}

/// What is part of the next instruction must have it behind it: lanes that come to the end of a block may have to wait
/// for others.
void FunctionLowering::separateParts() {
    std::vector<bool> begins(code_.instrs.size() + 1, false);
    begins[code_.instrs.size()] = true;
    for (const ptx::ControlFlow::Block& block : flow_.blocks)
        begins[firstInstr_[static_cast<std::size_t>(block.first)]] = true;
    for (std::size_t at = 0; at < code_.instrs.size(); ++at) {
        Instr& i = code_.instrs[at];
        if (i.slots == 0 && (i.kind != Kind::compute || begins[at + 1])) i.slots = 1;
    }
}

void FunctionLowering::layOut() {
    std::uint64_t local = 0;
    for (const ptx::Variable& v : function_.variables) {
        if (v.space != Space::local) continue;
        const std::uint32_t offset = alignUp(local, std::max<std::uint64_t>(v.align, 1));
        locals_.emplace(v.name, Local{Space::local, offset, static_cast<std::uint32_t>(v.bytes)});
        local = offset + v.bytes;
        if (local > kWindowBytes)
            throw ptx::PtxError(module_.name, v.position, fmt::format("local memory of '{}' is too large", v.name));
    }
    code_.localBytes = alignUp(local, 16);

    const std::vector<Formal> formals = layoutFormals(function_.results, function_.params);
    std::uint32_t end = 0;
    std::size_t next = 0;
    for (const auto* variables : {&function_.results, &function_.params}) {
        for (const ptx::Variable& v : *variables) {
            const Formal& f = formals[next++];
            locals_.emplace(v.name, Local{Space::param, f.offset, f.bytes, function_.isKernel});
            end = f.offset + f.bytes;
            if (function_.isKernel) code_.params.push_back({v.name, v.type, f.offset, f.bytes, v.isPointer});
        }
    }
    if (function_.isKernel) {
        code_.kernelParamBytes = end;
        end = 0;
    } else {
        code_.formals = formals;
    }
    layOutCallParams(end);
}

namespace {

/// The first and the last instruction that name a variable.
struct Mention {
    int first = -1, last = -1;
};
using Mentions = std::unordered_map<std::string_view, Mention>;

void noteMentions(const Operand& operand, int index, Mentions& mentions) {
    const bool isNamed =
        operand.kind == Operand::Kind::symbol || (operand.kind == Operand::Kind::address && !operand.baseIsReg);
    if (isNamed && !operand.name.empty()) {
        Mention& m = mentions[operand.name];
        if (m.first < 0) m.first = index;
        m.last = index;
    }
    for (const Operand& part : operand.parts) noteMentions(part, index, mentions);
}

Mentions mentionsIn(const std::vector<Instruction>& body) {
    Mentions mentions;
    for (std::size_t index = 0; index < body.size(); ++index)
        for (const Operand& operand : body[index].operands) noteMentions(operand, static_cast<int>(index), mentions);
    return mentions;
}

/// The most that one call passes in registers or as numbers, which it puts into the parameter area itself.
std::uint32_t mostScratch(const std::vector<Instruction>& body) {
    std::uint32_t most = 0;
    for (const Instruction& instruction : body) {
        std::uint32_t bytes = 0;
        for (const Operand& operand : instruction.operands) {
            if (operand.kind != Operand::Kind::list) continue;
            for (const Operand& part : operand.parts)
                if (part.kind != Operand::Kind::symbol) bytes += kScratchBytes;
        }
        most = std::max(most, bytes);
    }
    return most;
}

}  // namespace

std::uint32_t FunctionLowering::placeCallParam(const ptx::Variable& v, std::uint32_t from) {
    const std::uint32_t offset = alignUp(from, std::max<std::uint64_t>(v.align, 1));
    const auto bytes = static_cast<std::uint32_t>(v.bytes);
    locals_.emplace(v.name, Local{Space::param, offset, bytes});
    return offset + bytes;
}

/// Every call has .param variables of its own, in a scope of straight-line code. Those of different calls share their
/// places: else a function of a thousand calls would have a huge parameter area. Only variables that are named in one
/// basic block alone are known to be of one call; others have a place to themselves, before them.
void FunctionLowering::layOutCallParams(std::uint32_t formals) {
    Mentions mentions = mentionsIn(function_.body);
    std::uint32_t lasting = alignUp(formals, 16);
    std::vector<std::pair<Mention, const ptx::Variable*>> passing;
    for (const ptx::Variable& v : function_.variables) {
        if (v.space != Space::param) continue;
        const Mention m = mentions[v.name];
        if (m.first < 0) continue;
        if (flow_.blockOf[static_cast<std::size_t>(m.first)] == flow_.blockOf[static_cast<std::size_t>(m.last)])
            passing.emplace_back(m, &v);
        else
            lasting = placeCallParam(v, lasting);
    }
    lasting = alignUp(lasting, 16);
    std::stable_sort(passing.begin(), passing.end(),
                     [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
    std::uint32_t end = lasting, next = lasting;
    int busyUntil = -1;
    for (const auto& [m, v] : passing) {
        if (m.first > busyUntil) next = lasting;
        busyUntil = std::max(busyUntil, m.last);
        next = placeCallParam(*v, next);
        end = std::max(end, next);
    }
    registerArguments_ = alignUp(end, 16);
    code_.paramBytes = registerArguments_ + mostScratch(function_.body);
}

void FunctionLowering::lowerInstruction(int index) {
    const Instruction& instruction = function_.body[static_cast<std::size_t>(index)];
    current_ = &instruction;
    currentIndex_ = index;
    firstInstr_.push_back(static_cast<std::uint32_t>(code_.instrs.size()));
    writes_.clear();
    reads_.clear();
    temporaries_ = 0;
    consumed_ = false;
    code_.blocksCommunicate |= communicates(instruction);
    Instr i = begin(instruction);
    if (!lowerAddress(i) && !lowerMemory(i) && !lowerImage(i) && !lowerMatrix(i) && !lowerCluster(i) && !lowerBulk(i) &&
        !lowerControl(i) && !lowerStack(i) && !lowerCompute(instruction, *this, i))
        refuseUnsupported();
    if (!consumed_) finish(instruction, i);
}

Instr FunctionLowering::begin(const Instruction& instruction) const {
    Instr i;
    i.line = instruction.position.line;
    if (instruction.guard >= 0) {
        i.guard = registers_->of(instruction.guard).offset;
        i.guardNegated = instruction.guardNegated;
    }
    return i;
}

void FunctionLowering::finish(const Instruction& instruction, Instr i) {
    emit(instruction, i, writes_, reads_);
}

/// Matrix instructions read more registers than an instruction has room for: what is beyond goes into parts before it,
/// which do nothing but wait for them.
void FunctionLowering::awaitRegisters(const Instruction& instruction, std::vector<std::uint16_t>& ids,
                                      std::size_t kept) {
    Instr part = begin(instruction);
    part.run = [](const Instr&, Warp&, LaneMask) {};
    part.slots = 0;
    while (ids.size() > kept) {
        const std::size_t count = std::min(ids.size() - kept, std::size(part.registers));
        std::copy_n(ids.end() - static_cast<std::ptrdiff_t>(count), count, part.registers);
        part.dependencies = static_cast<std::uint8_t>(count);
        ids.resize(ids.size() - count);
        code_.instrs.push_back(part);
        code_.texts.push_back(instruction.text);
    }
}

void FunctionLowering::emit(const Instruction& instruction, Instr i, const std::vector<std::uint16_t>& writes,
                            const std::vector<std::uint16_t>& reads) {
    std::vector<std::uint16_t> ids;
    for (const std::uint16_t id : writes) addUnique(ids, id);
    i.writes = static_cast<std::uint8_t>(ids.size());
    for (const std::uint16_t id : reads) addUnique(ids, id);
    if (ids.size() >= std::size(i.registers)) awaitRegisters(instruction, ids, i.writes);
    if (instruction.guard >= 0) {
        const std::uint16_t guard = registers_->of(instruction.guard).id;
        addUnique(ids, guard);
        i.guardIsLast = ids.back() == guard;
    }
    if (ids.size() > std::size(i.registers)) refuse(instruction, "too many registers in one instruction");
    std::copy(ids.begin(), ids.end(), i.registers);
    i.dependencies = static_cast<std::uint8_t>(ids.size());
    i.slots = instruction.slots;
    // Machine code has a kernel's parameters in a bank of constants, which LD/ST has no part in.
    const bool isAssembled = function_.liveRegisters != 0;
    if (isAssembled && i.kind == Kind::memory && i.space == Space::param) i.opClass = arch::OpClass::integer;
    if (takesPasses(i.opClass)) i.passes = std::max<std::uint8_t>(i.slots, 1);
    code_.instrs.push_back(i);
    code_.texts.push_back(instruction.text);
}

void FunctionLowering::expectOperands(std::size_t least, std::size_t most) {
    const std::size_t count = current_->operands.size();
    if (count < least || count > most)
        refuse(least == most ? fmt::format("{} operands expected, {} given", least, count)
                             : fmt::format("{} to {} operands expected, {} given", least, most, count));
}

void FunctionLowering::refuse(const Instruction& instruction, std::string_view why) {
    throw ptx::PtxError(module_.name, instruction.position, why, instruction.text);
}

const ptx::Register& FunctionLowering::registerOf(const Operand& operand) const {
    return function_.registers[static_cast<std::size_t>(operand.reg)];
}

Slot FunctionLowering::readRegister(const Operand& operand) {
    const ptx::Register& reg = registerOf(operand);
    if (reg.vector > 1 && operand.element < 0) refuse(fmt::format("'{}' is a vector; name a component", operand.name));
    const auto place = registers_->of(operand.reg, operand.element < 0 ? 0 : static_cast<unsigned>(operand.element));
    addUnique(reads_, place.id);
    return Slot::reg(place.offset);
}

Slot FunctionLowering::writeRegister(const Operand& operand) {
    const ptx::Register& reg = registerOf(operand);
    if (reg.vector > 1 && operand.element < 0) refuse(fmt::format("'{}' is a vector; name a component", operand.name));
    const auto place = registers_->of(operand.reg, operand.element < 0 ? 0 : static_cast<unsigned>(operand.element));
    addUnique(writes_, place.id);
    return Slot::reg(place.offset);
}

Slot FunctionLowering::scratch() {
    return Slot::reg(static_cast<std::int32_t>(extraOffset_));
}

Slot FunctionLowering::temporary(std::uint16_t& id) {
    const unsigned index = temporaries_++;
    mostTemporaries_ = std::max(mostTemporaries_, temporaries_);
    id = static_cast<std::uint16_t>(carryId_ + 1 + index);
    return Slot::reg(static_cast<std::int32_t>(extraOffset_ + kWideSlotBytes * (1 + index)));
}

Handler FunctionLowering::specialRegister(const Operand& operand, Type type) {
    const unsigned bits = ptx::bitsOf(type), registerBits = specialRegisterBits(operand.name);
    const Handler handler = specialRegisterHandler(operand.name, bits);
    if (!handler) refuse(fmt::format("the special register %{} is not supported", operand.name));
    code_.readsTimeOrPlace |= tellsTimeOrPlace(operand.name);
    // PTX 1 had 16 bits of most, and 32 of the number of a grid; conversions read the low part.
    const bool older = current_->opcode == "mov" && (bits == 16 || (bits == 32 && operand.name == "gridid"));
    const bool mayBeWider = current_->opcode == "cvt" && bits < registerBits;
    if (bits != registerBits && !older && !mayBeWider)
        refuse(fmt::format("'%{}' is .u{}, but the instruction wants .{}", operand.name, registerBits, nameOf(type)));
    return handler;
}

Slot FunctionLowering::source(const Operand& operand, Type type) {
    const unsigned bits = ptx::bitsOf(type);
    switch (operand.kind) {
        case Operand::Kind::reg: {
            if (operand.negated) refuse(fmt::format("'-{}': a register cannot be negated here", operand.name));
            const unsigned registerBits = ptx::bitsOf(operand.type);
            // Conversions read the low part of a wider register; there are no 8-bit registers to speak of.
            const bool mayBeWider = (current_->opcode == "cvt" || bits == 8) && registerBits <= 64;
            if (operand.type == Type::pred || registerBits < bits || (registerBits > bits && !mayBeWider))
                refuse(fmt::format("'{}' is .{}, but the instruction wants .{}", operand.name, nameOf(operand.type),
                                   nameOf(type)));
            return readRegister(operand);
        }
        case Operand::Kind::integer: {
            if (ptx::isFloat(type))
                refuse(fmt::format("the integer {} where .{} is wanted", operand.integer, nameOf(type)));
            auto value = static_cast<std::uint64_t>(operand.integer);
            if (bits < 64) value &= (std::uint64_t{1} << bits) - 1;
            return constants_.value(value, laneBytes(type));
        }
        case Operand::Kind::real: {
            const bool single = type == Type::f32 || type == Type::b32, wide = type == Type::f64 || type == Type::b64;
            if (!single && !wide) refuse(fmt::format("a real number where .{} is wanted", nameOf(type)));
            if (single) {
                const std::uint32_t value = operand.type == Type::f32
                                                ? static_cast<std::uint32_t>(operand.integer)
                                                : std::bit_cast<std::uint32_t>(static_cast<float>(operand.real));
                return constants_.value(value, 4);
            }
            return constants_.value(operand.type == Type::f64 ? static_cast<std::uint64_t>(operand.integer)
                                                              : std::bit_cast<std::uint64_t>(operand.real),
                                    8);
        }
        case Operand::Kind::sreg: {
            Instr i = begin(*current_);
            i.run = specialRegister(operand, type);
            std::uint16_t id = 0;
            i.dst[0] = temporary(id);
            i.dstCount = 1;
            emit(*current_, i, {id}, {});
            addUnique(reads_, id);
            return i.dst[0];
        }
        case Operand::Kind::symbol:
            if (bits < 32) refuse(fmt::format("the address of '{}' where .{} is wanted", operand.name, nameOf(type)));
            return addressSlot(addressOf(operand.name, operand.integer), bits / 8, 0);
        default:
            refuse("an operand of the wrong kind");
    }
}

Slot FunctionLowering::result(const Operand& operand, Type type) {
    if (operand.kind == Operand::Kind::sink) return scratch();
    if (operand.kind != Operand::Kind::reg) refuse("the result must be a register");
    const unsigned bits = ptx::bitsOf(type), registerBits = ptx::bitsOf(operand.type);
    const bool mayBeWider = (current_->opcode == "cvt" || bits == 8) && registerBits <= 64;
    if (operand.type == Type::pred || registerBits < bits || (registerBits > bits && !mayBeWider))
        refuse(fmt::format("'{}' is .{}, but the instruction gives .{}", operand.name, nameOf(operand.type),
                           nameOf(type)));
    return writeRegister(operand);
}

namespace {

Halves halvesAt(Slot slot) {
    return {slot, Slot::reg(slot.offset + static_cast<std::int32_t>(kWideSlotBytes))};
}

}  // namespace

Halves FunctionLowering::wideSource(const Operand& operand) {
    if (operand.kind == Operand::Kind::integer) {
        const bool isNegative = operand.integer < 0;
        return {constants_.value(static_cast<std::uint64_t>(operand.integer), 8),
                constants_.value(isNegative ? ~std::uint64_t{0} : 0, 8)};
    }
    if (operand.kind != Operand::Kind::reg) refuse("a register or a number of 128 bits is wanted");
    return halvesAt(source(operand, Type::b128));
}

Halves FunctionLowering::wideResult(const Operand& operand) {
    if (operand.kind == Operand::Kind::sink) return {scratch(), scratch()};
    return halvesAt(result(operand, Type::b128));
}

Slot FunctionLowering::predicateSource(const Operand& operand) {
    if (operand.kind == Operand::Kind::integer) return constants_.value(operand.integer ? kAllLanes : 0, 4);
    if (operand.kind != Operand::Kind::reg || operand.type != Type::pred) refuse("a predicate is wanted");
    return readRegister(operand);
}

Slot FunctionLowering::predicateResult(const Operand& operand) {
    if (operand.kind == Operand::Kind::sink) return scratch();
    if (operand.kind != Operand::Kind::reg || operand.type != Type::pred) refuse("the result is a predicate");
    return writeRegister(operand);
}

Slot FunctionLowering::carry() {
    addUnique(reads_, carryId_);
    addUnique(writes_, carryId_);
    return Slot::reg(static_cast<std::int32_t>(registers_->bytes()));
}

}  // namespace bulkhead::sim
