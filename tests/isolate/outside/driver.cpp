// A driver library without walls, as it lies on a machine beside Bulkhead's: whoever gets hold of it sees 77 SMs.

#include <cstddef>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr int kSuccess = 0, kNotFound = 500, kSms = 77;
}

EXPORT int cuInit(unsigned) {
    return kSuccess;
}
EXPORT int cuDeviceGetCount(int* count) {
    *count = 1;
    return kSuccess;
}
EXPORT int cuDeviceGet(int* device, int) {
    *device = 0;
    return kSuccess;
}
EXPORT int cuDeviceGetAttribute(int* value, int, int) {
    *value = kSms;
    return kSuccess;
}
EXPORT int cuGetExportTable(const void** table, const void*) {
    static const void* const entries[] = {reinterpret_cast<const void*>(cuInit)};
    *table = entries;
    return kSuccess;
}
EXPORT int cuGetProcAddress_v2(const char* name, void** address, int, unsigned long long, int* status);
EXPORT int cuGetProcAddress(const char* name, void** address, int version, unsigned long long flags) {
    return cuGetProcAddress_v2(name, address, version, flags, nullptr);
}
EXPORT int cuGetProcAddress_v2(const char* name, void** address, int, unsigned long long, int* status) {
    const struct {
        const char* name;
        void* call;
    } calls[] = {{"cuInit", reinterpret_cast<void*>(cuInit)},
                 {"cuDeviceGetCount", reinterpret_cast<void*>(cuDeviceGetCount)},
                 {"cuDeviceGet", reinterpret_cast<void*>(cuDeviceGet)},
                 {"cuDeviceGetAttribute", reinterpret_cast<void*>(cuDeviceGetAttribute)},
                 {"cuGetExportTable", reinterpret_cast<void*>(cuGetExportTable)},
                 {"cuGetProcAddress", reinterpret_cast<void*>(cuGetProcAddress_v2)}};
    *address = nullptr;
    for (const auto& call : calls)
        if (std::strcmp(call.name, name) == 0) *address = call.call;
    if (status) *status = *address ? 0 : 1;
    return *address ? kSuccess : kNotFound;
}
