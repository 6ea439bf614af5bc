// What a program gets of a GPU, or of a partition of one: six kernels of known traffic, timed by events, each compared
// with the CPU. Ends with 1 if a result is wrong.
//
//     nvcc -arch=sm_90 -gencode arch=compute_90,code=compute_90 -cudart shared tests/soak/rates.cu -o rates
//     bulkhead isolate run --gpu cuda:0 --partition A -- ./rates [ELEMENTS]

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

using Word = unsigned long long;
constexpr unsigned kThreads = 256, kWidth = 1024;

__host__ __device__ unsigned scattered(unsigned i) {
    i *= 2654435761u;
    i = (i ^ i >> 15) * 2246822519u;
    return i ^ i >> 13;
}

__global__ void add(float* c, const float* a, const float* b, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void addFour(float4* c, const float4* a, const float4* b, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

__global__ void saxpy(float* c, const float* a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = 2 * a[i] + c[i];
}

__global__ void stencil(float* c, const float* a, unsigned n) {
    const unsigned i = kWidth + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - kWidth) c[i] = a[i] + a[i - 1] + a[i + 1] + a[i - kWidth] + a[i + kWidth];
}

__global__ void gather(float* c, const float* a, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[scattered(i) & (n - 1)];
}

__global__ void chase(Word at, unsigned steps, Word* took) {
    Word begin, end;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    for (unsigned i = 0; i < steps; ++i) at = *reinterpret_cast<const volatile Word*>(at);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    *took = end - begin + (at == 1);
}

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "rates: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

template <class T>
T* allocate(std::size_t count) {
    T* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)));
    return memory;
}

/// Seconds, the median of several.
template <class Launch>
double timed(Launch&& launch) {
    constexpr int kRuns = 9;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    std::vector<float> times(kRuns);
    launch();
    for (float& time : times) {
        check(cudaEventRecord(begin));
        launch();
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&time, begin, end));
    }
    std::sort(times.begin(), times.end());
    return times[kRuns / 2] / 1e3;
}

struct Arrays {
    explicit Arrays(unsigned elements)
        : n(elements), a(allocate<float>(n)), b(allocate<float>(n)), c(allocate<float>(n)), hostA(n), hostB(n) {
        for (unsigned i = 0; i < n; ++i) {
            hostA[i] = static_cast<float>(i % 1000);
            hostB[i] = static_cast<float>(i % 77);
        }
        check(cudaMemcpy(a, hostA.data(), n * sizeof(float), cudaMemcpyHostToDevice));
        check(cudaMemcpy(b, hostB.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    }

    unsigned n;
    float *a, *b, *c;
    std::vector<float> hostA, hostB;
};

bool wrong = false;

/// Tells a kernel's rate once its result is what the CPU says.
template <class Launch, class Expected>
void measure(const char* name, const char* unit, double amount, Arrays& arrays, unsigned first, unsigned last,
             Launch&& launch, Expected&& expected) {
    check(cudaMemset(arrays.c, 0, arrays.n * sizeof(float)));
    launch();
    std::vector<float> result(arrays.n);
    check(cudaMemcpy(result.data(), arrays.c, arrays.n * sizeof(float), cudaMemcpyDeviceToHost));
    unsigned bad = 0;
    for (unsigned i = first; i < last; ++i) bad += result[i] != expected(i);
    wrong = wrong || bad != 0;
    std::printf("%-16s %8.1f %s%s\n", name, amount / timed(launch) / 1e9, unit, bad != 0 ? ", wrong" : "");
}

double nanosecondsOfAnAccess() {
    constexpr unsigned kLine = 128, kLines = (4 << 20) / kLine, kSteps = 20'000;
    Word* memory = allocate<Word>(kLines * kLine / sizeof(Word));
    Word* took = allocate<Word>(1);
    std::vector<unsigned> order(kLines);
    std::iota(order.begin(), order.end(), 0u);
    std::srand(1);
    for (unsigned i = kLines - 1; i > 0; --i) std::swap(order[i], order[std::rand() % (i + 1)]);
    std::vector<Word> content(kLines * kLine / sizeof(Word));
    const auto address = [&](unsigned line) { return reinterpret_cast<Word>(memory) + Word{line} * kLine; };
    for (unsigned i = 0; i < kLines; ++i) content[order[i] * (kLine / sizeof(Word))] = address(order[(i + 1) % kLines]);
    check(cudaMemcpy(memory, content.data(), content.size() * sizeof(Word), cudaMemcpyHostToDevice));
    Word least = ~Word{0};
    for (int run = 0; run < 5; ++run) {
        chase<<<1, 1>>>(address(order[0]), kSteps, took);
        Word time = 0;
        check(cudaMemcpy(&time, took, sizeof time, cudaMemcpyDeviceToHost));
        least = std::min(least, time);
    }
    return static_cast<double>(least) / kSteps;
}

}  // namespace

int main(int count, char** arguments) {
    const unsigned n = count > 1 ? static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10)) : 1u << 26;
    if (n < 4 * kWidth || (n & (n - 1)) != 0) {
        std::fputs("rates: give a power of two from 4096 on\n", stderr);
        return 2;
    }
    Arrays x(n);
    const unsigned blocks = n / kThreads;
    const auto sum = [&](unsigned i) { return x.hostA[i] + x.hostB[i]; };
    measure(
        "add", "GB/s", 12.0 * n, x, 0, n, [&] { add<<<blocks, kThreads>>>(x.c, x.a, x.b, n); }, sum);
    const auto four = [](float* p) { return reinterpret_cast<float4*>(p); };
    measure(
        "add, 16 B a lane", "GB/s", 12.0 * n, x, 0, n,
        [&] { addFour<<<blocks / 4, kThreads>>>(four(x.c), four(x.a), four(x.b), n / 4); }, sum);
    measure(
        "saxpy", "GB/s", 12.0 * n, x, 0, n, [&] { saxpy<<<blocks, kThreads>>>(x.c, x.a, n); },
        [&](unsigned i) { return 2 * x.hostA[i]; });
    measure(
        "stencil", "GB/s", 8.0 * n, x, kWidth, n - kWidth, [&] { stencil<<<blocks, kThreads>>>(x.c, x.a, n); },
        [&](unsigned i) {
            return x.hostA[i] + x.hostA[i - 1] + x.hostA[i + 1] + x.hostA[i - kWidth] + x.hostA[i + kWidth];
        });
    measure(
        "gather", "G/s", n, x, 0, n, [&] { gather<<<blocks, kThreads>>>(x.c, x.a, n); },
        [&](unsigned i) { return x.hostA[scattered(i) & (n - 1)]; });
    std::printf("%-16s %8.1f ns\n", "chase", nanosecondsOfAnAccess());
    return wrong ? 1 : 0;
}
