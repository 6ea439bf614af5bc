#include "ptx/call_graph.h"

#include <algorithm>

namespace bulkhead::ptx {

CallOperands::CallOperands(const Instruction& call) {
    std::size_t at = 0;
    const auto list = [&]() -> const Operand* {
        if (at >= call.operands.size() || call.operands[at].kind != Operand::Kind::list) return nullptr;
        return &call.operands[at++];
    };
    results = list();
    callee = &call.operands.at(at++);
    arguments = list();
    if (at < call.operands.size()) table = &call.operands[at];
}

CallGraph::CallGraph(const Module& module) {
    for (const Function& function : module.functions)
        if (!function.isExtern) bodies_.emplace(function.name, &function);
    for (const Variable& variable : module.variables)
        for (const Relocation& relocation : variable.relocations) takeAddress(relocation.symbol);
    const auto visit = [&](auto&& self, const Operand& operand) -> void {
        if (operand.kind == Operand::Kind::symbol) takeAddress(operand.name);
        for (const Operand& part : operand.parts) self(self, part);
    };
    for (const Function& function : module.functions)
        for (const Instruction& i : function.body)
            for (const Operand& operand : i.operands)
                if (i.opcode != "call" || &operand != CallOperands(i).callee) visit(visit, operand);
}

void CallGraph::takeAddress(std::string_view name) {
    const auto found = bodies_.find(name);
    if (found != bodies_.end() && !found->second->isKernel) addressTaken_.insert(found->second);
}

std::vector<const Function*> CallGraph::targets(const Function& caller, const Instruction& call) const {
    const CallOperands operands(call);
    std::vector<const Function*> found;
    const auto add = [&](std::string_view name) {
        if (const auto body = bodies_.find(name); body != bodies_.end()) found.push_back(body->second);
    };
    if (operands.callee->kind == Operand::Kind::symbol) {
        add(operands.callee->name);
        return found;
    }
    const auto table = std::find_if(caller.callTargets.begin(), caller.callTargets.end(), [&](const BranchTargets& t) {
        return operands.table && t.name == operands.table->name;
    });
    if (table == caller.callTargets.end()) return {addressTaken_.begin(), addressTaken_.end()};
    for (const std::string& name : table->labels) add(name);
    return found;
}

std::vector<const Function*> CallGraph::reachable(const Function& from) const {
    std::vector<const Function*> all{&from};
    for (std::size_t next = 0; next < all.size(); ++next)
        for (const Instruction& i : all[next]->body) {
            if (i.opcode != "call") continue;
            for (const Function* target : targets(*all[next], i))
                if (std::find(all.begin(), all.end(), target) == all.end()) all.push_back(target);
        }
    return all;
}

}  // namespace bulkhead::ptx
