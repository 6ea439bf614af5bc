#include "cli/triton_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "cli/run.h"
#include "sim/exec/tensor_map.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kWarpThreads = 32, kMostWarps = 32;

/// The kernels that a folder has PTX of.
std::vector<std::string> kernelsIn(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (entry->path().extension() == ".ptx") names.push_back(entry->path().stem().string());
    if (failed) throw Error("{}: {}", folder.string(), failed.message());
    std::sort(names.begin(), names.end());
    return names;
}

void expectCuda(JsonObject& launch) {
    JsonObject target(launch.at("target"), launch.where() + ": target");
    const auto backend = target.get<std::string>("backend");
    if (backend != "cuda") throw Error("{}: backend: '{}' is not 'cuda'", target.where(), backend);
    std::uint32_t warp = kWarpThreads;
    target.read("warp_size", warp);
    if (warp != kWarpThreads) throw Error("{}: warp_size: {} is not {}", target.where(), warp, kWarpThreads);
}

/// Triton 3.6 has `num_ctas` blocks beside each other in x; before, `cluster_dims` said how they lie.
Extent clusterOf(JsonObject& launch) {
    constexpr std::uint32_t kMost = 16;
    std::uint32_t blocks = 1;
    launch.read("num_ctas", blocks);
    std::array<std::uint32_t, 3> cluster = {blocks, 1, 1};
    launch.read("cluster_dims", cluster);
    const auto [x, y, z] = cluster;
    if (x == 0 || x > kMost || y == 0 || y > kMost || z == 0 || z > kMost || x * y * z != blocks || blocks > kMost)
        throw Error("{}: {} blocks (num_ctas) are no cluster of {} (cluster_dims), 1 to {}", launch.where(), blocks,
                    fmt::join(cluster, "x"), kMost);
    return {x, y, z};
}

/// One for each tensor that the program has described on the host.
std::vector<TritonTensor> tensorsOf(JsonObject& launch) {
    std::vector<TritonTensor> tensors;
    const nlohmann::json* all = launch.find("tensordesc_meta");
    if (!all || all->is_null()) return tensors;
    if (!all->is_array()) throw Error("{}: tensordesc_meta: is not a list", launch.where());
    for (const nlohmann::json& one : *all) {
        if (one.is_null()) continue;
        JsonObject meta(one, launch.where() + ": tensordesc_meta");
        TritonTensor& tensor = tensors.emplace_back();
        tensor.elementBytes = meta.get<std::uint32_t>("elem_size");
        tensor.element = meta.get<std::uint32_t>("elem_type");
        tensor.swizzle = meta.get<std::uint32_t>("swizzle");
        tensor.block = meta.get<std::vector<std::uint32_t>>("block_size");
        bool padded = false;
        meta.read("fp4_padded", padded);
        if (padded) throw Error("{}: tensors of four bits with padding are of GPUs after sm_90", meta.where());
        const bool fits = std::ranges::all_of(
            tensor.block, [](std::uint32_t extent) { return extent >= 1 && extent <= sim::TensorMap::kMostBox; });
        if (tensor.block.empty() || tensor.block.size() > 5 || !fits || tensor.swizzle > 3 || tensor.element > 12)
            throw Error("{}: describes no tensor of sm_90", meta.where());
    }
    return tensors;
}

template <class T>
std::vector<std::uint8_t> bytesOf(const T& value, std::size_t bytes = sizeof(T)) {
    std::vector<std::uint8_t> all(bytes);
    std::memcpy(all.data(), &value, sizeof value);
    return all;
}

/// As Triton has the driver encode it.
sim::TensorMap tensorMap(const TritonTensor& tensor, const KernelArgument& argument,
                         const std::vector<std::uint64_t>& strides, std::uint64_t address) {
    const std::size_t rank = argument.shape.size();
    if (rank != tensor.block.size())
        throw Error("--arg {}: the kernel wants a tensor of {} dimensions", argument.text, tensor.block.size());
    if (argument.elementBytes != tensor.elementBytes)
        throw Error("--arg {}: the kernel wants elements of {} bytes", argument.text, tensor.elementBytes);
    sim::TensorMap map;
    map.element = static_cast<sim::TensorMap::Element>(tensor.element);
    map.rank = static_cast<std::uint8_t>(rank);
    map.swizzle = static_cast<sim::TensorMap::Swizzle>(tensor.swizzle);
    map.address = address;
    for (std::size_t d = 0; d < rank; ++d) {
        const std::size_t from = rank - 1 - d;
        map.box[d] = static_cast<std::uint16_t>(tensor.block[from]);
        map.elementStrides[d] = 1;
        map.extent[d] = static_cast<std::uint32_t>(argument.shape[from] - 1);
        if (d == 0) continue;
        map.stride[d - 1] = strides[from] * tensor.elementBytes;
        if (map.stride[d - 1] % 16)
            throw Error("--arg {}: rows of {} bytes, which is not a multiple of 16", argument.text, map.stride[d - 1]);
    }
    return map;
}

}  // namespace

TritonKernel readTritonFolder(const fs::path& folder, const std::string& name) {
    const std::vector<std::string> kernels = kernelsIn(folder);
    if (kernels.empty())
        throw Error(
            "{}: is a folder without a file .ptx: run takes a workload, a PTX file, or a folder that Triton has "
            "left in its cache",
            folder.string());
    const std::string chosen = chooseKernel(folder.string(), kernels, name);
    const fs::path description = folder / (chosen + ".json");
    std::error_code unknown;
    if (!fs::exists(description, unknown))
        throw Error("{}: has {}.ptx, but no {}.json that says how it is launched", folder.string(), chosen, chosen);
    const nlohmann::json json = readJson(description);
    JsonObject launch(json, description.string());
    TritonKernel kernel;
    kernel.file = (folder / (chosen + ".ptx")).string();
    kernel.name = launch.get<std::string>("name");
    expectCuda(launch);
    kernel.cluster = clusterOf(launch);
    kernel.tensors = tensorsOf(launch);
    const auto warps = launch.get<std::uint32_t>("num_warps");
    if (warps == 0 || warps > kMostWarps)
        throw Error("{}: num_warps: {} is not 1 to {}", launch.where(), warps, kMostWarps);
    kernel.threads = warps * kWarpThreads;
    kernel.sharedBytes = launch.get<std::uint32_t>("shared");
    for (const char* key : {"global_scratch_size", "profile_scratch_size"})
        if (launch.find(key)) kernel.scratch.push_back(launch.get<std::uint64_t>(key));
    return kernel;
}

std::vector<KernelArgument> scratchArguments(const TritonKernel& kernel, std::uint64_t blocks, Bytes mostBytes) {
    std::vector<KernelArgument> arguments;
    for (const std::uint64_t bytes : kernel.scratch) {
        if (bytes > 0 && blocks > mostBytes / bytes)
            throw Error("{}: {} bytes of memory for each of {} blocks are more than there is", kernel.file, bytes,
                        blocks);
        const std::string text = bytes == 0 ? "i64:0" : fmt::format("i8[{}]", bytes * blocks);
        arguments.push_back(parseKernelArgument(text, mostBytes));
    }
    return arguments;
}

std::vector<std::vector<std::uint8_t>> tensorParameters(const TritonKernel& kernel, const KernelArgument& argument,
                                                        std::size_t nth, std::uint64_t address) {
    const std::vector<std::uint64_t>& shape = argument.shape;
    std::vector<std::uint64_t> strides(shape.size(), 1);
    for (std::size_t d = shape.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * shape[d];
    std::vector<std::vector<std::uint8_t>> values;
    if (kernel.tensors.empty()) {
        values.push_back(bytesOf(address));
        for (const std::uint64_t extent : shape) values.push_back(bytesOf(extent));
        for (const std::uint64_t stride : strides) values.push_back(bytesOf(stride));
        values.push_back(bytesOf(std::uint8_t{0}));  // what is outside reads as 0
    } else {
        if (nth >= kernel.tensors.size())
            throw Error("--arg {}: the kernel has {} tensors", argument.text, kernel.tensors.size());
        values.push_back(bytesOf(tensorMap(kernel.tensors[nth], argument, strides, address), sim::TensorMap::kBytes));
    }
    for (const std::uint64_t extent : shape) values.push_back(bytesOf(static_cast<std::uint32_t>(extent)));
    for (const std::uint64_t stride : strides) values.push_back(bytesOf(stride));
    return values;
}

}  // namespace bulkhead::cli
