#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ptx/assembler/block_graph.h"
#include "ptx/control_flow.h"

namespace bulkhead::ptx {

/// Registers of a function, one bit each.
class RegisterSet {
  public:
    explicit RegisterSet(std::size_t registers = 0) : words_((registers + 63) / 64, 0) {}
    bool has(int reg) const { return words_[word(reg)] >> bit(reg) & 1; }
    void add(int reg) { words_[word(reg)] |= std::uint64_t{1} << bit(reg); }
    void remove(int reg) { words_[word(reg)] &= ~(std::uint64_t{1} << bit(reg)); }
    /// True if that added something.
    bool addAll(const RegisterSet& other);
    void removeAll(const RegisterSet& other);
    template <class Visit>
    void each(Visit&& visit) const {
        for (std::size_t w = 0; w < words_.size(); ++w)
            for (std::uint64_t rest = words_[w]; rest; rest &= rest - 1)
                visit(static_cast<int>(w * 64) + __builtin_ctzll(rest));
    }

  private:
    static std::size_t word(int reg) { return static_cast<std::size_t>(reg) / 64; }
    static unsigned bit(int reg) { return static_cast<unsigned>(reg) % 64; }
    std::vector<std::uint64_t> words_;
};

/// How often each register is written and read in a whole function.
struct RegisterCounts {
    RegisterCounts(const Function&, const BlockGraph&);
    std::vector<int> writes, reads;
};

/// What is live at the begin and at the end of each block.
struct BlockLiveness {
    /// Whether a guarded write of a register that nobody else writes counts as reading it: lanes that do not write may
    /// read what they wrote in another iteration. Hardly a program does, so estimates go without.
    enum class Guarded : std::uint8_t { keeps, begins };
    BlockLiveness(const Function&, const BlockGraph&, Guarded = Guarded::keeps);
    std::vector<RegisterSet> in, out;
};

/// Without reads of registers whose only write this is.
Effects withoutOwn(Effects, const RegisterCounts&);

/// How far an instruction may be moved, besides what its registers say. Those that are not known stay where they are.
enum class Motion : std::uint8_t {
    free,          ///< computes registers from registers
    constantLoad,  ///< reads memory that nobody writes while the kernel runs: its parameters, constants, .nc
    load,          ///< reads memory that threads may write
    store,         ///< writes memory
    ordered,       ///< no access to memory that threads may write passes it: atomics, barriers, fences
    fixed,         ///< nothing passes it
};
Motion motionOf(const Function&, const Instruction&);

/// Whether it reads or writes the carry flag, which no operand names.
bool usesCarry(const Instruction&);

/// Whether lanes of a warp or threads of a block take part in it together, so that who is there matters.
bool isConvergent(const Instruction&);

/// Registers that have the same value in all threads of a block, by what they are computed from. Machines keep them in
/// a register file of their own, or read them from constant memory again.
class UniformRegisters {
  public:
    UniformRegisters(const Function&, const BlockGraph&);
    bool varies(int reg) const { return varies_[static_cast<std::size_t>(reg)]; }

  private:
    bool givesDifferent(const Function&, const Instruction&, const Effects&) const;
    std::vector<bool> varies_;
};

/// Whether the instruction is one of these.
bool isOpcode(const Instruction&, std::initializer_list<std::string_view> names);

/// The type that an instruction computes in: the last of its modifiers that names one.
Type typeOf(const Instruction&);
/// The type that a modifier names; none if it names none.
Type modifierType(std::string_view modifier);

/// Registers of one instruction's operands, replaced. `from` and `to` have the same size and kind.
void renameReads(Instruction&, const Function&, int from, int to);
void renameWrites(Instruction&, const Function&, int from, int to);

/// A register more, like another one.
int addRegisterLike(Function&, int reg);

}  // namespace bulkhead::ptx
