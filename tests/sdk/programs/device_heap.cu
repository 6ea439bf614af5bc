// malloc, free, new and delete in kernels: what several thousand threads hold at the same time is each one's own, what
// is freed can be had again, and an exhausted heap gives null.

#include <cstdint>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 2048;

struct Node {
    explicit __device__ Node(int n) : number(n) {}
    __device__ ~Node() { number = -1; }
    int number;
    Node* next = nullptr;
};

/// Each thread makes a list of pieces of all sizes, checks that nobody else has written into them, and frees them.
__global__ void churn(int* faults, int rounds) {
    const int id = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    unsigned random = id * 2654435761u + 1;
    for (int round = 0; round < rounds; ++round) {
        random = random * 1664525u + 1013904223u;
        const int words = 1 + static_cast<int>((random >> 20) % (id % 64 ? 60 : 2000));
        int* const piece = static_cast<int*>(malloc(words * sizeof(int)));
        Node* const node = new Node(id);
        if (!piece || !node || reinterpret_cast<std::uintptr_t>(piece) % 16) atomicAdd(faults, 1);
        if (!piece || !node) return;
        for (int i = 0; i < words; ++i) piece[i] = id + i;
        __syncthreads();
        for (int i = 0; i < words; ++i)
            if (piece[i] != id + i) atomicAdd(faults, 1);
        if (node->number != id || node->next) atomicAdd(faults, 1);
        free(piece);
        delete node;
    }
}

/// How many pieces of a size one thread gets until there are no more; all are freed again.
__global__ void exhaust(std::size_t bytes, int* count) {
    void* last = nullptr;
    for (*count = 0; void* const piece = malloc(bytes); ++*count) {
        *static_cast<void**>(piece) = last;
        last = piece;
    }
    while (last) {
        void* const before = *static_cast<void**>(last);
        free(last);
        last = before;
    }
    free(nullptr);
}

__global__ void keep(int** kept) {
    *kept = static_cast<int*>(malloc(sizeof(int)));
    **kept = 42;
}
__global__ void look(int** kept, int* seen) {
    *seen = **kept;
    free(*kept);
}

}  // namespace

int main() {
    std::size_t limit = 0;
    cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    expect(limit == 8 << 20, "the default limit");
    expect(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1'900'000) == cudaSuccess, "setting it");
    cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    expect(limit == 29 * 65536, "in steps of 64 KB");

    int *numbers, **kept;
    cudaMalloc(&numbers, 64);
    cudaMalloc(&kept, sizeof(int*));
    cudaMemset(numbers, 0, 64);
    churn<<<kThreads / 128, 128>>>(numbers, 3);
    const std::size_t sizes[] = {1000, 5000, 100'000};
    for (int i = 0; i < 3; ++i) exhaust<<<1, 1>>>(sizes[i], numbers + 1 + i);
    keep<<<1, 1>>>(kept);
    look<<<1, 1>>>(kept, numbers + 4);
    int seen[5];
    expect(cudaMemcpy(seen, numbers, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess, "the kernels");
    expect(seen[0] == 0, "pieces of their own");
    for (int i = 0; i < 3; ++i) {
        const double share = seen[1 + i] * static_cast<double>(sizes[i]) / static_cast<double>(limit);
        expect(share > 0.6 && share <= 1, "most of the heap");
    }
    expect(seen[4] == 42, "what one kernel leaves for another");
    expect(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20) == cudaErrorInvalidValue,
           "no other limit once it is in use");
    return finished();
}
