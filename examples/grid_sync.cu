// Jacobi iterations in one kernel: a cooperative launch, and a barrier for the whole grid between steps.

#include <cooperative_groups.h>

#include <cmath>
#include <utility>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void jacobi(double* a, double* b, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (unsigned long long i = grid.thread_rank() + 1; i < n - 1; i += grid.size())
            b[i] = 0.5 * (a[i - 1] + a[i + 1]);
        grid.sync();
        double* const t = a;
        a = b;
        b = t;
    }
}

int main() {
    int device = 0, cooperative = 0, multiprocessors = 0, perMultiprocessor = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    if (!cooperative) {
        std::printf("grid_sync: skipped, the device has no cooperative launch\n");
        return 0;
    }
    const int n = 600, threads = 64;
    int steps = 20;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perMultiprocessor, jacobi, threads, 0));
    const int blocks = multiprocessors * perMultiprocessor < 8 ? multiprocessors * perMultiprocessor : 8;

    std::vector<double> a(n), b(n);
    for (int i = 0; i < n; ++i) a[i] = b[i] = i % 7 == 0 ? 1.0 : 0.0;
    double *da, *db;
    CHECK(cudaMalloc(&da, n * sizeof(double)));
    CHECK(cudaMalloc(&db, n * sizeof(double)));
    CHECK(cudaMemcpy(da, a.data(), n * sizeof(double), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), n * sizeof(double), cudaMemcpyHostToDevice));
    int count = n;
    void* arguments[] = {&da, &db, &count, &steps};
    CHECK(cudaLaunchCooperativeKernel((void*)jacobi, dim3(blocks), dim3(threads), arguments, 0, 0));
    CHECK(cudaDeviceSynchronize());
    std::vector<double> got(n);
    CHECK(cudaMemcpy(got.data(), da, n * sizeof(double), cudaMemcpyDeviceToHost));  // an even number of steps

    for (int step = 0; step < steps; ++step) {
        for (int i = 1; i < n - 1; ++i) b[i] = 0.5 * (a[i - 1] + a[i + 1]);
        std::swap(a, b);
    }
    bool right = true;
    for (int i = 0; i < n; ++i) right = right && std::abs(got[i] - a[i]) < 1e-14;

    // More blocks than fit at once must be refused, or they would wait for each other forever.
    const cudaError_t tooMany = cudaLaunchCooperativeKernel(
        (void*)jacobi, dim3(multiprocessors * perMultiprocessor + 1), dim3(threads), arguments, 0, 0);
    right = right && tooMany == cudaErrorCooperativeLaunchTooLarge;
    cudaGetLastError();
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    return verdict("grid_sync", right);
}
