// Keeps a program that was put inside walls from loading a driver that knows none, by whatever name it asks for it: a
// module of the dynamic linker's auditing interface (rtld-audit(7)), so it sees every search for a library, also those
// of dlopen with a whole path, of RPATH and of other namespaces. It has its own copy of the C library, uses nothing of
// the C++ one, and stays as small as that.

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define BULKHEAD_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

char walledDriver[PATH_MAX];         ///< the driver library of ours, in the same folder as this one
char driverBehind[PATH_MAX];         ///< the one that it may need
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
    // By a name that nobody else would give: who is loaded by a usual one is found by it.
    const char* const behind = std::getenv("BULKHEAD_LIBCUDA");
    if (behind && *behind == '/') std::snprintf(driverBehind, sizeof driverBehind, "/.%s", behind);
    return LAV_CURRENT;
}

/// The walled driver itself loads the one behind it, and is let.
BULKHEAD_EXPORT unsigned la_objopen(link_map* object, Lmid_t, uintptr_t* cookie) {
    if (std::strcmp(object->l_name, walledDriver) == 0) *cookie = kOurs;
    return 0;
}

BULKHEAD_EXPORT char* la_objsearch(const char* name, uintptr_t* cookie, unsigned flag) {
    char* const asIs = const_cast<char*>(name);
    if (flag != LA_SER_ORIG) return asIs;
    const char* const file = fileName(name);
    if (*cookie == kOurs) return std::strcmp(file, kBehind) == 0 ? driverBehind : asIs;
    if (beginsWith(file, "libcuda.so")) return walledDriver;
    return reachesTheGpuOtherwise(file) ? nullptr : asIs;
}
