// How fast the simulator is: six shapes on the GTX 480, with the full timing model, on one core. Prints the table
// beside GPGPU-Sim 4.2's figures for the same kernels (its speed, and how many of its cycles they take here), and the
// memory the simulator needs beyond the simulated data.
// Arguments: the GPU, the scheduler, and a part of the names of those to measure.

#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "shape.h"

namespace {

using namespace bulkhead;

struct Known {
    const char* name;
    Shape shape;
    double gpgpuSim;  ///< warp instructions a second, GPGPU-Sim 4.2, 2 Neoverse-V1 cores, PTX of nvcc 13
    /// GPGPU-Sim 4.2.0 with its GTX 480 (SM2_GTX480 without the options of power that it refuses), this very PTX,
    /// buffers copied to the device before
    double gpgpuSimCycles;
};

const std::vector<Known> kKnown = {
    {"vector add, 524288 floats",
     {"vectorAdd", {2048}, {256}, {buffer(524288), buffer(524288), buffer(524288), scalar(524288)}},
     12.9e3,
     42771},
    {"a thread a row of 4096x64",
     {"rowProduct", {16}, {256}, {buffer(4096 * 64), buffer(64), buffer(4096), scalar(4096), scalar(64)}},
     1.6e3,
     200255},
    {"a thread a column of 256x4096",
     {"columnProduct", {16}, {256}, {buffer(256 * 4096), buffer(256), buffer(4096), scalar(256), scalar(4096)}},
     17.3e3,
     89691},
    {"SYRK 128x128",
     {"syrk", {8, 8}, {16, 16}, {buffer(128 * 128), buffer(128 * 128), scalar(128), scalar(1.5f), scalar(0.5f)}},
     4.1e3,
     198835},
    {"tiled GEMM 128",
     {"gemm", {8, 8}, {16, 16}, {buffer(128 * 128), buffer(128 * 128), buffer(128 * 128), scalar(128)}},
     25e3,
     26988},
    {"arithmetic chain", {"arithmetic", {120}, {256}, {buffer(120 * 256), scalar(200)}}, 43e3, 29770},
};

}  // namespace

int main(int argc, char** argv) {
    const std::string gpu = argc > 1 ? argv[1] : "gtx480", scheduler = argc > 2 ? argv[2] : "gto";
    std::vector<Known> chosen = kKnown;
    if (argc > 3) std::erase_if(chosen, [&](const Known& known) { return !std::strstr(known.name, argv[3]); });
    fmt::print("{:<32}{:>12}{:>12}{:>14}{:>14}{:>9}{:>20}\n", "sim:" + gpu + ", " + scheduler, "cycles", "warp instr",
               "warp instr/s", "GPGPU-Sim", "ratio", "cycles / GPGPU-Sim");
    double product = 1, cycles = 1;
    for (const Known& known : chosen) {
        const Measured m = measure(known.shape, arch::findProfile(gpu), scheduler, 3);
        const double ratio = m.speed() / known.gpgpuSim;
        product *= ratio;
        const double share = static_cast<double>(m.cycles) / known.gpgpuSimCycles;
        cycles *= share;
        fmt::print("{:<32}{:>12}{:>12}{:>14.0f}{:>14.0f}{:>9.0f}{:>20.2f}\n", known.name, m.cycles, m.instructions,
                   m.speed(), known.gpgpuSim, ratio, share);
    }
    const double each = 1.0 / static_cast<double>(chosen.size());
    fmt::print("geometric mean of the ratios: {:.0f}, of cycles: {:.2f}\n", std::pow(product, each),
               std::pow(cycles, each));
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("most memory used, simulated data included: {} MB\n", usage.ru_maxrss / 1024);
    return 0;
}
