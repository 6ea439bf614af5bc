// Calls by name, as cuGetProcAddress gives them: the version that a program was written for.

#include <string_view>

#include "driver/simulator_api.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

struct Entry {
    std::string_view name, symbol;
    void* call;
    void* perThread;  ///< with the calling thread's default stream for the default one; the same where there is none
};

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
const Entry kEntries[] = {BULKHEAD_DRIVER_CALLS(BULKHEAD_ENTRY)};
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
    {"cuMemAdvise", 13000, "cuMemAdvise_v2"},
    {"cuMemPrefetchAsync", 13000, "cuMemPrefetchAsync_v2"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
};

std::string_view symbolFor(std::string_view name, int version) {
    std::string_view symbol = name;
    for (const Version& v : kVersions)
        if (v.name == name && version >= v.since) symbol = v.symbol;
    return symbol;
}

constexpr std::uint64_t kLegacyStreamFlag = 1, kPerThreadStreamFlag = 2;

}  // namespace

void* callAddress(std::string_view symbol, bool perThread) {
    for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
        if (!symbol.ends_with(suffix)) continue;
        symbol.remove_suffix(suffix.size());
        perThread = true;
    }
    for (const Entry& entry : kEntries)
        if (entry.symbol == symbol || entry.name == symbol) return perThread ? entry.perThread : entry.call;
    return nullptr;
}

namespace simulated {

CUresult cuGetProcAddress(const char* symbol, void** address, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(symbol, address, version, flags, nullptr);
}
CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, std::uint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    return call([&] {
        requireOutput(symbol, address);
        require((flags & ~(kLegacyStreamFlag | kPerThreadStreamFlag)) == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags");
        constexpr CUdriverProcAddressQueryResult kFound = 0, kNoSuchSymbol = 1;
        *address = callAddress(symbolFor(symbol, version), (flags & kPerThreadStreamFlag) != 0);
        if (status) *status = *address ? kFound : kNoSuchSymbol;
        if (!*address) throw Failure{CUDA_ERROR_NOT_FOUND, fmt::format("the simulated driver has no {}", symbol)};
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
