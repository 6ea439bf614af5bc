#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver/access_policy.h"
#include "driver/device_heap.h"
#include "driver/launch_attributes.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

const CUlaunchAttributeValue* attributeOf(const CUlaunchAttributes& attributes, LaunchAttribute id) {
    const auto found = attributes.find(static_cast<CUlaunchAttributeID>(id));
    return found == attributes.end() ? nullptr : &found->second;
}

/// The moment at which a launch will trigger the event.
sim::MarkerId markerOf(CUcontext context, CUevent event) {
    require(known(event)->context->root == context->root, CUDA_ERROR_INVALID_HANDLE, "an event of another context");
    require(!event->timed, CUDA_ERROR_INVALID_VALUE, "a kernel triggers events without timing only");
    event->captured = {};
    event->marker = gpuOf(context).createMarker();
    return *event->marker;
}

/// When the launch may start, and which moments of it others wait for.
void orderLaunch(CUcontext context, const CUlaunchAttributes& attributes, sim::LaunchSpec& spec) {
    if (const auto* value = attributeOf(attributes, LaunchAttribute::programmaticSerialization))
        spec.startsEarly = value->programmaticStreamSerializationAllowed != 0;
    if (const auto* value = attributeOf(attributes, LaunchAttribute::launchCompletionEvent))
        spec.whenBegun = markerOf(context, value->launchCompletionEvent.event);
    if (const auto* value = attributeOf(attributes, LaunchAttribute::programmaticEvent)) {
        const auto& [event, flags, atStart] = value->programmaticEvent;
        require(!atStart || !spec.whenBegun, CUDA_ERROR_NOT_SUPPORTED,
                "two events that a kernel triggers at its start");
        (atStart ? spec.whenBegun : spec.whenLet) = markerOf(context, event);
    }
}

CUlaunchAttributes cooperatively() {
    CUlaunchAttributeValue yes = {};
    yes.cooperative = 1;
    return {{static_cast<CUlaunchAttributeID>(LaunchAttribute::cooperative), yes}};
}

}  // namespace

void requireCarveout(int percent) {
    require(percent >= sim::kNoCarveout && percent <= 100, CUDA_ERROR_INVALID_VALUE,
            "a carveout is a percentage, or -1");
}

void checkLaunchAttribute(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
    switch (static_cast<LaunchAttribute>(id)) {
        case LaunchAttribute::sharedCarveout:
            return requireCarveout(static_cast<int>(value.sharedMemCarveout));
        case LaunchAttribute::deviceUpdatableNode:
            throw Failure{CUDA_ERROR_NOT_SUPPORTED, "nodes that kernels update are not supported"};
        case LaunchAttribute::programmaticEvent:
        case LaunchAttribute::launchCompletionEvent:
        case LaunchAttribute::programmaticSerialization:
        case LaunchAttribute::cooperative:
        case LaunchAttribute::clusterDimension:
        case LaunchAttribute::ignore:
        case LaunchAttribute::accessPolicyWindow:
        case LaunchAttribute::synchronizationPolicy:
        case LaunchAttribute::clusterScheduling:
        case LaunchAttribute::priority:
        case LaunchAttribute::memorySyncDomainMap:
        case LaunchAttribute::memorySyncDomain:
        case LaunchAttribute::preferredClusterDimension:
        case LaunchAttribute::nvlinkScheduling:
            return;
    }
    throw Failure{CUDA_ERROR_INVALID_VALUE, fmt::format("no launch attribute has the number {}", id)};
}

void requireNoEvents(const CUlaunchAttributes& attributes) {
    require(!attributeOf(attributes, LaunchAttribute::programmaticEvent) &&
                !attributeOf(attributes, LaunchAttribute::launchCompletionEvent),
            CUDA_ERROR_NOT_SUPPORTED, "events that a kernel of a graph triggers are not supported");
}

bool KernelWork::cooperative() const {
    const CUlaunchAttributeValue* value = attributeOf(attributes, LaunchAttribute::cooperative);
    return value && value->cooperative != 0;
}

int KernelWork::carveout() const {
    const CUlaunchAttributeValue* value = attributeOf(attributes, LaunchAttribute::sharedCarveout);
    return value ? static_cast<int>(value->sharedMemCarveout) : function->settings.sharedCarveout;
}

std::optional<sim::Dim3> KernelWork::cluster() const {
    const sim::Dim3 required = requiredCluster(function);
    const auto found = attributes.find(static_cast<CUlaunchAttributeID>(LaunchAttribute::clusterDimension));
    if (found == attributes.end()) return required.count() ? std::optional(required) : std::nullopt;
    const auto& asked = found->second.clusterDim;
    if (!asked.x && !asked.y && !asked.z && !required.count()) return std::nullopt;
    const sim::Dim3 cluster{asked.x, asked.y, asked.z};
    require(cluster.count() != 0, CUDA_ERROR_INVALID_CLUSTER_SIZE, "a cluster of no blocks");
    require(!required.count() || cluster == required, CUDA_ERROR_INVALID_CLUSTER_SIZE,
            "another cluster than the kernel requires");
    return cluster;
}

void keepPriority(KernelWork& work, int priority) {
    if (priority == 0) return;
    CUlaunchAttributeValue value = {};
    value.priority = priority;
    work.attributes.try_emplace(static_cast<CUlaunchAttributeID>(LaunchAttribute::priority), value);
}

int KernelWork::priorityIn(CUstream stream) const {
    const auto found = attributes.find(static_cast<CUlaunchAttributeID>(LaunchAttribute::priority));
    if (found == attributes.end()) return stream->priority;
    return std::clamp(found->second.priority, greatestPriority(*context->device), 0);
}

namespace {

/// The parameter block from `extra`: a list of keys and values that ends with 0.
std::vector<std::uint8_t> packedParameters(void** extra, std::uint32_t wanted) {
    constexpr std::uintptr_t kEnd = 0, kPointer = 1, kSize = 2;
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (std::size_t i = 0; reinterpret_cast<std::uintptr_t>(extra[i]) != kEnd; i += 2) {
        const auto key = reinterpret_cast<std::uintptr_t>(extra[i]);
        require(key == kPointer || key == kSize, CUDA_ERROR_INVALID_VALUE, "an unknown key among the extra parameters");
        if (key == kPointer) buffer = extra[i + 1];
        if (key == kSize) bytes = *static_cast<const std::size_t*>(extra[i + 1]);
    }
    require(bytes == 0 || buffer, CUDA_ERROR_INVALID_VALUE, "a size without a buffer");
    require(bytes >= wanted, CUDA_ERROR_INVALID_VALUE, "the buffer is smaller than the kernel's parameters");
    std::vector<std::uint8_t> packed(wanted);
    if (wanted) std::memcpy(packed.data(), buffer, wanted);
    return packed;
}

std::vector<std::uint8_t> parametersOf(void** parameters, void** extra, const sim::Code& code) {
    require(!parameters || !extra, CUDA_ERROR_INVALID_VALUE, "parameters given in both ways");
    if (extra) return packedParameters(extra, code.kernelParamBytes);
    require(parameters || code.params.empty(), CUDA_ERROR_INVALID_VALUE, "the kernel has parameters");
    std::vector<std::uint8_t> packed(code.kernelParamBytes);
    for (std::size_t i = 0; i < code.params.size(); ++i) {
        require(parameters[i] != nullptr, CUDA_ERROR_INVALID_VALUE, "a parameter without a value");
        std::memcpy(packed.data() + code.params[i].offset, parameters[i], code.params[i].bytes);
    }
    return packed;
}

/// Sizes that no GPU takes are bad values; those that this kernel cannot have are too many resources.
sim::Occupancy occupancyOf(const KernelWork& launch) {
    CUfunction function = launch.function;
    const arch::DeviceProfile& profile = gpuOf(function->module->context).profile();
    const auto most = static_cast<std::uint64_t>(profile.sm.maxThreadsPerBlock);
    const sim::Dim3 &g = launch.grid, &b = launch.block;
    require(g.x && g.y && g.z && b.x && b.y && b.z, CUDA_ERROR_INVALID_VALUE, "a launch of no threads");
    require(g.x <= 0x7fff'ffff && g.y <= 0xffff && g.z <= 0xffff, CUDA_ERROR_INVALID_VALUE, "the grid is too large");
    require(b.x <= most && b.y <= most && b.z <= 64 && std::uint64_t{b.x} * b.y * b.z <= most, CUDA_ERROR_INVALID_VALUE,
            "the block is too large");
    const std::uint32_t bound = function->code->maxThreadsPerBlock;
    require(!bound || b.count() <= bound, CUDA_ERROR_INVALID_VALUE, "more threads than the kernel was compiled for");
    require(launch.sharedBytes <= dynamicSharedLimit(function), CUDA_ERROR_INVALID_VALUE,
            "more dynamic shared memory than the kernel has opted into "
            "(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)");
    try {
        return sim::occupancyOf(profile, *function->code, launch.block, launch.sharedBytes, launch.carveout());
    } catch (const Error& error) {
        throw Failure{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, error.what()};
    }
}

/// What the blocks of a cooperative grid synchronise by: a zeroed word or two, freed behind the launch.
constexpr Bytes kWorkspaceBytes = 256;

CUdeviceptr gridWorkspace(CUcontext context) {
    const CUdeviceptr address = memoryOf(context).allocate(kWorkspaceBytes);
    const std::vector<std::uint8_t> zeros(kWorkspaceBytes);
    writeDevice(context->root, address, zeros.data(), zeros.size());
    return address;
}

void requireCoResident(const KernelWork& launch, const sim::Occupancy& occupancy) {
    const std::vector<bool>& sms = launch.context->sms;
    const auto count = sms.empty() ? static_cast<std::uint64_t>(gpuOf(launch.context).profile().sm.count)
                                   : static_cast<std::uint64_t>(std::count(sms.begin(), sms.end(), true));
    require(launch.grid.count() <= count * occupancy.blocksPerSm, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            "not all blocks of the cooperative grid fit the GPU at once");
}

/// Portable: what every GPU that has clusters can hold.
constexpr std::uint64_t kPortableCluster = 8, kLargestCluster = 16;

void requireClusters(const KernelWork& launch, const sim::Occupancy& occupancy) {
    CUfunction function = launch.function;
    const std::optional<sim::Dim3> asked = launch.cluster();
    require(asked || !function->code->explicitCluster, CUDA_ERROR_INVALID_CLUSTER_SIZE,
            "the kernel must be launched with clusters");
    const sim::Dim3 cluster = asked.value_or(sim::Dim3{});
    if (cluster.count() == 1) return;
    const arch::DeviceProfile& profile = gpuOf(launch.context).profile();
    require(profile.cluster.sms != 0, CUDA_ERROR_NOT_SUPPORTED, "the GPU has no clusters");
    const sim::Dim3& g = launch.grid;
    require(g.x % cluster.x == 0 && g.y % cluster.y == 0 && g.z % cluster.z == 0, CUDA_ERROR_INVALID_CLUSTER_SIZE,
            "the grid is not a multiple of its clusters");
    const std::uint64_t most = function->settings.nonPortableCluster ? kLargestCluster : kPortableCluster;
    require(cluster.count() <= most, CUDA_ERROR_INVALID_CLUSTER_SIZE,
            "the cluster is too large (CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED allows 16 blocks)");
    const std::uint32_t bound = function->code->maxClusterRank;
    require(!bound || cluster.count() <= bound, CUDA_ERROR_INVALID_CLUSTER_SIZE,
            "a larger cluster than the kernel was compiled for");
    require(sim::clustersFitting(profile, occupancy, cluster.count(), launch.context->sms) != 0,
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "not all blocks of a cluster fit the GPU at once");
}

CUresult launchKernel(CUfunction function, sim::Dim3 grid, sim::Dim3 block, unsigned sharedBytes, CUstream stream,
                      void** parameters, void** extra, CUlaunchAttributes attributes) {
    return call([&] {
        CUcontext context = current();
        CUfunction resolved = resolveFunction(function);
        CUstream on = streamOf(context, stream);
        if (const auto window = on->attributes.find(kAccessPolicyWindow); window != on->attributes.end())
            attributes.insert(*window);
        const KernelWork work =
            kernelWork(on->context, resolved, grid, block, sharedBytes, parameters, extra, std::move(attributes));
        if (captureKernel(on, work)) return;
        order(on);
        enqueueKernel(on, work, work.priorityIn(on));
    });
}

/// Work as a configuration describes it, with no arguments.
KernelWork described(CUfunction function, const CUlaunchConfig* config) {
    requireOutput(config);
    require(config->numAttrs == 0 || config->attrs, CUDA_ERROR_INVALID_VALUE, "attributes without values");
    KernelWork work;
    work.context = current();
    work.function = resolveFunction(function);
    work.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
    work.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
    work.sharedBytes = config->sharedMemBytes;
    for (unsigned i = 0; i < config->numAttrs; ++i) work.attributes[config->attrs[i].id] = config->attrs[i].value;
    return work;
}

}  // namespace

void checkKernel(const KernelWork& work) {
    const sim::Occupancy occupancy = occupancyOf(work);
    requireClusters(work, occupancy);
    if (work.cooperative()) requireCoResident(work, occupancy);
}

KernelWork kernelWork(CUcontext context, CUfunction function, sim::Dim3 grid, sim::Dim3 block, unsigned sharedBytes,
                      void** parameters, void** extra, CUlaunchAttributes attributes) {
    require(function->module->context == context->root, CUDA_ERROR_INVALID_HANDLE, "a function of another context");
    KernelWork work;
    work.function = function;
    work.context = context;
    work.grid = grid;
    work.block = block;
    work.sharedBytes = sharedBytes;
    work.attributes = std::move(attributes);
    checkKernel(work);
    work.parameters = parametersOf(parameters, extra, *function->code);
    return work;
}

void enqueueKernel(CUstream on, const KernelWork& work, int priority) {
    CUcontext root = on->context->root;
    CUmodule module = work.function->module;
    if (module->heapUsers.contains(work.function->code->name)) giveHeap(module);
    sim::LaunchSpec spec;
    spec.program = module->loaded.program;
    spec.code = work.function->code;
    spec.grid = work.grid;
    spec.block = work.block;
    if (const std::optional<sim::Dim3> cluster = work.cluster()) {
        spec.cluster = *cluster;
        spec.explicitCluster = true;
    }
    spec.dynamicShared = work.sharedBytes;
    spec.carveoutPercent = work.carveout();
    spec.params = work.parameters;
    spec.sms = on->context->sms;
    spec.numberedAnew = state().numbersAnew;
    spec.window = accessWindow(work.attributes);
    spec.priority = priority;
    spec.overruns = state().overruns.get();
    spec.print = [driver = &state()](std::string_view text) { driver->print(text); };
    orderLaunch(on->context, work.attributes, spec);
    if (work.cooperative()) spec.gridWorkspace = gridWorkspace(root);
    const CUdeviceptr workspace = spec.gridWorkspace;
    const sim::LaunchId id = gpuOf(root).launch(on->id, std::move(spec));
    if (root->launchLogs) root->launches.push_back(id);
    root->unchecked.push_back(id);
    if (workspace) enqueue(on, 0, [root, workspace] { memoryOf(root).free(workspace); });
}

namespace simulated {

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters,
                        void** extra) {
    return launchKernel(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream, parameters,
                        extra, {});
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                   void** parameters) {
    return launchKernel(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream, parameters,
                        nullptr, cooperatively());
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
    return call([&] {
        requireOutput(clusters);
        const KernelWork work = described(function, config);
        const sim::Occupancy occupancy = occupancyOf(work);
        requireClusters(work, occupancy);
        *clusters = static_cast<int>(sim::clustersFitting(
            gpuOf(work.context).profile(), occupancy, work.cluster().value_or(sim::Dim3{}).count(), work.context->sms));
    });
}
CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function, const CUlaunchConfig* config) {
    return call([&] {
        requireOutput(size);
        const KernelWork work = described(function, config);
        const arch::DeviceProfile& profile = gpuOf(work.context).profile();
        require(profile.cluster.sms != 0, CUDA_ERROR_NOT_SUPPORTED, "the GPU has no clusters");
        const sim::Occupancy occupancy = occupancyOf(work);
        std::uint64_t most = work.function->settings.nonPortableCluster ? kLargestCluster : kPortableCluster;
        while (most > 1 && !sim::clustersFitting(profile, occupancy, most, work.context->sms)) most /= 2;
        *size = static_cast<int>(most);
    });
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    CUlaunchAttributes attributes;
    const CUresult read = call([&] {
        requireOutput(config);
        require(config->numAttrs == 0 || config->attrs, CUDA_ERROR_INVALID_VALUE, "attributes without values");
        for (unsigned i = 0; i < config->numAttrs; ++i) {
            checkLaunchAttribute(config->attrs[i].id, config->attrs[i].value);
            attributes[config->attrs[i].id] = config->attrs[i].value;
        }
    });
    if (read != CUDA_SUCCESS) return read;
    return launchKernel(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                        {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
                        config->hStream, parameters, extra, std::move(attributes));
}

}  // namespace simulated
}  // namespace bulkhead::driver
