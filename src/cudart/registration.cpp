#include "cudart/registry.h"
#include "sdk/include/cuda_runtime_api.h"

// What nvcc and clang make every object file with device code call from its static constructors. The handle of a fat
// binary is opaque to them.

using namespace bulkhead::cudart;

namespace {

FatBinary* binaryOf(void** handle) {
    return reinterpret_cast<FatBinary*>(handle);
}

}  // namespace

BULKHEAD_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
    return reinterpret_cast<void**>(Registry::instance().add(wrapper));
}

BULKHEAD_EXPORT void __cudaRegisterFatBinaryEnd(void**) {
    Registry::instance().initialiseShared();
}

BULKHEAD_EXPORT void __cudaUnregisterFatBinary(void** handle) {
    Registry::instance().remove(binaryOf(handle));
}

BULKHEAD_EXPORT void __cudaRegisterFunction(void** handle, const char* hostFunction, char* /*deviceFunction*/,
                                            const char* name, int /*threadLimit*/, void* /*threadIndex*/,
                                            void* /*blockIndex*/, dim3* /*block*/, dim3* /*grid*/, int* /*warpSize*/) {
    Registry::instance().addKernel(binaryOf(handle), hostFunction, name);
}

BULKHEAD_EXPORT void __cudaRegisterVar(void** handle, char* hostVariable, char* /*deviceVariable*/, const char* name,
                                       int /*external*/, std::size_t bytes, int /*constant*/, int /*global*/) {
    Registry::instance().addVariable(binaryOf(handle), hostVariable, name, bytes);
}

/// nvcc's programs reach a managed variable through a pointer. Those of `bulkhead cc` tell without a handle where all
/// of theirs lie, before their code is registered or after.
BULKHEAD_EXPORT void __cudaRegisterManagedVar(void** handle, void** hostPointer, char* /*deviceVariable*/,
                                              const char* name, int /*external*/, std::size_t bytes, int /*constant*/,
                                              int /*global*/) {
    if (handle) return Registry::instance().addManaged(binaryOf(handle), hostPointer, name, bytes);
    auto* const begin = reinterpret_cast<char*>(hostPointer);
    Registry::instance().addSharedSection({begin, begin + bytes});
    Registry::instance().initialiseShared();
}

/// Before the host touches a managed variable.
BULKHEAD_EXPORT char __cudaInitModule(void** handle) {
    return call([&] { Registry::instance().load(binaryOf(handle)); }) == cudaSuccess;
}

BULKHEAD_EXPORT cudaError_t __cudaGetKernel(const void** kernel, const void* function) {
    return call([&] {
        require(kernel != nullptr);
        *kernel = Registry::instance().find(function);
        require(*kernel != nullptr, cudaErrorInvalidDeviceFunction);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetKernel(const void** kernel, const void* function) {
    return __cudaGetKernel(kernel, function);
}
