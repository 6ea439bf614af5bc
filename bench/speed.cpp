// How fast the simulator is: six shapes on the GTX 480, with the full timing model, on one core. Prints the table
// beside GPGPU-Sim 4.2's figures for the same kernels, and the memory the simulator needs beyond the simulated data.
// Arguments: the GPU, the scheduler.

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "ptx/module.h"
#include "shapes.ptx.h"
#include "sim/gpu.h"

namespace {

using namespace bulkhead;
using sim::Dim3;

struct Argument {
    std::uint64_t floats = 0;  ///< a buffer of that many, or, if 0, a scalar
    std::uint32_t bits = 0;
};
Argument buffer(std::uint64_t floats) {
    return {floats, 0};
}
Argument scalar(std::int32_t value) {
    return {0, static_cast<std::uint32_t>(value)};
}
Argument scalar(float value) {
    return {0, std::bit_cast<std::uint32_t>(value)};
}

struct Shape {
    const char* name;
    const char* kernel;
    Dim3 grid, block;
    std::vector<Argument> arguments;
    double gpgpuSim;  ///< warp instructions a second, GPGPU-Sim 4.2, 2 Neoverse-V1 cores, PTX of nvcc 13
};

const std::vector<Shape> kShapes = {
    {"vector add, 524288 floats",
     "vectorAdd",
     {2048},
     {256},
     {buffer(524288), buffer(524288), buffer(524288), scalar(524288)},
     12.9e3},
    {"a thread a row of 4096x64",
     "rowProduct",
     {16},
     {256},
     {buffer(4096 * 64), buffer(64), buffer(4096), scalar(4096), scalar(64)},
     1.6e3},
    {"a thread a column of 256x4096",
     "columnProduct",
     {16},
     {256},
     {buffer(256 * 4096), buffer(256), buffer(4096), scalar(256), scalar(4096)},
     17.3e3},
    {"SYRK 128x128",
     "syrk",
     {8, 8},
     {16, 16},
     {buffer(128 * 128), buffer(128 * 128), scalar(128), scalar(1.5f), scalar(0.5f)},
     4.1e3},
    {"tiled GEMM 128",
     "gemm",
     {8, 8},
     {16, 16},
     {buffer(128 * 128), buffer(128 * 128), buffer(128 * 128), scalar(128)},
     25e3},
    {"arithmetic chain", "arithmetic", {120}, {256}, {buffer(120 * 256), scalar(200)}, 43e3},
};

struct Measured {
    std::uint64_t instructions = 0, cycles = 0;
    double seconds = 0, dataMB = 0;
};

Measured measure(const Shape& shape, const std::string& gpuName, const std::string& scheduler) {
    sim::Gpu::Options options;
    options.scheduler = scheduler;
    sim::Gpu gpu(arch::findProfile(gpuName), options);
    const sim::ContextId context = gpu.createContext();
    const sim::LoadedModule module = gpu.load(context, ptx::parse(kShapesPtx, "shapes.ptx"));
    sim::LaunchSpec spec;
    spec.program = module.program;
    spec.code = module.program->kernel(shape.kernel);
    spec.grid = shape.grid;
    spec.block = shape.block;
    spec.params.resize(spec.code->kernelParamBytes);
    Measured m;
    for (std::size_t i = 0; i < shape.arguments.size(); ++i) {
        std::uint8_t* at = spec.params.data() + spec.code->params[i].offset;
        const Argument& argument = shape.arguments[i];
        if (!argument.floats) {
            std::memcpy(at, &argument.bits, 4);
            continue;
        }
        const sim::VirtualAddress address = gpu.memory(context).allocate(argument.floats * 4);
        auto* data = reinterpret_cast<float*>(gpu.memory(context).host(address, argument.floats * 4));
        for (std::uint64_t k = 0; k < argument.floats; ++k) data[k] = static_cast<float>(k % 97) * 0.01f;
        std::memcpy(at, &address, 8);
        m.dataMB += static_cast<double>(argument.floats) * 4e-6;
    }
    const sim::StreamId stream = gpu.createStream(context);
    const auto begin = std::chrono::steady_clock::now();
    const sim::LaunchId launch = gpu.launch(stream, std::move(spec));
    gpu.finishLaunch(launch);
    m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    m.instructions = gpu.counters(launch).warpInstructions;
    m.cycles = gpu.record(launch).ended - gpu.record(launch).started;
    return m;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string gpu = argc > 1 ? argv[1] : "gtx480", scheduler = argc > 2 ? argv[2] : "gto";
    fmt::print("{:<32}{:>12}{:>12}{:>14}{:>14}{:>9}\n", "sim:" + gpu + ", " + scheduler, "cycles", "warp instr",
               "warp instr/s", "GPGPU-Sim", "ratio");
    double product = 1;
    for (const Shape& shape : kShapes) {
        Measured best;
        for (int attempt = 0; attempt < 3; ++attempt) {
            const Measured m = measure(shape, gpu, scheduler);
            if (attempt == 0 || m.seconds < best.seconds) best = m;
        }
        const double speed = static_cast<double>(best.instructions) / best.seconds;
        product *= speed / shape.gpgpuSim;
        fmt::print("{:<32}{:>12}{:>12}{:>14.0f}{:>14.0f}{:>9.0f}\n", shape.name, best.cycles, best.instructions, speed,
                   shape.gpgpuSim, speed / shape.gpgpuSim);
    }
    fmt::print("geometric mean of the ratios: {:.0f}\n", std::pow(product, 1.0 / static_cast<double>(kShapes.size())));
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("most memory used, simulated data included: {} MB\n", usage.ru_maxrss / 1024);
    return 0;
}
