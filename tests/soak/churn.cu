// A program for tests/soak/churn.py: churn MODE SECONDS MEGABYTES SEED. Says when it has joined, when it has filled its
// memory, then a figure a second, and in the end whether its memory was clean when it got it and still its own when it
// left.

#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kRing = 1 << 20;  // words of the latency victim: they fit into L2

double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::printf("failed: %s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}

__device__ size_t first() {
    return blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
}
__device__ size_t step() {
    return static_cast<size_t>(gridDim.x) * blockDim.x;
}
__device__ unsigned expected(size_t i, unsigned seed) {
    return static_cast<unsigned>(i * 2654435761u) ^ seed;
}

__global__ void countOthers(const unsigned* words, size_t count, unsigned long long* others) {
    for (size_t i = first(); i < count; i += step())
        if (words[i] != 0) atomicAdd(others, 1ull);
}
__global__ void fill(unsigned* words, size_t count, unsigned seed) {
    for (size_t i = first(); i < count; i += step()) words[i] = expected(i, seed);
}
__global__ void countWrong(const unsigned* words, size_t count, unsigned seed, unsigned long long* wrong) {
    for (size_t i = first(); i < count; i += step())
        if (words[i] != expected(i, seed)) atomicAdd(wrong, 1ull);
}
/// Reads and writes all of it. With `nothing` 0, which no compiler knows, it stays as it was.
__global__ void stream(uint4* words, size_t count, unsigned nothing) {
    for (size_t i = first(); i < count; i += step()) {
        uint4 v = words[i];
        v.x ^= nothing;
        words[i] = v;
    }
}
__global__ void gather(const unsigned* words, size_t count, unsigned* sink) {
    unsigned sum = 0;
    for (size_t i = first(); i < count; i += step()) sum += words[i * 2654435761u % count];
    if (sum == 12345) *sink = sum;
}
/// Leaves where it came to, and a thousand times the cycles of a step.
__global__ void chase(const unsigned* ring, unsigned steps, unsigned* end) {
    unsigned at = 0;
    const long long begin = clock64();
    for (unsigned k = 0; k < steps; ++k) at = ring[at];
    end[0] = at;
    end[1] = static_cast<unsigned>(1000 * (clock64() - begin) / steps);
}

std::vector<unsigned> randomRing() {
    std::vector<unsigned> order(kRing), ring(kRing);
    for (unsigned i = 0; i < kRing; ++i) order[i] = i;
    unsigned random = 1;
    for (unsigned i = kRing - 1; i > 0; --i) {
        random = random * 1664525u + 1013904223u;
        std::swap(order[i], order[random % i]);
    }
    for (unsigned i = 0; i < kRing; ++i) ring[order[i]] = order[(i + 1) % kRing];
    return ring;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const char* const mode = argv[1];
    const double seconds = std::atof(argv[2]);
    const size_t bytes = static_cast<size_t>(std::atof(argv[3]) * (1 << 20)) / 16 * 16, count = bytes / 4;
    const auto seed = static_cast<unsigned>(std::atoi(argv[4]));
    int sms = 0;
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "counting SMs");
    const unsigned blocks = 8 * static_cast<unsigned>(sms), threads = 256;
    check(cudaFree(nullptr), "joining");
    std::puts("joined");
    std::fflush(stdout);
    unsigned *words = nullptr, *ring = nullptr;
    unsigned long long *found = nullptr, others = 0, wrong = 0;
    check(cudaMalloc(&words, bytes), "taking memory");
    check(cudaMalloc(&ring, 4 * kRing + 256), "taking memory");
    check(cudaMalloc(&found, 16), "taking memory");
    check(cudaMemset(found, 0, 16), "clearing");
    countOthers<<<blocks, threads>>>(words, count, found);
    fill<<<blocks, threads>>>(words, count, seed);
    check(cudaMemcpy(&others, found, 8, cudaMemcpyDeviceToHost), "looking at new memory");
    const std::vector<unsigned> order = randomRing();
    check(cudaMemcpy(ring, order.data(), 4 * kRing, cudaMemcpyHostToDevice), "copying");
    std::printf("in %d\n", sms);
    std::fflush(stdout);

    const auto begin = Clock::now();
    while (secondsSince(begin) < seconds) {
        const auto second = Clock::now();
        unsigned rounds = 0;
        for (; secondsSince(second) < 1; ++rounds) {
            if (std::strcmp(mode, "latency") == 0) {
                chase<<<1, 1>>>(ring, kRing, ring + kRing);
            } else if (std::strcmp(mode, "gather") == 0) {
                gather<<<blocks, threads>>>(words, count, ring + kRing);
            } else {
                stream<<<blocks, threads>>>(reinterpret_cast<uint4*>(words), count / 4, argc - 5);
            }
            check(cudaDeviceSynchronize(), mode);
        }
        const double each = secondsSince(second) / rounds;
        if (std::strcmp(mode, "latency") == 0) {
            unsigned end[2] = {};
            check(cudaMemcpy(end, ring + kRing, sizeof end, cudaMemcpyDeviceToHost), "copying");
            std::printf("sample %.3f %.3f\n", 1e9 * each / kRing, end[1] / 1000.0);
        } else {
            std::printf("sample %.3f\n", 2e-9 * static_cast<double>(bytes) / each);
        }
        std::fflush(stdout);
    }
    countWrong<<<blocks, threads>>>(words, count, seed, found + 1);
    check(cudaMemcpy(&wrong, found + 1, 8, cudaMemcpyDeviceToHost), "looking at its memory");
    std::printf("out %llu %llu\n", others, wrong);
    return others != 0 || wrong != 0 ? 1 : 0;
}
