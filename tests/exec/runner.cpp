#include "runner.h"

#include "ptx/assembler/assembler.h"
#include "ptx/module.h"

namespace bulkhead::sim {

Runner::Runner(const std::string& ptx, Loads loads) {
    const std::string header =
        ptx.find(".version") == std::string::npos ? ".version 8.0 .target sm_80 .address_size 64 " : "";
    const ptx::Module module = ptx::parse(header + ptx, "test.ptx");
    program = lower(loads == Loads::assembled ? ptx::assemble(module) : module);
    for (Program::Global& g : program->globals) g.address = allocate(g.bytes, g.space != ptx::Space::constant);
    link(*program);
    for (const Program::Global& g : program->globals) {
        const std::vector<std::uint8_t> bytes = initialBytes(*program, g);
        std::memcpy(memory.resolve(g.address, bytes.size()), bytes.data(), bytes.size());
    }
}

VirtualAddress Runner::allocate(Bytes bytes, bool writable) {
    storage_.push_back(std::make_unique<std::uint8_t[]>(bytes));
    Mapping m;
    m.base = next_;
    m.bytes = bytes;
    m.host = storage_.back().get();
    m.writable = writable;
    memory.map(m);
    // A page of nothing between allocations: what runs past the end of one is seen.
    next_ += (bytes + 0x1fff) / 0x1000 * 0x1000;
    return m.base;
}

VirtualAddress Runner::addressOf(const std::string& global) const {
    for (const Program::Global& g : program->globals)
        if (g.name == global) return g.address;
    throw Error("no variable '{}'", global);
}

void Runner::run(const std::string& kernel, Shape shape, std::vector<std::uint8_t> params) {
    LaunchContext context;
    context.program = program.get();
    context.code = program->kernel(kernel);
    if (!context.code) throw Error("no kernel '{}'", kernel);
    context.grid = shape.grid;
    context.block = shape.block;
    context.dynamicShared = shape.dynamicShared;
    context.params = std::move(params);
    context.gridId = 7;
    context.memory = &memory;
    context.print = [this](std::string_view text) { printed.emplace_back(text); };
    context.nsPerCycle = 0.5;
    context.smCount = 3;
    context.warpsPerSm = 48;
    warpInstructions = threadInstructions = 0;
    accesses.clear();

    std::vector<Warp> warps((shape.block.count() + kLanes - 1) / kLanes);
    for (std::uint64_t b = 0; b < shape.grid.count(); ++b) {
        const Dim3 index{static_cast<std::uint32_t>(b % shape.grid.x),
                         static_cast<std::uint32_t>(b / shape.grid.x % shape.grid.y),
                         static_cast<std::uint32_t>(b / shape.grid.x / shape.grid.y)};
        PendingEffects effects(now);
        Block block(context, index, 2, &now, &effects);
        for (std::uint32_t w = 0; w < warps.size(); ++w) warps[w].start(block, w, w + 4);
        std::uint64_t waiting = 0;
        while (block.liveWarps > 0) {
            bool moved = false;
            for (std::uint32_t w = 0; w < warps.size(); ++w) {
                if (warps[w].finished() || (waiting >> w & 1)) continue;
                moved = true;
                const Step step = warps[w].step();
                PendingEffects::show({&effects});
                ++now;
                ++warpInstructions;
                threadInstructions += step.lanes;
                if (step.kind == StepKind::barrierWait) waiting |= std::uint64_t{1} << w;
                waiting &= ~step.released;
                if (recordAccesses && step.kind == StepKind::memory)
                    accesses.insert(accesses.end(), warps[w].accesses().begin(), warps[w].accesses().end());
            }
            if (!moved) throw Error("every warp waits at a barrier");
        }
    }
}

std::string kernelWith(const std::string& body, const std::string& before) {
    return before + R"(
.visible .entry k(.param .u64 out_param)
{
    .reg .pred %p<16>;
    .reg .b16 %h<16>;
    .reg .b32 %r<64>;
    .reg .f32 %f<32>;
    .reg .b64 %rd<64>;
    .reg .f64 %fd<16>;
    .reg .b64 %out, %mine;
    .reg .b32 %t;
    ld.param.u64 %out, [out_param];
    mov.u32 %t, %tid.x;
)" + body + R"(
    ret;
}
)";
}

}  // namespace bulkhead::sim
