#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace bulkhead::golden {

using Result = int;
using DevicePointer = unsigned long long;

inline void check(Result result, const char* what) {
    if (result == 0) return;
    std::fprintf(stderr, "%s failed with error %d\n", what, result);
    std::exit(1);
}

/// The machine's first NVIDIA GPU, through its driver; needs no toolkit. Ends the program where there is none.
class Gpu {
  public:
    Gpu() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW);
        if (!library) {
            std::fprintf(stderr, "%s\n", dlerror());
            std::exit(1);
        }
        load(library, "cuInit", init_);
        load(library, "cuDeviceGet", deviceGet_);
        load(library, "cuDeviceGetName", deviceGetName_);
        load(library, "cuDevicePrimaryCtxRetain", contextRetain_);
        load(library, "cuCtxSetCurrent", contextSet_);
        load(library, "cuModuleLoadDataEx", moduleLoad_);
        load(library, "cuModuleUnload", moduleUnload_);
        load(library, "cuModuleGetFunction", moduleFunction_);
        load(library, "cuFuncSetAttribute", functionAttribute_);
        load(library, "cuMemAlloc_v2", allocate_);
        load(library, "cuMemcpyHtoD_v2", toDevice_);
        load(library, "cuMemcpyDtoH_v2", toHost_);
        load(library, "cuLaunchKernel", launch_);
        load(library, "cuCtxSynchronize", synchronize_);
        int device = 0;
        void* context = nullptr;
        check(init_(0), "cuInit");
        check(deviceGet_(&device, 0), "cuDeviceGet");
        check(contextRetain_(&context, device), "cuDevicePrimaryCtxRetain");
        check(contextSet_(context), "cuCtxSetCurrent");
        char name[128] = "";
        deviceGetName_(name, sizeof name, device);
        name_ = name;
    }

    const std::string& name() const { return name_; }

    DevicePointer allocate(std::size_t bytes) {
        DevicePointer p = 0;
        check(allocate_(&p, bytes), "cuMemAlloc");
        return p;
    }
    void toDevice(DevicePointer to, const void* from, std::size_t bytes) {
        check(toDevice_(to, from, bytes), "cuMemcpyHtoD");
    }
    void toHost(void* to, DevicePointer from, std::size_t bytes) { check(toHost_(to, from, bytes), "cuMemcpyDtoH"); }

    /// Runs the kernel `k(in, out)` of a module. False, with the reason on stderr: the driver's compiler refuses it.
    bool run(const std::string& name, const std::string& ptx, unsigned blocks, unsigned threads, unsigned shared,
             DevicePointer in, DevicePointer out) {
        char log[2048] = "";
        int options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
        void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
        void *module = nullptr, *kernel = nullptr;
        if (const Result result = moduleLoad_(&module, ptx.c_str(), 2, options, values)) {
            std::fprintf(stderr, "refused (%d): %s\n%s\n", result, name.c_str(), log);
            return false;
        }
        check(moduleFunction_(&kernel, module, "k"), "cuModuleGetFunction");
        // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        if (shared) check(functionAttribute_(kernel, 8, static_cast<int>(shared)), "cuFuncSetAttribute");
        void* arguments[] = {&in, &out};
        check(launch_(kernel, blocks, 1, 1, threads, 1, 1, shared, nullptr, arguments, nullptr), "cuLaunchKernel");
        check(synchronize_(), name.c_str());
        moduleUnload_(module);
        return true;
    }

  private:
    template <class F>
    static void load(void* library, const char* name, F*& function) {
        function = reinterpret_cast<F*>(dlsym(library, name));
        if (!function) {
            std::fprintf(stderr, "libcuda.so.1 has no %s\n", name);
            std::exit(1);
        }
    }

    Result (*init_)(unsigned) = nullptr;
    Result (*deviceGet_)(int*, int) = nullptr;
    Result (*deviceGetName_)(char*, int, int) = nullptr;
    Result (*contextRetain_)(void**, int) = nullptr;
    Result (*contextSet_)(void*) = nullptr;
    Result (*moduleLoad_)(void**, const void*, unsigned, int*, void**) = nullptr;
    Result (*moduleUnload_)(void*) = nullptr;
    Result (*moduleFunction_)(void**, void*, const char*) = nullptr;
    Result (*functionAttribute_)(void*, int, int) = nullptr;
    Result (*allocate_)(DevicePointer*, std::size_t) = nullptr;
    Result (*toDevice_)(DevicePointer, const void*, std::size_t) = nullptr;
    Result (*toHost_)(void*, DevicePointer, std::size_t) = nullptr;
    Result (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                      void**) = nullptr;
    Result (*synchronize_)() = nullptr;
    std::string name_;
};

}  // namespace bulkhead::golden
