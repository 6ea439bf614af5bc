#pragma once

#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// Where the parts of a function with a body are in its module's text.
struct FunctionText {
    std::string_view name;
    const char* parametersEnd = nullptr;  ///< the closing parenthesis; null where there are none
    const char* bodyBegin = nullptr;      ///< after the opening brace
    const char* bodyEnd = nullptr;        ///< the closing one

    std::string_view body() const { return {bodyBegin, static_cast<std::size_t>(bodyEnd - bodyBegin)}; }
};

std::vector<FunctionText> functionTexts(const Module&);
/// Where the first declaration of a module is: after the directives that it begins with.
const char* firstDeclaration(const Module&);
/// Null if there is none of that name.
const FunctionText* find(const std::vector<FunctionText>&, std::string_view name);

}  // namespace bulkhead::ptx
