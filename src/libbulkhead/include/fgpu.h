#pragma once

// Source compatibility with FGPU (Fractional GPUs, RTAS 2019). Walls are the driver's here, so kernels stay ordinary
// ones: a launch has the grid it is meant to have, each block does one block's work, and addresses are what they are.
// Programs call it before any other CUDA call and link with -lbulkhead.
//
// With FGPU_PAPER_NAMES defined, macros are those printed in the paper: kernels begin with `__global__ void`, and
// launches have no shared memory.

#include <bulkhead.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#define FGPU_COLOR_ENV "FGPU_COLOR_ENV"
#define FGPU_COLOR_MEM_SIZE_ENV "FGPU_COLOR_MEM_SIZE_ENV"

enum fgpu_memory_copy_type {
    FGPU_COPY_CPU_TO_GPU,
    FGPU_COPY_GPU_TO_CPU,
    FGPU_COPY_GPU_TO_GPU,
    FGPU_COPY_CPU_TO_CPU,
    FGPU_COPY_DEFAULT,
};

/// What device code passes around. Walls need nothing of it; programs print the SMs of their color.
struct fgpu_dev_ctx_t {
    int color;
    int start_sm, end_sm;  ///< the lowest and the highest
};

// Calls that must succeed, and calls whose failure is reported.
#define gpuErrAssert(call) fgpu_detail::expectSuccess((call), __FILE__, __LINE__, true)
#define gpuErrCheck(call) fgpu_detail::expectSuccess((call), __FILE__, __LINE__, false)

namespace fgpu_detail {

struct State {
    bool initialised = false;
    bool joined = false;
    bool joinedByEnvironment = false;  ///< and the program has not said yet which color it wants
    int color = -1;
    cudaStream_t stream = nullptr;
};

inline State& state() {
    static State one;
    return one;
}

inline int fail(const char* what) {
    std::fprintf(stderr, "fgpu: %s\n", what);
    return -1;
}

inline int check(cudaError_t error) {
    if (error == cudaSuccess) return 0;
    cudaGetLastError();  // or the next launch would be taken for the one that failed
    return fail(cudaGetErrorString(error));
}

inline int expectSuccess(cudaError_t error, const char* file, int line, bool ends) {
    if (error == cudaSuccess) return 0;
    std::fprintf(stderr, "fgpu: %s:%d: %s\n", file, line, cudaGetErrorString(error));
    if (ends) std::exit(1);
    return -1;
}

inline cudaStream_t streamOr(cudaStream_t given) {
    return given ? given : state().stream;
}

constexpr std::size_t kDefaultMemory = std::size_t{1} << 30;

inline std::string& ownFolder() {
    static std::string folder;
    return folder;
}

/// Each process with a simulated GPU has one to itself, and divides it alone: its leases are nobody else's, unless the
/// environment names a folder. Where a driver of NVIDIA's is behind Bulkhead's, the environment says which.
inline void divideAlone() {
    const auto says = [](const char* name) {
        const char* const text = ::secure_getenv(name);
        return text && *text;
    };
    if (!says("BULKHEAD_GPU") || says("BULKHEAD_LIBCUDA") || says("BULKHEAD_LEASES")) return;
    std::error_code none;
    std::string folder = (std::filesystem::temp_directory_path(none) / "fgpu-XXXXXX").string();
    if (none || !::mkdtemp(folder.data())) return;
    ownFolder() = folder;
    ::setenv("BULKHEAD_LEASES", folder.c_str(), 1);
    std::atexit([] {
        std::error_code ignored;
        std::filesystem::remove_all(ownFolder(), ignored);
    });
}

}  // namespace fgpu_detail

/// Makes two halves where nobody has set partitions; never touches partitions that are there.
inline int fgpu_server_init() {
    unsigned count = 0;
    if (bulkhead_partitions(&count) == 0) return 0;
    fgpu_detail::divideAlone();
    return bulkhead_set_partitions("P1=50%,P2=50%") == 0 ? 0 : fgpu_detail::fail(bulkhead_error());
}
inline void fgpu_server_deinit() {}

inline int fgpu_num_colors() {
    unsigned count = 0;
    return bulkhead_partitions(&count) == 0 ? static_cast<int>(count) : fgpu_detail::fail(bulkhead_error());
}

/// From the environment; 0 where it says nothing.
inline int fgpu_get_env_color() {
    const char* text = ::secure_getenv(FGPU_COLOR_ENV);
    return text && *text ? std::atoi(text) : 0;
}
inline std::size_t fgpu_get_env_color_mem_size() {
    const char* text = ::secure_getenv(FGPU_COLOR_MEM_SIZE_ENV);
    return text && *text ? std::strtoull(text, nullptr, 0) : fgpu_detail::kDefaultMemory;
}

/// Joins partition number `color`, of which at least `mem` bytes are asked.
inline int fgpu_set_color_prop(int color, std::size_t mem) {
    fgpu_detail::State& state = fgpu_detail::state();
    if (!state.initialised) return fgpu_detail::fail("fgpu_init comes first");
    const bool confirmed = state.joinedByEnvironment && color == state.color;
    state.joinedByEnvironment = false;
    if (confirmed) return 0;
    if (state.joined) return fgpu_detail::fail("the color was set before");
    bulkhead_place place = {};
    if (color < 0 || bulkhead_partition(static_cast<unsigned>(color), &place) != 0)
        return fgpu_detail::fail(color < 0 ? "colors count from 0" : bulkhead_error());
    if (bulkhead_join(place.partition) != 0 || bulkhead_query(&place) != 0) return fgpu_detail::fail(bulkhead_error());
    if (place.memory_bytes != 0 && mem > place.memory_bytes) {
        bulkhead_leave();
        return fgpu_detail::fail("the color has less memory than was asked for");
    }
    state.joined = true;
    state.color = color;
    return fgpu_detail::check(cudaStreamCreateWithFlags(&state.stream, cudaStreamNonBlocking));
}
inline bool fgpu_is_color_prop_set() {
    return fgpu_detail::state().joined;
}

inline int fgpu_init() {
    if (fgpu_server_init() != 0) return -1;
    fgpu_detail::state().initialised = true;
    const char* text = ::secure_getenv(FGPU_COLOR_ENV);
    if (!text || !*text) return 0;
    const int status = fgpu_set_color_prop(fgpu_get_env_color(), fgpu_get_env_color_mem_size());
    fgpu_detail::state().joinedByEnvironment = status == 0;
    return status;
}
/// The paper's: the partition in which the program is to run.
inline int fgpu_init(int partition) {
    if (fgpu_server_init() != 0) return -1;
    fgpu_detail::state().initialised = true;
    return fgpu_set_color_prop(partition, 0);
}
inline bool fgpu_is_init_complete() {
    return fgpu_detail::state().initialised;
}
inline void fgpu_deinit() {
    fgpu_detail::State& state = fgpu_detail::state();
    if (state.stream) cudaStreamDestroy(state.stream);
    if (state.joined) bulkhead_leave();
    state = {};
}

inline int fgpu_num_sm(int color, int* count) {
    bulkhead_place place = {};
    if (color < 0 || count == nullptr || bulkhead_partition(static_cast<unsigned>(color), &place) != 0)
        return fgpu_detail::fail(bulkhead_error());
    if (place.sms == 0) return fgpu_detail::fail("the number of SMs is known once a color is set");
    *count = static_cast<int>(place.sms);
    return 0;
}
/// As FGPU's own header spells it.
inline int fpgpu_num_sm(int color, int* count) {
    return fgpu_num_sm(color, count);
}

inline int fgpu_memory_get_device_info(int* colors, std::size_t* largest) {
    bulkhead_place place = {};
    if (bulkhead_query(&place) != 0) return fgpu_detail::fail(bulkhead_error());
    std::size_t free = 0, total = 0;
    if (fgpu_detail::check(cudaMemGetInfo(&free, &total)) != 0) return -1;
    if (colors) *colors = fgpu_num_colors();
    if (largest) *largest = free;
    return 0;
}

inline int fgpu_memory_allocate(void** memory, std::size_t bytes) {
    if (!fgpu_is_color_prop_set()) return fgpu_detail::fail("the color is not set");
    return fgpu_detail::check(cudaMalloc(memory, bytes));
}
inline int fgpu_memory_free(void* memory) {
    return fgpu_detail::check(cudaFree(memory));
}
inline int fgpu_memory_copy_async(void* to, const void* from, std::size_t bytes, fgpu_memory_copy_type type,
                                  cudaStream_t stream = nullptr) {
    constexpr cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
                                        cudaMemcpyHostToHost, cudaMemcpyDefault};
    return fgpu_detail::check(cudaMemcpyAsync(to, from, bytes, kinds[type], fgpu_detail::streamOr(stream)));
}
inline int fgpu_memory_memset_async(void* memory, int value, std::size_t bytes, cudaStream_t stream = nullptr) {
    return fgpu_detail::check(cudaMemsetAsync(memory, value, bytes, fgpu_detail::streamOr(stream)));
}
/// Null where the driver does not tell.
inline void* fgpu_memory_get_phy_address(void* memory) {
    unsigned long long physical = 0;
    return bulkhead_physical_address(memory, &physical) == 0 ? reinterpret_cast<void*>(physical) : nullptr;
}

inline int fgpu_color_stream_synchronize() {
    return fgpu_detail::check(cudaStreamSynchronize(fgpu_detail::state().stream));
}

#ifdef __CUDACC__
/// Of each file of a program.
static __constant__ fgpu_dev_ctx_t fgpu_context;

/// The lowest and the highest SM that blocks run on.
static __global__ void fgpu_find_sms(int* range) {
    int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    atomicMin(&range[0], sm);
    atomicMax(&range[1], sm);
}

/// Before the file's first launch: a plan deals the SMs as it likes, so blocks are asked where they are.
static inline void fgpu_describe_color() {
    static bool described = false;
    if (described || !fgpu_is_color_prop_set()) return;
    int sms = 0, range[2] = {1 << 30, -1}, *place = nullptr;
    const auto failed = [](cudaError_t error) { return fgpu_detail::check(error) != 0; };
    if (failed(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0)) ||
        failed(cudaMalloc(&place, sizeof range)))
        return;
    if (!failed(cudaMemcpy(place, range, sizeof range, cudaMemcpyHostToDevice))) {
        fgpu_find_sms<<<8 * sms, 32>>>(place);
        if (!failed(cudaMemcpy(range, place, sizeof range, cudaMemcpyDeviceToHost))) {
            const fgpu_dev_ctx_t context = {fgpu_detail::state().color, range[0], range[1]};
            described = !failed(cudaMemcpyToSymbol(fgpu_context, &context, sizeof context));
        }
    }
    cudaFree(place);
}
#endif

#ifdef FGPU_PAPER_NAMES
#define FGPU_DEFINE_KERNEL(function, ...) function(__VA_ARGS__)
#define FGPU_LAUNCH_KERNEL(function, grid, block, ...) FGPU_LAUNCH_(function, grid, block, 0, __VA_ARGS__)
#define FGPU_BLOCK_INIT() ((void)0)
#define FGPU_FOR_EACH_BLOCK(block) FGPU_FOR_EACH_DEVICE_BLOCK(block)
#else
#define FGPU_DEFINE_KERNEL(function, ...) __global__ void function(__VA_ARGS__)
#define FGPU_DEFINE_VOID_KERNEL(function) __global__ void function()
#define FGPU_LAUNCH_KERNEL(function, grid, block, shared, ...) FGPU_LAUNCH_(function, grid, block, shared, __VA_ARGS__)
#define FGPU_LAUNCH_KERNEL_VOID(function, grid, block, shared) FGPU_LAUNCH_(function, grid, block, shared)
#endif

/// An expression that is 0, or -1 where the launch was refused.
#define FGPU_LAUNCH_(function, grid, block, shared, ...)                                                       \
    (fgpu_describe_color(), function<<<(grid), (block), (shared), fgpu_detail::state().stream>>>(__VA_ARGS__), \
     fgpu_detail::check(cudaGetLastError()))

#define FGPU_DEVICE_INIT() (static_cast<fgpu_dev_ctx_t*>(&fgpu_context))
#define FGPU_GET_GRIDDIM(ctx) ((void)(ctx), dim3(gridDim.x, gridDim.y, gridDim.z))

/// One round, in which `block` is the index of this block.
#define FGPU_FOR_EACH_DEVICE_BLOCK(block)                                                                              \
    for (bool fgpu_again = ((block).x = blockIdx.x, (block).y = blockIdx.y, (block).z = blockIdx.z, true); fgpu_again; \
         fgpu_again = false)
#define FGPU_FOR_EACH_END
#define FGPU_FOR_EACH_DEVICE_MULTIBLOCK(block, count) \
    FGPU_FOR_EACH_DEVICE_BLOCK(block) {               \
        (void)(count);                                \
        {
#define FGPU_FOR_EACH_MULTI_END \
    }                           \
    }

#define FGPU_COLOR_LOAD(ctx, address) ((void)(ctx), *(address))
#define FGPU_COLOR_STORE(ctx, address, value) ((void)(ctx), *(address) = (value))
#define FGPU_COLOR_TRANSLATE_ADDR(ctx, address) ((void)(ctx), (address))
