#include "ptx/parse/parser.h"

namespace bulkhead::ptx {

std::string Parser::declare(std::string_view name, Symbol::Kind kind, int index, Position position) {
    Entry& entry = entryOf(name);
    if (entry.symbol.kind != Symbol::Kind::none && entry.symbol.depth == depth_) {
        fail(position, fmt::format("'{}' is already declared in this scope", name));
    }
    undo_.push_back({&entry, entry.symbol});
    if (depth_ == 0) {
        entry.symbol = {kind, index, depth_};
        return std::string(name);
    }
    bool shadowsModule =
        kind == Symbol::Kind::localVariable && entry.symbol.kind != Symbol::Kind::none && entry.symbol.depth == 0;
    if (entry.function != functionNumber_) {
        entry.function = functionNumber_;
        entry.declared = 0;
    }
    entry.symbol = {kind, index, depth_};
    bool isFirst = ++entry.declared == 1;
    return isFirst && !shadowsModule ? std::string(name) : fmt::format("{}#{}", name, entry.declared);
}

void Parser::closeScope(const Scope& scope) {
    resolveLabels(scope);
    while (undo_.size() > scope.undo) {
        undo_.back().entry->symbol = undo_.back().previous;
        undo_.pop_back();
    }
    --depth_;
}

void Parser::resolveLabels(const Scope& scope) {
    std::size_t kept = scope.fixups;
    for (std::size_t i = scope.fixups; i < fixups_.size(); ++i) {
        const Fixup& fixup = fixups_[i];
        const Symbol* symbol = find(fixup.name);
        if (!symbol || symbol->depth != depth_) {
            fixups_[kept++] = fixup;
            continue;
        }
        using Kind = Symbol::Kind;
        std::string name;
        switch (symbol->kind) {
            case Kind::label:
                name = labelNames_[symbol->index];
                break;
            case Kind::branchTargets:
                name = function_.branchTargets[symbol->index].name;
                break;
            case Kind::callTargets:
                name = function_.callTargets[symbol->index].name;
                break;
            case Kind::prototype:
                name = function_.prototypes[symbol->index].name;
                break;
            default:
                fail(fixup.position, fmt::format("'{}' is declared after its use", fixup.name));
        }
        if (fixup.want == Fixup::Want::label && symbol->kind != Kind::label) {
            fail(fixup.position, fmt::format("'{}' is not a label to branch to", fixup.name));
        }
        if (fixup.want == Fixup::Want::branchTargets && symbol->kind != Kind::branchTargets) {
            fail(fixup.position, fmt::format("'{}' is not a .branchtargets table", fixup.name));
        }
        if (fixup.want == Fixup::Want::callee && symbol->kind != Kind::prototype && symbol->kind != Kind::callTargets) {
            fail(fixup.position, fmt::format("'{}' is neither a .callprototype nor a .calltargets", fixup.name));
        }
        if (fixup.operand) {
            fixup.operand->reg = -1;
            fixup.operand->name = std::move(name);
        } else {
            function_.branchTargets[fixup.table].labels[fixup.element] = std::move(name);
        }
    }
    fixups_.resize(kept);
    if (depth_ > 1) return;
    for (const Fixup& fixup : fixups_) {
        bool isLabel = fixup.want == Fixup::Want::label || fixup.want == Fixup::Want::branchTargets;
        fail(fixup.position, fmt::format("undefined {} '{}'", isLabel ? "label" : "name", fixup.name));
    }
}

}  // namespace bulkhead::ptx
