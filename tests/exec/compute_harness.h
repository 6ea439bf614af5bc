#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/module.h"
#include "sim/exec/lowering.h"
#include "sim/exec/program.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim::test {

/// A few lines of PTX that only compute, lowered by lowerCompute and executed for one warp. Registers are written and
/// read by name.
class Snippet : private Operands {
  public:
    /// `declarations` holds .reg lines, `body` the instructions.
    Snippet(const std::string& declarations, const std::string& body);
    Snippet(const Snippet&) = delete;
    Snippet& operator=(const Snippet&) = delete;

    void set(const std::string& name, int lane, std::uint64_t value);
    std::uint64_t get(const std::string& name, int lane);
    /// A predicate as a LaneMask.
    LaneMask& predicate(const std::string& name) { return warp_.predicate(slotOf(name)); }

    /// Executes the lines for the lanes of the mask, guards applied.
    void run(LaneMask mask = kAllLanes);

    const std::vector<Instr>& instrs() const { return instrs_; }

  private:
    struct Place {
        std::int32_t offset;
        unsigned bits;
    };
    Slot source(const ptx::Operand&, ptx::Type) override;
    Slot result(const ptx::Operand&, ptx::Type) override;
    Halves wideSource(const ptx::Operand&) override { throw Error("snippets have no registers of 128 bits"); }
    Halves wideResult(const ptx::Operand&) override { throw Error("snippets have no registers of 128 bits"); }
    Slot predicateSource(const ptx::Operand&) override;
    Slot predicateResult(const ptx::Operand&) override;
    Slot carry() override { return Slot::reg(carry_); }
    [[noreturn]] void refuse(const ptx::Instruction&, std::string_view why) override;

    const Place& placeOf(const ptx::Operand&, ptx::Type) const;
    Slot slotOf(const std::string& name) const;
    std::int32_t allocate(unsigned bits);

    ptx::Module module_;
    const ptx::Function* function_ = nullptr;
    std::vector<Place> places_;
    std::unordered_map<std::string, std::size_t> byName_;
    std::int32_t carry_ = 0, frameBytes_ = 0;
    AlignedBytes frame_, constants_;
    std::vector<Instr> instrs_;
    Warp warp_;
};

/// What lowering says against a snippet; empty if it takes it.
std::string refusal(const std::string& declarations, const std::string& body);

}  // namespace bulkhead::sim::test
