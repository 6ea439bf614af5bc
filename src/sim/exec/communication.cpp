#include "sim/exec/communication.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace bulkhead::sim {
namespace {

bool hasAny(const ptx::Instruction& i, std::initializer_list<std::string_view> modifiers) {
    return std::any_of(modifiers.begin(), modifiers.end(), [&](std::string_view m) { return i.has(m); });
}

}  // namespace

bool communicates(const ptx::Instruction& i) {
    const std::string_view opcode = i.opcode;
    if (opcode == "membar" || opcode == "fence") return hasAny(i, {"gl", "gpu", "sys"});
    if (opcode == "sured" || opcode == "multimem") return true;
    if (opcode == "cp") return i.has("reduce") && i.has("global");
    if (hasAny(i, {"shared", "shared::cta", "shared::cluster", "local", "cta", "cluster"})) return false;
    if (opcode == "atom" || opcode == "red") return true;
    return (opcode == "ld" || opcode == "st") &&
           hasAny(i, {"volatile", "relaxed", "acquire", "release", "mmio", "cv", "wt"});
}

}  // namespace bulkhead::sim
