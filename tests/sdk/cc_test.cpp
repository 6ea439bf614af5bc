// bulkhead cc itself: what it passes on, what it refuses, and what the programs that it makes are like.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

class Cc : public ::testing::Test {
  protected:
    TemporaryDirectory folder;

    std::string write(const std::string& name, const std::string& text) {
        writeFile(folder / name, text);
        return (folder / name).string();
    }
    std::string at(const std::string& name) { return (folder / name).string(); }
    static Outcome cc(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {BULKHEAD_PROGRAM, "cc"});
        return run(arguments);
    }
    static void expectRefused(const std::vector<std::string>& arguments, const std::string& part) {
        const Outcome o = cc(arguments);
        EXPECT_EQ(o.exitCode, 2) << o.output;
        EXPECT_TRUE(o.output.starts_with("bulkhead: cc: ")) << o.output;
        EXPECT_EQ(std::count(o.output.begin(), o.output.end(), '\n'), 1) << o.output;
        EXPECT_NE(o.output.find(part), std::string::npos) << o.output;
    }
};

const char* const kKernel =
    "__global__ void five(int* p) { *p = VALUE; }\n"
    "int launched() {\n"
    "    int *p, value = 0;\n"
    "    cudaMalloc(&p, 4);\n"
    "    five<<<1, 1>>>(p);\n"
    "    cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);\n"
    "    return value;\n"
    "}\n";

TEST_F(Cc, LinksSeveralFilesIntoOneProgram) {
    const std::string kernel = write("kernel.cu", kKernel);
    const std::string other = write("other.cu",
                                    "__global__ void seven(int* p) { *p += 7; }\n"
                                    "int launchedToo() { int *p, v = 1; cudaMalloc(&p, 4); cudaMemcpy(p, &v, 4, "
                                    "cudaMemcpyHostToDevice); seven<<<1, 1>>>(p); cudaMemcpy(&v, p, 4, "
                                    "cudaMemcpyDeviceToHost); return v; }\n");
    const std::string host = write("main.cpp",
                                   "int launched();\nint launchedToo();\n"
                                   "int main() { return launched() == 5 && launchedToo() == 8 ? 0 : 1; }\n");
    // One of them as an object made beforehand; the definition reaches the device too.
    ASSERT_EQ(cc({"-c", "-DVALUE=5", kernel, "-o", at("kernel.o")}).output, "");
    ASSERT_EQ(cc({host, at("kernel.o"), other, "-o", at("program")}).output, "");
    EXPECT_EQ(run({at("program")}).exitCode, 0);
}

TEST_F(Cc, AProgramRunsWithoutHelp) {
    const std::string source = write("one.cu", std::string(kKernel) + "int main() { return launched(); }\n");
    ASSERT_EQ(cc({"-DVALUE=21", source, "-o", at("one")}).output, "");
    EXPECT_EQ(run({at("one")}).exitCode, 21);
}

TEST_F(Cc, GraphsAreCapturedChangedAndDecidedByKernels) {
    const std::string source = std::string(BULKHEAD_SOURCE_DIR) + "/tests/cudart/programs/graphs.cu";
    ASSERT_EQ(cc({"-O2", "-DWITH_CONDITIONS", source, "-o", at("graphs")}).output, "");
    EXPECT_EQ(run({at("graphs")}).output, "graphs: passed\n");
}

TEST_F(Cc, GraphsOfTheDriverAreDeclaredForCAndCpp) {
    const char* const text =
        "#include <cuda.h>\n#include <cuda_runtime_api.h>\n"
        "int main(void) {\n"
        "    CUgraph graph = 0;\n    CUgraphNode node = 0, root = 0;\n    size_t count = 1;\n"
        "    CUcontext context = 0;\n"
        "    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;\n"
        "    if (cuGraphCreate(&graph, 0) || cuGraphAddEmptyNode(&node, graph, 0, 0)) return 2;\n"
        "    if (cuGraphGetRootNodes(graph, &root, &count) || root != node) return 3;\n"
        "    return cudaGraphDestroy(graph) == cudaSuccess ? 0 : 4;\n"
        "}\n";
    for (const char* name : {"graph.c", "graph.cpp"}) {
        ASSERT_EQ(cc({write(name, text), "-lcuda", "-o", at("graph")}).output, "") << name;
        EXPECT_EQ(run({at("graph")}).exitCode, 0) << name;
    }
}

TEST_F(Cc, MakesPtxForTheArchitectureThatIsAskedFor) {
    const std::string source = write("k.cu", kKernel);
    ASSERT_EQ(cc({"-arch=sm_60", "-DVALUE=1", "--cuda-device-only", "-S", source, "-o", at("k.ptx")}).output, "");
    const std::string ptx = readFile(folder / "k.ptx");
    EXPECT_NE(ptx.find(".target sm_60"), std::string::npos);
    EXPECT_NE(ptx.find(".entry _Z4fivePi"), std::string::npos);
}

TEST_F(Cc, ACompilersErrorIsPassedOn) {
    const std::string source = write("bad.cu", "__global__ void bad() { undeclared = 1; }\n");
    const Outcome o = cc({"-c", source, "-o", at("bad.o")});
    EXPECT_EQ(o.exitCode, 1);
    EXPECT_NE(o.output.find("bad.cu:1:25: error: use of undeclared identifier 'undeclared'"), std::string::npos)
        << o.output;
}

TEST_F(Cc, HostFilesCanBeSharedPointersAndAlgorithms) {
    const std::string source = write("std.cu",
                                     "#include <algorithm>\n#include <complex>\n#include <functional>\n"
                                     "#include <iostream>\n#include <map>\n#include <memory>\n#include <random>\n"
                                     "#include <string>\n#include <thread>\n#include <vector>\n"
                                     "using namespace std;\n"
                                     "__global__ void k(float* p) { *p = max(1.0f, std::min(*p, 3.0f)) + abs(-2); }\n"
                                     "int main() {\n"
                                     "    auto p = make_shared<vector<int>>(3, 4);\n"
                                     "    return max((*p)[0], 2) == 4 && abs(-2.5) == 2.5 && pow(2, 3) == 8 ? 0 : 1;\n"
                                     "}\n");
    ASSERT_EQ(cc({"-Wall", source, "-o", at("std")}).output, "");
    EXPECT_EQ(run({at("std")}).exitCode, 0);
}

TEST_F(Cc, LinksDeviceCodeAcrossFiles) {
    // Functions and variables of another file; two files have one of the same name each for themselves.
    const std::string user = write("user.cu",
                                   "extern __device__ int counter;\nextern __constant__ int factor;\n"
                                   "__device__ int scaled(int x);\nstatic __device__ int own = 100;\n"
                                   "__global__ void use(int* p) { *p = scaled(4) + counter + own; }\n"
                                   "int other();\n"
                                   "int main() {\n"
                                   "    int *p, value = 7;\n    cudaMalloc(&p, 4);\n"
                                   "    cudaMemcpyToSymbol(counter, &value, 4);\n    use<<<1, 1>>>(p);\n"
                                   "    cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);\n"
                                   "    printf(\"%d %d\\n\", value, other());\n}\n");
    const std::string maker = write("maker.cu",
                                    "__device__ int counter = 1;\n__constant__ int factor = 3;\n"
                                    "static __device__ int own = 5;\n"
                                    "__device__ int scaled(int x) { return factor * x + own; }\n"
                                    "__global__ void give(int* p) { *p = own; }\n"
                                    "int other() { int *p, v; cudaMalloc(&p, 4); give<<<1, 1>>>(p); "
                                    "cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost); return v; }\n");
    const std::string expected = "124 5\n";  // 3 * 4 + 5 + 7 + 100
    ASSERT_EQ(cc({"-rdc=true", user, maker, "-o", at("at once")}).output, "");
    EXPECT_EQ(run({at("at once")}).output, expected);
    // As a Makefile does it.
    ASSERT_EQ(cc({"-dc", user, "-o", at("user.o")}).output, "");
    ASSERT_EQ(cc({"--relocatable-device-code", "true", "-c", maker, "-o", at("maker.o")}).output, "");
    ASSERT_EQ(cc({at("user.o"), at("maker.o"), "-o", at("linked")}).output, "");
    EXPECT_EQ(run({at("linked")}).output, expected);
    ASSERT_EQ(cc({"-dlink", at("user.o"), at("maker.o"), "-o", at("device.o")}).output, "");
    const std::string libraries = BULKHEAD_LIBRARY_FOLDER;
    ASSERT_EQ(run({"/usr/bin/g++", at("user.o"), at("maker.o"), at("device.o"), "-L" + libraries,
                   "-Wl,-rpath," + libraries, "-lcudart", "-o", at("by g++")})
                  .output,
              "");
    EXPECT_EQ(run({at("by g++")}).output, expected);
    // Without the file that defines them.
    ASSERT_EQ(cc({"-dc", user, "-o", at("user.o")}).output, "");
    write("stub.cpp", "int counter, factor;\nint other() { return 0; }\n");
    ASSERT_EQ(cc({at("user.o"), at("stub.cpp"), "-o", at("alone")}).output, "");
    const Outcome o = run({at("alone")});
    EXPECT_NE(o.output.find("counter"), std::string::npos) << o.output;
    EXPECT_NE(o.output.find("not defined"), std::string::npos) << o.output;
}

TEST_F(Cc, SaysWhatNvccSays) {
    const std::string source = write("macros.cu",
                                     "#if !defined __CUDACC__ || !defined __NVCC__ || __CUDACC_VER_MAJOR__ != 13\n"
                                     "#error not as nvcc\n#endif\n"
                                     "#if !defined __CUDA_RUNTIME_H__ || !defined __DRIVER_TYPES_H__ || !defined "
                                     "__VECTOR_TYPES_H__\n#error no cuda_runtime.h\n#endif\n"
                                     "#ifdef __cuda_cuda_h__\n#error cuda.h\n#endif\n"
                                     "#include <cuda.h>\n#ifndef __cuda_cuda_h__\n#error no cuda.h\n#endif\n"
                                     "int most = INT_MAX;\nint main() { assert(most > 0); return 0; }\n");
    EXPECT_EQ(cc({source, "-o", at("macros")}).output, "");
    // Host sources have neither.
    const std::string host =
        write("host.cpp", "#if defined __CUDACC__ || defined __CUDA_RUNTIME_H__\n#error\n#endif\n");
    EXPECT_EQ(cc({"-c", host, "-o", at("host.o")}).output, "");
}

TEST_F(Cc, TakesOptionsOfNvccInBothSpellings) {
    const std::string source = write("k.cu", std::string(kKernel) + "int main() { return launched(); }\n");
    const std::vector<std::string> shorts = {"-use_fast_math",
                                             "-default-stream",
                                             "legacy",
                                             "-Xptxas",
                                             "-v",
                                             "-Xcompiler",
                                             "-Wall,-fPIC",
                                             "-maxrregcount",
                                             "32",
                                             "-lineinfo",
                                             "-G",
                                             "-m64",
                                             "-rdc=false",
                                             "-gencode",
                                             "arch=compute_70,code=sm_70",
                                             "-arch=native",
                                             "-code=sm_90",
                                             "-cudart",
                                             "shared",
                                             "-std",
                                             "c++17",
                                             "-Werror",
                                             "all-warnings",
                                             "-Werror",
                                             "-fmad=false",
                                             "-t",
                                             "2",
                                             "-diag-suppress",
                                             "177",
                                             "-ccbin",
                                             "g++",
                                             "-expt-extended-lambda",
                                             "-x",
                                             "cu",
                                             "-Wno-deprecated-gpu-targets",
                                             "-Xlinker",
                                             "--no-as-needed,--as-needed",
                                             "-lcudart_static",
                                             "-lcudadevrt"};
    const std::vector<std::string> longs = {"--use_fast_math",
                                            "--default-stream=legacy",
                                            "--ptxas-options=-v",
                                            "--compiler-options=-Wall",
                                            "--maxrregcount=32",
                                            "--generate-line-info",
                                            "--device-debug",
                                            "--machine",
                                            "64",
                                            "--relocatable-device-code=false",
                                            "--generate-code=arch=compute_70,code=[sm_70,compute_70]",
                                            "--gpu-architecture",
                                            "sm_90a",
                                            "--gpu-code",
                                            "sm_90",
                                            "--cudart=static",
                                            "--std=c++17",
                                            "--optimize",
                                            "2",
                                            "--Werror=reorder",
                                            "--fmad",
                                            "true",
                                            "--ftz=true",
                                            "--threads=2",
                                            "--diag-suppress=177",
                                            "--compiler-bindir=g++",
                                            "--expt-relaxed-constexpr",
                                            "--extended-lambda",
                                            "--define-macro",
                                            "OTHER=1",
                                            "--include-path=/nowhere",
                                            "--linker-options=--as-needed"};
    for (std::vector<std::string> options : {shorts, longs}) {
        options.insert(options.end(), {"-c", "-DVALUE=21", source, "-o", at("k.o")});
        EXPECT_EQ(cc(options).output, "");
    }
    ASSERT_EQ(cc({"--output-file", at("long"), "-DVALUE=21", source, "-lcuda"}).output, "");
    EXPECT_EQ(run({at("long")}).exitCode, 21);
    ASSERT_EQ(cc({"-ptx", "-arch=sm_90", "-DVALUE=1", source, "-o", at("k.ptx")}).output, "");
    EXPECT_NE(readFile(folder / "k.ptx").find(".entry _Z4fivePi"), std::string::npos);
}

TEST_F(Cc, RefusesOptionsThatItCannotFollow) {
    expectRefused({"-cubin", "x.cu"}, "there is no machine code");
    expectRefused({"--default-stream", "own", "x.cu"}, "legacy or per-thread, not own");
    expectRefused({"-arch=fast", "x.cu"}, "fast: not an architecture");
    expectRefused({"-fmad=maybe", "x.cu"}, "true or false, not maybe");
    expectRefused({"x.cu", "-Xptxas"}, "-Xptxas needs a value");
}

TEST_F(Cc, CIsCompiledAsC) {
    std::filesystem::create_directory(folder / "cuda");  // a name that options of CUDA begin with as well
    write("cuda/twenty.h", "#define TWENTY 20\n");
    const std::string c =
        write("part.c",
              "#include <cuda_runtime_api.h>\n#include <stdlib.h>\n"
              "#include <twenty.h>\n#ifdef __cplusplus\n#error C++\n#endif\n"
              "int class(void) { int* new = malloc(4); int count; *new = TWENTY; cudaGetDeviceCount(&count);"
              " return *new + count; }\n");
    const std::string main = write("main.cu", std::string(kKernel) +
                                                  "extern \"C\" int cplus() __asm__(\"class\");\n"
                                                  "int main() { return launched() + cplus(); }\n");
    ASSERT_EQ(
        cc({"-O2", "-std=c++17", "-DVALUE=3", "-Wall", "-I" + at("cuda"), main, c, "-lm", "-o", at("mixed")}).output,
        "");
    EXPECT_EQ(run({at("mixed")}).exitCode, 24);
    ASSERT_EQ(cc({"-c", "-I" + at("cuda"), c, "-o", at("part.o")}).output, "");
    ASSERT_EQ(cc({"-DVALUE=3", main, at("part.o"), "-o", at("apart")}).output, "");
    EXPECT_EQ(run({at("apart")}).exitCode, 24);
    const Outcome bad = cc({write("bad.c", "int main(void) { return x; }\n"), main, "-o", at("bad")});
    EXPECT_EQ(bad.exitCode, 1);
    EXPECT_NE(bad.output.find("bad.c:1:25: error"), std::string::npos) << bad.output;
}

TEST_F(Cc, TheDefaultStreamCanBeEachThreadsOwn) {
    // A kernel in another stream waits for one of the default stream: the legacy one would wait for it in turn.
    const std::string source =
        write("own.cu",
              "__global__ void wait(volatile int* flag, int* seen) { while (*flag == 0) {} *seen = *flag; }\n"
              "__global__ void set(int* flag) { *flag = 5; }\n"
              "int main() {\n"
              "    int *p, seen = 0;\n    cudaStream_t other;\n    cudaStreamCreate(&other);\n"
              "    cudaMalloc(&p, 8);\n    cudaMemset(p, 0, 8);\n    cudaStreamSynchronize(0);\n"
              "    wait<<<1, 1, 0, other>>>(p, p + 1);\n    set<<<1, 1>>>(p);\n"
              "    cudaStreamSynchronize(other);\n    cudaMemcpy(&seen, p + 1, 4, cudaMemcpyDeviceToHost);\n"
              "    unsigned long long zero, own;\n    cudaStreamGetId(0, &zero);\n"
              "    cudaStreamGetId(cudaStreamPerThread, &own);\n    return zero == own ? seen : 1;\n}\n");
    ASSERT_EQ(cc({"--default-stream", "per-thread", source, "-o", at("own")}).output, "");
    EXPECT_EQ(run({at("own")}).exitCode, 5);
}

TEST_F(Cc, CodeThatIsNeverReachedIsNoWayOutOfAKernel) {
    // Were it one, lanes of different cases would not be together again at the shuffle.
    const std::string source = write(
        "cases.cu",
        "__global__ void k(int* p) {\n    int v = threadIdx.x;\n    switch (v & 3) {\n"
        "        case 0: v *= p[0]; break;\n        case 1: v += p[1]; break;\n"
        "        case 2: v -= p[2]; break;\n        case 3: v ^= p[3]; break;\n"
        "        default: __builtin_unreachable();\n    }\n"
        "    p[4 + threadIdx.x] = v + __shfl_xor_sync(0xffffffff, v, 1);\n}\n"
        "int main() {\n    int* p;\n    cudaMallocManaged(&p, 256);\n    for (int i = 0; i < 4; ++i) p[i] = i + 2;\n"
        "    k<<<1, 32>>>(p);\n    cudaDeviceSynchronize();\n"
        "    printf(\"%d %d %d %d\\n\", p[8], p[9], p[10], p[11]);\n}\n");
    for (const char* level : {"-O0", "-O1", "-O2", "-O3"}) {
        ASSERT_EQ(cc({level, source, "-o", at("cases")}).output, "");
        EXPECT_EQ(run({at("cases")}).output, "16 16 4 4\n") << level;  // 4 * 2 + 5 + 3, (6 - 4) + (7 ^ 5)
    }
}

TEST_F(Cc, MacrosOfTheProgramDoNotReachTheHeaders) {
    const std::string source = write("macros.cu",
                                     "#include <cooperative_groups.h>\n#include <cooperative_groups/memcpy_async.h>\n"
                                     "#include <cooperative_groups/reduce.h>\n#include <cooperative_groups/scan.h>\n"
                                     "#include <cuComplex.h>\n#include <cuda.h>\n#include <cudaTypedefs.h>\n"
                                     "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n"
                                     "#include <curand_kernel.h>\n#include <math_constants.h>\nint main() {}\n");
    std::vector<std::string> words = {"-fsyntax-only", source};
    for (char letter = 'A'; letter <= 'Z'; ++letter) words.push_back(std::string("-D") + letter + "=7");
    for (const char* name : {"SIZE", "BLOCK_SIZE", "WIDTH", "HEIGHT", "DIM", "ROWS", "COLS", "THREADS", "BLOCKS",
                             "TYPE", "DATA_TYPE", "ITERATIONS", "DEBUG", "TILE", "RADIUS", "REAL"})
        words.push_back(std::string("-D") + name + "=7");
    EXPECT_EQ(cc(words).output, "");
}

TEST_F(Cc, AFatBinaryHoldsPtxThatTheDriverLoads) {
    const std::string kernel = write("k.cu", "extern \"C\" __global__ void five(int* p) { *p = VALUE; }\n");
    ASSERT_EQ(cc({"-fatbin", "-DVALUE=5", "-gencode", "arch=compute_60,code=sm_60", "-gencode",
                  "arch=compute_75,code=sm_75", kernel, "-o", at("k.fatbin")})
                  .output,
              "");
    const std::string bytes = readFile(folder / "k.fatbin");
    EXPECT_NE(bytes.find(".target sm_60"), std::string::npos);
    EXPECT_NE(bytes.find(".target sm_75"), std::string::npos);
    const std::string host =
        write("main.cpp",
              "#include <cuda.h>\nint main(int, char** words) {\n    CUcontext context;\n    CUmodule module;\n"
              "    CUfunction five;\n    CUdeviceptr p;\n    void* parameters[] = {&p};\n    int value = 0;\n"
              "    cuInit(0);\n    cuDevicePrimaryCtxRetain(&context, 0);\n    cuCtxSetCurrent(context);\n"
              "    if (cuModuleLoad(&module, words[1]) || cuModuleGetFunction(&five, module, \"five\")) return 1;\n"
              "    cuMemAlloc(&p, 4);\n    cuLaunchKernel(five, 1, 1, 1, 1, 1, 1, 0, 0, parameters, 0);\n"
              "    cuMemcpyDtoH(&value, p, 4);\n    return value == 5 ? 0 : 2;\n}\n");
    ASSERT_EQ(cc({host, "-lcuda", "-o", at("program")}).output, "");
    EXPECT_EQ(run({at("program"), at("k.fatbin")}).exitCode, 0);
    expectRefused({"-fatbin", kernel, host}, "-fatbin is made of one file, not 2");
}

TEST_F(Cc, SumsThatOverflowOnTheHostWrapAsWithGcc) {
    const std::string source = write("wrap.cu",
                                     "int main(int count, char**) {\n    int* squares = new int[100000];\n"
                                     "    for (int i = 0; i < 100000 * count; i += 1)\n"
                                     "        squares[i] = (int)((unsigned)i * (unsigned)i);\n"
                                     "    for (int i = 0; i < 100000 * count; i += 1)\n"
                                     "        if (squares[i] != i * i) return 1;\n    return 0;\n}\n");
    ASSERT_EQ(cc({"-O2", source, "-o", at("wrap")}).output, "");
    EXPECT_EQ(run({at("wrap")}).exitCode, 0);
    // What it rests on, should the compiler not make use of it here.
    EXPECT_NE(cc({"-###", "-O2", source}).output.find("\"-fwrapv\""), std::string::npos);
}

TEST_F(Cc, WhatGccOnlyWarnsOfIsNoError) {
    const std::string c = write("old.c", "count(int n) { return strlen(\"abc\") + n; }\nint strlen();\n");
    const std::string cuda =
        write("old.cu",
              "extern \"C\" int count(int);\n"
              "int main(int argc, char**) {\n    register int n = argc;\n"
              "    const float values[] = {n};\n    if (cudaThreadSynchronize()) return 1;\n"
              "    return cudaThreadExit() == cudaSuccess && count((int)values[0]) == 4 ? 0 : 2;\n}\n");
    EXPECT_EQ(cc({c, cuda, "-w", "-o", at("old")}).output, "");
    EXPECT_EQ(run({at("old")}).exitCode, 0);
}

TEST_F(Cc, TakesTheSpellingsOfNvcc) {
    const std::string source = write("spelling.cu", R"(#include <vector>
// no launch: k<< <1, 1>> >
struct block_barrier {
    int phase;
    __host__ __device__ block_barrier() : phase(1) {}
    __host__ __device__ ~block_barrier() { phase = 0; }
};
template <class T> struct Box { T x; };
template <int n>
__global__ void k(int* p) {
    __shared__ alignas(16) float tile[16];
    extern __shared__ alignas(8) char more[];
    __shared__ block_barrier one;
    __shared__ alignas(16) block_barrier several[2][3];
    if (threadIdx.x == 0) one.phase = several[1][2].phase = 3;
    unsigned sm, lane, sum;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("{ .reg .u32 t; mov.u32 t, %laneid; add.u32 %0, t, %1; }" : "=r"(sum) : "r"(5));
    tile[threadIdx.x] = lane;
    more[0] = (char)(sm < 1000);
    __syncthreads();
    p[threadIdx.x] = n + (int)tile[threadIdx.x] + 100 * sum + 10000 * more[0];
    if (one.phase != 3 || several[1][2].phase != 3 || sizeof several != 6 * sizeof(int)) p[threadIdx.x] = -1;
}
int main() {
    std::vector<Box<Box<int>> > boxes(1);
    int* p;
    cudaMallocManaged(&p, 64);
    k<7> << <1, 16, 16 >> > (p);
    cudaMemPrefetchAsync(p, 64, cudaCpuDeviceId);
    cudaDeviceSynchronize();
    printf("%d %d %s\n", p[0], p[3], "a << < b");
}
)");
    for (const char* kind : {"-O2", "-rdc=true"}) {
        ASSERT_EQ(cc({kind, source, "-o", at("spelling")}).output, "");
        EXPECT_EQ(run({at("spelling")}).output, "10507 10810 a << < b\n") << kind;
    }
    // Errors are told of the file as it is.
    const Outcome o = cc({"-c", write("bad.cu", "int main() { return bad; }\n" + readFile(source)), "-o", at("bad.o")});
    EXPECT_EQ(o.exitCode, 1);
    EXPECT_NE(o.output.find(at("bad.cu") + ":1:21: error"), std::string::npos) << o.output;
}

TEST_F(Cc, AnArchitectureIsNotTakenForOneOfOpenMp) {
    const std::string source = write("k.cu", std::string(kKernel) + "int main() { return launched(); }\n");
    ASSERT_EQ(cc({"-c", "-DVALUE=3", source, "-o", at("k.o")}).output, "");
    const Outcome o = cc({"-###", "-arch=sm_60", "-fopenmp", at("k.o"), "-o", at("program")});
    EXPECT_EQ(o.output.find("linker-wrapper"), std::string::npos) << o.output;
    EXPECT_EQ(o.output.find("sm_60"), std::string::npos) << o.output;
}

TEST_F(Cc, AStaticVariableOfLinkedCodeIsTheOneThatTheHostNames) {
    // The kernel uses it before the host does; another file has one of the same name.
    const char* const text =
        "static __constant__ int table[2];\nstatic __device__ int sum = 1;\n"
        "static __global__ void k() { sum += table[threadIdx.x + 1]; }\n"
        "int NAME() {\n    const int values[2] = {3, VALUE};\n    int result = 0;\n"
        "    cudaMemcpyToSymbol(table, values, 8);\n    k<<<1, 1>>>();\n"
        "    cudaMemcpyFromSymbol(&result, sum, 4);\n    return result;\n}\n";
    const std::string one = write("one.cu", "#define NAME first\n#define VALUE 20\n" + std::string(text));
    const std::string two = write("two.cu", "#define NAME second\n#define VALUE 300\n" + std::string(text));
    const std::string host =
        write("main.cpp",
              "#include <cstdio>\n#include <initializer_list>\nint first();\nint second();\n"
              "int main() {\n    for (auto call : {first, second, first}) std::printf(\"%d\\n\", call());\n}\n");
    ASSERT_EQ(cc({"-rdc=true", one, two, host, "-o", at("statics")}).output, "");
    EXPECT_EQ(run({at("statics")}).output, "21\n301\n41\n");
}

TEST_F(Cc, ManagedVariablesAreOneForAllFilesOfAProgram) {
    // Each file has its own static one, of the same name; what one defines the other declares, pointers among them.
    const char* const text =
        "extern __managed__ int total;\nextern __managed__ int* first;\nstatic __managed__ int own = VALUE;\n"
        "static __global__ void add() { atomicAdd(&total, own); own += 1; *first += 1000; }\n"
        "int NAME() { add<<<1, 2>>>(); cudaDeviceSynchronize(); return own; }\n";
    const std::string one =
        write("one.cu", "#define NAME runFirst\n#define VALUE 20\n" + std::string(text) +
                            "__managed__ int table[3] = {1, 2, 3};\n__managed__ int* first = table;\n"
                            "int firstOfTable() { return table[0]; }\n");
    const std::string two = write(
        "two.cu", "#define NAME runSecond\n#define VALUE 300\n" + std::string(text) + "__managed__ int total = 5;\n");
    const std::string host = write("main.cu",
                                   "#include <cstdio>\nint runFirst();\nint runSecond();\nint firstOfTable();\n"
                                   "extern __managed__ int total;\n"
                                   "int main() {\n    printf(\"%d\\n\", total);\n    total += 1;\n"
                                   "    const int first = runFirst(), second = runSecond();\n"
                                   "    printf(\"%d %d %d\\n\", first, second, total);\n"
                                   "    printf(\"%d\\n\", firstOfTable() % 1000);\n}\n");
    ASSERT_EQ(cc({"-rdc=true", one, two, host, "-o", at("managed")}).output, "");
    EXPECT_EQ(run({at("managed")}).output, "5\n21 301 646\n1\n");  // 5 + 1 + 2 * 20 + 2 * 300
}

TEST_F(Cc, AManagedVariableCannotBeginWithWhatOnlyTheDeviceKnows) {
    const std::string source =
        write("pointer.cu",
              "__device__ int there;\n__managed__ int* pointer = &there;\n__global__ void k() { *pointer = 1; }\n"
              "int main() {\n    k<<<1, 1>>>();\n    printf(\"%s\\n\", cudaGetErrorName(cudaGetLastError()));\n"
              "    return pointer != nullptr;\n}\n");
    ASSERT_EQ(cc({source, "-o", at("pointer")}).output, "");
    const Outcome o = run({at("pointer")});
    EXPECT_NE(o.output.find("bulkhead: pointer is initialised with what only the device knows\n"), std::string::npos)
        << o.output;
    EXPECT_NE(o.output.find("cudaErrorNotSupported\n"), std::string::npos) << o.output;
}

TEST_F(Cc, KernelsAllocateOnTheirStacks) {
    const std::string source =
        write("stack.cu",
              "__device__ __noinline__ int sum(int n) {\n    int* squares = (int*)alloca(n * sizeof(int)), s = 0;\n"
              "    for (int i = 0; i < n; ++i) squares[i] = i * i;\n"
              "    for (int i = n - 1; i >= 0; --i) s += squares[i];\n    return s;\n}\n"
              "__global__ void k(int* out) {\n    int* cubes = (int*)alloca((threadIdx.x + 1) * sizeof(int));\n"
              "    for (int i = 0; i <= threadIdx.x; ++i) cubes[i] = i * i * i;\n"
              "    int s = sum(threadIdx.x + 3);\n    for (int i = threadIdx.x; i >= 0; --i) s += cubes[i];\n"
              "    out[threadIdx.x] = s;\n}\n"
              "int main() {\n    int *p, bad = 0;\n    cudaMallocManaged(&p, 256);\n    k<<<1, 64>>>(p);\n"
              "    if (cudaDeviceSynchronize() != cudaSuccess) return 1;\n    for (int t = 0; t < 64; ++t) {\n"
              "        int s = 0;\n        for (int i = 0; i < t + 3; ++i) s += i * i;\n"
              "        for (int i = 0; i <= t; ++i) s += i * i * i;\n        bad += p[t] != s;\n    }\n"
              "    printf(\"%d\\n\", bad);\n}\n");
    for (const char* level : {"-O0", "-O2"}) {
        ASSERT_EQ(cc({level, source, "-o", at("stack")}).output, "");
        EXPECT_EQ(run({at("stack")}).output, "0\n") << level;
    }
}

TEST_F(Cc, ClassesOfTheDeviceMayBeAbstract) {
    const std::string source = write("shapes.cu",
                                     "struct Shape { __device__ virtual int area() const = 0; };\n"
                                     "struct Square : Shape { int side; __device__ Square(int s) : side(s) {}\n"
                                     "    __device__ int area() const override { return side * side; } };\n"
                                     "struct Strip : Shape { int length; __device__ Strip(int l) : length(l) {}\n"
                                     "    __device__ int area() const override { return length; } };\n"
                                     "__global__ void measure(int* p) {\n    Square square(5);\n    Strip strip(9);\n"
                                     "    const Shape* const shape = p[threadIdx.x] ? (const Shape*)&square : &strip;\n"
                                     "    p[threadIdx.x] = shape->area();\n}\n"
                                     "int main() {\n    int* p;\n    cudaMallocManaged(&p, 8);\n    p[0] = 0;\n    "
                                     "p[1] = 1;\n    measure<<<1, 2>>>(p);\n"
                                     "    cudaDeviceSynchronize();\n    printf(\"%d %d\\n\", p[0], p[1]);\n}\n");
    for (const char* level : {"-O0", "-O2"}) {
        ASSERT_EQ(cc({level, source, "-o", at("shapes")}).output, "");
        EXPECT_EQ(run({at("shapes")}).output, "9 25\n") << level;
    }
}

TEST_F(Cc, KernelsTakeLambdasAndIntegersOf128Bits) {
    const std::string source = write("lambdas.cu", R"(
template <class F>
__global__ void apply(int* p, F f) { p[threadIdx.x] = f(threadIdx.x); }
__global__ void wide(unsigned long long* o, unsigned long long a, unsigned long long b) {
    const unsigned __int128 x = (unsigned __int128)a * b + 7;
    const __int128 y = -(__int128)x;
    o[0] = (unsigned long long)(x >> 64);
    o[1] = (unsigned long long)x;
    o[2] = (unsigned long long)(x / b);
    o[3] = (unsigned long long)(x % b);
    o[4] = y < 0;
}
int main() {
    int *p, k = 5;
    unsigned long long *o, a = 0xfedcba9876543210ull, b = 0x123456789abcdefull;
    cudaMallocManaged(&p, 16);
    cudaMallocManaged(&o, 40);
    apply<<<1, 4>>>(p, [=] __device__(int i) { return i * k; });
    cudaDeviceSynchronize();
    printf("%d ", p[3]);
    apply<<<1, 4>>>(p, [=] __host__ __device__(int i) { return i + k; });
    wide<<<1, 1>>>(o, a, b);
    cudaDeviceSynchronize();
    const unsigned __int128 x = (unsigned __int128)a * b + 7;
    printf("%d %d %d%d\n", p[3], o[0] == (unsigned long long)(x >> 64) && o[1] == (unsigned long long)x, o[2] == a && o[3] == 7, (int)o[4]);
}
)");
    ASSERT_EQ(cc({"--extended-lambda", "-O2", source, "-o", at("lambdas")}).output, "");
    EXPECT_EQ(run({at("lambdas")}).output, "15 8 1 11\n");
}

TEST_F(Cc, HasBarriersByNumberAndAsksWhereAnAddressLies) {
    const std::string source =
        write("barriers.cu",
              "__global__ void k(int* p) {\n    __shared__ int from[64];\n    int local = 0;\n    const int i = "
              "threadIdx.x;\n"
              "    from[i] = i;\n"
              "    if (i < 32) { __barrier_sync_count(1, 32); p[i] = from[31 - i]; }\n"  // the others stay away
              "    __barrier_sync(0);\n    if (i >= 32) p[i] = from[i - 32];\n"
              "    if (i == 0) p[64] = __isClusterShared(from) * 8 + __isClusterShared(p) * 4 +\n"
              "        __isClusterShared(&local) * 2 + __isGridConstant(p);\n}\n"
              "int main() {\n    int* p;\n    cudaMallocManaged(&p, 260);\n    k<<<1, 64>>>(p);\n"
              "    cudaDeviceSynchronize();\n    printf(\"%d %d %d\\n\", p[0], p[63], p[64]);\n}\n");
    for (const char* arch : {"-arch=sm_75", "-arch=sm_90"}) {
        ASSERT_EQ(cc({arch, source, "-o", at("barriers")}).output, "");
        EXPECT_EQ(run({"/usr/bin/env", "BULKHEAD_GPU=sim:h200", at("barriers")}).output, "31 31 8\n") << arch;
    }
}

TEST_F(Cc, GraphsAreChangedByTheCallsOfCuda11) {
    const std::string source = write(
        "graph.cu",
        "__global__ void k(int* p) { *p += 1; }\n"
        "int main() {\n    int* p;\n    cudaStream_t s;\n    cudaGraph_t g;\n    cudaGraphExec_t e = nullptr;\n"
        "    cudaMallocManaged(&p, 4);\n    *p = 0;\n    cudaStreamCreate(&s);\n"
        "    for (int round = 0; round < 3; ++round) {\n"
        "        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);\n"
        "        for (int i = 0; i < (round < 2 ? 2 : 3); ++i) k<<<1, 1, 0, s>>>(p);\n"
        "        cudaStreamEndCapture(s, &g);\n"
        "        cudaGraphExecUpdateResult result = cudaGraphExecUpdateSuccess;\n        cudaGraphNode_t node = "
        "nullptr;\n"
        "        if (e == nullptr) cudaGraphInstantiate(&e, g, nullptr, nullptr, 0);\n"
        "        else cudaGraphExecUpdate(e, g, &node, &result);\n"
        "        printf(\"%d\", result == cudaGraphExecUpdateSuccess);\n"
        "        cudaGraphLaunch(e, s);\n        cudaStreamSynchronize(s);\n    }\n    printf(\" %d\\n\", *p);\n}\n");
    ASSERT_EQ(cc({source, "-o", at("graph")}).output, "");
    EXPECT_EQ(run({at("graph")}).output, "110 6\n");  // the third has another shape, and is not taken
}

/// Headers of Thrust, CUB and libcu++; empty where there are none.
std::filesystem::path findCccl() {
    const std::string nvcc = findNvcc();
    if (nvcc.empty()) return {};
    const auto headers = std::filesystem::canonical(nvcc).parent_path().parent_path() / "include/cccl";
    return std::filesystem::exists(headers / "cub/cub.cuh") ? headers : std::filesystem::path();
}

TEST_F(Cc, CudasLibrariesOfTemplatesCompileUnchanged) {
    const std::filesystem::path libraries = findCccl();
    if (libraries.empty()) GTEST_SKIP() << "there is no CCCL beside nvcc";
    const std::string source = write(
        "templates.cu",
        "#include <cub/block/block_reduce.cuh>\n#include <cuda/atomic>\n#include <cuda/std/tuple>\n"
        "#include <thrust/device_vector.h>\n#include <thrust/reduce.h>\n"
        "__global__ void sums(const int* in, cuda::atomic<int, cuda::thread_scope_device>* total) {\n"
        "    using Reduce = cub::BlockReduce<int, 64>;\n    __shared__ typename Reduce::TempStorage memory;\n"
        "    const int sum = Reduce(memory).Sum(in[blockIdx.x * 64 + threadIdx.x]);\n"
        "    const cuda::std::tuple<int, bool> mine(sum, threadIdx.x == 0);\n"
        "    if (cuda::std::get<1>(mine)) total->fetch_add(cuda::std::get<0>(mine));\n}\n"
        "int main() {\n    thrust::device_vector<int> v(256);\n    int expected = 0;\n"
        "    for (int i = 0; i < 256; ++i) v[i] = i * i % 37;\n"
        "    for (int i = 0; i < 256; ++i) expected += i * i % 37;\n"
        "    cuda::atomic<int, cuda::thread_scope_device>* total;\n    cudaMallocManaged(&total, sizeof *total);\n"
        "    new (total) cuda::atomic<int, cuda::thread_scope_device>(0);\n"
        "    sums<<<4, 64>>>(thrust::raw_pointer_cast(v.data()), total);\n    cudaDeviceSynchronize();\n"
        "    return total->load() == expected && thrust::reduce(v.begin(), v.end()) == expected ? 0 : 1;\n}\n");
    const Outcome built = cc({"-O1", "-I" + libraries.string(), source, "-o", at("templates")});
    ASSERT_EQ(built.exitCode, 0) << built.output;
    EXPECT_EQ(run({at("templates")}).exitCode, 0);
}

TEST_F(Cc, BarriersAndPipelinesOfLibcuxxAreShared) {
    const std::filesystem::path libraries = findCccl();
    if (libraries.empty()) GTEST_SKIP() << "there is no CCCL beside nvcc";
    const std::string source = write("barriers.cu", R"(#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
constexpr auto block_scope = cuda::thread_scope_block;
/// Each thread gets what another one fetched.
__global__ void reversed(const int* in, int* out) {
    __shared__ int tile[64];
    __shared__ cuda::barrier<block_scope> ready;
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(tile + threadIdx.x, in + blockIdx.x * 64 + threadIdx.x, sizeof(int), ready);
    ready.arrive_and_wait();
    out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void summed(const int* in, int* out, int count) {
    __shared__ int tiles[2][64];
    __shared__ cuda::pipeline_shared_state<block_scope, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int used = 0, fetched = 0; used < count; ++used) {
        for (; fetched < count && fetched < used + 2; ++fetched) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tiles[fetched % 2], in + fetched * 64, sizeof tiles[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        block.sync();
        sum += tiles[used % 2][63 - threadIdx.x];
        block.sync();
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}
int main() {
    int *in, *out, wrong = 0;
    cudaMallocManaged(&in, 1024);
    cudaMallocManaged(&out, 1024);
    for (int i = 0; i < 256; ++i) in[i] = i * i % 101;
    reversed<<<4, 64>>>(in, out);
    if (cudaDeviceSynchronize()) return 1;
    for (int i = 0; i < 256; ++i) wrong += out[i] != in[i / 64 * 64 + 63 - i % 64];
    summed<<<1, 64>>>(in, out, 4);
    if (cudaDeviceSynchronize()) return 1;
    for (int i = 0; i < 64; ++i) wrong += out[i] != in[63 - i] + in[127 - i] + in[191 - i] + in[255 - i];
    return wrong ? 2 : 0;
}
)");
    for (const char* architecture : {"-arch=sm_75", "-arch=sm_80", "-arch=sm_90"}) {
        const Outcome built = cc({"-O1", architecture, "-I" + libraries.string(), source, "-o", at("barriers")});
        ASSERT_EQ(built.exitCode, 0) << built.output;
        EXPECT_EQ(run({at("barriers")}).exitCode, 0) << architecture;
    }
}

TEST_F(Cc, NoInputIsRefused) {
    expectRefused({"-O2"}, "no input file");
    expectRefused({"-o"}, "-o needs a value");
}

TEST_F(Cc, AMissingCompilerIsNamedWithItsPackage) {
    const std::string source = write("x.cu", kKernel);
    const Outcome o = run({"/usr/bin/env", "PATH=/nonexistent", BULKHEAD_PROGRAM, "cc", source});
    EXPECT_EQ(o.exitCode, 2);
    EXPECT_NE(o.output.find("clang++-19 is not installed; it is in the Debian package clang-19"), std::string::npos)
        << o.output;
}

}  // namespace
}  // namespace bulkhead
