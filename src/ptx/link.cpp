#include "ptx/link.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace bulkhead::ptx {
namespace {

using Names = std::unordered_map<std::string, std::string>;

/// Shared memory whose size a launch decides: every such array is the same memory, whatever its name.
bool isDynamicShared(const Variable& v) {
    return v.space == Space::shared && v.isExtern && v.bytes == 0;
}

/// Gives a module's own names to what refers to them.
class Renaming {
  public:
    explicit Renaming(const Names& names) : names_(names) {}

    void apply(Module& module) const {
        if (names_.empty()) return;
        for (Variable& v : module.variables) {
            rename(v.name);
            apply(v.relocations);
        }
        for (Function& f : module.functions) apply(f);
    }

  private:
    void apply(Function& f) const {
        rename(f.name);
        // What a function declares hides the module's.
        std::unordered_set<std::string> hidden;
        for (const auto* variables : {&f.variables, &f.params, &f.results})
            for (const Variable& v : *variables) hidden.insert(v.name);
        for (Variable& v : f.variables) apply(v.relocations);
        for (BranchTargets& targets : f.callTargets)
            for (std::string& name : targets.labels) rename(name);
        for (Instruction& instruction : f.body)
            for (Operand& operand : instruction.operands) apply(operand, hidden);
    }

    void apply(Operand& operand, const std::unordered_set<std::string>& hidden) const {
        const bool named =
            operand.kind == Operand::Kind::symbol || (operand.kind == Operand::Kind::address && !operand.baseIsReg);
        if (named && !hidden.contains(operand.name)) rename(operand.name);
        for (Operand& part : operand.parts) apply(part, hidden);
    }

    void apply(std::vector<Relocation>& relocations) const {
        for (Relocation& r : relocations) rename(r.symbol);
    }

    void rename(std::string& name) const {
        if (const auto found = names_.find(name); found != names_.end()) name = found->second;
    }

    const Names& names_;
};

class Linker {
  public:
    explicit Linker(std::vector<Module> modules) : modules_(std::move(modules)) {}

    Module run() {
        countNames();
        for (std::size_t i = 0; i < modules_.size(); ++i) Renaming(ownNames(modules_[i], i)).apply(modules_[i]);
        Module linked = begin();
        for (Module& module : modules_) {
            for (Variable& v : module.variables) add(linked, std::move(v));
            for (Function& f : module.functions) add(linked, std::move(f));
        }
        dropUnused(linked);
        return linked;
    }

  private:
    /// Libraries bring functions along that nobody calls, and that may need what no module has.
    static void dropUnused(Module& linked) {
        std::unordered_map<std::string, const Function*> functions;
        for (const Function& f : linked.functions) functions.emplace(f.name, &f);
        std::unordered_set<std::string> used;
        std::vector<const Function*> open;
        const auto use = [&](const std::string& name) {
            const auto found = functions.find(name);
            if (found != functions.end() && used.insert(name).second) open.push_back(found->second);
        };
        for (const Function& f : linked.functions)
            if (f.isKernel) use(f.name);
        for (const Variable& v : linked.variables)
            for (const Relocation& r : v.relocations) use(r.symbol);
        while (!open.empty()) {
            const Function& f = *open.back();
            open.pop_back();
            for (const BranchTargets& targets : f.callTargets)
                for (const std::string& name : targets.labels) use(name);
            for (const Instruction& instruction : f.body)
                for (const Operand& operand : instruction.operands) useIn(operand, use);
        }
        std::erase_if(linked.functions, [&](const Function& f) { return !used.contains(f.name); });
    }

    template <class Use>
    static void useIn(const Operand& operand, Use& use) {
        if (!operand.name.empty()) use(operand.name);
        for (const Operand& part : operand.parts) useIn(part, use);
    }

    struct Place {
        bool isFunction = false;
        std::size_t index = 0;
    };

    /// In how many modules a name occurs.
    void countNames() {
        for (const Module& module : modules_) {
            for (const Variable& v : module.variables) ++uses_[v.name];
            for (const Function& f : module.functions) ++uses_[f.name];
        }
    }

    /// New names for those of the module's own that another module has as well.
    Names ownNames(const Module& module, std::size_t number) {
        Names names;
        const auto consider = [&](const auto& item) {
            if (item.isVisible || item.isExtern || uses_.at(item.name) < 2) return;
            // Compilers number their own names in the same way.
            std::string name = item.name;
            do name += "$" + std::to_string(number);
            while (!uses_.try_emplace(name, 1).second);
            names[item.name] = name;
        };
        for (const Variable& v : module.variables) consider(v);
        for (const Function& f : module.functions) consider(f);
        return names;
    }

    /// Empty, for the newest version and target among them; it keeps the text of all.
    Module begin() const {
        auto sources = std::make_shared<std::vector<std::shared_ptr<const std::string>>>();
        for (const Module& module : modules_) sources->push_back(module.source);
        Module linked;
        linked.name = modules_.front().name;
        linked.source = {sources, sources->front().get()};
        linked.target = modules_.front().target;
        linked.addressBits = modules_.front().addressBits;
        for (const Module& module : modules_) {
            const auto version = std::pair(module.versionMajor, module.versionMinor);
            if (version <= std::pair(linked.versionMajor, linked.versionMinor)) continue;
            std::tie(linked.versionMajor, linked.versionMinor) = version;
            linked.target = module.target;
        }
        return linked;
    }

    void add(Module& linked, Variable v) { add(linked, linked.variables, std::move(v), false); }
    void add(Module& linked, Function f) { add(linked, linked.functions, std::move(f), true); }

    template <class Item>
    void add(Module& linked, std::vector<Item>& items, Item item, bool isFunction) {
        const auto [found, isNew] = places_.try_emplace(item.name, Place{isFunction, items.size()});
        if (isNew) return items.push_back(std::move(item));
        if (found->second.isFunction != isFunction)
            throw Error("{}: '{}' is a function in one module and a variable in another", linked.name, item.name);
        Item& earlier = items[found->second.index];
        merge(linked, earlier, std::move(item));
    }

    template <class Item>
    static void merge(const Module& linked, Item& earlier, Item item) {
        if (item.isExtern) return widen(earlier, item);
        if (earlier.isExtern || (earlier.isWeak && !item.isWeak)) {
            earlier = std::move(item);
        } else if (!earlier.isWeak && !item.isWeak) {
            throw Error("{}: '{}' is defined in two modules", linked.name, item.name);
        }
    }

    static void widen(Variable& earlier, const Variable& again) {
        if (isDynamicShared(earlier)) earlier.align = std::max(earlier.align, again.align);
    }
    static void widen(Function& /*earlier*/, const Function& /*again*/) {}

    std::vector<Module> modules_;
    std::unordered_map<std::string, int> uses_;
    std::unordered_map<std::string, Place> places_;
};

}  // namespace

Module link(std::vector<Module> modules) {
    if (modules.size() == 1) return std::move(modules.front());
    return Linker(std::move(modules)).run();
}

}  // namespace bulkhead::ptx
