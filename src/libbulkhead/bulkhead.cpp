#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/environment.h"
#include "libbulkhead/driver_table.h"

// Walls are the driver library's: these calls go to Bulkhead's libcuda.so.1. Where a program has loaded another one, it
// starts anew with Bulkhead's before it.

namespace {

constexpr const char* kStartedAnew = "BULKHEAD_STARTED_ANEW";

thread_local std::string error;

int fail(std::string why) {
    error = std::move(why);
    return -1;
}

void* driverLibrary() {
    static void* const library = [] {
        void* installed = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (installed) return installed;
        Dl_info info;
        if (!dladdr(reinterpret_cast<const void*>(&driverLibrary), &info)) return installed;
        const std::string own = info.dli_fname;
        return dlopen((own.substr(0, own.rfind('/') + 1) + "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    }();
    return library;
}

/// Null of a driver library that is not Bulkhead's.
const bulkhead::DriverTable* driverTable() {
    using GetTable = int (*)(const void**, const void* name);
    const auto get = reinterpret_cast<GetTable>(dlsym(driverLibrary(), "cuGetExportTable"));
    const void* table = nullptr;
    if (!get || get(&table, bulkhead::kDriverTableName) != 0) return nullptr;
    return static_cast<const bulkhead::DriverTable*>(table);
}

std::string pathOf(void* library) {
    link_map* map = nullptr;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : "";
}

std::string ownFolder() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void*>(&ownFolder), &info) || !info.dli_fname) return {};
    const std::string file = info.dli_fname;
    return file.substr(0, file.rfind('/') == std::string::npos ? 0 : file.rfind('/'));
}

/// The same program with the same words, with Bulkhead's driver library in front of the one it has. Only returns if
/// that fails.
int startAnew() {
    // The loader of a setuid program would not look where it is told to, and this would go on for ever.
    if (getauxval(AT_SECURE) != 0)
        return fail("a setuid or setgid program cannot be started anew with the driver library of Bulkhead in front");
    if (!bulkhead::environment(kStartedAnew).empty()) return fail("the driver library of Bulkhead does not come first");
    const std::string folder = ownFolder(), before = bulkhead::environment("LD_LIBRARY_PATH");
    setenv("LD_LIBRARY_PATH", (folder + (before.empty() ? "" : ":" + before)).c_str(), 1);
    setenv("BULKHEAD_LIBCUDA", pathOf(driverLibrary()).c_str(), 1);
    setenv("BULKHEAD_GPU", "cuda:0", 0);
    setenv("BULKHEAD_SUMMARY", "0", 0);
    setenv(kStartedAnew, "1", 1);
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<char*> arguments;
    for (std::size_t at = 0; at < words.size(); at = words.find('\0', at) + 1) arguments.push_back(&words[at]);
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    return fail(std::string("the program cannot be started anew: ") + std::strerror(errno));
}

template <class... Parameters>
int ask(int (*bulkhead::DriverTable::*call)(Parameters...), Parameters... parameters) {
    if (!driverLibrary()) return fail("there is no CUDA driver");
    const bulkhead::DriverTable* const table = driverTable();
    if (!table) return startAnew();
    const int result = (table->*call)(parameters...);
    if (result != 0) error = table->error();
    return result;
}

using Table = bulkhead::DriverTable;

}  // namespace

#define BULKHEAD_EXPORT extern "C" __attribute__((visibility("default")))

BULKHEAD_EXPORT int bulkhead_join(const char* partition) {
    return ask(&Table::join, partition);
}
BULKHEAD_EXPORT int bulkhead_leave(void) {
    return ask(&Table::leave);
}
BULKHEAD_EXPORT int bulkhead_query(bulkhead_place* place) {
    return place ? ask(&Table::query, place) : fail("bulkhead_query: null");
}
BULKHEAD_EXPORT int bulkhead_partitions(unsigned* count) {
    return count ? ask(&Table::partitions, count) : fail("bulkhead_partitions: null");
}
BULKHEAD_EXPORT int bulkhead_partition(unsigned index, bulkhead_place* place) {
    return place ? ask(&Table::partition, index, place) : fail("bulkhead_partition: null");
}
BULKHEAD_EXPORT int bulkhead_set_partitions(const char* partitions) {
    return ask(&Table::setPartitions, partitions);
}
BULKHEAD_EXPORT int bulkhead_physical_address(const void* device, unsigned long long* physical) {
    return physical ? ask(&Table::physicalAddress, device, physical) : fail("bulkhead_physical_address: null");
}
BULKHEAD_EXPORT const char* bulkhead_error(void) {
    return error.c_str();
}
