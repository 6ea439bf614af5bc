#include "driver/readable_memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace bulkhead::driver {

Bytes readableFrom(const void* address, Bytes most) {
    std::ifstream maps("/proc/self/maps");
    if (!maps) return most;
    const auto begin = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
    std::uint64_t end = begin;
    for (std::string line; end - begin < most && std::getline(maps, line);) {
        std::uint64_t first = 0, last = 0;
        char readable = '-';
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %c", &first, &last, &readable) != 3) continue;
        if (last <= end) continue;
        if (first > end || readable != 'r') break;
        end = last;
    }
    return std::min(most, end - begin);
}

}  // namespace bulkhead::driver
