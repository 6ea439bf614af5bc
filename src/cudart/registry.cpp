#include "cudart/registry.h"

#include <cstdint>
#include <cstring>

namespace bulkhead::cudart {
namespace {

/// What nvcc and clang put before the device code of an object file.
struct Wrapper {
    std::uint32_t magic, version;
    const void* image;
    const void* more;
};
constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kLinkedVersion = 2;  ///< code to be linked at run time: only the wrapper names all of it

/// Of a program that `bulkhead cc` linked: nothing but pieces, each a fatbin behind its own wrapper.
const Wrapper* unlinked(const void* image) {
    const auto* w = static_cast<const Wrapper*>(image);
    return w && w->magic == kWrapperMagic && w->version == kLinkedVersion && !w->image ? w : nullptr;
}

/// From its header: u32 magic, u16 version, u16 bytes of the header, u64 bytes behind it.
std::size_t fatbinBytes(const void* fatbin) {
    std::uint16_t header = 0;
    std::uint64_t content = 0;
    std::memcpy(&header, static_cast<const char*>(fatbin) + 6, sizeof header);
    std::memcpy(&content, static_cast<const char*>(fatbin) + 8, sizeof content);
    return header + content;
}

CUmodule linked(const Wrapper& program) {
    constexpr driver::CUjitInputType kFatbin = 2;
    driver::CUlinkState state = nullptr;
    check(api().cuLinkCreate(0, nullptr, nullptr, &state));
    const std::unique_ptr<void, void (*)(void*)> held(
        state, [](void* made) { api().cuLinkDestroy(static_cast<driver::CUlinkState>(made)); });
    for (const auto* const* piece = static_cast<const Wrapper* const*>(program.more); *piece; ++piece) {
        void* fatbin = const_cast<void*>((*piece)->image);
        check(api().cuLinkAddData(state, kFatbin, fatbin, fatbinBytes(fatbin), "piece", 0, nullptr, nullptr));
    }
    void* image = nullptr;
    check(api().cuLinkComplete(state, &image, nullptr));
    CUmodule module = nullptr;
    check(api().cuModuleLoadData(&module, image));
    return module;
}

const void* imageOf(const void* wrapper) {
    const auto* w = static_cast<const Wrapper*>(wrapper);
    return w && w->magic == kWrapperMagic && w->version != kLinkedVersion ? w->image : wrapper;
}

/// While it lives, a stream that is being captured does not keep this thread from loading code.
class WhateverIsCaptured {
  public:
    WhateverIsCaptured() { api().cuThreadExchangeStreamCaptureMode(&mode_); }
    ~WhateverIsCaptured() { api().cuThreadExchangeStreamCaptureMode(&mode_); }
    WhateverIsCaptured(const WhateverIsCaptured&) = delete;
    WhateverIsCaptured& operator=(const WhateverIsCaptured&) = delete;

  private:
    int mode_ = cudaStreamCaptureModeRelaxed;
};

CUcontext currentContext() {
    CUcontext context = nullptr;
    check(ready().cuCtxGetCurrent(&context));
    return context;
}

}  // namespace

Registry& Registry::instance() {
    static Registry* registry = new Registry;
    return *registry;
}

FatBinary* Registry::add(const void* wrapper) {
    const std::lock_guard lock(mutex_);
    binaries_.push_back(std::make_unique<FatBinary>());
    binaries_.back()->image = imageOf(wrapper);
    return binaries_.back().get();
}

void Registry::remove(FatBinary* binary) {
    const std::lock_guard lock(mutex_);
    std::erase_if(handles_, [&](const auto& entry) { return entry.second->binary == binary; });
    std::erase_if(kernels_, [&](const auto& entry) { return entry.second->binary == binary; });
    std::erase_if(variables_, [&](const auto& entry) { return entry.second.binary == binary; });
    std::erase_if(binaries_, [&](const auto& other) { return other.get() == binary; });
}

void Registry::addKernel(FatBinary* binary, const void* hostFunction, const char* name) {
    const std::lock_guard lock(mutex_);
    auto kernel = std::make_unique<Kernel>();
    kernel->binary = binary;
    kernel->name = name;
    handles_[kernel.get()] = kernel.get();
    std::unique_ptr<Kernel>& place = kernels_[hostFunction];
    if (place) handles_.erase(place.get());
    place = std::move(kernel);
}

void Registry::addVariable(FatBinary* binary, const void* hostVariable, const char* name, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    variables_[hostVariable] = {binary, name, bytes};
}

void Registry::addManaged(FatBinary* binary, void** hostPointer, const char* name, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    binary->managed.push_back({hostPointer, name});
    variables_[hostPointer] = {binary, name, bytes};
}

Kernel* Registry::findLocked(const void* function) {
    if (const auto found = kernels_.find(function); found != kernels_.end()) return found->second.get();
    const auto handle = handles_.find(function);
    return handle == handles_.end() ? nullptr : handle->second;
}

Kernel* Registry::find(const void* function) {
    const std::lock_guard lock(mutex_);
    return findLocked(function);
}

CUmodule Registry::moduleIn(FatBinary& binary, CUcontext context) {
    if (const auto loaded = binary.modules.find(context); loaded != binary.modules.end()) return loaded->second;
    CUmodule module = nullptr;
    const WhateverIsCaptured scope;
    if (const Wrapper* program = unlinked(binary.image))
        module = linked(*program);
    else
        check(api().cuModuleLoadFatBinary(&module, binary.image));
    binary.modules[context] = module;
    for (const FatBinary::ManagedVariable& variable : binary.managed) {
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        check(api().cuModuleGetGlobal(&address, &bytes, module, variable.name.c_str()));
        *variable.hostPointer = pointerTo(address);
    }
    return module;
}

CUfunction Registry::function(const void* function) {
    const CUcontext context = currentContext();
    const std::lock_guard lock(mutex_);
    CUfunction found = nullptr;
    if (const auto library = libraryKernels_.find(function); library != libraryKernels_.end()) {
        check(newer(api().cuKernelGetFunction)(&found, library->second));
        return found;
    }
    Kernel* kernel = findLocked(function);
    require(kernel != nullptr, cudaErrorInvalidResourceHandle);
    if (const auto known = kernel->functions.find(context); known != kernel->functions.end()) return known->second;
    const CUmodule module = moduleIn(*kernel->binary, context);
    const CUresult result = api().cuModuleGetFunction(&found, module, kernel->name.c_str());
    check(result == cudaErrorSymbolNotFound ? static_cast<CUresult>(cudaErrorInvalidDeviceFunction) : result);
    kernel->functions[context] = found;
    return found;
}

Placed Registry::variable(const void* hostVariable) {
    const CUcontext context = currentContext();
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(hostVariable);
    require(found != variables_.end(), cudaErrorInvalidSymbol);
    Placed placed;
    const CUmodule module = moduleIn(*found->second.binary, context);
    const CUresult result = api().cuModuleGetGlobal(&placed.address, &placed.bytes, module, found->second.name.c_str());
    check(result == cudaErrorSymbolNotFound ? static_cast<CUresult>(cudaErrorInvalidSymbol) : result);
    return placed;
}

void* Registry::partOf(const void* hostVariable, std::size_t bytes, std::size_t offset) {
    const Placed placed = variable(hostVariable);
    require(offset <= placed.bytes && bytes <= placed.bytes - offset);
    return pointerTo(placed.address + offset);
}

const void* Registry::hostFunction(CUfunction wanted) {
    const CUcontext context = currentContext();
    const std::lock_guard lock(mutex_);
    for (const auto& [host, kernel] : kernels_)
        if (const auto found = kernel->functions.find(context);
            found != kernel->functions.end() && found->second == wanted)
            return host;
    return nullptr;
}

void Registry::load(FatBinary* binary) {
    const CUcontext context = currentContext();
    const std::lock_guard lock(mutex_);
    moduleIn(*binary, context);
}

void Registry::addLibraryKernel(driver::CUkernel kernel) {
    const std::lock_guard lock(mutex_);
    libraryKernels_[kernel] = kernel;
}

void Registry::forget(CUcontext context) {
    const std::lock_guard lock(mutex_);
    for (const auto& binary : binaries_) binary->modules.erase(context);
    for (const auto& [function, kernel] : kernels_) kernel->functions.erase(context);
}

}  // namespace bulkhead::cudart
