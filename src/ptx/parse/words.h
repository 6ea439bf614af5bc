#pragma once

#include <optional>
#include <string_view>

#include "ptx/module.h"
#include "ptx/parse/lexer.h"

namespace bulkhead::ptx {

std::optional<Type> typeNamed(std::string_view name);
std::optional<Space> variableSpaceNamed(std::string_view name);
bool isTextureWord(std::string_view name);
bool allDigits(std::string_view text);

/// A real such as .5, which the lexer takes for a modifier.
bool isFraction(const Token& token);

/// Special registers: `name` without '%'. Those that are vectors may be followed by .x, .y, .z or .w.
enum class SpecialRegister { no, scalar, vector };
SpecialRegister specialRegister(std::string_view name);

}  // namespace bulkhead::ptx
