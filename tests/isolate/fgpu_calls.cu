// Every call and macro of FGPU that vector_add.cu does without, under the names of its own headers.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fractional_gpu.hpp>
#include <fractional_gpu_cuda.cuh>
#include <vector>

__device__ unsigned visits;
__device__ unsigned astray;  ///< blocks on an SM that is not the color's

FGPU_DEFINE_VOID_KERNEL(count) {
    const fgpu_dev_ctx_t* ctx = FGPU_DEVICE_INIT();
    int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (sm < ctx->start_sm || sm > ctx->end_sm) atomicAdd(&astray, 1u);
    uint3 _blockIdx;
    FGPU_FOR_EACH_DEVICE_BLOCK(_blockIdx) {
        if (threadIdx.x != 0) continue;
        atomicAdd(&visits, 1 + _blockIdx.x * 0);
    }
    FGPU_FOR_EACH_END;
}

// A block for each column and row of the grid writes down which it is, by way of shared memory.
template <int kThreads>
__global__ FGPU_DEFINE_KERNEL(place, unsigned* out) {
    extern __shared__ unsigned staged[];
    dim3 _blockIdx;
    fgpu_dev_ctx_t* ctx = FGPU_DEVICE_INIT();
    const dim3 grid = FGPU_GET_GRIDDIM(ctx);
    FGPU_FOR_EACH_DEVICE_MULTIBLOCK(_blockIdx, 4) {
        const unsigned block = (_blockIdx.z * grid.y + _blockIdx.y) * FGPU_GET_GRIDDIM(ctx).x + _blockIdx.x;
        staged[kThreads - 1 - threadIdx.x] = block * kThreads + threadIdx.x;
        __syncthreads();
        unsigned* const to = FGPU_COLOR_TRANSLATE_ADDR(ctx, out + block * kThreads);
        FGPU_COLOR_STORE(ctx, &to[threadIdx.x], staged[threadIdx.x]);
    }
    FGPU_FOR_EACH_MULTI_END
}

#define CHECK(condition)                                        \
    do {                                                        \
        if (!(condition)) {                                     \
            std::printf("line %d: %s\n", __LINE__, #condition); \
            return 1;                                           \
        }                                                       \
    } while (false)

int main() {
    CHECK(!fgpu_is_init_complete() && !fgpu_is_color_prop_set());
    CHECK(fgpu_set_color_prop(0, 0) < 0);  // before fgpu_init
    CHECK(fgpu_server_init() == 0 && fgpu_init() == 0 && fgpu_is_init_complete());
    CHECK(fgpu_num_colors() == 2);
    void* memory = nullptr;
    if (std::getenv(FGPU_COLOR_ENV) == nullptr) {
        CHECK(fgpu_get_env_color() == 0);
        CHECK(fgpu_memory_allocate(&memory, 1) < 0);  // before a color
        CHECK(fgpu_set_color_prop(1, 1 << 20) == 0);
    } else {
        CHECK(fgpu_set_color_prop(fgpu_get_env_color(), 1 << 20) == 0);  // says what the environment has said
    }
    CHECK(fgpu_is_color_prop_set() && fgpu_set_color_prop(0, 0) < 0);

    int sms = 0, all = 0, colors = 0;
    std::size_t largest = 0;
    CHECK(fgpu_num_sm(0, &sms) == 0 && fpgpu_num_sm(1, &all) == 0);
    CHECK(fgpu_memory_get_device_info(&colors, &largest) == 0 && colors == 2);

    constexpr int kThreads = 64;
    const dim3 grid(3, 5, 2);
    const unsigned count = grid.x * grid.y * grid.z * kThreads;
    const std::size_t bytes = count * sizeof(unsigned);
    unsigned *out, *copy;
    CHECK(fgpu_memory_allocate(reinterpret_cast<void**>(&out), bytes) == 0);
    CHECK(fgpu_memory_allocate(reinterpret_cast<void**>(&copy), bytes) == 0);
    CHECK(fgpu_memory_allocate(&memory, largest) < 0);  // some is taken
    CHECK(fgpu_memory_get_phy_address(out) != fgpu_memory_get_phy_address(copy));
    CHECK(fgpu_memory_memset_async(out, 0xff, bytes) == 0);
    CHECK(FGPU_LAUNCH_KERNEL(place<kThreads>, grid, kThreads, kThreads * sizeof(unsigned), out) >= 0);
    CHECK(FGPU_LAUNCH_KERNEL_VOID(::count, 70, 32, 0) >= 0);
    CHECK(fgpu_memory_copy_async(copy, out, bytes, FGPU_COPY_GPU_TO_GPU) == 0);
    std::vector<unsigned> found(count), again(count);
    CHECK(fgpu_memory_copy_async(found.data(), copy, bytes, FGPU_COPY_DEFAULT) == 0);
    CHECK(fgpu_color_stream_synchronize() == 0);
    CHECK(fgpu_memory_copy_async(again.data(), found.data(), bytes, FGPU_COPY_CPU_TO_CPU) == 0);
    CHECK(fgpu_color_stream_synchronize() == 0);
    for (unsigned i = 0; i < count; ++i) CHECK(again[i] == i / kThreads * kThreads + (kThreads - 1 - i % kThreads));
    unsigned seen = 0;
    CHECK(cudaMemcpyFromSymbol(&seen, visits, sizeof seen) == cudaSuccess && seen == 70);
    CHECK(cudaMemcpyFromSymbol(&seen, astray, sizeof seen) == cudaSuccess && seen == 0);
    CHECK(fgpu_memory_free(out) == 0 && fgpu_memory_free(copy) == 0);
    fgpu_deinit();
    fgpu_server_deinit();
    CHECK(!fgpu_is_init_complete());
    std::printf("passed with %d and %d SMs\n", sms, all);
    return 0;
}
