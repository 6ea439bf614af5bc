// Keeps a program that was put inside walls from loading a driver that knows none, by whatever name it asks for it, and
// gives it a runtime that works with ours: a module of the dynamic linker's auditing interface (rtld-audit(7)), so it
// sees every search for a library, also those of dlopen with a whole path, of RPATH and of other namespaces. It has its
// own copy of the C library, uses nothing of the C++ one, and stays as small as that.

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "static_runtime/static_runtime.h"

#define BULKHEAD_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

char walledDriver[PATH_MAX];    ///< the driver library of ours, in the same folder as this one
char driverBehind[PATH_MAX];    ///< the one that it may need
char runtimes[2][PATH_MAX];     ///< our CUDA runtimes of versions 12 and 13 beside it; empty where they are not
link_map* preloaded = nullptr;  ///< what puts them in the place of runtimes that are linked into libraries
bool hasStarted = false;
constexpr uintptr_t kOurs = 0xb01d;  ///< marks it among objects, whose cookies are addresses otherwise

/// Libraries that reach the GPU without the CUDA driver's own interface: OpenCL, graphics, ray tracing, video.
constexpr const char* kOtherDrivers[] = {
    "libnvidia-opencl.so", "libGLX_nvidia.so", "libEGL_nvidia.so",
    "libnvoptix.so",       "libnvcuvid.so",    "libnvidia-encode.so",
};

/// The name by which a library of ours needs the driver that is installed.
constexpr char kBehind[] = "libbulkhead-driver-behind.so";

bool beginsWith(const char* text, const char* prefix) {
    return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

const char* fileName(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/// "libcudart.so.13.0.96", or "libcudart.faf08d9a.so.13" as wheels bring it along.
const char* runtimeFor(const char* file) {
    if (!beginsWith(file, "libcudart")) return nullptr;
    for (int i = 0; i < 2; ++i)
        if (*runtimes[i] && std::strstr(file, i == 0 ? ".so.12" : ".so.13")) return runtimes[i];
    return nullptr;
}

/// A function that a library exports, by its own table: dlsym is for libraries that dlopen has opened.
std::uintptr_t findFunction(const link_map& library, const char* name) {
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    // Linkers put the names behind the symbols.
    for (const ElfW(Sym)* symbol = symbols; symbol && reinterpret_cast<const char*>(symbol + 1) <= names; ++symbol)
        if (symbol->st_shndx != SHN_UNDEF && std::strcmp(names + symbol->st_name, name) == 0)
            return library.l_addr + symbol->st_value;
    return 0;
}

bool reachesTheGpuOtherwise(const char* file) {
    for (const char* other : kOtherDrivers)
        if (beginsWith(file, other)) return true;
    return false;
}

}  // namespace

BULKHEAD_EXPORT unsigned la_version(unsigned) {
    Dl_info own;
    if (dladdr(reinterpret_cast<const void*>(&la_version), &own) == 0) return 0;
    const int folder = static_cast<int>(fileName(own.dli_fname) - own.dli_fname);
    if (std::snprintf(walledDriver, sizeof walledDriver, "%.*slibcuda.so.1", folder, own.dli_fname) >= PATH_MAX)
        return 0;
    for (int i = 0; i < 2; ++i) {
        std::snprintf(runtimes[i], sizeof runtimes[i], "%.*slibcudart.so.%d", folder, own.dli_fname, 12 + i);
        if (access(runtimes[i], R_OK) != 0) *runtimes[i] = 0;
    }
    // By a name that nobody else would give: who is loaded by a usual one is found by it.
    const char* const behind = std::getenv("BULKHEAD_LIBCUDA");
    if (behind && *behind == '/') std::snprintf(driverBehind, sizeof driverBehind, "/.%s", behind);
    return LAV_CURRENT;
}

/// The walled driver itself loads the one behind it, and is let.
BULKHEAD_EXPORT unsigned la_objopen(link_map* object, Lmid_t, uintptr_t* cookie) {
    if (std::strcmp(object->l_name, walledDriver) == 0) *cookie = kOurs;
    if (std::strcmp(fileName(object->l_name), bulkhead::kStaticRuntimeLibrary) == 0) preloaded = object;
    return 0;
}

/// Everything is there that the program starts with.
BULKHEAD_EXPORT void la_preinit(uintptr_t*) {
    hasStarted = true;
}

/// New libraries are there, and none of their code has run yet.
BULKHEAD_EXPORT void la_activity(uintptr_t*, unsigned flag) {
    if (flag != LA_ACT_CONSISTENT || !hasStarted || !preloaded) return;
    if (const auto look = reinterpret_cast<void (*)()>(findFunction(*preloaded, bulkhead::kLookAtLibraries))) look();
}

BULKHEAD_EXPORT char* la_objsearch(const char* name, uintptr_t* cookie, unsigned flag) {
    char* const asIs = const_cast<char*>(name);
    if (flag != LA_SER_ORIG) return asIs;
    const char* const file = fileName(name);
    if (*cookie == kOurs) return std::strcmp(file, kBehind) == 0 ? driverBehind : asIs;
    if (beginsWith(file, "libcuda.so")) return walledDriver;
    if (const char* const runtime = runtimeFor(file)) return const_cast<char*>(runtime);
    return reachesTheGpuOtherwise(file) ? nullptr : asIs;
}
