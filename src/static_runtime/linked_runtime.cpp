// NVIDIA's compiler links NVIDIA's CUDA runtime into programs by default. That runtime works with NVIDIA's driver
// alone: it asks for tables that no document describes, and has the driver prove its origin. So ours takes its place:
// before the program's own code runs, every function of the runtime inside it or its libraries is made to jump to the
// function of the same name in libcudart.so. Symbols tell where they are.

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "gate/gate.h"
#include "static_runtime/jumps.h"
#include "static_runtime/loaded_file.h"
#include "static_runtime/static_runtime.h"

namespace bulkhead::staticRuntime {
namespace {

constexpr const char* kRuntimes[] = {"libcudart.so.12", "libcudart.so.13"};

bool hasBegun = false;  ///< with the program's own code, and libraries are looked at that it loads

bool beginsWith(const char* text, const char* prefix) {
    return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

bool isFunction(const ElfW(Sym) & symbol) {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
}

bool isCallOfRuntime(const char* name) {
    return beginsWith(name, "cuda") || beginsWith(name, "__cuda");
}

/// What nvcc names the constructor that registers a file's kernels, and the variable with what it got for them.
constexpr char kRegister[] = "_ZL24__sti____cudaRegisterAllv", kRegistered[] = "_ZL20__cudaFatCubinHandle";
/// Files compiled in pieces (-rdc=true) count how often they register.
constexpr char kRegisterPiece[] = "__cudaRegisterLinkedBinary";

/// What the symbols of an object say of a runtime that is linked into it.
struct LinkedRuntime {
    bool isNvidias = false;
    bool isOf12 = false, isOf13 = false;  ///< by calls that only this major version has
    bool isInPieces = false;
    std::size_t calls = 0;

    explicit LinkedRuntime(const LoadedFile& file) {
        for (std::size_t i = 0; i < file.symbols(); ++i) {
            const ElfW(Sym)& symbol = file.symbol(i);
            const char* const name = file.nameOf(symbol);
            isNvidias |= beginsWith(name, kNvidiaRuntimeSymbols);
            if (!isFunction(symbol) || !isCallOfRuntime(name)) continue;
            isInPieces |= beginsWith(name, kRegisterPiece);
            ++calls;
            isOf12 |= std::strcmp(name, "cudaGetDeviceProperties_v2") == 0;
            isOf13 |= std::strcmp(name, "cudaDeviceGetHostAtomicCapabilities") == 0;
        }
    }
};

/// Our runtime for a version, from the folder of this library. Opened once.
void* openRuntime(std::size_t version) {
    static void* opened[std::size(kRuntimes)];
    if (opened[version]) return opened[version];
    const char* const name = kRuntimes[version];
    Dl_info own;
    if (dladdr(reinterpret_cast<const void*>(&openRuntime), &own) == 0) return nullptr;
    const char* const slash = std::strrchr(own.dli_fname, '/');
    const int folder = slash ? static_cast<int>(slash + 1 - own.dli_fname) : 0;
    char path[PATH_MAX];
    if (std::snprintf(path, sizeof path, "%.*s%s", folder, own.dli_fname, name) >= PATH_MAX) return nullptr;
    return opened[version] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void warn(const char* object, const char* why) {
    std::fprintf(stderr, "bulkhead: %s has NVIDIA's CUDA runtime inside, and %s: link with nvcc -cudart shared\n",
                 object, why);
}

/// Makes the functions of the runtime in an object jump to ours. False if the system does not let them.
bool leadCalls(const dl_phdr_info& object, const LoadedFile& file, std::size_t calls, void* ours) {
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
        const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
        Jumps jumps(begin, begin + segment.p_memsz, calls);
        if (!jumps) return false;
        for (std::size_t s = 0; s < file.symbols(); ++s) {
            const ElfW(Sym)& symbol = file.symbol(s);
            const char* const name = file.nameOf(symbol);
            if (!isFunction(symbol) || !isCallOfRuntime(name)) continue;
            if (void* const call = dlsym(ours, name))
                jumps.lead(object.dlpi_addr + symbol.st_value, symbol.st_size, call);
        }
    }
    return true;
}

/// Calls body(address) for each symbol of that name.
template <class Body>
void forEach(const dl_phdr_info& object, const LoadedFile& file, const char* name, Body&& body) {
    for (std::size_t i = 0; i < file.symbols(); ++i)
        if (file.symbol(i).st_shndx != SHN_UNDEF && std::strcmp(file.nameOf(file.symbol(i)), name) == 0)
            body(object.dlpi_addr + file.symbol(i).st_value);
}

/// Constructors of a library may have registered its kernels with the runtime inside it. They do so again with ours.
void registerAgain(const dl_phdr_info& object, const LoadedFile& file) {
    bool isRegistered = false;
    forEach(object, file, kRegistered,
            [&](std::uintptr_t handle) { isRegistered |= *reinterpret_cast<void* const*>(handle) != nullptr; });
    if (!isRegistered) return;
    forEach(object, file, kRegister, [](std::uintptr_t constructor) { reinterpret_cast<void (*)()>(constructor)(); });
}

void takeItsPlace(const dl_phdr_info& object, const char* path, bool isProgram) {
    const LoadedFile file(path);
    const LinkedRuntime linked(file);
    if (!linked.isNvidias || linked.calls == 0) return;
    if (!isProgram && linked.isInPieces) {
        // Frameworks load many that they never use.
        if (!hasBegun) warn(path, "in a library of relocatable code it cannot be replaced");
        return;
    }
    if (!linked.isOf12 && !linked.isOf13) return warn(path, "it is neither that of CUDA 12 nor of CUDA 13");
    void* const ours = openRuntime(linked.isOf12 ? 0 : 1);
    if (!ours) return warn(path, dlerror());
    if (!leadCalls(object, file, linked.calls, ours)) return warn(path, "this system does not let its code be changed");
    if (!isProgram) registerAgain(object, file);
}

constexpr std::size_t kMostObjects = 4096;
std::uintptr_t seen[kMostObjects];  ///< where objects are that were looked at
std::size_t seenCount = 0;

bool isNew(const dl_phdr_info& object) {
    // One without code may share its address with others, and has no runtime.
    const auto at = reinterpret_cast<std::uintptr_t>(object.dlpi_phdr);
    for (std::size_t i = 0; i < seenCount; ++i)
        if (seen[i] == at) return false;
    if (seenCount < kMostObjects) seen[seenCount++] = at;
    return true;
}

/// Called for each object; the first is the program.
int look(dl_phdr_info* object, std::size_t, void* first) {
    const bool isProgram = *static_cast<bool*>(first);
    *static_cast<bool*>(first) = false;
    const char* const path = isProgram ? "/proc/self/exe" : object->dlpi_name;
    if (isNew(*object) && path && *path == '/') takeItsPlace(*object, path, isProgram);
    return 0;
}

void lookAtAll() {
    bool first = true;
    dl_iterate_phdr(look, &first);
}

/// Whether the gate tells of libraries that are loaded later. Nothing can be loaded then, so runtimes are now.
bool behindGate() {
    const char* const audited = std::getenv("LD_AUDIT");
    return audited && std::strstr(audited, kGateLibrary);
}

__attribute__((constructor)) void lookAtProgram() {
    if (getauxval(AT_SECURE) != 0) return;
    lookAtAll();
    if (!behindGate()) return;
    for (std::size_t version = 0; version < std::size(kRuntimes); ++version) openRuntime(version);
    hasBegun = true;
}

}  // namespace
}  // namespace bulkhead::staticRuntime

extern "C" __attribute__((visibility("default"))) void bulkheadLookAtLibraries() {
    if (bulkhead::staticRuntime::hasBegun) bulkhead::staticRuntime::lookAtAll();
}
