#pragma once

#include <set>

#include "harness.h"
#include "ptx/persistent_blocks.h"

namespace bulkhead::sim::test {

/// Launches a walled kernel of three pointers the way the real thing is launched: a row of blocks that fills the GPU.
struct Walls {
    Harness h{"gtx1080"};
    VirtualAddress queue = h.buffer(4 * ptx::PersistentQueue::kWords);
    ptx::PersistentLaunch next;  ///< what the next launch is told
    unsigned turn = 0;
    unsigned smCount = static_cast<unsigned>(h.gpu.profile().sm.count);

    std::uint32_t* words() { return h.data<std::uint32_t>(queue, ptx::PersistentQueue::kWords); }
    void allow(const std::set<unsigned>& sms) {
        for (const unsigned sm : sms) next.sms[sm / 32] |= 1u << sm % 32;
    }
    LaunchRecord run(const std::string& text, Dim3 grid, Dim3 block, std::vector<std::uint64_t> arguments,
                     unsigned physicalBlocks) {
        arguments.resize(3);
        next.queue = queue;
        next.turn = queue + 4 * ptx::PersistentQueue::turn(turn);
        next.before = queue + 4 * ptx::PersistentQueue::turn(1 - turn);
        next.grid[0] = grid.x;
        next.grid[1] = grid.y;
        next.grid[2] = grid.z;
        const LoadedModule module = h.gpu.load(h.context, ptx::parse(text, "test.ptx"));
        LaunchSpec spec;
        spec.program = module.program;
        spec.code = module.program->kernel("k");
        spec.grid = {physicalBlocks, 1, 1};
        spec.block = block;
        spec.params.resize(spec.code->kernelParamBytes);
        if (spec.params.size() != 8 * arguments.size() + sizeof next) throw Error("the kernel has no walls");
        std::memcpy(spec.params.data(), arguments.data(), 8 * arguments.size());
        std::memcpy(spec.params.data() + 8 * arguments.size(), &next, sizeof next);
        turn = 1 - turn;
        next.clear = 4 * (ptx::PersistentQueue::kPlaced + (smCount + 3) / 4 * 4);
        const LaunchId launch = h.gpu.launch(h.stream, std::move(spec));
        h.gpu.finishLaunch(launch);
        return h.gpu.record(launch);
    }
};

}  // namespace bulkhead::sim::test
