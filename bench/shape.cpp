#include "shape.h"

#include <chrono>
#include <cstring>

#include "ptx/module.h"
#include "shapes.ptx.h"
#include "sim/machine.h"

namespace bulkhead {
namespace {

std::vector<std::uint8_t> params(const Shape& shape, const sim::Code& code, sim::Machine& gpu, sim::ContextId context) {
    sim::ContextMemory& memory = gpu.memory(context);
    std::vector<std::uint8_t> bytes(code.kernelParamBytes);
    for (std::size_t i = 0; i < shape.arguments.size(); ++i) {
        std::uint8_t* at = bytes.data() + code.params[i].offset;
        const Argument& argument = shape.arguments[i];
        if (!argument.floats) {
            std::memcpy(at, &argument.bits, 4);
            continue;
        }
        const sim::VirtualAddress address = memory.allocate(argument.floats * 4);
        auto* data = reinterpret_cast<float*>(memory.host(address, argument.floats * 4));
        for (std::uint64_t k = 0; k < argument.floats; ++k) data[k] = static_cast<float>(k % 97) * 0.01f;
        gpu.copiedTo(context, address, argument.floats * 4);
        std::memcpy(at, &address, 8);
    }
    return bytes;
}

Measured measureOnce(const Shape& shape, const arch::DeviceProfile& profile, const std::string& scheduler) {
    sim::Machine::Options options;
    options.threads = 1;
    options.scheduler = scheduler;
    sim::Machine gpu(profile, options);
    const sim::ContextId context = gpu.createContext();
    const sim::LoadedModule module = gpu.load(context, ptx::parse(kShapesPtx, "shapes.ptx"));
    sim::LaunchSpec spec;
    spec.program = module.program;
    spec.code = module.program->kernel(shape.kernel);
    spec.grid = shape.grid;
    spec.block = shape.block;
    spec.params = params(shape, *spec.code, gpu, context);
    const sim::StreamId stream = gpu.createStream(context);
    const auto begin = std::chrono::steady_clock::now();
    const sim::LaunchId launch = gpu.launch(stream, std::move(spec));
    gpu.finishLaunch(launch);
    Measured m;
    m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    m.instructions = gpu.counters(launch).warpInstructions;
    m.cycles = gpu.record(launch).ended - gpu.record(launch).started;
    return m;
}

}  // namespace

Measured measure(const Shape& shape, const arch::DeviceProfile& profile, const std::string& scheduler, int times) {
    Measured best;
    for (int i = 0; i < times; ++i) {
        const Measured m = measureOnce(shape, profile, scheduler);
        if (i == 0 || m.seconds < best.seconds) best = m;
    }
    return best;
}

}  // namespace bulkhead
