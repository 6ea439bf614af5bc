#include "ptx/assembler/assembler.h"

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

}  // namespace

Module assemble(const Module& module) {
    Module result = module;
    for (Function& function : result.functions)
        if (!function.isExtern && !function.body.empty()) assembleFunction(function, module);
    return result;
}

}  // namespace bulkhead::ptx
