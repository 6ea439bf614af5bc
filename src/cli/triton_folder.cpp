#include "cli/triton_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"
#include "cli/run.h"

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

void expectNoClusters(JsonObject& launch) {
    std::uint32_t blocks = 1;
    launch.read("num_ctas", blocks);
    std::array<std::uint32_t, 3> cluster = {1, 1, 1};
    launch.read("cluster_dims", cluster);
    if (blocks != 1 || cluster != std::array<std::uint32_t, 3>{1, 1, 1})
        throw Error("{}: the kernel is launched in clusters of {} blocks ({}), which is not supported", launch.where(),
                    blocks, fmt::join(cluster, "x"));
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
    expectNoClusters(launch);
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

}  // namespace bulkhead::cli
