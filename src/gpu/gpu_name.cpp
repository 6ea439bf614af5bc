#include "gpu/gpu_name.h"

#include <charconv>

#include "base/error.h"

namespace bulkhead::gpu {
namespace {

constexpr std::string_view kCuda = "cuda:", kSimulated = "sim:";

}  // namespace

GpuName GpuName::parse(std::string_view name) {
    if (!name.starts_with(kCuda)) {
        if (name.starts_with(kSimulated)) name.remove_prefix(kSimulated.size());
        return {Kind::simulated, 0, std::string(name)};
    }
    int ordinal = -1;
    const char *first = name.data() + kCuda.size(), *last = name.data() + name.size();
    const auto [end, error] = std::from_chars(first, last, ordinal);
    if (error != std::errc() || end != last || ordinal < 0) throw Error("no GPU {}: write cuda:0, cuda:1, ...", name);
    return {Kind::cuda, ordinal};
}

std::string_view originOf(std::string_view gpus) {
    return gpus.starts_with(kCuda) ? "hardware" : "simulated";
}

}  // namespace bulkhead::gpu
