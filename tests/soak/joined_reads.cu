// SMs read lines of L2 at the same time, for Nsight Compute to count what L2 looks up. A launch for each line of
// standard input: `same` or `own` lines, how many reads a thread has under way (1 or 16), how many cycles each SM
// begins after the one before it, and the SMs.
//
//     nvcc -arch=sm_90 tests/soak/joined_reads.cu -o joined_reads
//     ncu --csv --cache-control none --clock-control none -k regex:readLines
//         --metrics lts__t_sectors_srcunit_tex_op_read.sum,l1tex__m_xbar2l1tex_read_sectors.sum ./joined_reads < FILE

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSms = 256, kLines = 512, kLineBytes = 128, kReads = 4096;

struct Plan {
    short rank[kSms];  // in the order in which they begin; -1: not at all
    bool same;
};

__device__ unsigned load(const char* at) {
    unsigned word;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(at));
    return word;
}

template <int kDepth>
__global__ void readLines(const char* data, Plan plan, unsigned sms, long long delay, unsigned* arrived,
                          long long* cycles) {
    extern __shared__ unsigned needed[];  // all of it, so that an SM has one block
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const int rank = plan.rank[sm];
    if (rank < 0) return;
    const char* lines = data + (plan.same ? 0 : rank) * size_t{kLines} * kLineBytes + 4 * threadIdx.x;
    unsigned sum = 0;
    for (int i = 0; i < kLines; ++i) sum += load(lines + i * kLineBytes);
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*static_cast<volatile unsigned*>(arrived) < sms) {
        }
    }
    __syncwarp();
    const long long met = clock64();
    while (clock64() - met < delay * rank) {
    }
    const long long begin = clock64();
    for (int i = 0; i < kReads * kDepth; i += kDepth) {
        unsigned words[kDepth];
        for (int j = 0; j < kDepth; ++j) words[j] = load(lines + (i + j) % kLines * kLineBytes);
        for (const unsigned word : words) sum += word;
    }
    const long long end = clock64();
    if (threadIdx.x == 0) cycles[sm] = end - begin + (sum == 1);
}

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "joined_reads: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

}  // namespace

int main() {
    constexpr int kAllShared = 200 << 10;
    char* data = nullptr;
    unsigned* arrived = nullptr;
    long long* cycles = nullptr;
    check(cudaMalloc(&data, size_t{kSms} * kLines * kLineBytes));
    check(cudaMemset(data, 0, size_t{kSms} * kLines * kLineBytes));
    check(cudaMalloc(&arrived, sizeof *arrived));
    check(cudaMallocManaged(&cycles, kSms * sizeof *cycles));
    int device = 0;
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device));
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string whose;
        int depth = 0;
        long long delay = 0;
        words >> whose >> depth >> delay;
        Plan plan{};
        std::fill_n(plan.rank, kSms, short{-1});
        plan.same = whose == "same";
        std::vector<int> sms;
        for (int sm; words >> sm;) {
            plan.rank[sm] = static_cast<short>(sms.size());
            sms.push_back(sm);
        }
        const auto kernel = depth == 1 ? readLines<1> : readLines<16>;
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kAllShared));
        check(cudaMemset(arrived, 0, sizeof *arrived));
        kernel<<<properties.multiProcessorCount, 32, kAllShared>>>(data, plan, static_cast<unsigned>(sms.size()), delay,
                                                                   arrived, cycles);
        check(cudaDeviceSynchronize());
        double mean = 0;
        for (const int sm : sms) mean += static_cast<double>(cycles[sm]) / static_cast<double>(sms.size());
        std::printf("%s: %.1f cycles a read\n", line.c_str(), mean / (kReads * depth));
    }
}
