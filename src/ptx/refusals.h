#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ptx/call_graph.h"
#include "ptx/function_text.h"
#include "ptx/source_edit.h"

namespace bulkhead::ptx {

/// A module after a change to its text. Kernels that the change could not be made to are refused, and trap.
struct RewrittenModule {
    std::string text;
    std::map<std::string, std::string> refused;  ///< why, by kernel
};

/// Which functions and kernels of a module a change cannot be made to, and why.
class Refusals {
  public:
    Refusals(const Module& module, const CallGraph& graph) : module_(module), graph_(graph) {}

    /// The first reason counts.
    void refuse(const Function& function, const Instruction& because, std::string_view why);
    void refuse(const Function& function, std::string_view why);
    bool contains(const Function& function) const { return reasons_.contains(&function); }
    /// Refuses the kernels that may call what is refused.
    void passOn();
    /// Leaves nothing of what is refused but a trap. Returns why, by kernel.
    std::map<std::string, std::string> apply(const std::vector<FunctionText>&, SourceEdit&) const;

  private:
    const Module& module_;
    const CallGraph& graph_;
    std::map<const Function*, std::string> reasons_;
};

}  // namespace bulkhead::ptx
