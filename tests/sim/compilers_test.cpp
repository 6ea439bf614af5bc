// Kernels as clang 14 and nvcc 13 compile them, run on a simulated GPU with everything in play, against plain C++.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;

/// Every compilation of one source: clang and nvcc, all targets, optimised and with debug information.
std::vector<std::string> compilations(const std::string& source) {
    std::vector<std::string> files;
    for (const char* compiler : {"clang", "nvcc"})
        for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(BULKHEAD_SOURCE_DIR) /
                                                                     "tests/ptx/fixtures" / compiler))
            if (entry.path().filename().string().starts_with(source + ".")) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

struct Argument {
    std::uint64_t bits;
    template <class T>
    Argument(T value) : bits(static_cast<std::uint64_t>(value)) {}
};

/// Runs a kernel of a file; parameters are placed as the kernel declares them.
void runFile(Harness& h, const std::string& file, const std::string& kernel, Dim3 grid, Dim3 block,
             const std::vector<Argument>& arguments, std::uint32_t shared = 0) {
    const LoadedModule module = h.gpu.load(h.context, ptx::parse(readFile(file), file));
    LaunchSpec spec;
    spec.program = module.program;
    spec.code = module.program->kernel(kernel);
    ASSERT_NE(spec.code, nullptr) << file;
    spec.grid = grid;
    spec.block = block;
    spec.dynamicShared = shared;
    spec.params.resize(spec.code->kernelParamBytes);
    ASSERT_EQ(spec.code->params.size(), arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
        std::memcpy(spec.params.data() + spec.code->params[i].offset, &arguments[i].bits, spec.code->params[i].bytes);
    const LaunchId launch = h.gpu.launch(h.stream, std::move(spec));
    h.gpu.finishLaunch(launch);
    ASSERT_FALSE(h.gpu.record(launch).error) << file << ": " << h.gpu.record(launch).error->what();
}

float value(std::uint32_t i) {
    return static_cast<float>(i * 2654435761u >> 20) / 256.0f;
}

TEST(Compilers, vectorAdd) {
    const std::vector<std::string> files = compilations("vector_add");
    ASSERT_GE(files.size(), 6u);
    for (const std::string& file : files) {
        Harness h;
        const std::uint32_t n = 1000;
        const VirtualAddress a = h.buffer(4 * n), b = h.buffer(4 * n), c = h.buffer(4 * n);
        for (std::uint32_t i = 0; i < n; ++i) h.data<float>(a, n)[i] = value(i), h.data<float>(b, n)[i] = value(i + n);
        runFile(h, file, "vectorAdd", {4}, {256}, {a, b, c, n});
        for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(h.data<float>(c, n)[i], value(i) + value(i + n)) << file;
    }
}

TEST(Compilers, tiledMatrixProduct) {
    for (const std::string& file : compilations("gemm")) {
        Harness h("gtx1080");
        const std::uint32_t n = 48;
        const VirtualAddress a = h.buffer(4 * n * n), b = h.buffer(4 * n * n), c = h.buffer(4 * n * n);
        float *pa = h.data<float>(a, n * n), *pb = h.data<float>(b, n * n), *pc = h.data<float>(c, n * n);
        for (std::uint32_t i = 0; i < n * n; ++i) pa[i] = value(i), pb[i] = value(i + 7);
        runFile(h, file, "gemmTiled", {3, 3}, {16, 16}, {a, b, c, n});
        for (std::uint32_t r = 0; r < n; ++r)
            for (std::uint32_t k = 0; k < n; ++k) {
                float sum = 0;  // both compilers fuse multiply and add
                for (std::uint32_t i = 0; i < n; ++i) sum = std::fma(pa[r * n + i], pb[i * n + k], sum);
                ASSERT_EQ(pc[r * n + k], sum) << file;
            }
        const VirtualAddress d = h.buffer(8 * 256);
        for (int i = 0; i < 256; ++i) h.data<double>(d, 256)[i] = i;
        runFile(h, file, "reverseBlock", {2}, {128}, {d}, 128 * 8);
        for (int i = 0; i < 256; ++i) ASSERT_EQ(h.data<double>(d, 256)[i], i / 128 * 128 + 127 - i % 128) << file;
    }
}

TEST(Compilers, histogramBySharedAndGlobalAtomics) {
    for (const std::string& file : compilations("atomics")) {
        Harness h;
        const std::uint32_t n = 20000;
        const VirtualAddress in = h.buffer(n), bins = h.buffer(1024);
        std::uint32_t expected[256] = {};
        for (std::uint32_t i = 0; i < n; ++i)
            ++expected[h.data<std::uint8_t>(in, n)[i] = static_cast<std::uint8_t>(i * i >> 3)];
        runFile(h, file, "histogram", {6}, {256}, {in, bins, n});
        for (int i = 0; i < 256; ++i) ASSERT_EQ(h.data<std::uint32_t>(bins, 256)[i], expected[i]) << file;
        // 64 doubles added by a loop of compare-and-swap; the sums of whole numbers are exact in any order.
        const VirtualAddress total = h.buffer(8), values = h.buffer(512);
        for (int i = 0; i < 64; ++i) h.data<double>(values, 64)[i] = i + 1;
        runFile(h, file, "sumDoubles", {1}, {64}, {total, values});
        EXPECT_EQ(*h.data<double>(total), 64 * 65 / 2) << file;
    }
}

TEST(Compilers, reductionByShuffles) {
    for (const std::string& file : compilations("reduce")) {
        Harness h;
        const std::uint32_t n = 5000;
        const VirtualAddress in = h.buffer(4 * n), out = h.buffer(12), positive = h.buffer(16);
        double sum = 0;
        for (std::uint32_t i = 0; i < n; ++i) sum += h.data<float>(in, n)[i] = static_cast<float>(i % 17);
        runFile(h, file, "blockSum", {3}, {224}, {in, out, n});
        const float* p = h.data<float>(out, 3);
        EXPECT_EQ(p[0] + p[1] + p[2], sum) << file;  // whole numbers below 2^24: exact in any order
        int expected[4] = {};
        for (std::uint32_t i = 0; i < 128; ++i) {
            h.data<std::int32_t>(in, 128)[i] = static_cast<std::int32_t>(i * 40503u % 7) - 3;
            expected[i / 32] += h.data<std::int32_t>(in, 128)[i] > 0;
        }
        runFile(h, file, "countPositive", {1}, {128}, {in, positive});
        for (int i = 0; i < 4; ++i) EXPECT_EQ(h.data<std::int32_t>(positive, 4)[i], expected[i]) << file;
    }
}

TEST(Compilers, recursionFunctionPointersAndVirtualCalls) {
    for (const std::string& file : compilations("calls"))
        for (const int n : {3, 10}) {
            Harness h;
            const VirtualAddress ints = h.buffer(8), floats = h.buffer(128);
            h.data<float>(floats)[0] = 1.25f;
            runFile(h, file, "callAll", {1}, {1}, {ints, floats, n});
            EXPECT_EQ(h.data<std::int32_t>(ints, 2)[0], n == 3 ? 2 : 55) << file;
            EXPECT_EQ(h.data<std::uint8_t>(ints + 4)[0], n % 2 == 0) << file;
            EXPECT_EQ(h.data<float>(floats, 2)[0], n % 2 ? 1.25f * 1.25f : 2.5f) << file;
            EXPECT_EQ(h.data<float>(floats, 2)[1], n > 3 ? 3.14159265f * 2.0f * 2.0f : 1.25f * 1.25f) << file;
        }
}

TEST(Compilers, aSwitchInALoop) {
    for (const std::string& file : compilations("switches")) {
        Harness h;
        const VirtualAddress program = h.buffer(64), stack = h.buffer(256);
        // push 6, push 7, multiply, negate, duplicate, subtract from it 5: 0 is "push", values lie above bit 4.
        const std::int32_t code[] = {6 << 4, 7 << 4, 3, 4, 5, 5 << 4, 2, 8};
        std::memcpy(h.data<std::int32_t>(program, 8), code, sizeof code);
        runFile(h, file, "interpret", {1}, {1}, {program, stack, 8});
        EXPECT_EQ(h.data<std::int32_t>(stack, 64)[1], -42) << file;
        EXPECT_EQ(h.data<std::int32_t>(stack, 64)[2], -47) << file;
        EXPECT_EQ(h.data<std::int32_t>(stack, 64)[63], 6) << file;
    }
}

TEST(Compilers, anArrayInLocalMemory) {
    for (const std::string& file : compilations("math")) {
        Harness h;
        const VirtualAddress order = h.buffer(128), out = h.buffer(128);
        float sum = 0;
        for (int i = 0; i < 32; ++i)
            h.data<std::int32_t>(order, 32)[i] = i * 5, h.data<float>(out, 32)[i] = static_cast<float>(i + 1);
        for (int i = 0; i < 32; ++i) sum += static_cast<float>((i * 5 & 31) + 1) * static_cast<float>(i * 5 & 31);
        runFile(h, file, "localArray", {1}, {1}, {order, out});
        EXPECT_EQ(*h.data<float>(out), sum) << file;
    }
}

TEST(Compilers, nvidiasOwnMathAndCooperativeGroups) {
    const std::vector<std::string> files = compilations("cooperative");
    ASSERT_GE(files.size(), 3u);
    for (const std::string& file : files) {
        Harness h("v100");
        const VirtualAddress in = h.buffer(4096), out = h.buffer(4096), wide = h.buffer(8);
        const float v = 0.8125f;
        *h.data<float>(in) = v;
        runFile(h, file, "transcendental", {1}, {1}, {in, out, wide});
        const double exact = std::sin(v) + std::exp(v) * std::log(v) + std::pow(v, 1.5) + std::tanh(v) +
                             1 / std::sqrt(v) + std::fmod(v, 3.0);
        EXPECT_NEAR(h.data<float>(out, 2)[0], exact, 1e-5) << file;
        EXPECT_NEAR(h.data<float>(out, 2)[1], std::sin(v) + std::exp(v) + v / 3, 1e-5) << file;
        EXPECT_NEAR(*h.data<double>(wide), std::sin(double{v}) + std::exp(double{v}) + std::log(double{v}), 1e-13)
            << file;

        std::int32_t sum = 0;
        for (std::int32_t i = 0; i < 1000; ++i) sum += h.data<std::int32_t>(in, 1000)[i] = i * 7 % 13;
        std::memset(h.data<std::uint8_t>(out, 4096), 0, 4096);
        runFile(h, file, "groupSum", {1}, {96}, {in, out, 1000});
        EXPECT_EQ(h.data<std::int32_t>(out, 2)[0], sum) << file;
        EXPECT_EQ(h.data<std::int32_t>(out, 2)[1], 32) << file;
    }
}

}  // namespace
}  // namespace bulkhead::sim
