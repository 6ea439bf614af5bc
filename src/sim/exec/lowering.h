#pragma once

#include "ptx/module.h"
#include "sim/exec/program.h"

namespace bulkhead::sim {

/// The lane values of 128 bits, 64 each.
struct Halves {
    Slot low, high;
};

/// Turns written operands into slots while a function is lowered. Registers written and read through it are noted
/// for the scoreboard.
class Operands {
  public:
    virtual ~Operands() = default;

    /// The lane values of a source of this type: a register, or an immediate broadcast as that type (an integer
    /// immediate for a float type is refused, a real for an integer type too). Checks that the register's width fits.
    virtual Slot source(const ptx::Operand&, ptx::Type) = 0;
    /// Where to put a result of this type. A sink gets a scratch slot.
    virtual Slot result(const ptx::Operand&, ptx::Type) = 0;
    /// The same of 128 bits.
    virtual Halves wideSource(const ptx::Operand&) = 0;
    virtual Halves wideResult(const ptx::Operand&) = 0;
    /// A predicate source or result: one LaneMask. A negated source is the caller's to handle (Operand::negated).
    virtual Slot predicateSource(const ptx::Operand&) = 0;
    virtual Slot predicateResult(const ptx::Operand&) = 0;
    /// The warp's carry flag (add.cc, addc, sub.cc, subc, mad.cc, madc): one LaneMask.
    virtual Slot carry() = 0;

    /// Refuses the instruction, with line, column and its text.
    [[noreturn]] virtual void refuse(const ptx::Instruction&, std::string_view why) = 0;
};

/// Lowers an instruction that only computes (arithmetic, logic, compare, select, convert, approximate functions, shfl,
/// vote, match, redux, activemask...). Sets run, opClass, dst, src, immediate. False if the opcode is not one of
/// these; refuses what it knows but does not support, such as a bad combination of modifiers.
bool lowerCompute(const ptx::Instruction&, Operands&, Instr&);

}  // namespace bulkhead::sim
