#include "walls/green_place.h"

#include <algorithm>

#include "base/error.h"
#include "gpu/real_driver.h"
#include "walls.ptx.h"

namespace bulkhead::walls {
namespace {

using driver::CUdevResource;
using driver::CUstream;

// Long enough that no block has left before the last one was placed; simulated time is dear.
constexpr long long kStayCycles = 20'000, kSimulatedStayCycles = 1'000;
constexpr unsigned kBlocksPerMultiprocessor = 2, kThreads = 1024, kAttempts = 50;

driver::CUdevice deviceOf(gpu::Gpu& gpu) {
    driver::CUdevice device = 0;
    gpu.context().makeCurrent();
    gpu::check(gpu.api(), gpu.api().cuCtxGetDevice(&device), "cannot tell the current GPU");
    return device;
}

unsigned multiprocessorsOf(gpu::Gpu& gpu) {
    return static_cast<unsigned>(gpu.info().multiprocessors);
}

unsigned countOf(const SmSet& sms) {
    return static_cast<unsigned>(std::count(sms.begin(), sms.end(), true));
}

}  // namespace

GreenPlace::GreenPlace(gpu::Gpu& gpu, std::vector<CUdevResource> groups) : api_(gpu.api()) {
    const driver::CUdevice device = deviceOf(gpu);
    driver::CUdevResourceDesc description = nullptr;
    gpu::check(api_, api_.cuDevResourceGenerateDesc(&description, groups.data(), static_cast<unsigned>(groups.size())),
               "cannot join multiprocessors");
    constexpr unsigned kDefaultStream = 1;
    driver::CUgreenCtx green = nullptr;
    gpu::check(api_, api_.cuGreenCtxCreate(&green, description, device, kDefaultStream), "cannot make a green context");
    green_ = {green, api_.cuGreenCtxDestroy};
    gpu::check(api_, api_.cuCtxFromGreenCtx(&context_, green), "cannot use a green context");
    unsigned expected = 0;
    for (const CUdevResource& group : groups) expected += group.smCount();
    see(gpu, expected);
}

driver::CUresult GreenPlace::createStream(CUstream* stream, int priority) const {
    constexpr unsigned kNonBlocking = 1;
    return api_.cuGreenCtxStreamCreate(stream, green_.get(), kNonBlocking, priority);
}

driver::CUresult GreenPlace::note(driver::CUdeviceptr bits, long long cycles, unsigned blocks) const {
    driver::CUmodule module = nullptr;
    driver::CUfunction function = nullptr;
    CUstream stream = nullptr;
    void* parameters[] = {&bits, &cycles};
    driver::CUresult result = api_.cuModuleLoadData(&module, kWallsPtx);
    const auto then = [&](auto call) {
        if (result == driver::CUDA_SUCCESS) result = call();
    };
    then([&] { return api_.cuModuleGetFunction(&function, module, "noteMultiprocessors"); });
    then([&] { return createStream(&stream, 0); });
    then([&] { return api_.cuLaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr); });
    then([&] { return api_.cuStreamSynchronize(stream); });
    if (stream) api_.cuStreamDestroy(stream);
    if (module) api_.cuModuleUnload(module);
    return result;
}

/// Where others are at work there may be no room for a while.
void GreenPlace::see(gpu::Gpu& gpu, unsigned expected) {
    const unsigned count = multiprocessorsOf(gpu);
    const long long cycles = gpu.simulator() ? kSimulatedStayCycles : kStayCycles;
    gpu::Array<std::uint32_t> bits = gpu.context().array(std::vector<std::uint32_t>((count + 31) / 32, 0));
    multiprocessors_.assign(count, false);
    for (unsigned i = 0; i < kAttempts && countOf(multiprocessors_) < expected; ++i) {
        gpu::check(api_, api_.cuCtxSetCurrent(context_), "cannot use a green context");
        const driver::CUresult result = note(bits.address(), cycles, kBlocksPerMultiprocessor * count);
        gpu.context().makeCurrent();
        gpu::check(api_, result, "cannot see where a green context is");
        const std::vector<std::uint32_t> words = bits.download();
        for (std::size_t sm = 0; sm < count; ++sm) multiprocessors_[sm] = (words[sm / 32] >> sm % 32 & 1) != 0;
    }
}

GreenGroups::GreenGroups(gpu::Gpu& gpu) : gpu_(gpu) {
    try {
        if (split()) findMembers();
    } catch (const Error&) {
        groups_.clear();
    }
}

bool GreenGroups::split() {
    const driver::DriverApi& api = gpu_.api();
    if (!api.cuGreenCtxCreate || !api.cuDevSmResourceSplitByCount) return false;
    CUdevResource all = {}, rest = {};
    if (api.cuDeviceGetDevResource(deviceOf(gpu_), &all, driver::kDevResourceSm) != driver::CUDA_SUCCESS) return false;
    // Groups for clusters of blocks are larger; launches inside walls have no clusters.
    constexpr unsigned kIgnoreCoscheduling = 1;
    auto count = static_cast<unsigned>(all.smCount());
    groups_.resize(count);
    if (api.cuDevSmResourceSplitByCount(groups_.data(), &count, &all, &rest, kIgnoreCoscheduling, 1) !=
        driver::CUDA_SUCCESS) {
        groups_.clear();
        return false;
    }
    groups_.resize(count);
    if (rest.smCount() > 0) groups_.push_back(rest);
    return true;
}

/// Which group a multiprocessor is in, a binary digit of the group's number at a time: a place with all groups that
/// have the digit shows the multiprocessors of these.
void GreenGroups::findMembers() {
    const unsigned count = multiprocessorsOf(gpu_);
    std::vector<std::size_t> numberOf(count, 0);  // from 1 on: 0 is in no place
    for (unsigned digit = 0; groups_.size() >> digit != 0; ++digit) {
        std::vector<CUdevResource> chosen;
        for (std::size_t i = 0; i < groups_.size(); ++i)
            if ((i + 1) >> digit & 1) chosen.push_back(groups_[i]);
        const GreenPlace place(gpu_, chosen);
        for (unsigned sm = 0; sm < count; ++sm)
            if (place.multiprocessors()[sm]) numberOf[sm] |= std::size_t{1} << digit;
    }
    members_.assign(groups_.size(), SmSet(count, false));
    for (unsigned sm = 0; sm < count; ++sm)
        if (numberOf[sm] > 0 && numberOf[sm] <= groups_.size()) members_[numberOf[sm] - 1][sm] = true;
    for (std::size_t i = 0; i < groups_.size(); ++i)
        if (countOf(members_[i]) != groups_[i].smCount()) return groups_.clear();
}

std::shared_ptr<GreenPlace> GreenGroups::place(const SmSet& wanted) {
    std::vector<CUdevResource> chosen;
    SmSet covered(wanted.size(), false);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const SmSet& group = members_[i];
        bool inside = true;
        for (std::size_t sm = 0; sm < wanted.size(); ++sm) inside = inside && (!group[sm] || wanted[sm]);
        if (!inside) continue;
        chosen.push_back(groups_[i]);
        for (std::size_t sm = 0; sm < wanted.size(); ++sm) covered[sm] = covered[sm] || group[sm];
    }
    if (chosen.empty() || covered != wanted) return nullptr;
    auto made = std::make_shared<GreenPlace>(gpu_, std::move(chosen));
    if (made->multiprocessors() != wanted) throw Error("a green context has other multiprocessors than it was given");
    return made;
}

}  // namespace bulkhead::walls
