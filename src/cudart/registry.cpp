#include "cudart/registry.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>

#include "cudart/managed_variables.h"

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

/// The fatbins of a binary: one, or those of its pieces.
std::vector<const void*> fatbinsOf(const void* image) {
    std::vector<const void*> fatbins;
    if (const Wrapper* program = unlinked(image))
        for (const auto* const* piece = static_cast<const Wrapper* const*>(program->more); *piece; ++piece)
            fatbins.push_back((*piece)->image);
    else
        fatbins.push_back(image);
    return fatbins;
}

/// Variables that lie in the program's memory, as options of a load.
class Relocations {
  public:
    void add(const std::string& name, const void* address) {
        names_.push_back(name.c_str());
        addresses_.push_back(const_cast<void*>(address));
    }
    unsigned count() const { return names_.empty() ? 0 : 3; }
    driver::CUjit_option* options() { return options_; }
    void** values() {
        values_[0] = names_.data();
        values_[1] = addresses_.data();
        values_[2] = reinterpret_cast<void*>(names_.size());
        return values_;
    }

  private:
    std::vector<const char*> names_;
    std::vector<void*> addresses_;
    driver::CUjit_option options_[3] = {17, 18, 19};  // CU_JIT_GLOBAL_SYMBOL_NAMES, _ADDRESSES, _COUNT
    void* values_[3] = {};
};

CUmodule linked(const std::vector<const void*>& pieces, Relocations& relocations) {
    constexpr driver::CUjitInputType kFatbin = 2;
    driver::CUlinkState state = nullptr;
    check(api().cuLinkCreate(relocations.count(), relocations.options(), relocations.values(), &state));
    const std::unique_ptr<void, void (*)(void*)> held(
        state, [](void* made) { api().cuLinkDestroy(static_cast<driver::CUlinkState>(made)); });
    for (const void* piece : pieces) {
        void* fatbin = const_cast<void*>(piece);
        check(api().cuLinkAddData(state, kFatbin, fatbin, fatbinBytes(fatbin), "piece", 0, nullptr, nullptr));
    }
    void* image = nullptr;
    check(api().cuLinkComplete(state, &image, nullptr));
    CUmodule module = nullptr;
    check(api().cuModuleLoadDataEx(&module, image, relocations.count(), relocations.options(), relocations.values()));
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

void Registry::addSharedSection(SharedSection section) {
    const std::lock_guard lock(mutex_);
    for (const SharedSection& known : sections_)
        if (known.begin == section.begin) return;
    sections_.push_back(section);
}

/// By their addresses, which are those of the host.
std::vector<const void*> Registry::sharedOf(const FatBinary& binary) const {
    std::vector<const void*> shared;
    for (const auto& [address, variable] : variables_) {
        const auto isThere = [at = address](const SharedSection& s) { return s.begin <= at && at < s.end; };
        if (variable.binary == &binary && std::any_of(sections_.begin(), sections_.end(), isThere))
            shared.push_back(address);
    }
    std::sort(shared.begin(), shared.end());
    return shared;
}

void Registry::initialiseShared() {
    const std::lock_guard lock(mutex_);
    for (const auto& binary : binaries_) {
        const std::vector<const void*> shared = sharedOf(*binary);
        std::map<std::string, const void*, std::less<>> byName;
        for (const void* address : shared) byName.emplace(variables_.at(address).name, address);
        const auto addressOf = [&](std::string_view name) {
            const auto found = byName.find(name);
            return found == byName.end() ? nullptr : found->second;
        };
        for (const void* address : shared) {
            Variable& variable = variables_.at(address);
            for (const void* fatbin : fatbinsOf(binary->image)) {
                if (variable.isInitialised) break;
                variable.isInitialised =
                    writeInitialValue(fatbin, variable.name, const_cast<void*>(address), variable.bytes, addressOf);
            }
        }
    }
}

/// Device code is told that managed variables are defined elsewhere, and the driver where.
CUmodule Registry::loadSharing(const FatBinary& binary, const std::vector<const void*>& shared) {
    constexpr unsigned kPortableAndMapped = 3;
    for (const SharedSection& section : sections_) {
        const auto bytes = static_cast<std::size_t>(section.end - section.begin);
        const CUresult result = api().cuMemHostRegister(section.begin, bytes, kPortableAndMapped);
        if (result != cudaErrorHostMemoryAlreadyRegistered) check(result);
    }
    Relocations relocations;
    std::set<std::string, std::less<>> names;
    for (const void* address : shared) {
        const Variable& variable = variables_.at(address);
        if (!variable.isInitialised) {
            std::fprintf(stderr, "bulkhead: %s is initialised with what only the device knows\n",
                         variable.name.c_str());
            throw Failure{cudaErrorNotSupported};
        }
        relocations.add(variable.name, address);
        names.insert(variable.name);
    }
    std::vector<std::string> copies;
    for (const void* fatbin : fatbinsOf(binary.image)) copies.push_back(withoutDefinitions(fatbin, names));
    std::vector<const void*> pieces(copies.size());
    std::transform(copies.begin(), copies.end(), pieces.begin(), [](const std::string& copy) { return copy.data(); });
    try {
        if (unlinked(binary.image)) return linked(pieces, relocations);
        CUmodule module = nullptr;
        check(api().cuModuleLoadDataEx(&module, pieces.front(), relocations.count(), relocations.options(),
                                       relocations.values()));
        return module;
    } catch (const Failure& failure) {
        std::fprintf(stderr,
                     "bulkhead: this driver does not load code whose __managed__ variables it is told of: error %d\n",
                     static_cast<int>(failure.code));
        throw;
    }
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
    Relocations none;
    if (const std::vector<const void*> shared = sharedOf(binary); !shared.empty())
        module = loadSharing(binary, shared);
    else if (unlinked(binary.image))
        module = linked(fatbinsOf(binary.image), none);
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
    if (found->second.isInitialised) return {reinterpret_cast<CUdeviceptr>(hostVariable), found->second.bytes};
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
