// Kernels as clang and nvcc compile them, optimised and not, whose barriers and block indices walls have to deal with:
// on a simulated GPU each gives what it gives on a CPU, or is refused with the reason.

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "sm_sets.h"
#include "walls/walls.h"

namespace bulkhead::walls {
namespace {

constexpr int kThreads = 128, kBlocks = 37, kElements = kThreads * kBlocks - 50;

using Words = std::vector<int>;

Words input() {
    Words words(kElements);
    for (int i = 0; i < kElements; ++i) words[i] = static_cast<int>((i * 2654435761u) >> 20);
    return words;
}

/// What a block makes of its first element's index; `out` is the whole result.
using OfBlock = std::function<void(const Words& in, int block, Words& out)>;

int elementsOf(int block) {
    return std::min(kThreads, kElements - block * kThreads);
}

/// 32-bit arithmetic that wraps, as a GPU's does.
int wrapped(std::int64_t value) {
    return static_cast<int>(static_cast<std::uint32_t>(value));
}

void groupSync(const Words& in, int block, Words& out) {
    const int first = block * kThreads;
    for (int t = 0; t < elementsOf(block); ++t) {
        const int other = (t * 5 + 1) % kThreads;
        out[first + t] = other < elementsOf(block) ? in[first + other] : -1;
    }
}

void functionSync(const Words& in, int block, Words& out) {
    std::vector<int> tile(kThreads),
        value(in.begin() + block * kThreads, in.begin() + block * kThreads + elementsOf(block));
    for (int distance = 1; distance < 100; distance *= 3) {
        std::copy(value.begin(), value.end(), tile.begin());
        for (int t = 0; t < elementsOf(block); ++t)
            value[t] = wrapped(std::int64_t{value[t]} * 7 + tile[(t + distance) % kThreads]);
    }
    std::copy(value.begin(), value.end(), out.begin() + block * kThreads);
}

void functionSyncTogether(const Words& in, int block, Words& out) {
    std::vector<int> value(kThreads);
    std::copy_n(in.begin() + block * kThreads, elementsOf(block), value.begin());
    for (int round = 0; round < block % 4; ++round) {
        std::vector<int> found = value;
        for (int i = 0; i < round + 1; ++i) {
            const std::vector<int> tile = found;
            for (int t = 0; t < kThreads; ++t)
                found[t] = wrapped(std::int64_t{found[t]} + tile[(t + round + 1) % kThreads]);
        }
        for (int t = 0; t < kThreads; ++t) value[t] = wrapped(std::int64_t{value[t]} * 7 + found[t]);
    }
    std::copy_n(value.begin(), elementsOf(block), out.begin() + block * kThreads);
}

void functionReturns(const Words& in, int block, Words& out) {
    const int threads = 20 + in[block] % 100;
    for (int t = 0; t < elementsOf(block); ++t) out[block * kThreads + t] = t < threads ? 3 * ((t + 1) % threads) : -1;
}

void switchSync(const Words& in, int block, Words& out) {
    std::vector<int> tile(kThreads, -2);
    const auto kindOf = [&](int t) { return in[(block * kThreads + t) / 32] % 8; };
    for (int t = 0; t < kThreads; ++t) {
        const int v = t < elementsOf(block) ? in[block * kThreads + t] : 0;
        const int results[] = {v * 3 + 1, v ^ 0x55, v - 77, v << 3, v / 5, ~v, -2, v * v};
        tile[t] = results[kindOf(t)];
    }
    for (int t = 0; t < elementsOf(block); ++t)
        if (kindOf(t) != 6) out[block * kThreads + t] = tile[kThreads - 1 - t];
}

void warpSync(const Words& in, int block, Words& out) {
    out[block] = 0;
    for (int t = 0; t < elementsOf(block); ++t) out[block] += in[block * kThreads + t];
}

void namedSync(const Words& in, int block, Words& out) {
    for (int t = 0; t < elementsOf(block); ++t) out[block * kThreads + t] = t < 64 ? in[block * kThreads + 63 - t] : -3;
}

void functionIndex(const Words& in, int block, Words& out) {
    for (int i = block * kThreads; i < block * kThreads + elementsOf(block); ++i) out[i] = in[i] + i;
}

void fullShared(const Words& in, int block, Words& out) {
    for (int t = 0; t < elementsOf(block); ++t) {
        int sum = 0;
        for (int k = 0; k < 96; ++k) {
            const int other = (t + k) % kThreads;
            sum += (other < elementsOf(block) ? in[block * kThreads + other] : 0) + k;
        }
        out[block * kThreads + t] = sum;
    }
}

void voteTogether(const Words& in, int block, Words& out) {
    int rounds = 0;
    for (int t = 0; t < elementsOf(block); ++t) {
        int own = 0;
        for (int v = in [block * kThreads + t]; v > 0; v /= 2) ++own;
        rounds = std::max(rounds, own);
    }
    std::fill_n(out.begin() + block * kThreads, elementsOf(block), rounds);
}

const std::map<std::string, OfBlock> kKernels = {
    {"groupSync", groupSync},
    {"functionSync", functionSync},
    {"functionSyncTogether", functionSyncTogether},
    {"functionReturns", functionReturns},
    {"switchSync", switchSync},
    {"warpSync", warpSync},
    {"namedSync", namedSync},
    {"functionIndex", functionIndex},
    {"fullShared", fullShared},
    {"voteTogether", voteTogether},
};

std::string ptxOf(const std::string& compilation) {
    return readFile(BULKHEAD_SOURCE_DIR "/tests/walls/fixtures/barriers." + compilation + ".ptx");
}

Words expected(const OfBlock& kernel) {
    Words out(kElements, 0);
    for (int block = 0; block < kBlocks; ++block) kernel(input(), block, out);
    return out;
}

/// Launches a kernel of the module twice: the second finds what the first left behind.
Words run(gpu::Context& context, const gpu::Module& module, const std::string& name) {
    gpu::Kernel kernel = module.kernel(name);
    auto in = context.array(input()), out = context.array(Words(kElements, 0));
    gpu::Stream stream = context.createStream();
    for (int round = 0; round < 2; ++round) kernel.launch(stream, {kBlocks}, {kThreads}, 0, in, out, kElements);
    stream.synchronize();
    return out.download();
}

class CompiledKernels : public testing::TestWithParam<const char*> {
  protected:
    gpu::Gpu gpu_ = gpu::Gpu::open("sim:gtx1080");
};

/// What nothing but the lack of a proof stands against is refused, whichever compiler wrote it.
bool isRefused(const std::string& compilation, const std::string& name) {
    return compilation == "clang.O0" && name == "voteTogether";  // keeps what threads voted for in memory
}

TEST_P(CompiledKernels, GiveInsideWallsWhatACpuGives) {
    WalledGpu walled(gpu_, {});
    PartitionContext tenant = walled.enclose({setOf(walled, {3, 11}), {}, 0});
    const gpu::Module module = tenant.context().load(ptxOf(GetParam()).c_str());
    for (const auto& [name, kernel] : kKernels) {
        SCOPED_TRACE(name);
        if (isRefused(GetParam(), name)) {
            EXPECT_THROW(module.kernel(name), Error);
        } else {
            EXPECT_EQ(run(tenant.context(), module, name), expected(kernel));
        }
    }
    EXPECT_EQ(tenant.smsUsed(), setOf(walled, {3, 11}));
}

TEST_P(CompiledKernels, GiveWithoutWallsWhatACpuGives) {
    const gpu::Module module = gpu_.context().load(ptxOf(GetParam()).c_str());
    for (const auto& [name, kernel] : kKernels) EXPECT_EQ(run(gpu_.context(), module, name), expected(kernel)) << name;
}

TEST_P(CompiledKernels, AreRefusedWithTheReasonAndByThemselves) {
    WalledGpu walled(gpu_, {});
    PartitionContext tenant = walled.enclose({setOf(walled, {3, 11}), {}, 0});
    const gpu::Module module = tenant.context().load(ptxOf(GetParam()).c_str());
    const std::map<std::string, std::string> reasons = {{"arrive", "half full"}, {"voteOfTheRest", "before a vote"}};
    for (const auto& [name, reason] : reasons) {
        try {
            module.kernel(name);
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(ByCompiler, CompiledKernels, testing::Values("clang.O0", "clang.O2", "nvcc.O0", "nvcc.O2"),
                         [](const auto& compilation) {
                             std::string name = compilation.param;
                             name.erase(name.find('.'), 1);
                             return name;
                         });

}  // namespace
}  // namespace bulkhead::walls
