// One pointer for both sides: a linked list that the host builds and the device walks.

#include "check.h"

struct Node {
    int value;
    Node* next;
};

__global__ void total(const Node* first, int* sum) {
    for (const Node* node = first; node != nullptr; node = node->next) *sum += node->value;
}

__global__ void doubled(Node* nodes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) nodes[i].value *= 2;
}

int main() {
    const int n = 200;
    Node* nodes;
    int* sum;
    CHECK(cudaMallocManaged(&nodes, n * sizeof(Node)));
    CHECK(cudaMallocManaged(&sum, sizeof(int)));
    int expected = 0;
    for (int i = 0; i < n; ++i) {
        // Linked in an order that is not that of memory.
        const int place = i * 37 % n, after = (i + 1) * 37 % n;
        nodes[place].value = i;
        nodes[place].next = i + 1 < n ? &nodes[after] : nullptr;
        expected += 2 * i;
    }
    *sum = 0;
    doubled<<<(n + 63) / 64, 64>>>(nodes, n);
    total<<<1, 1>>>(nodes, sum);
    CHECK(cudaDeviceSynchronize());
    const bool right = *sum == expected && nodes[37 % n].value == 2;
    CHECK(cudaFree(nodes));
    CHECK(cudaFree(sum));
    return verdict("managed_memory", right);
}
