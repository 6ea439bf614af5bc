// Runs programs on mbarrier objects on the machine's NVIDIA GPU, as a file lists them, and writes it with the answers
// anew:
//   g++ -std=c++17 -O1 -o mbarriers_on_gpu tests/exec/golden/mbarrier{s_on_gpu,_programs}.cpp -ldl
//   ./mbarriers_on_gpu tests/exec/golden/h200-mbarriers.txt OUTPUT
// Needs a driver of a GPU of compute capability 9.0 and no toolkit.

#include <fstream>

#include "gpu.h"
#include "mbarrier_programs.h"

int main(int argc, char** argv) {
    using namespace bulkhead::golden;
    if (argc != 3) {
        std::fprintf(stderr, "usage: mbarriers_on_gpu PROGRAMS OUTPUT\n");
        return 2;
    }
    Gpu gpu;
    const DevicePointer out = gpu.allocate(4096);
    std::ifstream lines(argv[1]);
    std::ofstream file(argv[2]);
    for (std::string line; std::getline(lines, line);) {
        std::vector<MbarrierStep> program = programOf(line);
        std::vector<std::uint32_t> answers(program.size());
        if (!gpu.run(line.substr(0, 40), moduleOf(program), 1, 1, 0, out, out)) return 1;
        gpu.toHost(answers.data(), out, answers.size() * 4);
        for (std::size_t n = 0; n < program.size(); ++n) program[n].answer = answers[n];
        file << textOf(program) << '\n';
    }
    return 0;
}
