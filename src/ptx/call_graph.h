#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// What a call names: its results, the function (a name or a register), the arguments.
struct CallOperands {
    explicit CallOperands(const Instruction& call);
    const Operand* results = nullptr;  ///< a list; null where there are none
    const Operand* callee = nullptr;
    const Operand* arguments = nullptr;  ///< likewise
    const Operand* table = nullptr;      ///< of a call through a register: its .calltargets or .callprototype
};

/// Which functions of a module may call which. A call through a register leads to those that its .calltargets names,
/// and where it has none, to any whose address is taken.
class CallGraph {
  public:
    explicit CallGraph(const Module&);

    /// Functions with a body that a call may lead to.
    std::vector<const Function*> targets(const Function& caller, const Instruction& call) const;
    /// A function and all that it may come to call, itself first.
    std::vector<const Function*> reachable(const Function&) const;

  private:
    void takeAddress(std::string_view name);
    std::map<std::string_view, const Function*> bodies_;  ///< by name
    std::set<const Function*> addressTaken_;
};

}  // namespace bulkhead::ptx
