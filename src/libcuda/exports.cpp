#include <cstdio>
#include <cstring>
#include <string_view>

#include "driver/driver_api.h"
#include "driver/proc_address.h"
#include "libcuda/devices.h"
#include "libcuda/front.h"
#include "libcuda/partition.h"
#include "libcuda/statistics.h"

// libcuda.so.1 as programs see it: every call of the table under the name that NVIDIA's driver exports it by, carried
// out by the simulated driver or, inside a partition, by the walled one.

#define BULKHEAD_EXPORT extern "C" __attribute__((visibility("default")))

using namespace bulkhead::driver;
using namespace bulkhead::libcuda;

namespace {

/// Null means the calling thread's own default stream in the calls that are named so.
CUstream onThread(CUstream stream) {
    return stream ? stream : kPerThreadStream;
}
const CUlaunchConfig* onThread(const CUlaunchConfig* config) {
    thread_local CUlaunchConfig changed;
    if (!config) return nullptr;
    changed = *config;
    changed.hStream = onThread(config->hStream);
    return &changed;
}
template <class Argument>
Argument onThread(Argument argument) {
    return argument;
}
/// What the name of a copy says of its direction.
Transfer transferOf(std::string_view call) {
    const auto says = [&](std::string_view part) { return call.find(part) != std::string_view::npos; };
    if (says("Memset")) return Transfer::fill;
    if (says("HtoD") || says("HtoA")) return Transfer::hostToDevice;
    if (says("DtoH") || says("AtoH")) return Transfer::deviceToHost;
    if (says("DtoD") || says("Peer") || says("AtoD") || says("DtoA") || says("AtoA")) return Transfer::deviceToDevice;
    return Transfer::unified;
}
Transfer transferOf(int fromType, int toType) {
    constexpr int host = 1, device = 2, array = 3;  // CUmemorytype
    if (fromType == array) fromType = device;
    if (toType == array) toType = device;
    if (fromType == host && toType == device) return Transfer::hostToDevice;
    if (fromType == device && toType == host) return Transfer::deviceToHost;
    return fromType == device && toType == device ? Transfer::deviceToDevice : Transfer::unified;
}

// Each takes the arguments of a copy or fill, in the order of the driver's calls.
void count(Transfer, const CUDA_MEMCPY2D* copy, CUstream = nullptr) {
    Statistics::instance().transferred(transferOf(copy->srcMemoryType, copy->dstMemoryType),
                                       copy->WidthInBytes * copy->Height);
}
void count(Transfer, const CUDA_MEMCPY3D* copy, CUstream = nullptr) {
    Statistics::instance().transferred(transferOf(copy->srcMemoryType, copy->dstMemoryType),
                                       copy->WidthInBytes * copy->Height * copy->Depth);
}
template <class To, class From>
void count(Transfer transfer, To, From, std::size_t bytes, CUstream = nullptr) {
    Statistics::instance().transferred(transfer, bytes);
}
template <class From>
void count(Transfer transfer, CUarray, std::size_t, From, std::size_t bytes, CUstream = nullptr) {
    Statistics::instance().transferred(transfer, bytes);
}
template <class To>
void count(Transfer transfer, To, CUarray, std::size_t, std::size_t bytes, CUstream = nullptr) {
    Statistics::instance().transferred(transfer, bytes);
}
void count(Transfer transfer, CUarray, std::size_t, CUarray, std::size_t, std::size_t bytes) {
    Statistics::instance().transferred(transfer, bytes);
}
template <class Value>
void countFill(Value, std::size_t elements) {
    Statistics::instance().transferred(Transfer::fill, elements * sizeof(Value));
}
void count(Transfer, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t bytes, CUstream = nullptr) {
    Statistics::instance().transferred(Transfer::deviceToDevice, bytes);
}
void count(Transfer, CUdeviceptr, unsigned char value, std::size_t elements, CUstream = nullptr) {
    countFill(value, elements);
}
void count(Transfer, CUdeviceptr, unsigned short value, std::size_t elements, CUstream = nullptr) {
    countFill(value, elements);
}
void count(Transfer, CUdeviceptr, unsigned value, std::size_t elements, CUstream = nullptr) {
    countFill(value, elements);
}
template <class Value>
void count(Transfer, CUdeviceptr, std::size_t, Value value, std::size_t width, std::size_t height, CUstream = nullptr) {
    countFill(value, width * height);
}

constexpr bool isTransfer(std::string_view name) {
    return name.starts_with("cuMemcpy") || name.starts_with("cuMemset");
}

/// A call as programs make it: copies and fills that were accepted are counted, failures explained.
template <bool transfers, class Call>
auto carriedOut(std::string_view name, Call call) {
    return [=](auto... arguments) {
        const CUresult result = explained(call(arguments...));
        if constexpr (transfers)
            if (result == CUDA_SUCCESS) count(transferOf(name), arguments...);
        return result;
    };
}
template <bool transfers, class Call>
auto carriedOutOnThread(std::string_view name, Call call) {
    return [=](auto... arguments) { return carriedOut<transfers>(name, call)(onThread(arguments)...); };
}

}  // namespace

#define BULKHEAD_VARIANT_none(name, symbol, parameters, arguments)
#define BULKHEAD_VARIANT_ptsz(name, symbol, parameters, arguments)                   \
    BULKHEAD_EXPORT CUresult symbol##_ptsz parameters {                              \
        return carriedOutOnThread<isTransfer(#name)>(#name, front().name) arguments; \
    }
// Copies that the caller waits for: the legacy default stream also orders them after the thread's own work.
#define BULKHEAD_VARIANT_ptds(name, symbol, parameters, arguments) \
    BULKHEAD_EXPORT CUresult symbol##_ptds parameters {            \
        return symbol arguments;                                   \
    }
#define BULKHEAD_EXPORT_CALL(name, symbol, variant, parameters, arguments)   \
    BULKHEAD_EXPORT CUresult symbol parameters {                             \
        return carriedOut<isTransfer(#name)>(#name, front().name) arguments; \
    }                                                                        \
    BULKHEAD_VARIANT_##variant(name, symbol, parameters, arguments)
BULKHEAD_DRIVER_CALLS(BULKHEAD_EXPORT_CALL)
BULKHEAD_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* name);

namespace bulkhead::libcuda {
namespace {

#define BULKHEAD_VARIANT_none_OF(symbol) symbol
#define BULKHEAD_VARIANT_ptsz_OF(symbol) symbol##_ptsz
#define BULKHEAD_VARIANT_ptds_OF(symbol) symbol##_ptds
#define BULKHEAD_NAME_CALL(name, symbol, variant, parameters, arguments) \
    {#name, #symbol, reinterpret_cast<void*>(symbol), reinterpret_cast<void*>(BULKHEAD_VARIANT_##variant##_OF(symbol))},
const NamedCall kCalls[] = {
    BULKHEAD_DRIVER_CALLS(BULKHEAD_NAME_CALL){"cuGetExportTable", "cuGetExportTable",
                                              reinterpret_cast<void*>(cuGetExportTable),
                                              reinterpret_cast<void*>(cuGetExportTable)},
};
#undef BULKHEAD_NAME_CALL

}  // namespace

std::span<const NamedCall> exportedCalls() {
    return kCalls;
}

}  // namespace bulkhead::libcuda

/// libbulkhead, or NVIDIA's own libraries, for what no document describes.
BULKHEAD_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* name) {
    if (table && name && std::memcmp(name->bytes, bulkhead::kDriverTableName, sizeof name->bytes) == 0) {
        *table = &driverTable();
        return CUDA_SUCCESS;
    }
    static const bool said = [] {
        std::fputs(
            "bulkhead: cuGetExportTable is asked for a table that only NVIDIA's driver has. If NVIDIA's CUDA runtime "
            "is inside this program or its libraries, start it by bulkhead exec and keep the symbols; if it is in a "
            "library that is loaded later, link that with nvcc -cudart shared\n",
            stderr);
        return true;
    }();
    (void)said;
    if (table) *table = nullptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}
