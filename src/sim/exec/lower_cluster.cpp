#include "sim/exec/cluster.h"
#include "sim/exec/function_lowering.h"
#include "sim/exec/mbarrier.h"

// Clusters of blocks: their barrier, and addresses in each other's shared memory.

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

bool FunctionLowering::lowerCluster(Instr& i) {
    const std::string& opcode = current_->opcode;
    if (opcode == "barrier" && current_->has("cluster"))
        lowerClusterBarrier(i);
    else if (opcode == "mapa")
        lowerMapAddress(i);
    else if (opcode == "getctarank")
        lowerRankOfAddress(i);
    else
        return false;
    return true;
}

void FunctionLowering::lowerClusterBarrier(Instr& i) {
    expectOperands(0, 0);
    const bool arrives = current_->has("arrive");
    if (arrives == current_->has("wait")) refuse("a cluster's barrier has .arrive or .wait");
    for (const std::string& m : current_->modifiers)
        if (m != "cluster" && m != "arrive" && m != "wait" && m != "aligned" &&
            m != (arrives ? "release" : "acquire") && !(arrives && m == "relaxed"))
            refuse(fmt::format("unknown modifier '.{}'", m));
    i.kind = arrives ? Kind::clusterArrive : Kind::clusterWait;
    i.opClass = arch::OpClass::control;
    program_.hasClusterBarriers = true;
}

/// st.async and red.async: a store or reduction, and then its bytes at an mbarrier object. Both show in that order.
void FunctionLowering::completeBytesOf(Instr& store) {
    if (store.space != Space::shared && store.space != Space::none) refuse("only shared memory is written like this");
    if (current_->operands.back().kind != Operand::Kind::address) refuse("an mbarrier object is wanted");
    const std::uint32_t bytes = static_cast<unsigned>(store.elementBytes) * store.elements;
    emit(*current_, store, {}, reads_);
    reads_.clear();
    Instr complete = begin(*current_);
    mbarrierObject(complete, current_->operands.back());
    complete.src[1] = constants_.value(bytes, 4);
    complete.srcCount = 2;
    complete.run = mbarrierHandler(MbarrierOperation::completeBytes);
    store = complete;
}

/// A variable's address, a register, or a number.
Slot FunctionLowering::clusterAddress(const Operand& operand, bool isShared, unsigned bytes) {
    if (operand.kind != Operand::Kind::symbol) return source(operand, bytes == 4 ? Type::u32 : Type::u64);
    const Address a = addressOf(operand.name, operand.integer);
    if (a.space != Space::shared) refuse(fmt::format("'{}' is not a .shared variable", operand.name));
    return addressSlot(a, bytes, isShared ? 0 : kSharedWindow);
}

void FunctionLowering::lowerMapAddress(Instr& i) {
    expectOperands(3, 3);
    const bool isShared = current_->has("shared::cluster");
    for (const std::string& m : current_->modifiers)
        if (m != "shared::cluster" && m != "u32" && m != "u64") refuse(fmt::format("unknown modifier '.{}'", m));
    const unsigned bytes = current_->has("u32") ? 4 : 8;
    if (!isShared && bytes == 4) refuse("generic addresses have 64 bits");
    i.run = isShared ? runMapAddress : runMapGenericAddress;
    i.elementBytes = static_cast<std::uint8_t>(bytes);
    i.dst[0] = result(current_->operands[0], bytes == 4 ? Type::u32 : Type::u64);
    i.src[0] = clusterAddress(current_->operands[1], isShared, bytes);
    i.src[1] = source(current_->operands[2], Type::u32);
    i.dstCount = 1;
    i.srcCount = 2;
}

void FunctionLowering::lowerRankOfAddress(Instr& i) {
    expectOperands(2, 2);
    const bool isShared = current_->has("shared::cluster");
    for (const std::string& m : current_->modifiers)
        if (m != "shared::cluster" && m != "u32" && m != "u64") refuse(fmt::format("unknown modifier '.{}'", m));
    const unsigned bytes = current_->has("u32") ? 4 : 8;
    if (!isShared && bytes == 4) refuse("generic addresses have 64 bits");
    i.run = runRankOfAddress;
    i.elementBytes = static_cast<std::uint8_t>(bytes);
    i.dst[0] = result(current_->operands[0], Type::u32);
    i.src[0] = clusterAddress(current_->operands[1], isShared, bytes);
    i.dstCount = i.srcCount = 1;
}

}  // namespace bulkhead::sim
