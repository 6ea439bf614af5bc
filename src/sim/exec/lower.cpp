#include <algorithm>
#include <functional>
#include <set>

#include "sim/exec/function_lowering.h"
#include "sim/exec/instruction_details.h"
#include "sim/exec/program.h"

// A module becomes a program: variables get their places, functions are lowered one by one, and what depends on who
// calls whom (shared memory, stack, registers) is added up.

namespace bulkhead::sim {

using ptx::Space;

namespace {

constexpr std::uint64_t kDynamicSharedAlign = 16;

/// What the runtime provides: parameter sizes must be as declared in CUDA's headers.
struct Provided {
    std::string_view name;
    Builtin builtin;
    std::vector<std::uint32_t> results, params;
};
const Provided* providedNamed(std::string_view name) {
    static const Provided all[] = {
        {"vprintf", Builtin::vprintf, {4}, {8, 8}},
        {"__assertfail", Builtin::assertFail, {}, {8, 8, 4, 8, 8}},
    };
    for (const Provided& p : all)
        if (p.name == name) return &p;
    return nullptr;
}

/// Who mentions whom.
struct CodeMentions {
    std::set<std::uint32_t> calls;  ///< indices into Program::codes
    std::set<std::string> shared;   ///< names as in ModuleSymbols
    bool callsIndirectly = false;
};

class ModuleLowering {
  public:
    explicit ModuleLowering(const ptx::Module& module) : module_(module), program_(std::make_unique<Program>()) {}

    std::unique_ptr<Program> run() {
        if (module_.addressBits != 64)
            throw ptx::PtxError(module_.name, {1, 1}, "modules with 32-bit addresses are not supported");
        program_->name = module_.name;
        program_->source = module_.source;
        declareVariables();
        declareFunctions();
        findMentions();
        layOutShared();
        ConstantPool constants(*program_);
        for (std::size_t k = 0; k < defined_.size(); ++k) {
            const ptx::Function& f = *defined_[k];
            FunctionLowering(module_, f, symbols_, *program_, constants, program_->codes[k]).run();
        }
        addUp();
        return std::move(program_);
    }

  private:
    void declareVariables() {
        for (const ptx::Variable& v : module_.variables) {
            if (v.space == Space::shared) {
                declareShared(nullptr, v);
                continue;
            }
            if (v.isExtern)
                throw ptx::PtxError(module_.name, v.position,
                                    fmt::format("the extern variable '{}' is not defined in this module", v.name));
            symbols_.globals.emplace(v.name, static_cast<std::uint32_t>(program_->globals.size()));
            program_->globals.push_back({v.name, v.space, v.bytes, std::max<std::uint64_t>(v.align, 1), v.initial,
                                         v.relocations, 0, v.isManaged, v.hostAddress});
        }
    }

    void declareShared(const ptx::Function* function, const ptx::Variable& v) {
        const std::string name = sharedName(function, v);
        const bool isDynamic = v.isExtern && v.bytes == 0;
        if (v.isExtern && !isDynamic)
            throw ptx::PtxError(module_.name, v.position,
                                fmt::format("the extern variable '{}' is not defined in this module", v.name));
        symbols_.shared.emplace(name, ModuleSymbols::Shared{0, isDynamic});
        shared_.push_back({name, &v, isDynamic, {}});
    }

    void declareFunctions() {
        for (const ptx::Function& f : module_.functions) {
            ModuleSymbols::Callee callee;
            callee.formals = layoutFormals(f.results, f.params);
            if (f.isExtern) {
                const Provided* provided = providedNamed(f.name);
                if (!provided) continue;  // refused where it is used
                checkProvided(f, *provided);
                callee.builtin = provided->builtin;
                symbols_.functions.emplace(f.name, std::move(callee));
                continue;
            }
            callee.index = static_cast<std::uint32_t>(defined_.size());
            symbols_.functions.emplace(f.name, std::move(callee));
            program_->codeByName.emplace(f.name, static_cast<std::uint32_t>(defined_.size()));
            defined_.push_back(&f);
            for (const ptx::Variable& v : f.variables)
                if (v.space == Space::shared) declareShared(&f, v);
        }
        program_->codes.resize(defined_.size());
        for (std::size_t k = 0; k < defined_.size(); ++k) {
            program_->codes[k].name = defined_[k]->name;
            program_->codes[k].isKernel = defined_[k]->isKernel;
        }
        for (const ptx::Variable& v : module_.variables)
            for (const ptx::Relocation& r : v.relocations) checkRelocation(v, r);
    }

    void checkProvided(const ptx::Function& f, const Provided& provided) const {
        const auto matches = [](const std::vector<ptx::Variable>& variables, const std::vector<std::uint32_t>& bytes) {
            return std::equal(variables.begin(), variables.end(), bytes.begin(), bytes.end(),
                              [](const ptx::Variable& v, std::uint32_t n) { return v.bytes == n; });
        };
        if (!matches(f.results, provided.results) || !matches(f.params, provided.params))
            throw ptx::PtxError(module_.name, f.position,
                                fmt::format("'{}' is declared differently from the runtime's", f.name));
    }

    void checkRelocation(const ptx::Variable& v, const ptx::Relocation& r) {
        if (symbols_.globals.contains(r.symbol)) return;
        if (const auto code = program_->codeByName.find(r.symbol); code != program_->codeByName.end()) {
            addressTaken_.insert(code->second);
            return;
        }
        const std::string why = symbols_.shared.contains(r.symbol)
                                    ? fmt::format("the address of the shared variable '{}' is no constant", r.symbol)
                                    : fmt::format("'{}' is declared but not defined here", r.symbol);
        throw ptx::PtxError(module_.name, v.position, fmt::format("in the initialiser of '{}': {}", v.name, why));
    }

    void findMentions() {
        mentions_.resize(defined_.size());
        for (std::size_t k = 0; k < defined_.size(); ++k) {
            const ptx::Function& f = *defined_[k];
            CodeMentions& m = mentions_[k];
            const auto mention = [&](const std::string& name, bool isCallee) {
                if (const auto code = program_->codeByName.find(name); code != program_->codeByName.end()) {
                    if (isCallee)
                        m.calls.insert(code->second);
                    else
                        addressTaken_.insert(code->second);
                }
                for (const std::string& candidate : {f.name + "/" + name, name})
                    if (symbols_.shared.contains(candidate)) {
                        m.shared.insert(candidate);
                        break;
                    }
            };
            const auto visit = [&](auto&& self, const ptx::Operand& operand, bool isCallee) -> void {
                using Kind = ptx::Operand::Kind;
                if (operand.kind == Kind::symbol || (operand.kind == Kind::address && !operand.baseIsReg))
                    mention(operand.name, isCallee);
                for (const ptx::Operand& part : operand.parts) self(self, part, false);
            };
            for (const ptx::Instruction& i : f.body) {
                for (const ptx::Operand& operand : i.operands) {
                    const bool isCall = i.opcode == "call";
                    visit(visit, operand, isCall && operand.kind == ptx::Operand::Kind::symbol);
                    m.callsIndirectly |= isCall && operand.kind == ptx::Operand::Kind::reg;
                }
            }
        }
    }

    const std::set<std::uint32_t>& callees(std::uint32_t code) {
        CodeMentions& m = mentions_[code];
        if (m.callsIndirectly) {
            m.calls.insert(addressTaken_.begin(), addressTaken_.end());
            m.callsIndirectly = false;
        }
        return m.calls;
    }

    /// The function and all it can call.
    std::set<std::uint32_t> reachable(std::uint32_t from) {
        std::set<std::uint32_t> seen{from};
        std::vector<std::uint32_t> work{from};
        while (!work.empty()) {
            const std::uint32_t code = work.back();
            work.pop_back();
            for (const std::uint32_t callee : callees(code))
                if (seen.insert(callee).second) work.push_back(callee);
        }
        return seen;
    }

    /// Each kernel has only the variables that it, or what it calls, mentions. Device functions are compiled once, so a
    /// variable has one place for all kernels: the lowest where it meets no other that some kernel has too.
    void layOutShared() {
        for (std::uint32_t k = 0; k < defined_.size(); ++k) {
            if (!defined_[k]->isKernel) continue;
            for (const std::uint32_t code : reachable(k))
                for (SharedVariable& v : shared_)
                    if (mentions_[code].shared.contains(v.name)) v.kernels.insert(k);
        }
        std::vector<const SharedVariable*> placed;
        for (const SharedVariable& v : shared_) {
            if (v.isDynamic) continue;
            const std::uint64_t align = std::max<std::uint64_t>(v.variable->align, 1);
            std::uint64_t offset = 0;
            for (bool moved = true; moved;) {
                moved = false;
                for (const SharedVariable* other : placed) {
                    const std::uint64_t start = symbols_.shared[other->name].offset,
                                        end = start + other->variable->bytes;
                    const bool together = std::any_of(v.kernels.begin(), v.kernels.end(),
                                                      [other](std::uint32_t k) { return other->kernels.contains(k); });
                    if (together && offset < end && start < offset + v.variable->bytes) {
                        offset = alignUp(end, align);
                        moved = true;
                    }
                }
            }
            symbols_.shared[v.name].offset = static_cast<std::uint32_t>(offset);
            placed.push_back(&v);
            for (const std::uint32_t k : v.kernels) {
                Code& code = program_->codes[k];
                code.sharedBytes = std::max(code.sharedBytes, static_cast<std::uint32_t>(offset + v.variable->bytes));
            }
        }
        for (const SharedVariable& v : shared_) {
            if (!v.isDynamic) continue;
            for (const std::uint32_t k : v.kernels) {
                Code& code = program_->codes[k];
                code.sharedBytes =
                    alignUp(code.sharedBytes, std::max<std::uint64_t>(v.variable->align, kDynamicSharedAlign));
            }
        }
    }

    /// The deepest stack below a function, its own frame included; calls back into a function on the way count once.
    std::uint64_t stackBelow(std::uint32_t code, std::vector<int>& state, std::vector<std::uint64_t>& depth,
                             bool& recurses) {
        if (state[code] == 2) return depth[code];
        state[code] = 1;
        std::uint64_t deepest = 0;
        for (const std::uint32_t callee : callees(code)) {
            if (state[callee] == 1) {
                recurses = true;
                continue;
            }
            deepest = std::max(deepest, kFrameOverheadBytes + stackBelow(callee, state, depth, recurses));
        }
        state[code] = 2;
        return depth[code] = program_->codes[code].localBytes + deepest;
    }

    void addUp() {
        std::vector<std::uint32_t> own;
        std::vector<bool> readsTimeOrPlace, blocksCommunicate, changesRegisters;
        for (const Code& c : program_->codes) {
            changesRegisters.push_back(c.changesRegisters);
            own.push_back(c.registersPerThread);
            readsTimeOrPlace.push_back(c.readsTimeOrPlace);
            blocksCommunicate.push_back(c.blocksCommunicate);
        }
        for (std::uint32_t k = 0; k < defined_.size(); ++k) {
            Code& code = program_->codes[k];
            const ptx::Function& f = *defined_[k];
            for (const std::uint32_t callee : reachable(k)) {
                code.registersPerThread = std::max(code.registersPerThread, own[callee]);
                code.readsTimeOrPlace = code.readsTimeOrPlace || readsTimeOrPlace[callee];
                code.blocksCommunicate = code.blocksCommunicate || blocksCommunicate[callee];
                code.changesRegisters = code.changesRegisters || changesRegisters[callee];
            }
            if (f.maxRegisters) code.registersPerThread = std::min(code.registersPerThread, f.maxRegisters);
            std::vector<int> state(defined_.size(), 0);
            std::vector<std::uint64_t> depth(defined_.size(), 0);
            bool isDynamic = false;
            for (const std::uint32_t callee : reachable(k)) isDynamic |= program_->codes[callee].stackSlot >= 0;
            const std::uint64_t needed = stackBelow(k, state, depth, isDynamic);
            const std::uint64_t stack = needed + (isDynamic ? kDynamicStackBytes : 0);
            code.stackBytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(stack, ~std::uint32_t{0}));
            const auto threads = [](const unsigned(&n)[3]) {
                return n[0] ? std::uint64_t{n[0]} * std::max(n[1], 1u) * std::max(n[2], 1u) : 0;
            };
            const std::uint64_t most = threads(f.requiredThreads) ? threads(f.requiredThreads) : threads(f.maxThreads);
            std::copy(std::begin(f.requiredCluster), std::end(f.requiredCluster), code.requiredCluster);
            code.maxClusterRank = f.maxClusterRank;
            code.explicitCluster = f.explicitCluster;
            code.maxThreadsPerBlock = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, ~std::uint32_t{0}));
            if (code.changesRegisters) fillRegisters(code, f, most);
        }
    }

    /// A kernel that changes its registers starts with all that its directives leave to a thread; setmaxnreg has no
    /// effect where there are none.
    static void fillRegisters(Code& code, const ptx::Function& f, std::uint64_t threads) {
        constexpr std::uint64_t kFile = 65536, kStep = 8, kMost = 255;  // of all GPUs that have setmaxnreg
        if (!f.maxRegisters && !threads) return;
        const std::uint64_t each = f.maxRegisters ? f.maxRegisters : kFile / threads / std::max(f.minBlocksPerSm, 1u);
        code.registersPerThread =
            static_cast<std::uint32_t>(std::min(std::max(each / kStep, std::uint64_t{1}) * kStep, kMost));
        code.hasRegisterPool = true;
    }

    struct SharedVariable {
        std::string name;
        const ptx::Variable* variable;
        bool isDynamic;
        std::set<std::uint32_t> kernels;
    };

    const ptx::Module& module_;
    std::unique_ptr<Program> program_;
    ModuleSymbols symbols_;
    std::vector<const ptx::Function*> defined_;
    std::vector<SharedVariable> shared_;
    std::vector<CodeMentions> mentions_;
    std::set<std::uint32_t> addressTaken_;
};

}  // namespace

std::unique_ptr<Program> lower(const ptx::Module& module) {
    return ModuleLowering(module).run();
}

}  // namespace bulkhead::sim
