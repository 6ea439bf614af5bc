// Looks for a driver by every way that its arguments name, in their order, and says how many SMs it sees there.
// ways_out FOLDER WAY...: the folder has a driver library without walls, and a library that needs one.

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

using Call = int (*)(...);
using GetProcAddress = int (*)(const char*, void**, int, unsigned long long, int*);

std::string folder;

void* openDriver(const std::string& way) {
    if (way == "soname") return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (way == "global") return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (way == "link") return dlopen("libcuda.so", RTLD_NOW);
    if (way == "path") return dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW);
    if (way == "file") return dlopen((folder + "/libcuda.so.99.1").c_str(), RTLD_NOW);
    if (way == "crooked") return dlopen((folder + "/.//libcuda.so").c_str(), RTLD_NOW);
    if (way == "namespace") return dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (way == "anybodys") return RTLD_DEFAULT;
    return nullptr;
}

/// A call by name: from the library's symbols, or from the driver's own look-up, straight or by way of itself.
Call find(void* driver, const std::string& how, const char* name) {
    if (how == "dlsym") return reinterpret_cast<Call>(dlsym(driver, name));
    auto get =
        reinterpret_cast<GetProcAddress>(dlsym(driver, how == "v1" ? "cuGetProcAddress" : "cuGetProcAddress_v2"));
    void* address = nullptr;
    if (get && how == "nested") {
        get("cuGetProcAddress", &address, 13000, 0, nullptr);
        get = reinterpret_cast<GetProcAddress>(address);
    }
    address = nullptr;
    if (get) get(name, &address, 13000, 0, nullptr);
    return reinterpret_cast<Call>(address);
}

/// Tables that no document describes, as NVIDIA's runtime asks for them.
bool givesTables(void* driver, const std::string& how) {
    const Call get = find(driver, how, "cuGetExportTable");
    for (int first = 0; get && first < 256; ++first) {
        unsigned char name[16];
        for (int i = 0; i < 16; ++i) name[i] = static_cast<unsigned char>(first + 37 * i);
        const void* table = nullptr;
        if (get(&table, name) == 0 || table) return true;
    }
    return false;
}

std::string see(void* driver, const std::string& how) {
    const Call init = find(driver, how, "cuInit"), count = find(driver, how, "cuDeviceGetCount"),
               attribute = find(driver, how, "cuDeviceGetAttribute");
    if (!init || !count || !attribute) return "no driver";
    int devices = 0, sms = 0;
    if (init(0) != 0 || count(&devices) != 0 || devices == 0) return "no device";
    return attribute(&sms, 16, 0) == 0 ? std::to_string(sms) + " SMs" : "no device";
}

std::string seeThroughLibrary() {
    void* const library = dlopen((folder + "/libneedsdriver.so").c_str(), RTLD_NOW);
    const auto ask = library ? reinterpret_cast<int (*)()>(dlsym(library, "librarysSms")) : nullptr;
    if (!ask) return "no driver";
    const int sms = ask();
    return sms > 0 ? std::to_string(sms) + " SMs" : "no device";
}

std::string go(const std::string& way) {
    const std::size_t colon = way.find(':');
    if (way == "library") return seeThroughLibrary();
    void* const driver = openDriver(way.substr(0, colon));
    if (!driver && way.substr(0, colon) != "anybodys") return "no driver";
    const std::string how = colon == std::string::npos ? "dlsym" : way.substr(colon + 1);
    if (how == "tables") return givesTables(driver, "dlsym") || givesTables(driver, "nested") ? "tables" : "no tables";
    return see(driver, how);
}

}  // namespace

int main(int argc, char** argv) {
    folder = argc > 1 ? argv[1] : ".";
    for (int i = 2; i < argc; ++i) std::printf("%s: %s\n", argv[i], go(argv[i]).c_str());
}
