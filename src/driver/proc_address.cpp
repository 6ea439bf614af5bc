// Calls by name, as cuGetProcAddress gives them: the version that a program was written for.

#include "driver/proc_address.h"

#include "driver/simulator_api.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

/// Turns a call into the one for per-thread default streams.
template <auto call>
struct PerThread;
template <class... Parameters, CUresult (*call)(Parameters...)>
struct PerThread<call> {
    static CUresult run(Parameters... parameters) {
        const PerThreadDefaultStream scope;
        return call(parameters...);
    }
};

#define BULKHEAD_VARIANT_none(name) simulated::name
#define BULKHEAD_VARIANT_ptsz(name) PerThread<simulated::name>::run
#define BULKHEAD_VARIANT_ptds(name) PerThread<simulated::name>::run
#define BULKHEAD_ENTRY(name, symbol, variant, parameters, arguments) \
    {#name, #symbol, reinterpret_cast<void*>(simulated::name),       \
     reinterpret_cast<void*>(BULKHEAD_VARIANT_##variant(name))},
const NamedCall kCalls[] = {BULKHEAD_DRIVER_CALLS(BULKHEAD_ENTRY)};
#undef BULKHEAD_ENTRY

/// Calls whose signature changed: the symbol that a program means by the plain name, from that CUDA version on.
struct Version {
    std::string_view name;
    int since;
    std::string_view symbol;
};
constexpr Version kVersions[] = {
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"},
    {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},
    {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
    {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
    {"cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"},
    {"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2"},
    {"cuGraphKernelNodeSetParams", 12000, "cuGraphKernelNodeSetParams_v2"},
    {"cuGraphNodeGetDependencies", 12030, "cuGraphNodeGetDependencies_v2"},
    {"cuGraphNodeGetDependentNodes", 12030, "cuGraphNodeGetDependentNodes_v2"},
    {"cuGraphRemoveDependencies", 12030, "cuGraphRemoveDependencies_v2"},
    {"cuMemAdvise", 13000, "cuMemAdvise_v2"},
    {"cuMemPrefetchAsync", 13000, "cuMemPrefetchAsync_v2"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamUpdateCaptureDependencies", 12030, "cuStreamUpdateCaptureDependencies_v2"},
};

std::string_view symbolFor(std::string_view name, int version) {
    std::string_view symbol = name;
    for (const Version& v : kVersions)
        if (v.name == name && version >= v.since) symbol = v.symbol;
    return symbol;
}

constexpr std::uint64_t kLegacyStreamFlag = 1, kPerThreadStreamFlag = 2;

void* addressOf(std::span<const NamedCall> calls, std::string_view symbol, bool perThread) {
    for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
        if (!symbol.ends_with(suffix)) continue;
        symbol.remove_suffix(suffix.size());
        perThread = true;
    }
    for (const NamedCall& call : calls)
        if (call.symbol == symbol || call.name == symbol) return perThread ? call.perThread : call.call;
    return nullptr;
}

}  // namespace

CUresult findCall(std::span<const NamedCall> calls, const char* name, void** address, int version, std::uint64_t flags,
                  CUdriverProcAddressQueryResult* status) {
    constexpr CUdriverProcAddressQueryResult kFound = 0, kNoSuchSymbol = 1;
    if (!name || !address || (flags & ~(kLegacyStreamFlag | kPerThreadStreamFlag)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *address = addressOf(calls, symbolFor(name, version), (flags & kPerThreadStreamFlag) != 0);
    if (status) *status = *address ? kFound : kNoSuchSymbol;
    return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

namespace simulated {

CUresult cuGetProcAddress(const char* symbol, void** address, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(symbol, address, version, flags, nullptr);
}
CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, std::uint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    return call([&] {
        if (const CUresult result = findCall(kCalls, symbol, address, version, flags, status); result != CUDA_SUCCESS)
            throw Failure{result,
                          fmt::format("the simulated driver has no {}", symbol ? symbol : "call without a name")};
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
