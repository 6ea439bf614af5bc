#include "corun/process_sharing.h"

#include <fmt/format.h>

#include "gpu/gpu_name.h"
#include "gpu/real_driver.h"
#include "isolate/partitions.h"

namespace bulkhead::corun {
namespace {

constexpr double kIsolateSeconds = 120;

std::string nameOf(unsigned partition, unsigned partitions) {
    return isolate::equalPartitions(partitions).at(partition).name;
}

Bytes memoryOf(const std::string& gpu) {
    std::size_t all = 0;
    gpu::check(gpu::realDriver(),
               gpu::realDriver().cuDeviceTotalMem(&all, gpu::realDevice(gpu::GpuName::parse(gpu).ordinal)),
               "cannot tell how much memory the GPU has");
    return all;
}

}  // namespace

ProcessSharing::ProcessSharing(const CoRunSpec& spec)
    : gpu_(spec.gpu), sharing_(spec.sharing), walls_(findSharing(spec.sharing.way).walls) {
    if (!findSharing(sharing_.way).timeSliced) daemon_ = std::make_unique<experiment::MpsDaemon>();
    if (!sharing_.leased) return;
    leases_.emplace("leases");
    std::vector<std::string> set = {"set", "--partitions", fmt::format("{}", sharing_.partitions)};
    if (!spec.map.empty()) set.insert(set.end(), {"--map", spec.map});
    if (isolate(set) != 0) {
        isolate({"clear"});
        throw Error("{}: {} partitions cannot be set", gpu_, sharing_.partitions);
    }
}

ProcessSharing::~ProcessSharing() {
    if (leases_) isolate({"clear"});
}

/// Of bulkhead isolate, on this GPU and in this folder of leases. Its exit code.
int ProcessSharing::isolate(std::vector<std::string> words) const {
    words.insert(words.begin(), {"/proc/self/exe", "isolate"});
    words.insert(words.end(), {"--gpu", gpu_, "--leases", leases_->path().string()});
    experiment::ChildProcess process(words, environment());
    return process.wait(kIsolateSeconds);
}

std::vector<std::string> ProcessSharing::words(unsigned partition, const std::string& verb) const {
    if (!leases_) return {verb};
    return {"isolate",     "run",
            "--gpu",       gpu_,
            "--leases",    leases_->path().string(),
            "--partition", nameOf(partition, sharing_.partitions),
            "--walls",     walls_ == WallsAround::compute ? "compute" : "both",
            "--",          std::filesystem::canonical("/proc/self/exe").string(),
            verb};
}

experiment::ChildProcess::Environment ProcessSharing::limits() const {
    experiment::ChildProcess::Environment all;
    if (sharing_.limitThreads)
        all.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", 100 / sharing_.partitions));
    if (sharing_.limitMemory)
        all.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt::format("{}={}M", gpu::GpuName::parse(gpu_).ordinal,
                                                                         (memoryOf(gpu_) >> 20) / sharing_.partitions));
    return all;
}

experiment::ChildProcess::Environment ProcessSharing::environment() const {
    // Who takes turns is a client of nobody's daemon.
    if (!daemon_) return {{"CUDA_MPS_PIPE_DIRECTORY", "/nonexistent"}};
    experiment::ChildProcess::Environment all = daemon_->environment();
    for (auto& limit : limits()) all.push_back(std::move(limit));
    return all;
}

std::string ProcessSharing::gpuInside() const {
    return leases_ ? "cuda:0" : gpu_;
}

bool ProcessSharing::stop(unsigned partition) const {
    return leases_ && isolate({"stop", "--partition", nameOf(partition, sharing_.partitions)}) == 0;
}

}  // namespace bulkhead::corun
