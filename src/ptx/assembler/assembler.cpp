#include "ptx/assembler/assembler.h"

#include <algorithm>

#include "ptx/assembler/block_graph.h"
#include "ptx/assembler/issue_slots.h"
#include "ptx/assembler/predication.h"
#include "ptx/assembler/scheduling.h"
#include "ptx/assembler/simplification.h"
#include "ptx/assembler/unrolling.h"
#include "ptx/assembler/vectors.h"

namespace bulkhead::ptx {
namespace {

/// Beyond this, sets of registers by block would take too long: such functions stay as they are.
constexpr std::size_t kMostBits = std::size_t{1} << 28;

void assembleFunction(Function& function, const Module& module) {
    BlockGraph graph(function);
    if (graph.blocks.size() * function.registers.size() > kMostBits) return;
    graph.straighten();
    propagateCopies(function, graph);
    removeUnused(function, graph);
    unrollCountedLoops(function, graph);
    graph.straighten();
    guardShortBranches(function, graph);
    foldNumbers(function, graph);
    fuseProducts(function, graph);
    removeUnused(function, graph);
    graph.straighten();
    joinSharedLoads(function, graph, module);
    countIssueSlots(function, graph);
    scheduleBlocks(function, graph);
    graph.putBack(function);
}

/// The assembler decides where shared variables lie, and puts arrays where vectors can be loaded from them.
void alignArrays(std::vector<Variable>& variables) {
    constexpr std::uint64_t kVectorBytes = 16;
    for (Variable& v : variables)
        if (v.space == Space::shared && !v.isExtern && v.bytes >= kVectorBytes)
            v.align = std::max(v.align, kVectorBytes);
}

}  // namespace

Module assemble(const Module& module) {
    Module result = module;
    alignArrays(result.variables);
    for (Function& function : result.functions) alignArrays(function.variables);
    for (Function& function : result.functions)
        if (!function.isExtern && !function.body.empty()) assembleFunction(function, result);
    return result;
}

}  // namespace bulkhead::ptx
