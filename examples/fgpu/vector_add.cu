// Vector addition as programs written for FGPU have it.

#include <fgpu.h>

#include <cstdio>
#include <vector>

FGPU_DEFINE_KERNEL(vectorAdd, const float* a, const float* b, float* c, int count) {
    fgpu_dev_ctx_t* ctx;
    dim3 _blockIdx;
    ctx = FGPU_DEVICE_INIT();
    FGPU_FOR_EACH_DEVICE_BLOCK(_blockIdx) {
        const int i = _blockIdx.x * blockDim.x + threadIdx.x;
        if (i < count) {
            const float sum = FGPU_COLOR_LOAD(ctx, &a[i]) + FGPU_COLOR_LOAD(ctx, &b[i]);
            FGPU_COLOR_STORE(ctx, &c[i], sum);
        }
    }
    FGPU_FOR_EACH_END
}

#define CHECK(call)                                        \
    do {                                                   \
        if ((call) < 0) {                                  \
            std::printf("vector_add: %s failed\n", #call); \
            return 1;                                      \
        }                                                  \
    } while (false)

int main() {
    CHECK(fgpu_init());
    if (!fgpu_is_color_prop_set()) CHECK(fgpu_set_color_prop(0, 1 << 20));

    const int count = 100000;
    const std::size_t bytes = count * sizeof(float);
    std::vector<float> a(count), b(count), c(count);
    for (int i = 0; i < count; ++i) {
        a[i] = i;
        b[i] = 2 * i;
    }
    float *deviceA, *deviceB, *deviceC;
    CHECK(fgpu_memory_allocate(reinterpret_cast<void**>(&deviceA), bytes));
    CHECK(fgpu_memory_allocate(reinterpret_cast<void**>(&deviceB), bytes));
    CHECK(fgpu_memory_allocate(reinterpret_cast<void**>(&deviceC), bytes));
    CHECK(fgpu_memory_copy_async(deviceA, a.data(), bytes, FGPU_COPY_CPU_TO_GPU));
    CHECK(fgpu_memory_copy_async(deviceB, b.data(), bytes, FGPU_COPY_CPU_TO_GPU));
    CHECK(fgpu_memory_memset_async(deviceC, 0, bytes));
    CHECK(FGPU_LAUNCH_KERNEL(vectorAdd, (count + 255) / 256, 256, 0, deviceA, deviceB, deviceC, count));
    CHECK(fgpu_memory_copy_async(c.data(), deviceC, bytes, FGPU_COPY_GPU_TO_CPU));
    CHECK(fgpu_color_stream_synchronize());

    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += c[i] != 3.0f * i;
    int multiprocessors = 0;
    CHECK(fgpu_num_sm(0, &multiprocessors));
    std::printf("vector_add: %d SMs of color 0, %s\n", multiprocessors, wrong ? "failed" : "passed");
    CHECK(fgpu_memory_free(deviceA));
    CHECK(fgpu_memory_free(deviceB));
    CHECK(fgpu_memory_free(deviceC));
    fgpu_deinit();
    return wrong != 0;
}
