#include "runner.h"

#include <algorithm>
#include <optional>

#include "ptx/assembler/assembler.h"
#include "ptx/module.h"
#include "sim/exec/cluster.h"

namespace bulkhead::sim {

Runner::Runner(const std::string& ptx, Loads loads) {
    const std::string header =
        ptx.find(".version") == std::string::npos ? ".version 8.0 .target sm_90 .address_size 64 " : "";
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

    context.cluster = shape.cluster;
    context.explicitCluster = shape.cluster.count() > 1;
    for (std::uint64_t b = 0; b < shape.grid.count(); b += shape.cluster.count()) runCluster(context, b);
}

/// Its blocks run at the same time; without clusters it is one block.
void Runner::runCluster(const LaunchContext& context, std::uint64_t first) {
    struct Running {
        std::optional<Block> block;
        std::vector<Warp> warps;
        std::uint64_t waiting = 0;
    };
    PendingEffects effects(now);
    std::optional<Cluster> cluster;
    if (Cluster::wanted(context)) cluster.emplace(context);
    std::vector<Running> blocks(context.cluster.count());
    for (std::uint32_t rank = 0; rank < blocks.size(); ++rank) {
        Running& r = blocks[rank];
        r.block.emplace(context, placeOf(first + rank, context.grid, context.cluster).index, 2, &now, &effects,
                        cluster ? &*cluster : nullptr, rank);
        r.warps = std::vector<Warp>(r.block->warps);
        for (std::uint32_t w = 0; w < r.warps.size(); ++w) r.warps[w].start(*r.block, w, w + 4);
    }
    const auto lives = [](const Running& r) { return r.block->liveWarps > 0; };
    while (std::any_of(blocks.begin(), blocks.end(), lives)) {
        bool moved = false;
        for (Running& r : blocks) {
            for (std::uint32_t w = 0; w < r.warps.size(); ++w) {
                Warp& warp = r.warps[w];
                if (warp.finished() || (r.waiting >> w & 1) || warp.waitsForCluster()) continue;
                moved = true;
                const Step step = warp.step();
                PendingEffects::show({&effects});
                for (const PendingEffects::Failure& failure : effects.takeFailures()) throw LaunchError(failure.error);
                ++now;
                ++warpInstructions;
                threadInstructions += step.lanes;
                if (step.kind == StepKind::barrierWait) r.waiting |= std::uint64_t{1} << w;
                r.waiting &= ~step.released;
                if (recordAccesses && step.kind == StepKind::memory)
                    accesses.insert(accesses.end(), warp.accesses().begin(), warp.accesses().end());
                if (step.kind == StepKind::finished && r.block->liveWarps == 0 && cluster) cluster->end(r.block->rank);
            }
        }
        if (!moved) throw Error("every warp waits at a barrier");
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
