#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ptx/call_graph.h"
#include "ptx/control_flow.h"

namespace bulkhead::ptx {

/// What is the same in all threads of a block, in a kernel and in all functions that it may call: its parameters,
/// constants, memory that threads may not write, block indices, votes of the block, and what is computed from these
/// where threads have not parted. Errs on the side of "different": what comes from memory that threads write, or from
/// another lane, counts as such. A function's parameters are the same if every call gives it such values, and its
/// results if they are such values wherever it returns.
class Uniformity {
  public:
    Uniformity(const Function& kernel, const CallGraph&);

    /// Whether threads that come to this branch, return or exit may go different ways.
    bool parts(const Function&, std::size_t instruction) const;
    /// Whether the guard of an instruction, or a register that it reads, may differ between threads that come to it.
    bool guardDiffers(const Function&, std::size_t instruction) const;
    bool readsDiffer(const Function&, std::size_t instruction) const;
    /// Of a function that may run, with every way out.
    const ControlFlow& flow(const Function& function) const { return states_.at(&function).flow; }

  private:
    struct State {
        explicit State(const Function&);
        ControlFlow flow;
        std::vector<Effects> effects;      ///< by instruction
        std::vector<bool> parted;          ///< by instruction: only some of the threads may come there
        std::vector<bool> differentGuard;  ///< by instruction
        std::vector<bool> differentReads;  ///< by instruction, the guard included
        std::vector<bool> different;       ///< by register: somewhere
        std::set<std::string> variables;   ///< in the space of parameters: those that differ somewhere
    };
    bool update(const Function&, State&);
    bool update(const Function&, State&, const ControlFlow::Block&);
    bool givesDifferent(const Function&, const State&, std::size_t instruction) const;
    bool loadsDifferent(const Function&, const State&, const Instruction&) const;
    bool returnsDifferent(const Function& caller, const Instruction& call) const;
    bool passArguments(const Function& caller, const State&, const Instruction& call);

    const CallGraph& graph_;
    std::map<const Function*, State> states_;
};

}  // namespace bulkhead::ptx
