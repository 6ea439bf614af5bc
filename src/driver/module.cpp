#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>

#include "driver/device_heap.h"
#include "driver/device_runtime.h"
#include "driver/fatbin.h"
#include "driver/jit_options.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

[[noreturn]] void refuseMachineCode(const std::string& targets) {
    throw Failure{CUDA_ERROR_NO_BINARY_FOR_GPU,
                  fmt::format("the image holds machine code{} but no PTX, and only PTX can be simulated: compile with "
                              "-gencode arch=compute_75,code=compute_75",
                              targets.empty() ? "" : " for " + targets)};
}

int targetOf(const std::string& target) {
    int number = 0;
    const auto digits = target.find_first_of("0123456789");
    if (digits != std::string::npos) std::from_chars(target.data() + digits, target.data() + target.size(), number);
    return number;
}

/// Loads what `parse` gives, and says in the program's log buffers what went wrong.
template <class Parse>
void loadLogged(CUmodule* out, const JitOptions& options, Parse&& parse) {
    CUcontext context = current();
    requireOutput(out);
    try {
        ptx::Module module = parse(&gpuOf(context).profile());
        options.relocate(module);
        *out = loadModule(context->root, module);
        options.report("");
    } catch (const Failure& failure) {
        options.report(failure.why);
        throw;
    } catch (const Error& error) {
        options.report(error.what());
        throw;
    }
}

const sim::Program::Global& globalOf(CUmodule module, const char* name) {
    require(name != nullptr, CUDA_ERROR_INVALID_VALUE, "no name");
    for (const sim::Program::Global& global : module->loaded.program->globals)
        if (global.name == name) return global;
    throw Failure{CUDA_ERROR_NOT_FOUND, fmt::format("the module has no variable {}", name)};
}

void giveGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
    const sim::Program::Global& global = globalOf(module, name);
    if (address) *address = global.address;
    if (bytes) *bytes = global.bytes;
}

CUkernel kernelOf(CUlibrary library, const std::string& name) {
    auto& kernel = library->kernels[name];
    if (!kernel) {
        kernel = std::make_unique<CUkern_st>();
        kernel->library = library;
        kernel->name = name;
        remember(kernel.get());
    }
    return kernel.get();
}

std::vector<std::string> kernelNames(CUlibrary library) {
    std::vector<std::string> names;
    for (const ptx::Function& function : library->module->functions)
        if (function.isKernel && !function.isExtern) names.push_back(function.name);
    std::sort(names.begin(), names.end());
    return names;
}

CUlibrary addLibrary(ptx::Module module) {
    auto made = std::make_unique<CUlib_st>();
    made->module = std::make_shared<const ptx::Module>(std::move(module));
    CUlibrary library = remember(made.get());
    state().libraries[library] = std::move(made);
    return library;
}

}  // namespace

std::string ptxOf(std::span<const std::uint8_t> image, const arch::DeviceProfile* profile) {
    constexpr std::string_view kElf =
        "\x7f"
        "ELF";
    // Byte by byte: a text may be shorter.
    if (image.size() >= kElf.size() && std::equal(kElf.begin(), kElf.end(), image.begin())) refuseMachineCode("");
    try {
        if (!Fatbin::beginsAt(image)) {
            const auto* begin = reinterpret_cast<const char*>(image.data());
            const std::string text(begin, strnlen(begin, image.size()));
            require(text.find(".version") != std::string::npos, CUDA_ERROR_INVALID_IMAGE,
                    "the image is neither PTX nor a fatbin");
            return text;
        }
        const Fatbin fatbin = Fatbin::read(image);
        constexpr unsigned kAnyTarget = 999;
        const unsigned sm =
            profile ? static_cast<unsigned>(profile->compute.major * 10 + profile->compute.minor) : kAnyTarget;
        const Fatbin::Entry* entry = fatbin.bestPtx(sm);
        if (!entry) refuseMachineCode(fatbin.machineTargets());
        return Fatbin::text(*entry);
    } catch (const Error& error) {
        throw Failure{CUDA_ERROR_INVALID_IMAGE, error.what()};
    }
}

ptx::Module parseImage(const void* image, const arch::DeviceProfile* profile) {
    require(image != nullptr, CUDA_ERROR_INVALID_VALUE, "no image");
    std::vector<std::span<const std::uint8_t>> images;
    try {
        images = Fatbin::imagesAt(image);
    } catch (const Error& error) {
        throw Failure{CUDA_ERROR_INVALID_IMAGE, error.what()};
    }
    std::vector<ptx::Module> modules;
    for (const std::span<const std::uint8_t> one : images)
        for (const std::string& text : linkedTexts(ptxOf(one, profile)))
            modules.push_back(ptx::parse(text, "<module>"));
    try {
        return linkWithDeviceRuntime(std::move(modules));
    } catch (const Error& error) {
        throw Failure{CUDA_ERROR_INVALID_SOURCE, error.what()};
    }
}

std::string imageIn(const char* path) {
    require(path != nullptr, CUDA_ERROR_INVALID_VALUE, "no file name");
    require(::access(path, R_OK) == 0 && !std::filesystem::is_directory(path), CUDA_ERROR_FILE_NOT_FOUND,
            "the module's file cannot be read");
    try {
        return readImage(path);
    } catch (const Error& error) {
        throw Failure{CUDA_ERROR_INVALID_IMAGE, error.what()};
    }
}

CUmodule loadModule(CUcontext root, const ptx::Module& parsed, CUlibrary library) {
    auto module = std::make_unique<CUmod_st>();
    module->context = root;
    module->library = library;
    module->ptxVersion = parsed.versionMajor * 10 + parsed.versionMinor;
    module->target = targetOf(parsed.target);
    module->heapUsers = heapUsers(parsed);
    module->loaded = gpuOf(root).load(root->id, parsed);
    for (const sim::Program::Global& global : module->loaded.program->globals)
        if (global.isManaged)
            publishHostRange(global.address,
                             {global.bytes, 0, HostRange::Kind::managed, root, state().nextId++, nullptr});
    CUmodule handle = remember(module.get());
    root->modules.push_back(std::move(module));
    return handle;
}

void unloadModule(CUmodule module) {
    CUcontext root = module->context;
    for (const sim::Program::Global& global : module->loaded.program->globals) {
        if (global.hostAddress) continue;
        if (global.isManaged) withdrawHostRange(global.address);
        memoryOf(root).free(global.address);
    }
    for (const auto& [name, function] : module->functions) forget(function.get());
    if (module->library) module->library->loaded.erase(root);
    forget(module);
    root->modules.remove_if([&](const auto& owned) { return owned.get() == module; });
}

CUfunction functionOf(CUmodule module, const std::string& name) {
    const sim::Code* code = module->loaded.program->kernel(name);
    if (!code) throw Failure{CUDA_ERROR_NOT_FOUND, fmt::format("the module has no kernel {}", name)};
    auto& function = module->functions[name];
    if (!function) {
        function = std::make_unique<CUfunc_st>();
        function->module = module;
        function->code = code;
        remember(function.get());
    }
    return function.get();
}

CUmodule moduleOf(CUlibrary library, CUcontext root) {
    CUmodule& module = library->loaded[root];
    if (!module) module = loadModule(root, *library->module, library);
    return module;
}

CUfunction resolveFunction(CUfunction function) {
    if (isKnown(function)) return function;
    const auto kernel = reinterpret_cast<CUkernel>(function);
    require(isKnown(kernel), CUDA_ERROR_INVALID_HANDLE, "neither a function nor a kernel of the driver's");
    CUfunction found = functionOf(moduleOf(kernel->library, current()->root), kernel->name);
    if (!found->kernel) {
        found->kernel = kernel;
        found->settings = kernel->settings;
    }
    return found;
}

namespace simulated {

CUresult cuModuleLoad(CUmodule* module, const char* path) {
    return call([&] {
        loadLogged(module, {0, nullptr, nullptr}, [&](const arch::DeviceProfile* profile) {
            const std::string content = imageIn(path);
            return parseImage(content.c_str(), profile);
        });
    });
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned optionCount, CUjit_option* options,
                            void** optionValues) {
    return call([&] {
        require(optionCount == 0 || (options && optionValues), CUDA_ERROR_INVALID_VALUE, "options without values");
        loadLogged(module, {optionCount, options, optionValues},
                   [&](const arch::DeviceProfile* profile) { return parseImage(image, profile); });
    });
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return cuModuleLoadData(module, image);
}
CUresult cuModuleUnload(CUmodule module) {
    return call([&] {
        requireInitialized();
        require(!known(module)->library, CUDA_ERROR_NOT_PERMITTED, "the module goes with its library");
        waitForAll(module->context);
        unloadModule(module);
    });
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return call([&] {
        current();
        requireOutput(function, name);
        *function = functionOf(known(module), name);
    });
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
    return call([&] {
        current();
        giveGlobal(address, bytes, known(module), name);
    });
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return call([&] {
        requireOutput(mode);
        constexpr CUmoduleLoadingMode kEager = 1;
        *mode = kEager;
    });
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
    return call([&] {
        requireOutput(count);
        *count = static_cast<unsigned>(known(module)->loaded.program->kernelNames().size());
    });
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
    return call([&] {
        requireOutput(functions);
        const std::vector<std::string> names = known(module)->loaded.program->kernelNames();
        for (std::size_t i = 0; i < names.size() && i < count; ++i) functions[i] = functionOf(module, names[i]);
    });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
    return call([&] {
        requireInitialized();
        requireOutput(library);
        *library = addLibrary(parseImage(image, nullptr));
    });
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
    return call([&] {
        requireInitialized();
        requireOutput(library);
        const std::string content = imageIn(path);
        *library = addLibrary(parseImage(content.c_str(), nullptr));
    });
}
CUresult cuLibraryUnload(CUlibrary library) {
    return call([&] {
        requireInitialized();
        for (const auto& [context, module] : std::map<CUcontext, CUmodule>(known(library)->loaded)) {
            if (!context->failed) waitForAll(context);
            unloadModule(module);
        }
        for (const auto& [name, kernel] : library->kernels) forget(kernel.get());
        forget(library);
        state().libraries.erase(library);
    });
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return call([&] {
        requireOutput(kernel, name);
        const ptx::Function* function = known(library)->module->find(name);
        if (!function || !function->isKernel)
            throw Failure{CUDA_ERROR_NOT_FOUND, fmt::format("the library has no kernel {}", name)};
        *kernel = kernelOf(library, name);
    });
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    return call([&] {
        requireOutput(module);
        *module = moduleOf(known(library), current()->root);
    });
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library, const char* name) {
    return call([&] { giveGlobal(address, bytes, moduleOf(known(library), current()->root), name); });
}
CUresult cuLibraryGetManaged(CUdeviceptr* address, std::size_t* bytes, CUlibrary library, const char* name) {
    return call([&] {
        CUmodule module = moduleOf(known(library), current()->root);
        require(globalOf(module, name).isManaged, CUDA_ERROR_NOT_FOUND, "the variable is not managed");
        giveGlobal(address, bytes, module, name);
    });
}
CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
    return call([&] {
        requireOutput(count);
        *count = static_cast<unsigned>(kernelNames(known(library)).size());
    });
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
    return call([&] {
        requireOutput(kernels);
        const std::vector<std::string> names = kernelNames(known(library));
        for (std::size_t i = 0; i < names.size() && i < count; ++i) kernels[i] = kernelOf(library, names[i]);
    });
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    return call([&] {
        requireOutput(function);
        *function = resolveFunction(reinterpret_cast<CUfunction>(known(kernel)));
    });
}
CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    return call([&] {
        requireOutput(library);
        *library = known(kernel)->library;
    });
}
CUresult cuKernelGetName(const char** name, CUkernel function) {
    return call([&] {
        requireOutput(name);
        *name = known(function)->name.c_str();
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
