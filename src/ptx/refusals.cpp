#include "ptx/refusals.h"

namespace bulkhead::ptx {

void Refusals::refuse(const Function& function, const Instruction& because, std::string_view why) {
    reasons_.emplace(&function, PtxError(module_.name, because.position, why, because.text).what());
}

void Refusals::refuse(const Function& function, std::string_view why) {
    reasons_.emplace(&function, PtxError(module_.name, function.position, why, function.name).what());
}

void Refusals::passOn() {
    for (const Function& kernel : module_.functions) {
        if (!kernel.isKernel || reasons_.empty()) continue;
        for (const Function* function : graph_.reachable(kernel))
            if (const auto found = reasons_.find(function); found != reasons_.end())
                reasons_.emplace(&kernel, std::string(found->second));
    }
}

std::map<std::string, std::string> Refusals::apply(const std::vector<FunctionText>& texts, SourceEdit& edit) const {
    std::map<std::string, std::string> kernels;
    for (const auto& [function, reason] : reasons_) {
        if (function->isKernel) kernels.emplace(function->name, reason);
        if (const FunctionText* text = find(texts, function->name)) edit.replace(text->body(), "\n\ttrap;\n\tret;\n");
    }
    return kernels;
}

}  // namespace bulkhead::ptx
