// Evaluates every matrix instruction on the machine's NVIDIA GPU and writes what it answered:
//   g++ -std=c++17 -O1 tests/exec/golden/matrices_on_gpu.cpp tests/exec/matrix_forms.cpp -ldl -o matrices_on_gpu
//   ./matrices_on_gpu tests/exec/golden/h200-matrices.bin
// Needs a driver and no toolkit. With --whole FILE before it, all answers go there as well, one after the other.
//
// The file: "BHMATR1\n", then for each form: name length (1 byte), name, hash of the inputs (8), answer bytes of a case
// (4), cases (2), for each case the hash of its answer (8), and the first case's whole answer where it has no more than
// kWholeBytes. A form that the driver's compiler refuses is named on stderr and left out.

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "../matrix_forms.h"
#include "gpu.h"

int main(int argc, char** argv) {
    using namespace bulkhead::golden;
    const bool whole = argc == 4 && std::string(argv[1]) == "--whole";
    if (argc != 2 && !whole) {
        std::fprintf(stderr, "usage: matrices_on_gpu [--whole FILE] OUTPUT\n");
        return 2;
    }
    Gpu gpu;
    constexpr std::size_t kMost = std::size_t{64} << 20;
    const DevicePointer in = gpu.allocate(kMost), out = gpu.allocate(kMost);
    std::string file = "BHMATR1\n";
    const auto put = [&](std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i) & 0xff);
    };
    std::ofstream answers;
    if (whole) answers.open(argv[2], std::ios::binary);
    int done = 0, refused = 0;
    for (const MatrixForm& form : matrixForms()) {
        const std::vector<std::uint8_t> inputs = inputsOf(form);
        const unsigned cases = casesOf(form);
        const std::size_t bytes = answerBytes(form);
        std::vector<std::uint8_t> results(cases * bytes, 0xaa);
        gpu.toDevice(in, inputs.data(), inputs.size());
        gpu.toDevice(out, results.data(), results.size());
        if (!gpu.run(form.name, moduleOf(form), cases, form.threads, form.sharedBytes, in, out)) {
            ++refused;
            continue;
        }
        gpu.toHost(results.data(), out, results.size());
        put(form.name.size(), 1);
        file += form.name;
        put(hashOf(inputs.data(), inputs.size()), 8);
        put(bytes, 4);
        put(cases, 2);
        for (unsigned number = 0; number < cases; ++number) put(hashOf(results.data() + number * bytes, bytes), 8);
        if (bytes <= kWholeBytes) file.append(reinterpret_cast<const char*>(results.data()), bytes);
        if (whole)
            answers.write(reinterpret_cast<const char*>(results.data()), static_cast<std::streamsize>(results.size()));
        ++done;
    }
    std::ofstream(argv[argc - 1], std::ios::binary) << file;
    std::printf("%s: %d forms, %d refused, %zu bytes\n", gpu.name().c_str(), done, refused, file.size());
    return 0;
}
