// A tenant that works until it is killed: fills memory, changes it by kernels of different lengths, looks at every
// word. tenant [ROUNDS [LENGTH [CYCLES]]] ends with 0 after so many rounds, with 1 at a wrong word, with 3 where CUDA
// says no.

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void change(unsigned* words, unsigned count, unsigned rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned word = words[i];
    for (unsigned r = 0; r < rounds; ++r) word = word * 1664525u + 1013904223u;
    words[i] = word;
}

/// Keeps the GPU at work for as long as nobody would compute on the host.
__global__ void stay(long long cycles) {
    const long long begun = clock64();
    while (clock64() - begun < cycles) {
    }
}

static void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::printf("%s: %s\n", what, cudaGetErrorString(error));
    std::exit(3);
}

int main(int argc, char** argv) {
    const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
    const unsigned length = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 64;
    const long long cycles = argc > 3 ? std::atoll(argv[3]) : 0;
    const unsigned count = 1 << 12;
    std::vector<unsigned> host(count);
    for (unsigned round = 0; round < rounds; ++round) {
        unsigned* words = nullptr;
        for (unsigned i = 0; i < count; ++i) host[i] = i + round;
        check(cudaMalloc(&words, count * sizeof(unsigned)), "malloc");
        check(cudaMemcpy(words, host.data(), count * sizeof(unsigned), cudaMemcpyHostToDevice), "copy in");
        if (cycles > 0) stay<<<64, 32>>>(cycles);
        change<<<(count + 127) / 128, 128>>>(words, count, length * (1 + round % 4));
        check(cudaGetLastError(), "launch");
        check(cudaMemcpy(host.data(), words, count * sizeof(unsigned), cudaMemcpyDeviceToHost), "copy out");
        check(cudaFree(words), "free");
        for (unsigned i = 0; i < count; ++i) {
            unsigned word = i + round;
            for (unsigned r = 0; r < length * (1 + round % 4); ++r) word = word * 1664525u + 1013904223u;
            if (host[i] == word) continue;
            std::printf("word %u of round %u is %u, not %u\n", i, round, host[i], word);
            return 1;
        }
    }
}
