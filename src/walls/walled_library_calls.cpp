// Libraries of device code: modules that need no context. A process inside walls has one, so a library is a module
// there, and its kernels are functions.

#include "driver/fatbin.h"
#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

CUmodule moduleOf(CUlibrary library) {
    return reinterpret_cast<CUmodule>(library);
}
CUfunction functionOf(CUkernel kernel) {
    return reinterpret_cast<CUfunction>(kernel);
}

/// A call of the process's walled context, whether it is current or not.
template <class Body>
CUresult anywhere(Body&& body) {
    return call([&] {
        const std::shared_ptr<WalledContext> walled = ContextRegistry::instance().latest();
        if (!walled) throw Failure{CUDA_ERROR_NOT_INITIALIZED, "there are no walls"};
        const auto held = walled->lock();
        walled->makeCurrent();
        body(*walled);
    });
}

CUresult libraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                         void**, unsigned) {
    return anywhere([&](WalledContext& walled) {
        requireOutput(library, image);
        *library = reinterpret_cast<CUlibrary>(walled.load(image));
    });
}
CUresult libraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                             void**, unsigned) {
    return anywhere([&](WalledContext& walled) {
        requireOutput(library, path);
        *library = reinterpret_cast<CUlibrary>(walled.load(readImage(path).c_str()));
    });
}
CUresult libraryUnload(CUlibrary library) {
    return anywhere([&](WalledContext& walled) { walled.unload(moduleOf(library)); });
}
CUresult libraryGetModule(CUmodule* module, CUlibrary library) {
    return anywhere([&](WalledContext& walled) {
        requireOutput(module);
        walled.kernelsOf(moduleOf(library));  // refuses what is none
        *module = moduleOf(library);
    });
}
CUresult libraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return anywhere([&](WalledContext& walled) {
        requireOutput(kernel, name);
        *kernel = reinterpret_cast<CUkernel>(walled.function(moduleOf(library), name));
    });
}
CUresult libraryGetKernelCount(unsigned* count, CUlibrary library) {
    return anywhere([&](WalledContext& walled) {
        requireOutput(count);
        *count = static_cast<unsigned>(walled.kernelsOf(moduleOf(library)).size());
    });
}
CUresult libraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
    return anywhere([&](WalledContext& walled) {
        requireOutput(kernels);
        const std::vector<std::string> names = walled.kernelsOf(moduleOf(library));
        for (unsigned i = 0; i < count && i < names.size(); ++i)
            kernels[i] = reinterpret_cast<CUkernel>(walled.function(moduleOf(library), names[i].c_str()));
    });
}
CUresult libraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library, const char* name) {
    return anywhere([&](WalledContext& walled) {
        check(walled.inner().cuModuleGetGlobal(address, bytes, moduleOf(library), name));
    });
}
CUresult kernelGetFunction(CUfunction* function, CUkernel kernel) {
    return anywhere([&](WalledContext&) {
        requireOutput(function, kernel);
        *function = functionOf(kernel);
    });
}
CUresult kernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    return anywhere([&](WalledContext& walled) {
        requireOutput(library);
        CUmodule module = nullptr;
        check(walled.inner().cuFuncGetModule(&module, functionOf(kernel)));
        *library = reinterpret_cast<CUlibrary>(module);
    });
}
CUresult kernelGetName(const char** name, CUkernel kernel) {
    return anywhere([&](WalledContext& walled) { check(walled.inner().cuFuncGetName(name, functionOf(kernel))); });
}
CUresult kernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    return anywhere([&](WalledContext& walled) {
        if (!walled.parameter(functionOf(kernel), index, offset, bytes))
            throw Failure{CUDA_ERROR_INVALID_VALUE, "no such parameter"};
    });
}
CUresult kernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
    return walledDriver().cuFuncGetAttribute(value, attribute, functionOf(kernel));
}
CUresult kernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
    return walledDriver().cuFuncSetAttribute(functionOf(kernel), attribute, value);
}
CUresult kernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice) {
    return walledDriver().cuFuncSetCacheConfig(functionOf(kernel), config);
}

}  // namespace

void enterLibraryCalls(DriverApi& api) {
    api.cuLibraryLoadData = libraryLoadData;
    api.cuLibraryLoadFromFile = libraryLoadFromFile;
    api.cuLibraryUnload = libraryUnload;
    api.cuLibraryGetModule = libraryGetModule;
    api.cuLibraryGetKernel = libraryGetKernel;
    api.cuLibraryGetKernelCount = libraryGetKernelCount;
    api.cuLibraryEnumerateKernels = libraryEnumerateKernels;
    api.cuLibraryGetGlobal = libraryGetGlobal;
    api.cuKernelGetFunction = kernelGetFunction;
    api.cuKernelGetLibrary = kernelGetLibrary;
    api.cuKernelGetName = kernelGetName;
    api.cuKernelGetParamInfo = kernelGetParamInfo;
    api.cuKernelGetAttribute = kernelGetAttribute;
    api.cuKernelSetAttribute = kernelSetAttribute;
    api.cuKernelSetCacheConfig = kernelSetCacheConfig;
}

}  // namespace bulkhead::walls
