#include "libcuda/devices.h"

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/split.h"
#include "driver/simulated_driver.h"
#include "gpu/simulated_device.h"
#include "libcuda/beside.h"
#include "libcuda/interruption.h"
#include "libcuda/progress.h"
#include "libcuda/statistics.h"
#include "walls/context_registry.h"

namespace bulkhead::libcuda {
namespace {

bool isOn(const char* variable, const char* what) {
    const std::string text = environment(variable);
    if (!text.empty() && text != "0" && text != "1")
        throw Error("{} is '{}': give 1 to {}, or 0", variable, text, what);
    return text == "1";
}

sim::Timing wantedTiming() {
    const bool sample = isOn("BULKHEAD_SAMPLE", "time some launches and blocks only"),
               functional = isOn("BULKHEAD_FUNCTIONAL", "time nothing");
    if (sample && functional) throw Error("BULKHEAD_SAMPLE and BULKHEAD_FUNCTIONAL are both 1: give one of them");
    return sample ? sim::Timing::sampled : functional ? sim::Timing::functional : sim::Timing::whole;
}

bool hasStrictBounds() {
    const std::string text = environment("BULKHEAD_BOUNDS", "relaxed");
    if (text != "strict" && text != "relaxed") throw Error("BULKHEAD_BOUNDS is '{}': give strict or relaxed", text);
    return text == "strict";
}

arch::DeviceProfile profileOf(const std::string& name, const std::vector<std::string>& settings) {
    arch::DeviceProfile profile = arch::findProfile(name);
    arch::applySettings(profile, settings);
    return profile;
}

void addDevice(const std::string& name, const std::string& scheduler, const std::vector<std::string>& settings) {
    gpu::SimulationOptions options;
    options.scheduler = scheduler;
    options.settings = settings;
    options.timing = wantedTiming();
    options.observer = &Statistics::instance().watch(profileOf(name, settings), scheduler);
    options.heartbeat = [](const gpu::LaunchCounters& gpu) {
        Progress::instance().look(gpu);
        endIfInterrupted();
    };
    Statistics::instance().began(gpu::addDevice(name, options));
}

bool addDevices() {
    try {
        if (openBeside()) return true;
        const std::vector<std::string> settings = splitWords(environment("BULKHEAD_SET"), ' ');
        const std::string scheduler = environment("BULKHEAD_SCHEDULER", "gto");
        for (const std::string& gpu : splitWords(environment("BULKHEAD_GPU", "sim:gtx1080"), ','))
            addDevice(gpu, scheduler, settings);
        gpu::workWhileHostWaits(true);
        if (!hasStrictBounds())
            gpu::relaxBounds([](const std::string& what) { fmt::print(stderr, "bulkhead: warning: {}\n", what); });
        writeStatisticsWhenInterrupted();
    } catch (const Error& error) {
        fmt::print(stderr, "bulkhead: {}\n", error.what());
    }
    return true;
}

bool worthExplaining(driver::CUresult code) {
    using namespace driver;
    switch (code) {
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_INVALID_SOURCE:
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_NOT_SUPPORTED:
            return true;
        default:
            return false;
    }
}

}  // namespace

GpuChoice chosenGpu() {
    return {split(environment("BULKHEAD_GPU", "sim:gtx1080"), ',').front(), environment("BULKHEAD_SCHEDULER", "gto"),
            splitWords(environment("BULKHEAD_SET"), ' ')};
}

gpu::Gpu openChosenGpu() {
    const GpuChoice choice = chosenGpu();
    gpu::SimulationOptions options;
    options.scheduler = choice.scheduler;
    options.settings = choice.settings;
    const bool counts = gpu::capabilitiesOf(choice.name).launchCounters;
    if (counts)
        options.observer = &Statistics::instance().watch(profileOf(choice.name, choice.settings), choice.scheduler);
    gpu::Gpu gpu = gpu::Gpu::open(choice.name, options);
    if (counts) Statistics::instance().began(gpu.launchCounters());
    return gpu;
}

void addChosenDevices() {
    static const bool added = addDevices();
    (void)added;
}

driver::CUresult explained(driver::CUresult code) {
    if (!worthExplaining(code)) return code;
    static std::mutex* mutex = new std::mutex;
    static auto* said = new std::set<std::string>;
    const std::string atWall = walls::lastError();
    const std::string why = atWall.empty() ? gpu::lastError() : atWall;
    const std::lock_guard lock(*mutex);
    if (!why.empty() && said->insert(why).second) fmt::print(stderr, "bulkhead: {}\n", why);
    return code;
}

}  // namespace bulkhead::libcuda
