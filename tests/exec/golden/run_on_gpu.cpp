// Evaluates every instruction variant on the machine's NVIDIA GPU and writes what it answered:
//   g++ -std=c++17 -O1 tests/exec/golden/run_on_gpu.cpp tests/exec/compute_variants.cpp -ldl -o run_on_gpu
//   ./run_on_gpu tests/exec/golden/h200.bin
// Needs a driver and no toolkit. With --print FOLDER it only writes the modules there, for ptxas to judge.
//
// The file: "BHGOLD1\n", then for each variant: name length (1 byte), name, input hash (4), output bytes of one tuple
// (1), kTuples tuples. A variant the driver's compiler refuses is named on stderr and left out.

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "../compute_variants.h"
#include "gpu.h"

namespace {

using bulkhead::golden::inputsOf;
using bulkhead::golden::kTuples;
using bulkhead::golden::moduleOf;
using bulkhead::golden::Variant;
using bulkhead::golden::variants;

std::uint32_t hashOf(const std::vector<std::uint64_t>& words) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::uint64_t word : words)
        for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3u;
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

int print(const std::string& folder) {
    int number = 0;
    for (const Variant& variant : variants()) {
        char name[32];
        std::snprintf(name, sizeof name, "/%05d.ptx", number++);
        std::ofstream(folder + name) << "// " << variant.name << "\n" << moduleOf(variant);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--print") return print(argv[2]);
    if (argc != 2) {
        std::fprintf(stderr, "usage: run_on_gpu OUTPUT | run_on_gpu --print FOLDER\n");
        return 2;
    }
    bulkhead::golden::Gpu gpu;
    const bulkhead::golden::DevicePointer in = gpu.allocate(kTuples * 4 * 8), out = gpu.allocate(kTuples * 3 * 8);

    std::string file = "BHGOLD1\n";
    const auto put = [&](std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i) & 0xff);
    };
    int done = 0, refused = 0;
    for (const Variant& variant : variants()) {
        const std::vector<std::uint64_t> words = inputsOf(variant);
        std::vector<std::uint64_t> results(kTuples * variant.outputs.size(), 0xdeadbeefdeadbeef);
        gpu.toDevice(in, words.data(), words.size() * 8);
        gpu.toDevice(out, results.data(), results.size() * 8);
        if (!gpu.run(variant.name, moduleOf(variant), 1, kTuples, 0, in, out)) {
            ++refused;
            continue;
        }
        gpu.toHost(results.data(), out, results.size() * 8);

        put(variant.name.size(), 1);
        file += variant.name;
        put(hashOf(words), 4);
        unsigned bytes = 0;
        for (unsigned bits : variant.outputs) bytes += bits / 8;
        put(bytes, 1);
        for (std::size_t i = 0; i < results.size(); ++i)
            put(results[i], variant.outputs[i % variant.outputs.size()] / 8);
        ++done;
    }
    std::ofstream(argv[1], std::ios::binary) << file;
    std::printf("%s: %d variants, %d refused, %zu bytes\n", gpu.name().c_str(), done, refused, file.size());
    return 0;
}
