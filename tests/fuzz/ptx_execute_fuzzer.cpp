// Any text that is a module can be executed on a GPU, as it is and rewritten for walls: kernels end, by themselves or
// by a limit, and what the rewriters write is PTX again.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "any_bytes.h"
#include "ptx/persistent_blocks.h"
#include "ptx/translated_accesses.h"
#include "sim/machine.h"

namespace {

using namespace bulkhead;

/// Small, so that a new one for each input costs little: what one input leaves behind, no other finds.
const arch::DeviceProfile& smallGpu() {
    static const arch::DeviceProfile profile = [] {
        arch::DeviceProfile p = arch::findProfile("gtx480");
        arch::applySettings(p, {"sm.count=1", "dram.bytes=64M"});
        return p;
    }();
    return profile;
}

constexpr Cycles kMostCycles = 3000;
constexpr std::size_t kMostKernels = 4;

/// Every parameter of eight bytes is a pointer to a buffer, the others are small numbers.
std::vector<std::uint8_t> parametersOf(const sim::Code& code, sim::VirtualAddress buffer) {
    std::vector<std::uint8_t> bytes(code.kernelParamBytes);
    for (const sim::Code::Param& param : code.params) {
        const std::uint64_t value = param.bytes == 8 ? buffer : 3;
        std::memcpy(&bytes[param.offset], &value, std::min<std::size_t>(param.bytes, sizeof value));
    }
    return bytes;
}

void execute(const ptx::Module& module) {
    sim::Machine gpu(smallGpu());
    const sim::ContextId context = gpu.createContext();
    const sim::StreamId stream = gpu.createStream(context);
    const sim::LoadedModule loaded = gpu.load(context, module);
    const sim::VirtualAddress buffer = gpu.memory(context).allocate(4096);
    std::size_t kernels = 0;
    for (const std::string& name : loaded.program->kernelNames()) {
        if (++kernels > kMostKernels) break;
        sim::LaunchSpec spec;
        spec.program = loaded.program;
        spec.code = loaded.program->kernel(name);
        spec.grid = {2, 1, 1};
        spec.block = {40, 1, 1};
        spec.params = parametersOf(*spec.code, buffer);
        spec.maxCycles = kMostCycles;
        spec.print = [](std::string_view) {};
        fuzz::tryReading([&] { gpu.finishLaunch(gpu.launch(stream, std::move(spec))); });
    }
}

/// A module that can be lowered is one still after a rewriter has changed it.
ptx::Module expectModule(const std::string& text, const char* rewriter) {
    try {
        ptx::Module module = ptx::parse(text, "<rewritten>");
        sim::lower(module);
        return module;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s wrote what is no PTX: %s\n%s\n", rewriter, error.what(), text.c_str());
        std::abort();
    }
}

ptx::AccessTranslation translation() {
    ptx::AccessTranslation t;
    t.base = std::uint64_t{1} << 44;
    t.bytes = std::uint64_t{1} << 32;
    t.declarations = ".reg .b64 %moved;";
    t.translate = [](const ptx::AccessTranslation::Registers& r) {
        return fmt::format("mov.b64 %moved, {{{}, {}}}; {} add.u64 {}, %moved, 4096;", r.low, r.high,
                           r.inside.empty() ? "" : fmt::format("@{}", r.inside), r.address);
    };
    return t;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::tryReading([&] {
        const ptx::Module module = ptx::parse(fuzz::textOf(data, size), "<fuzzer>");
        sim::lower(module);
        execute(module);
        const ptx::RewrittenModule translated = ptx::withTranslatedAccesses(module, translation());
        const ptx::Module moved = expectModule(translated.text, "withTranslatedAccesses");
        expectModule(ptx::withPersistentBlocks(moved).text, "withPersistentBlocks");
    });
}
