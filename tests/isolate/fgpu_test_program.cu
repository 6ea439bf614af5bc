// A program as FGPU's own tests are: options, rounds and times. Named "twice", it starts itself while it runs.

#include <fractional_gpu.hpp>
#include <fractional_gpu_cuda.cuh>
#define USE_FGPU
#include <cstdlib>
#include <fractional_gpu_testing.hpp>
#include <string>

FGPU_DEFINE_KERNEL(add, int* p) {
    dim3 _blockIdx;
    fgpu_dev_ctx_t* ctx = FGPU_DEVICE_INIT();
    FGPU_FOR_EACH_DEVICE_BLOCK(_blockIdx) {
        if (threadIdx.x == 0) atomicAdd(FGPU_COLOR_TRANSLATE_ADDR(ctx, p), 1);
    }
    FGPU_FOR_EACH_END;
}

int main(int count, char** words) {
    int rounds = 0, *p, sum = 0;
    pstats_t times;
    test_initialize(count, words, &rounds);
    gpuErrAssert(cudaMalloc(&p, 4));
    gpuErrAssert(cudaMemset(p, 0, 4));
    pstats_init(&times);
    for (int i = 0; i < rounds; ++i) {
        const double start = dtime_usec(0);
        if (FGPU_LAUNCH_KERNEL(add, 5, 32, 0, p) < 0 || fgpu_color_stream_synchronize() < 0) return 1;
        dprintf("%s\n", dtime_usec((unsigned long long)start) >= 0 ? "after" : "before");
        pstats_add_observation(&times, i);
    }
    gpuErrAssert(cudaMemcpy(&sum, p, 4, cudaMemcpyDeviceToHost));
    pstats_print(&times);
    printf("sum %d%s\n", sum, test_execute_just_kernel() ? " by kernels alone" : "");
    fflush(stdout);
    const std::string self = words[0], folder = self.substr(0, self.rfind('/') + 1);
    int status = 0;
    if (self == folder + "twice") {
        setenv("OTHER", (folder + "once").c_str(), 1);
        status = system("env -u BULKHEAD_LEASES \"$OTHER\" -i 1");
    }
    test_deinitialize();
    return status == 0 ? 0 : 2;
}
