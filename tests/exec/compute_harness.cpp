#include "compute_harness.h"

#include <bit>

namespace bulkhead::sim::test {

using ptx::Operand;
using ptx::Type;

Snippet::Snippet(const std::string& declarations, const std::string& body) {
    module_ = ptx::parse(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n" + declarations + body + "\nret;\n}\n",
        "snippet");
    function_ = module_.find("k");
    carry_ = allocate(1);
    for (const ptx::Register& reg : function_->registers) {
        byName_[reg.name] = places_.size();
        const unsigned bits = ptx::bitsOf(reg.type);
        places_.push_back({allocate(bits), bits});
    }
    // %laneid is the one special register that tests of warps need.
    const std::int32_t laneId = allocate(32);
    for (const ptx::Instruction& instruction : function_->body) {
        if (instruction.opcode == "ret") break;
        Instr instr;
        instr.guard = instruction.guard < 0 ? -1 : places_[static_cast<std::size_t>(instruction.guard)].offset;
        instr.guardNegated = instruction.guardNegated;
        if (!lowerCompute(instruction, *this, instr)) {
            if (instruction.opcode != "mov" || instruction.operands[1].name != "laneid")
                throw std::runtime_error("lowerCompute does not know " + std::string(instruction.text));
            ptx::Instruction copy = instruction;
            copy.operands[1] = copy.operands[0];
            lowerCompute(copy, *this, instr);
            instr.src[0] = Slot::reg(laneId);
        }
        instrs_.push_back(instr);
    }
    frame_.assign(static_cast<std::size_t>(frameBytes_) + 64, 0);
    for (int lane = 0; lane < kLanes; ++lane) std::memcpy(frame_.data() + laneId + 4 * lane, &lane, 4);
    warp_.bindForTest(frame_.data(), constants_.data());
}

std::int32_t Snippet::allocate(unsigned bits) {
    const std::int32_t at = frameBytes_;
    frameBytes_ += bits == 64 ? 256 : bits == 1 ? 64 : 128;
    return at;
}

Slot Snippet::slotOf(const std::string& name) const {
    const auto found = byName_.find(name);
    if (found == byName_.end()) throw std::runtime_error("no register " + name);
    return Slot::reg(places_[found->second].offset);
}

const Snippet::Place& Snippet::placeOf(const Operand& operand, Type type) const {
    if (operand.kind != Operand::Kind::reg) throw std::runtime_error("a register expected");
    const Place& place = places_[static_cast<std::size_t>(operand.reg)];
    if (place.bits != ptx::bitsOf(type))
        throw std::runtime_error(operand.name + " is not as wide as ." + std::string(ptx::nameOf(type)));
    return place;
}

Slot Snippet::source(const Operand& operand, Type type) {
    if (operand.kind == Operand::Kind::reg) return Slot::reg(placeOf(operand, type).offset);
    std::uint64_t value = static_cast<std::uint64_t>(operand.integer);
    if (operand.kind == Operand::Kind::real) {
        if (type == Type::f32)
            value = std::bit_cast<std::uint32_t>(static_cast<float>(operand.real));
        else
            value = std::bit_cast<std::uint64_t>(operand.real);
    } else if (operand.kind != Operand::Kind::integer) {
        throw std::runtime_error("a register or an immediate expected");
    }
    const unsigned bits = ptx::bitsOf(type), bytes = bits == 64 ? 8 : 4;
    if (bits < 64) value &= (std::uint64_t{1} << bits) - 1;
    const auto at = static_cast<std::int32_t>(constants_.size());
    constants_.resize(constants_.size() + bytes * kLanes);
    for (int lane = 0; lane < kLanes; ++lane)
        std::memcpy(constants_.data() + at + static_cast<int>(bytes) * lane, &value, bytes);
    return Slot::constant(at);
}

Slot Snippet::result(const Operand& operand, Type type) {
    if (operand.kind == Operand::Kind::sink) return Slot::reg(allocate(64));
    return Slot::reg(placeOf(operand, type).offset);
}

Slot Snippet::predicateSource(const Operand& operand) {
    return Slot::reg(placeOf(operand, Type::pred).offset);
}

Slot Snippet::predicateResult(const Operand& operand) {
    if (operand.kind == Operand::Kind::sink) return Slot::reg(allocate(1));
    return Slot::reg(placeOf(operand, Type::pred).offset);
}

void Snippet::refuse(const ptx::Instruction& instruction, std::string_view why) {
    throw ptx::PtxError("snippet", instruction.position, why, instruction.text);
}

void Snippet::set(const std::string& name, int lane, std::uint64_t value) {
    const Place& place = places_[byName_.at(name)];
    std::memcpy(frame_.data() + place.offset + (place.bits == 64 ? 8 : 4) * lane, &value, place.bits == 64 ? 8 : 4);
}

std::uint64_t Snippet::get(const std::string& name, int lane) {
    const Place& place = places_[byName_.at(name)];
    std::uint64_t value = 0;
    std::memcpy(&value, frame_.data() + place.offset + (place.bits == 64 ? 8 : 4) * lane, place.bits == 64 ? 8 : 4);
    return value;
}

void Snippet::run(LaneMask mask) {
    for (const Instr& instr : instrs_) {
        LaneMask lanes = mask;
        if (instr.guard >= 0) {
            const LaneMask guard = warp_.predicate(Slot::reg(instr.guard));
            lanes &= instr.guardNegated ? ~guard : guard;
        }
        if (lanes) instr.run(instr, warp_, lanes);
    }
}

std::string refusal(const std::string& declarations, const std::string& body) {
    try {
        Snippet snippet(declarations, body);
        return {};
    } catch (const ptx::PtxError& error) {
        return error.what();
    }
}

}  // namespace bulkhead::sim::test
