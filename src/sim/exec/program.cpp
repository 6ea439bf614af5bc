#include "sim/exec/program.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

const Code* Program::kernel(std::string_view kernelName) const {
    const auto found = codeByName.find(std::string(kernelName));
    return found != codeByName.end() && codes[found->second].isKernel ? &codes[found->second] : nullptr;
}

std::vector<std::string> Program::kernelNames() const {
    std::vector<std::string> names;
    for (const Code& c : codes)
        if (c.isKernel) names.push_back(c.name);
    return names;
}

std::uint32_t place(Program& program, std::uint32_t alignment) {
    std::uint32_t next = 0;
    for (Code& code : program.codes) {
        next = (next + alignment - 1) / alignment * alignment;
        code.firstPlace = next;
        for (Instr& instr : code.instrs) {
            next += instr.slots;
            instr.place = next - (instr.slots != 0);
        }
        code.endPlace = next;
    }
    return next;
}

void link(Program& program) {
    for (const Program::Patch& patch : program.patches) {
        const std::uint64_t address = program.globals[patch.global].address + static_cast<std::uint64_t>(patch.addend);
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            std::memcpy(program.constants.data() + patch.constantOffset + lane * sizeof address, &address,
                        sizeof address);
    }
}

std::vector<std::uint8_t> initialBytes(const Program& program, const Program::Global& global) {
    std::vector<std::uint8_t> bytes = global.initial;
    bytes.resize(global.bytes);
    for (const ptx::Relocation& r : global.relocations) {
        std::uint64_t address = 0;
        if (const auto code = program.codeByName.find(r.symbol); code != program.codeByName.end()) {
            address = kCodeWindow + std::uint64_t{code->second} * 16;
        } else {
            const auto symbol = std::find_if(program.globals.begin(), program.globals.end(),
                                             [&](const Program::Global& g) { return g.name == r.symbol; });
            if (symbol == program.globals.end())
                throw Error("{}: the initialiser of '{}' needs '{}', which is not defined", program.name, global.name,
                            r.symbol);
            address = symbol->address;
        }
        address = (address + static_cast<std::uint64_t>(r.addend)) >> r.shift;
        for (unsigned k = 0; k < r.bytes && r.offset + k < bytes.size(); ++k)
            bytes[r.offset + k] = static_cast<std::uint8_t>(address >> (8 * k));
    }
    return bytes;
}

}  // namespace bulkhead::sim
