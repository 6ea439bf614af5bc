// Evaluates every instruction variant on the machine's NVIDIA GPU and writes what it answered:
//   g++ -std=c++17 -O1 tests/exec/golden/run_on_gpu.cpp tests/exec/compute_variants.cpp -ldl -o run_on_gpu
//   ./run_on_gpu tests/exec/golden/h200.bin
// Needs a driver and no toolkit. With --print FOLDER it only writes the modules there, for ptxas to judge.
//
// The file: "BHGOLD1\n", then for each variant: name length (1 byte), name, input hash (4), output bytes of one tuple
// (1), kTuples tuples. A variant the driver's compiler refuses is named on stderr and left out.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "../compute_variants.h"

namespace {

using bulkhead::golden::inputsOf;
using bulkhead::golden::kTuples;
using bulkhead::golden::moduleOf;
using bulkhead::golden::Variant;
using bulkhead::golden::variants;

using Result = int;
using DevicePointer = unsigned long long;
struct Driver {
    Result (*init)(unsigned);
    Result (*deviceGet)(int*, int);
    Result (*deviceGetName)(char*, int, int);
    Result (*contextRetain)(void**, int);
    Result (*contextSet)(void*);
    Result (*moduleLoad)(void**, const void*, unsigned, int*, void**);
    Result (*moduleUnload)(void*);
    Result (*moduleFunction)(void**, void*, const char*);
    Result (*allocate)(DevicePointer*, std::size_t);
    Result (*toDevice)(DevicePointer, const void*, std::size_t);
    Result (*toHost)(void*, DevicePointer, std::size_t);
    Result (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                     void**);
    Result (*synchronize)();
};

template <class F>
void load(void* library, const char* name, F*& function) {
    function = reinterpret_cast<F*>(dlsym(library, name));
    if (!function) {
        std::fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        std::exit(1);
    }
}

void check(Result result, const char* what) {
    if (result == 0) return;
    std::fprintf(stderr, "%s failed with error %d\n", what, result);
    std::exit(1);
}

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
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    Driver driver;
    load(library, "cuInit", driver.init);
    load(library, "cuDeviceGet", driver.deviceGet);
    load(library, "cuDeviceGetName", driver.deviceGetName);
    load(library, "cuDevicePrimaryCtxRetain", driver.contextRetain);
    load(library, "cuCtxSetCurrent", driver.contextSet);
    load(library, "cuModuleLoadDataEx", driver.moduleLoad);
    load(library, "cuModuleUnload", driver.moduleUnload);
    load(library, "cuModuleGetFunction", driver.moduleFunction);
    load(library, "cuMemAlloc_v2", driver.allocate);
    load(library, "cuMemcpyHtoD_v2", driver.toDevice);
    load(library, "cuMemcpyDtoH_v2", driver.toHost);
    load(library, "cuLaunchKernel", driver.launch);
    load(library, "cuCtxSynchronize", driver.synchronize);

    int device = 0;
    void* context = nullptr;
    check(driver.init(0), "cuInit");
    check(driver.deviceGet(&device, 0), "cuDeviceGet");
    check(driver.contextRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(driver.contextSet(context), "cuCtxSetCurrent");
    char deviceName[128] = "";
    driver.deviceGetName(deviceName, sizeof deviceName, device);
    DevicePointer in = 0, out = 0;
    check(driver.allocate(&in, kTuples * 4 * 8), "cuMemAlloc");
    check(driver.allocate(&out, kTuples * 3 * 8), "cuMemAlloc");

    std::string file = "BHGOLD1\n";
    const auto put = [&](std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i) & 0xff);
    };
    int done = 0, refused = 0;
    for (const Variant& variant : variants()) {
        const std::string text = moduleOf(variant);
        char log[2048] = "";
        int options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
        void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
        void *module = nullptr, *kernel = nullptr;
        if (Result result = driver.moduleLoad(&module, text.c_str(), 2, options, values)) {
            std::fprintf(stderr, "refused (%d): %s\n%s\n", result, variant.name.c_str(), log);
            ++refused;
            continue;
        }
        check(driver.moduleFunction(&kernel, module, "k"), "cuModuleGetFunction");
        const std::vector<std::uint64_t> words = inputsOf(variant);
        std::vector<std::uint64_t> results(kTuples * variant.outputs.size(), 0xdeadbeefdeadbeef);
        check(driver.toDevice(in, words.data(), words.size() * 8), "cuMemcpyHtoD");
        check(driver.toDevice(out, results.data(), results.size() * 8), "cuMemcpyHtoD");
        void* arguments[] = {&in, &out};
        check(driver.launch(kernel, 1, 1, 1, kTuples, 1, 1, 0, nullptr, arguments, nullptr), "cuLaunchKernel");
        check(driver.synchronize(), variant.name.c_str());
        check(driver.toHost(results.data(), out, results.size() * 8), "cuMemcpyDtoH");
        driver.moduleUnload(module);

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
    std::printf("%s: %d variants, %d refused, %zu bytes\n", deviceName, done, refused, file.size());
    return 0;
}
