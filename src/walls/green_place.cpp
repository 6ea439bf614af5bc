#include "walls/green_place.h"

#include <algorithm>

#include "base/error.h"
#include "gpu/real_driver.h"
#include "walls.ptx.h"

namespace bulkhead::walls {
namespace {

using driver::CUdevResource;
using driver::CUstream;

// Long enough that no block has left before the last one was placed.
constexpr long long kStayCycles = 20'000, kShortStayCycles = 1'000;
constexpr unsigned kBlocksPerSm = 2, kThreads = 1024, kLaunches = 50;

driver::CUdevice deviceOf(gpu::Gpu& gpu) {
    driver::CUdevice device = 0;
    gpu.context().makeCurrent();
    gpu::check(gpu.api(), gpu.api().cuCtxGetDevice(&device), "cannot tell the current GPU");
    return device;
}

unsigned smsOf(gpu::Gpu& gpu) {
    return static_cast<unsigned>(gpu.info().sms);
}

unsigned countOf(const SmSet& sms) {
    return static_cast<unsigned>(std::count(sms.begin(), sms.end(), true));
}

}  // namespace

GreenPlace::GreenPlace(gpu::Gpu& gpu, std::vector<CUdevResource> groups, const SmSet& names) : api_(gpu.api()) {
    const driver::CUdevice device = deviceOf(gpu);
    driver::CUdevResourceDesc description = nullptr;
    gpu::check(api_, api_.cuDevResourceGenerateDesc(&description, groups.data(), static_cast<unsigned>(groups.size())),
               "cannot join SMs");
    constexpr unsigned kDefaultStream = 1;
    driver::CUgreenCtx green = nullptr;
    gpu::check(api_, api_.cuGreenCtxCreate(&green, description, device, kDefaultStream), "cannot make a green context");
    green_ = {green, api_.cuGreenCtxDestroy};
    gpu::check(api_, api_.cuCtxFromGreenCtx(&context_, green), "cannot use a green context");
    unsigned expected = 0;
    for (const CUdevResource& group : groups) expected += group.smCount();
    see(gpu, expected);
    if (!names.empty() && countOf(names) == countOf(sms_)) sms_ = names;
}

driver::CUresult GreenPlace::createStream(CUstream* stream, int priority) const {
    constexpr unsigned kNonBlocking = 1;
    return api_.cuGreenCtxStreamCreate(stream, green_.get(), kNonBlocking, priority);
}

void GreenPlace::launch(gpu::Gpu& gpu, const char* ptx, const char* kernel, unsigned blocks, unsigned threads,
                        void** parameters) const {
    gpu::check(api_, api_.cuCtxSetCurrent(context_), "cannot use a green context");
    driver::CUmodule module = nullptr;
    driver::CUfunction function = nullptr;
    CUstream stream = nullptr;
    driver::CUresult result = api_.cuModuleLoadData(&module, ptx);
    const auto then = [&](auto call) {
        if (result == driver::CUDA_SUCCESS) result = call();
    };
    then([&] { return api_.cuModuleGetFunction(&function, module, kernel); });
    then([&] { return createStream(&stream, 0); });
    then([&] { return api_.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr); });
    then([&] { return api_.cuStreamSynchronize(stream); });
    if (stream) api_.cuStreamDestroy(stream);
    if (module) api_.cuModuleUnload(module);
    gpu.context().makeCurrent();
    gpu::check(api_, result, "cannot see where a green context is");
}

dissect::Times GreenPlace::timeAtomics(gpu::Gpu& gpu, const std::vector<std::uint64_t>& addresses) const {
    // A single block has all of the work, wherever it is.
    unsigned count = static_cast<unsigned>(addresses.size()), repeats = 8, anywhere = ~0u;
    const gpu::Array<std::uint64_t> list = gpu.context().array(addresses);
    const auto times = gpu.context().array<std::uint32_t>(count), where = gpu.context().array<std::uint32_t>(count);
    driver::CUdeviceptr from = list.address(), nobody = 0, to = times.address(), at = where.address();
    void* parameters[] = {&from, &count, &repeats, &anywhere, &nobody, &to, &at};
    // What disturbs them makes them longer.
    constexpr int kRounds = 3;
    dissect::Times least(addresses.size(), ~0U);
    for (int round = 0; round < kRounds; ++round) {
        launch(gpu, dissect::Probe::deviceCode(), "timeAtomics", 1, 1, parameters);
        const dissect::Times now = times.download();
        for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], now[i]);
    }
    return least;
}

/// Where others are at work there may be no room for a while.
void GreenPlace::see(gpu::Gpu& gpu, unsigned expected) {
    const unsigned count = smsOf(gpu);
    const long long cycles = gpu.capabilities().costly ? kShortStayCycles : kStayCycles;
    gpu::Array<std::uint32_t> bits = gpu.context().array(std::vector<std::uint32_t>((count + 31) / 32, 0));
    sms_.assign(count, false);
    for (unsigned i = 0; i < kLaunches && countOf(sms_) < expected; ++i) {
        driver::CUdeviceptr to = bits.address();
        long long stay = cycles;
        void* parameters[] = {&to, &stay};
        launch(gpu, kWallsPtx, "noteSms", kBlocksPerSm * count, kThreads, parameters);
        const std::vector<std::uint32_t> words = bits.download();
        for (std::size_t sm = 0; sm < count; ++sm) sms_[sm] = (words[sm / 32] >> sm % 32 & 1) != 0;
    }
}

std::vector<std::size_t> groupsInPlaceOf(const SmSet& wanted, const std::vector<dissect::L2Region>& regionOfSm,
                                         const std::vector<dissect::L2Region>& regionOfGroup,
                                         const std::vector<unsigned>& sizeOfGroup) {
    std::vector<std::size_t> chosen;
    for (const dissect::L2Region region : dissect::kL2Regions) {
        std::vector<std::size_t> sms;
        for (std::size_t sm = 0; sm < wanted.size(); ++sm)
            if (regionOfSm[sm] == region) sms.push_back(sm);
        std::size_t at = 0;
        for (std::size_t group = 0; group < regionOfGroup.size(); ++group) {
            if (regionOfGroup[group] != region) continue;
            if (at + sizeOfGroup[group] > sms.size()) return {};
            unsigned inside = 0;
            for (unsigned i = 0; i < sizeOfGroup[group]; ++i) inside += wanted[sms[at++]] ? 1 : 0;
            if (inside != 0 && inside != sizeOfGroup[group]) return {};
            if (inside != 0) chosen.push_back(group);
        }
        if (at != sms.size()) return {};
    }
    return chosen;
}

GreenGroups::GreenGroups(gpu::Gpu& gpu, const L2Topology& topology, const std::optional<dissect::Sides>& sides,
                         const std::optional<dissect::L2Regions>& regions)
    : gpu_(gpu), topology_(topology) {
    try {
        if (split() && !findMembers()) findRegions(sides, regions);
    } catch (const Error&) {
        groups_.clear();
    }
}

GreenGroups::GreenGroups(gpu::Gpu& gpu, const L2Topology& topology, std::vector<dissect::L2Region> regionOfGroup)
    : gpu_(gpu), topology_(topology), regionOfGroup_(std::move(regionOfGroup)) {
    if (!split() || groups_.size() != regionOfGroup_.size()) groups_.clear();
}

std::vector<dissect::L2Region> GreenGroups::regions() const {
    if (members_.empty()) return regionOfGroup_;
    std::vector<dissect::L2Region> regions;
    for (const SmSet& members : members_)
        regions.push_back(topology_.regionOf.at(
            static_cast<std::size_t>(std::find(members.begin(), members.end(), true) - members.begin())));
    return regions;
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

/// Which group an SM is in, a binary digit of the group's number at a time: a place with all groups that
/// have the digit shows the SMs of these.
bool GreenGroups::findMembers() {
    const unsigned count = smsOf(gpu_);
    std::vector<std::size_t> numberOf(count, 0);  // from 1 on: 0 is in no place
    bool anew = true;                             // every place has its SMs numbered from 0
    for (unsigned digit = 0; groups_.size() >> digit != 0; ++digit) {
        std::vector<CUdevResource> chosen;
        for (std::size_t i = 0; i < groups_.size(); ++i)
            if ((i + 1) >> digit & 1) chosen.push_back(groups_[i]);
        const GreenPlace place(gpu_, chosen);
        for (unsigned sm = 0; sm < count; ++sm)
            if (place.sms()[sm]) numberOf[sm] |= std::size_t{1} << digit;
        const unsigned inside = countOf(place.sms());
        for (unsigned sm = 0; sm < count; ++sm) anew = anew && place.sms()[sm] == (sm < inside);
    }
    if (anew && groups_.size() > 1) return false;
    members_.assign(groups_.size(), SmSet(count, false));
    for (unsigned sm = 0; sm < count; ++sm)
        if (numberOf[sm] > 0 && numberOf[sm] <= groups_.size()) members_[numberOf[sm] - 1][sm] = true;
    for (std::size_t i = 0; i < groups_.size(); ++i)
        if (countOf(members_[i]) != groups_[i].smCount()) throw Error("groups that cannot be told apart");
    return true;
}

void GreenGroups::findRegions(const std::optional<dissect::Sides>& sides,
                              const std::optional<dissect::L2Regions>& regions) {
    regionOfGroup_.assign(groups_.size(), {});
    if (!sides) return;
    for (std::size_t i = 0; i < groups_.size(); ++i)
        regionOfGroup_[i] =
            dissect::regionOf(*sides, regions, GreenPlace(gpu_, {groups_[i]}).timeAtomics(gpu_, sides->addresses));
}

bool GreenGroups::agree(const std::array<std::vector<std::uint64_t>, 2>& onSide) const {
    constexpr double kNearer = 1.15;  // an H200's other side is 1.5 times as far
    const std::vector<dissect::L2Region> regions = this->regions();
    for (const dissect::L2Region region : dissect::kL2Regions) {
        std::ptrdiff_t sms = 0;
        for (std::size_t i = 0; i < groups_.size(); ++i)
            if (regions.at(i) == region) sms += groups_[i].smCount();
        if (sms != std::count(topology_.regionOf.begin(), topology_.regionOf.end(), region)) return false;
    }
    std::vector<std::uint64_t> addresses = onSide[0];
    addresses.insert(addresses.end(), onSide[1].begin(), onSide[1].end());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const dissect::Times times = GreenPlace(gpu_, {groups_[i]}).timeAtomics(gpu_, addresses);
        std::array<double, 2> mean = {};
        for (std::size_t k = 0; k < times.size(); ++k) {
            const std::size_t side = k < onSide[0].size() ? 0 : 1;
            mean.at(side) += static_cast<double>(times[k]) / static_cast<double>(onSide.at(side).size());
        }
        const std::uint8_t own = regions[i].side;
        if (mean.at(1 - own) < kNearer * mean.at(own)) return false;
    }
    return true;
}

std::vector<std::size_t> GreenGroups::groupsOf(const SmSet& wanted) const {
    if (members_.empty()) {
        std::vector<unsigned> sizes;
        for (const CUdevResource& group : groups_) sizes.push_back(group.smCount());
        return groupsInPlaceOf(wanted, topology_.regionOf, regionOfGroup_, sizes);
    }
    std::vector<std::size_t> chosen;
    SmSet covered(wanted.size(), false);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const SmSet& group = members_[i];
        bool inside = true;
        for (std::size_t sm = 0; sm < wanted.size(); ++sm) inside = inside && (!group[sm] || wanted[sm]);
        if (!inside) continue;
        chosen.push_back(i);
        for (std::size_t sm = 0; sm < wanted.size(); ++sm) covered[sm] = covered[sm] || group[sm];
    }
    return covered == wanted ? chosen : std::vector<std::size_t>();
}

std::shared_ptr<GreenPlace> GreenGroups::place(const SmSet& wanted) {
    if (groups_.empty()) return nullptr;
    std::vector<CUdevResource> chosen;
    for (const std::size_t group : groupsOf(wanted)) chosen.push_back(groups_[group]);
    if (chosen.empty()) return nullptr;
    auto made = std::make_shared<GreenPlace>(gpu_, std::move(chosen), members_.empty() ? wanted : SmSet());
    if (made->sms() != wanted) throw Error("a green context has other SMs than requested");
    return made;
}

}  // namespace bulkhead::walls
