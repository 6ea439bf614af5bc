// Copies tensors through maps on the machine's NVIDIA GPU, as a file lists them, and writes it with the answers anew:
//   g++ -std=c++17 -O1 tests/exec/golden/tensors_on_gpu.cpp tests/exec/golden/tensor_cases.cpp -ldl -o tensors_on_gpu
//   ./tensors_on_gpu tests/exec/golden/h200-tensors.txt OUTPUT
// Needs a driver of a GPU of compute capability 9.0 and no toolkit.
//
// A line: the case, code= what the driver says of the map and, where that is 0, what the copy did or `fault`. A copy
// that faults costs its process the context: the next one goes on in another.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "gpu.h"
#include "tensor_cases.h"

namespace bulkhead::golden {
namespace {

using EncodeTiled = int (*)(void*, int, unsigned, DevicePointer, const std::uint64_t*, const std::uint64_t*,
                            const unsigned*, const unsigned*, int, int, int, int);
using EncodeImages = int (*)(void*, int, unsigned, DevicePointer, const std::uint64_t*, const std::uint64_t*,
                             const int*, const int*, unsigned, unsigned, const unsigned*, int, int, int, int);

/// Writes lines from `next` on, until all are there.
int record(const std::vector<TensorCase>& cases, std::FILE* file, volatile std::size_t& next) {
    Gpu gpu;
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const auto tiled = reinterpret_cast<EncodeTiled>(dlsym(driver, "cuTensorMapEncodeTiled"));
    const auto images = reinterpret_cast<EncodeImages>(dlsym(driver, "cuTensorMapEncodeIm2col"));
    const DevicePointer buffer = gpu.allocate(kTensorBytes), in = gpu.allocate(128), out = gpu.allocate(kRoomBytes);
    char filled = 0;
    while (next < cases.size()) {
        const TensorCase& c = cases[next];
        next = next + 1;
        alignas(64) unsigned char map[128] = {};
        const DevicePointer address = buffer + kTensorAt + c.address;
        const int code = c.mode == 'i'
                             ? images(map, c.type, c.rank, address, c.dims, c.strides, c.lower, c.upper, c.channels,
                                      c.pixels, c.every, c.interleave, c.swizzle, c.promotion, c.fill)
                             : tiled(map, c.type, c.rank, address, c.dims, c.strides, c.box, c.every, c.interleave,
                                     c.swizzle, c.promotion, c.fill);
        std::fprintf(file, "%s code=%d", textOf(c).c_str(), code);
        if (code == 0) {
            std::fprintf(file, " : ");
            std::fflush(file);
            if (filled != c.operation || c.operation != 'l') gpu.toDevice(buffer, bufferOf(c).data(), kTensorBytes);
            filled = c.operation;
            gpu.toDevice(in, map, sizeof map);
            if (!gpu.run(textOf(c), moduleOf(c), 1, 128, 0, in, out)) return 2;
            std::vector<std::uint32_t> words(c.operation == 'l' ? wordsOf(c) : kTensorWords);
            gpu.toHost(words.data(), c.operation == 'l' ? out : buffer, words.size() * 4);
            std::fprintf(file, "%s", (c.operation == 'l' ? loaded(words) : stored(c, words)).c_str());
        }
        std::fprintf(file, "\n");
    }
    return 0;
}

}  // namespace
}  // namespace bulkhead::golden

int main(int argc, char** argv) {
    using namespace bulkhead::golden;
    if (argc != 3) {
        std::fprintf(stderr, "usage: tensors_on_gpu CASES OUTPUT\n");
        return 2;
    }
    std::vector<TensorCase> cases;
    std::ifstream lines(argv[1]);
    for (std::string line; std::getline(lines, line);) cases.push_back(caseOf(line.substr(0, line.find(" code="))));
    std::FILE* const file = std::fopen(argv[2], "w");
    if (!file) return 2;
    auto* const next = static_cast<std::size_t*>(
        mmap(nullptr, sizeof(std::size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    int faults = 0;
    while (*next < cases.size()) {
        std::fflush(file);
        const std::size_t before = *next;
        const pid_t child = fork();
        if (child == 0) {
            const int result = record(cases, file, *next);
            std::fflush(file);
            std::_Exit(result);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        if (*next == before) return 1;  // there is no GPU
        std::fprintf(file, "fault\n");
        ++faults;
    }
    std::fclose(file);
    std::printf("%zu cases, %d faults\n", cases.size(), faults);
    return 0;
}
