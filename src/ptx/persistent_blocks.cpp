#include "ptx/persistent_blocks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ptx/barrier_pairing.h"
#include "ptx/block_barriers.h"
#include "ptx/persistent_loop.h"

namespace bulkhead::ptx {
namespace {

bool isLeave(const Instruction& i) {
    return i.opcode == "ret" || i.opcode == "exit";
}

template <class Predicate>
bool anySpecialRegister(const Operand& operand, const Predicate& is) {
    return (operand.kind == Operand::Kind::sreg && is(std::string_view(operand.name))) ||
           std::any_of(operand.parts.begin(), operand.parts.end(),
                       [&](const Operand& part) { return anySpecialRegister(part, is); });
}
template <class Predicate>
bool readsSpecialRegister(const Instruction& i, const Predicate& is) {
    return std::any_of(i.operands.begin(), i.operands.end(),
                       [&](const Operand& operand) { return anySpecialRegister(operand, is); });
}

bool readsBlockIndex(const Instruction& i) {
    return readsSpecialRegister(
        i, [](std::string_view name) { return name.starts_with("ctaid") || name.starts_with("nctaid"); });
}
bool readsWholeBlockIndex(const Instruction& i) {
    return readsSpecialRegister(i, [](std::string_view name) {
        const std::size_t dot = name.find("ctaid.");
        return name.ends_with("ctaid") || (dot <= 1 && (name.back() < 'x' || name.back() > 'z'));
    });
}
bool readsCluster(const Instruction& i) {
    return readsSpecialRegister(
        i, [](std::string_view name) { return name.starts_with("clusterid") || name.starts_with("nclusterid"); });
}

/// Why an instruction cannot be in the loop, wherever it is; empty if it can.
std::string_view reasonAgainst(const Function& function, const Instruction& i) {
    const std::optional<BlockBarrier> barrier = blockBarrier(function, i);
    if (barrier && barrier->kind == BlockBarrier::Kind::arrive)
        return "a block may leave this barrier half full, which the next one would find: the kernel cannot be walled";
    if (barrier && !barrier->id && (barrier->isCounted || barrier->kind == BlockBarrier::Kind::vote))
        return "which barrier this is cannot be told before the launch: the kernel cannot be walled";
    if (i.opcode == "barrier" && i.has("cluster"))
        return "blocks of a cluster do not run together inside walls: the kernel cannot be walled";
    if (readsCluster(i)) return "walls do not know clusters: the kernel cannot be walled";
    if (i.opcode == "mbarrier")
        return "a block would find the mbarrier objects of the block before it: the kernel cannot be walled";
    if (i.opcode == "cp" && i.has("bulk"))
        return "a bulk copy may outlast its block, while the next one uses its memory: the kernel cannot be walled";
    if (i.opcode == "setmaxnreg" || i.opcode == "alloca")
        return "what a block takes here, the next one would not have: the kernel cannot be walled";
    if (readsWholeBlockIndex(i)) return "a block index of all dimensions at once cannot be walled";
    if (i.opcode == "mov" && readsBlockIndex(i) && (i.has("u16") || i.has("s16") || i.has("b16")))
        return "a block index of 16 bits cannot be walled";
    if (i.opcode == "exit" && !function.isKernel) return "a function that ends its thread cannot be walled";
    return {};
}

/// What stands before an instruction: its guard, if it has one.
std::string_view guardOf(const Instruction& i) {
    return i.text.substr(0, i.text.rfind(i.opcode + "."));
}

std::set<std::string> blockIndicesOf(const Instruction& i) {
    std::set<std::string> names;
    readsSpecialRegister(i, [&](std::string_view name) {
        if (name.starts_with("ctaid") || name.starts_with("nctaid")) names.emplace(name);
        return false;
    });
    return names;
}

/// The instruction's text with %ctaid and %nctaid replaced by the registers that stand for them.
std::string withBlockIndex(const Instruction& i) {
    std::string text(i.text);
    for (const std::string& name : blockIndicesOf(i)) {
        const std::string word = "%" + name, reg = blockIndexRegister(name);
        for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += reg.size())
            text.replace(at, word.size(), reg);
    }
    return text;
}

/// Bytes of shared memory that a kernel and what it calls declare.
std::uint64_t declaredShared(const Module& module, const std::vector<const Function*>& functions) {
    std::uint64_t bytes = 0;
    const auto add = [&](const Variable& v) {
        if (v.space == Space::shared) bytes = (bytes + v.align - 1) / v.align * v.align + v.bytes;
    };
    std::set<std::string> mentioned;
    const auto mention = [&](auto&& self, const Operand& operand) -> void {
        mentioned.insert(operand.name);
        for (const Operand& part : operand.parts) self(self, part);
    };
    for (const Function* function : functions) {
        std::for_each(function->variables.begin(), function->variables.end(), add);
        for (const Instruction& i : function->body)
            for (const Operand& operand : i.operands) mention(mention, operand);
    }
    for (const Variable& v : module.variables)
        if (mentioned.contains(v.name)) add(v);
    return bytes;
}

/// Decides on the loop of each kernel and makes the edits.
class Rewriting {
  public:
    Rewriting(const Module& module, const PersistentOptions& options)
        : module_(module), options_(options), graph_(module), refusals_(module, graph_), edit_(*module.source) {}

    PersistentModule run() {
        for (const Function& function : module_.functions)
            for (const Instruction& i : function.body)
                if (const std::string_view why = reasonAgainst(function, i); !why.empty())
                    refusals_.refuse(function, i, why);
        refusals_.passOn();
        chooseStandIns();
        for (const Function& kernel : module_.functions)
            if (kernel.isKernel && !kernel.isExtern && !refusals_.contains(kernel)) plan(kernel);
        countInFunctions();
        for (auto& [kernel, loop] : loops_) makeRoom(*kernel, loop);
        return edited();
    }

  private:
    static constexpr unsigned kBarriers = 16;
    static constexpr std::uint64_t kMostShared = 48 * 1024;

    /// A barrier that nobody uses with a count. Functions may be called by all kernels, so it is the same in all.
    void chooseStandIns() {
        std::set<unsigned> counted;
        for (const Function& function : module_.functions) addBarriers(function, true, counted);
        while (counted.contains(standIns_.barrier)) ++standIns_.barrier;
        standIns_.sync = module_.versionMajor >= 6 ? "barrier.sync" : "bar.sync";
    }

    static void addBarriers(const Function& function, bool onlyCounted, std::set<unsigned>& numbers) {
        for (const Instruction& i : function.body) {
            const std::optional<BlockBarrier> barrier = blockBarrier(function, i);
            if (barrier && barrier->id && (barrier->isCounted || !onlyCounted)) numbers.insert(*barrier->id);
        }
    }

    void plan(const Function& kernel) {
        const BarrierPairing pairing(kernel, graph_);
        if (const Instruction* const lost = pairing.lostMeeting())
            return refusals_.refuse(kernel, *lost,
                                    "lanes of a warp that part here would not meet again: the kernel cannot be walled");
        if (kernel.requiredCluster[0] || kernel.explicitCluster)
            return refusals_.refuse(kernel, "walls do not know clusters: the kernel cannot be walled");
        PersistentLoop loop;
        loop.kernel = kernel.name;
        std::set<unsigned> taken{standIns_.barrier};
        for (const Function* function : graph_.reachable(kernel)) {
            addBarriers(*function, false, taken);
            for (const Instruction& i : function->body) {
                loop.copiesAsynchronously |= i.opcode == "cp" && i.has("async");
                loop.functionsAskForBlock |= !function->isKernel && readsBlockIndex(i);
            }
        }
        while (taken.contains(loop.barrier)) ++loop.barrier;
        if (needsStandIns(kernel, pairing)) standIn(kernel, loop, pairing.hasBarriersInFunctions());
        if (std::max(loop.barrier, standIns_.barrier) >= kBarriers)
            refusals_.refuse(kernel, "it leaves none of the 16 barriers of a block: the kernel cannot be walled");
        if (!refusals_.contains(kernel)) loops_.emplace(&kernel, std::move(loop));
    }

    /// Whether some threads may leave while others still come to a barrier, or it is not known which barrier that is.
    bool needsStandIns(const Function& kernel, const BarrierPairing& pairing) {
        if (!pairing.hasBarriers() || options_.trustBarriers) return false;
        const Instruction* const parting = pairing.parting();
        bool isUnknown = false, hasVotes = false;
        for (const Function* function : graph_.reachable(kernel))
            for (const Instruction& i : function->body) {
                if (!isBarrierForAll(i)) continue;
                hasVotes = hasVotes || !isStandIn(i);
                isUnknown = isUnknown || !blockBarrier(*function, i)->id;
            }
        if (parting && hasVotes)
            refusals_.refuse(kernel, *parting,
                             "some threads may leave or part here before a vote of the block: the kernel cannot be "
                             "walled");
        return parting || isUnknown;
    }

    /// All barriers that threads stand in at become one. None may be what others use for some threads.
    void standIn(const Function& kernel, PersistentLoop& loop, bool inFunctions) {
        loop.standIns = standIns_;
        loop.standIns->inFunctions = inFunctions;
        std::set<unsigned> counted;
        for (const Function* function : graph_.reachable(kernel)) addBarriers(*function, true, counted);
        for (const Function* function : graph_.reachable(kernel))
            for (const Instruction& i : function->body) {
                if (!isStandIn(i)) continue;
                const std::optional<unsigned> id = blockBarrier(*function, i)->id;
                if (id ? counted.contains(*id) : !counted.empty())
                    refusals_.refuse(kernel, i,
                                     "a barrier for all threads, or for some, as the case may be: the kernel cannot "
                                     "be walled");
            }
    }

    /// Functions at whose barriers threads of one kernel stand in count for all that call them.
    void countInFunctions() {
        for (bool changed = true; changed;) {
            changed = false;
            for (auto& [kernel, loop] : loops_) {
                bool calls = false;
                for (const Function* function : graph_.reachable(*kernel)) {
                    const bool hasBarrier = std::any_of(function->body.begin(), function->body.end(), isBarrierForAll);
                    if (loop.standIns && !function->isKernel && hasBarrier)
                        changed |= counting_.insert(function).second;
                    calls = calls || counting_.contains(function);
                }
                if (!calls || loop.standIns) continue;
                standIn(*kernel, loop, true);
                changed = true;
            }
        }
    }

    void makeRoom(const Function& kernel, PersistentLoop& loop) {
        constexpr unsigned kAlignment = 16;
        const std::uint64_t own = declaredShared(module_, graph_.reachable(kernel));
        if (own + kAlignment + loop.sharedBytes() <= kMostShared) return;
        loop.usesSlot = true;
        if (loop.standIns || loop.sharesWithFunctions())
            refusals_.refuse(kernel, "it leaves no shared memory of 48 KB: the kernel cannot be walled");
    }

    PersistentModule edited() {
        PersistentModule result;
        const std::vector<FunctionText> texts = functionTexts(module_);
        bool tellsFunctions = false;
        for (const Function& function : module_.functions) {
            const FunctionText* const text = find(texts, function.name);
            if (text == nullptr || refusals_.contains(function)) continue;
            if (const auto loop = loops_.find(&function); loop != loops_.end()) {
                editKernel(function, loop->second, *text);
                result.kernels[function.name] = {loop->second.sharedBytes(), loop->second.usesSlot};
            } else {
                tellsFunctions |= editFunction(function, *text);
            }
        }
        if (tellsFunctions) edit_.insert(firstDeclaration(module_), std::string(LoopOfCaller::declaration()));
        result.refused = refusals_.apply(texts, edit_);
        result.text = edit_.apply();
        return result;
    }

    void editKernel(const Function& kernel, const PersistentLoop& loop, const FunctionText& text) {
        if (text.parametersEnd) {
            edit_.insert(text.parametersEnd, loop.parameter(kernel.params.empty()));
        } else {
            edit_.insert(text.name.data() + text.name.size(), "(" + loop.parameter(true) + ")");
        }
        edit_.insert(text.bodyBegin, loop.prologue());
        for (const Instruction& i : kernel.body) {
            if (isLeave(i)) {
                // A guard, if there is one, stands before the opcode and stays.
                edit_.replace(i.text.substr(i.text.rfind(i.opcode)), loop.leave());
            } else if (loop.standIns && isStandIn(i)) {
                edit_.replace(i.text, loop.barrierOfBody(guardOf(i)));
            } else if (readsBlockIndex(i)) {
                edit_.replace(i.text, withBlockIndex(i));
            }
        }
        edit_.insert(text.bodyEnd, loop.epilogue());
    }

    bool editFunction(const Function& function, const FunctionText& text) {
        bool changed = false;
        for (const Instruction& i : function.body) {
            if (counting_.contains(&function) && isStandIn(i)) {
                edit_.replace(i.text, LoopOfCaller::barrier(guardOf(i), standIns_));
            } else if (readsBlockIndex(i)) {
                std::string loads;
                for (const std::string& name : blockIndicesOf(i)) loads += LoopOfCaller::load(name);
                edit_.replace(i.text, loads + withBlockIndex(i));
            } else {
                continue;
            }
            changed = true;
        }
        if (changed) edit_.insert(text.bodyBegin, std::string(LoopOfCaller::registers()));
        return changed;
    }

    /// Where threads stand in, votes are of kernels whose threads all come to them.
    static bool isStandIn(const Instruction& i) { return isBarrierForAll(i) && !i.has("red"); }

    const Module& module_;
    const PersistentOptions options_;
    const CallGraph graph_;
    Refusals refusals_;
    SourceEdit edit_;
    PersistentLoop::StandIns standIns_;
    std::map<const Function*, PersistentLoop> loops_;  ///< by kernel
    std::set<const Function*> counting_;               ///< functions at whose barriers threads stand in
};

}  // namespace

PersistentModule withPersistentBlocks(const Module& module, const PersistentOptions& options) {
    return Rewriting(module, options).run();
}

}  // namespace bulkhead::ptx
