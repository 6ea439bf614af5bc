#include "cudart/registry.h"
#include "sdk/include/cuda_runtime_api.h"

// Libraries of device code that the program loads itself, and the driver's own functions by name.

using namespace bulkhead::cudart;
using bulkhead::driver::CUkernel;
using bulkhead::driver::CUlibrary;

namespace {

enum QueryResult : int { kFound = 0, kNotFound = 1 };  // cudaDriverEntryPointQueryResult

constexpr unsigned long long kPerThreadFlag = 2;  // cudaEnablePerThreadDefaultStream

void entryPoint(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
    require(symbol != nullptr && function != nullptr);
    if (perThreadDefault() && flags == 0) flags = kPerThreadFlag;
    *function = nullptr;
    int found = kNotFound;
    if (api().cuGetProcAddress_v2) {
        const CUresult result = api().cuGetProcAddress_v2(symbol, function, version, flags, &found);
        if (result != cudaErrorSymbolNotFound) check(result);
    } else {
        *function = driverSymbol(symbol);
        found = *function ? kFound : kNotFound;
    }
    if (status) *status = found;
}

}  // namespace

BULKHEAD_EXPORT cudaError_t cudaLibraryLoadData(CUlibrary* library, const void* image, int* options, void** values,
                                                unsigned optionCount, int* libraryOptions, void** libraryValues,
                                                unsigned libraryOptionCount) {
    return call([&] {
        check(newer(ready().cuLibraryLoadData)(library, image, options, values, optionCount, libraryOptions,
                                               libraryValues, libraryOptionCount));
    });
}

BULKHEAD_EXPORT cudaError_t cudaLibraryLoadFromFile(CUlibrary* library, const char* file, int* options, void** values,
                                                    unsigned optionCount, int* libraryOptions, void** libraryValues,
                                                    unsigned libraryOptionCount) {
    return call([&] {
        check(newer(ready().cuLibraryLoadFromFile)(library, file, options, values, optionCount, libraryOptions,
                                                   libraryValues, libraryOptionCount));
    });
}

BULKHEAD_EXPORT cudaError_t cudaLibraryUnload(CUlibrary library) {
    return call([&] { check(newer(ready().cuLibraryUnload)(library)); });
}

BULKHEAD_EXPORT cudaError_t cudaLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return call([&] {
        check(newer(ready().cuLibraryGetKernel)(kernel, library, name));
        Registry::instance().addLibraryKernel(*kernel);
    });
}

BULKHEAD_EXPORT cudaError_t cudaLibraryGetKernelCount(unsigned* count, CUlibrary library) {
    return call([&] { check(newer(ready().cuLibraryGetKernelCount)(count, library)); });
}

BULKHEAD_EXPORT cudaError_t cudaLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
    return call([&] {
        unsigned present = 0;
        check(newer(ready().cuLibraryGetKernelCount)(&present, library));
        check(newer(api().cuLibraryEnumerateKernels)(kernels, count, library));
        for (unsigned i = 0; i < count && i < present; ++i) Registry::instance().addLibraryKernel(kernels[i]);
    });
}

BULKHEAD_EXPORT cudaError_t cudaLibraryGetGlobal(void** pointer, std::size_t* bytes, CUlibrary library,
                                                 const char* name) {
    return call([&] {
        CUdeviceptr address = 0;
        check(newer(ready().cuLibraryGetGlobal)(&address, bytes, library, name));
        if (pointer) *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaLibraryGetManaged(void** pointer, std::size_t* bytes, CUlibrary library,
                                                  const char* name) {
    return call([&] {
        CUdeviceptr address = 0;
        check(newer(ready().cuLibraryGetManaged)(&address, bytes, library, name));
        if (pointer) *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                                    int* status) {
    return call([&] {
        int version = 0;
        check(api().cuDriverGetVersion(&version));
        entryPoint(symbol, function, version, flags, status);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                                             unsigned long long flags, int* status) {
    return call([&] { entryPoint(symbol, function, static_cast<int>(version), flags, status); });
}
