// Managed variables: the host reads and writes them by name, and so do kernels.

#include "check.h"

struct Pair {
    int first;
    float second;
};

__managed__ int number = 3;
__device__ __managed__ float numbers[100] = {1.5f, -2.0f};
static __managed__ long long hidden = -7;
__managed__ static double real = 2.5;
__managed__ Pair pair = {4, 0.5f};
__managed__ char text[8] = "hi";
__managed__ unsigned char bytes[3] = {250, 251, 252};
__managed__ int zero, grid[16][4];
namespace inner {
__managed__ short small = -2;
}
template <class T>
__managed__ T shared9 = 9;
__managed__ int* pointer = &number;
__managed__ float* element = numbers + 5;
__device__ int own = 100;  // one that only the device has
__managed__ int untouched = 12345;

__global__ void change() {
    number += 1;
    numbers[2] = numbers[0] + numbers[1];
    hidden *= 2;
    real += 0.25;
    pair.first += 10;
    pair.second *= 3;
    text[0] = 'H';
    bytes[1] = static_cast<unsigned char>(bytes[1] + bytes[2]);
    zero -= 5;
    grid[3][1] = 31;
    inner::small -= 1;
    shared9<int> += 1;
    *pointer += 1000;
    *element = 55;
    own += 1;
}

__global__ void count() {
    atomicAdd(&number, 1);
}

int main() {
    // Before anything else of CUDA.
    expect(number == 3 && numbers[0] == 1.5f && numbers[1] == -2.0f && numbers[2] == 0, "numbers at first");
    expect(hidden == -7 && real == 2.5 && pair.first == 4 && pair.second == 0.5f, "structures at first");
    expect(!strcmp(text, "hi") && bytes[0] == 250 && bytes[2] == 252 && zero == 0, "bytes at first");
    expect(inner::small == -2 && shared9<int> == 9 && pointer == &number && element == &numbers[5], "others at first");
    number = 40;

    change<<<1, 1>>>();
    synchronize();
    expect(number == 1041, "number is %d", number);
    expect(numbers[2] == -0.5f && numbers[5] == 55, "numbers are %g %g", numbers[2], numbers[5]);
    expect(hidden == -14 && real == 2.75, "hidden is %lld, real %g", hidden, real);
    expect(pair.first == 14 && pair.second == 1.5f, "pair is %d %g", pair.first, pair.second);
    expect(!strcmp(text, "Hi") && bytes[1] == (251 + 252) % 256, "text is %s", text);
    expect(zero == -5 && grid[3][1] == 31 && grid[3][0] == 0, "zero is %d", zero);
    expect(inner::small == -3 && shared9<int> == 10, "small is %d", inner::small);

    // Back and forth, by many threads.
    for (int round = 1; round <= 3; ++round) {
        number = round;
        count<<<7, 96>>>();
        synchronize();
        expect(number == round + 7 * 96, "number is %d in round %d", number, round);
    }

    // By the calls that take symbols and addresses.
    int seen = 0, value = 77;
    expect(cudaMemcpyFromSymbol(&seen, number, sizeof seen) == cudaSuccess && seen == number, "from a symbol");
    expect(cudaMemcpyToSymbol(number, &value, sizeof value) == cudaSuccess && number == 77, "to a symbol");
    void* address = nullptr;
    expect(cudaGetSymbolAddress(&address, number) == cudaSuccess && address == &number, "the symbol's address");
    size_t size = 0;
    expect(cudaGetSymbolSize(&size, numbers) == cudaSuccess && size == sizeof numbers, "the symbol's size");
    expect(cudaMemset(numbers, 0, sizeof numbers) == cudaSuccess && numbers[5] == 0, "set");
    expect(cudaMemcpyFromSymbol(&seen, own, sizeof seen) == cudaSuccess && seen == 101, "the device's own is %d", seen);
    expect(untouched == 12345, "untouched");

    // What the program has stays when the device is reset.
    number = 5;
    expect(cudaDeviceReset() == cudaSuccess, "reset");
    count<<<1, 32>>>();
    synchronize();
    expect(number == 37, "number is %d after a reset", number);
    return finished();
}
