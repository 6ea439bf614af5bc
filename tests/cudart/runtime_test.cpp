#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "cudart/runtime_calls.h"

namespace {

constexpr char kKernels[] = R"(
.version 6.0
.target sm_60
.address_size 64
.visible .global .align 4 .u32 total;
.visible .const .align 4 .u32 factor;
.visible .global .attribute(.managed) .align 4 .u32 both = 40;

.visible .entry store(.param .u64 to, .param .u32 value)
{
    .reg .u64 %p<3>;
    .reg .u32 %r<4>;
    ld.param.u64 %p0, [to];
    ld.param.u32 %r0, [value];
    cvta.to.global.u64 %p1, %p0;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %p2, %r1, 4;
    add.u64 %p1, %p1, %p2;
    add.u32 %r2, %r0, %r1;
    st.global.u32 [%p1], %r2;
    ret;
}
.visible .entry addTwo()
{
    .reg .u32 %r<2>;
    ld.global.u32 %r0, [both];
    add.u32 %r1, %r0, 2;
    st.global.u32 [both], %r1;
    ret;
}
.visible .entry multiply(.param .u32 value)
{
    .reg .u32 %r<4>;
    ld.param.u32 %r0, [value];
    ld.const.u32 %r1, [factor];
    mul.lo.u32 %r2, %r0, %r1;
    st.global.u32 [total], %r2;
    ret;
}
)";

void append(std::string& bytes, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
}

/// A fat binary with one entry that is not compressed: PTX (kind 1) or machine code (kind 2).
std::string fatBinary(std::string payload, int kind = 1) {
    while (payload.size() % 8) payload += '\0';
    std::string entry;
    append(entry, static_cast<std::uint64_t>(kind), 2);
    append(entry, 0x101, 2);
    append(entry, 64, 4);
    append(entry, payload.size(), 8);
    append(entry, 0, 8);
    append(entry, 6ull << 16, 4);  // PTX ISA 6.0
    append(entry, 60, 4);          // sm_60
    entry.resize(64);
    std::string header;
    append(header, 0xBA55ED50, 4);
    append(header, 1, 2);
    append(header, 16, 2);
    append(header, entry.size() + payload.size(), 8);
    return header + entry + payload;
}

/// As the static constructors of an object file register its device code, and its destructors end that.
class Registered {
  public:
    explicit Registered(std::string image) : image_(std::move(image)), wrapper_{0x466243b1, 1, image_.data(), nullptr} {
        handle_ = __cudaRegisterFatBinary(&wrapper_);
    }
    ~Registered() { __cudaUnregisterFatBinary(handle_); }
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;
    void function(const void* host, const char* name) {
        __cudaRegisterFunction(handle_, static_cast<const char*>(host), nullptr, name, -1, nullptr, nullptr, nullptr,
                               nullptr, nullptr);
    }
    void variable(void* host, const char* name, std::size_t bytes) {
        __cudaRegisterVar(handle_, static_cast<char*>(host), nullptr, name, 0, bytes, 0, 0);
    }
    void managed(void** hostPointer, const char* name, std::size_t bytes) {
        __cudaRegisterManagedVar(handle_, hostPointer, nullptr, name, 0, bytes, 0, 0);
    }
    bool load() { return __cudaInitModule(handle_); }

  private:
    struct Wrapper {
        std::uint32_t magic, version;
        const void* image;
        const void* more;
    };
    std::string image_;
    Wrapper wrapper_;
    void** handle_;
};

/// Stand for the host's side of kernels and variables: only their addresses matter.
char hostStore, hostMultiply, hostTotal, hostFactor;

class Runtime : public testing::Test {
  protected:
    /// The simulated driver, even on a machine that has another.
    static void SetUpTestSuite() {
        ::setenv("BULKHEAD_GPU", "sim:gtx1080", 1);
        ASSERT_NE(::dlopen(BULKHEAD_LIBRARY_FOLDER "/libcuda.so.1", RTLD_NOW), nullptr) << ::dlerror();
    }
    Runtime() : kernels(fatBinary(kKernels)) {
        kernels.function(&hostStore, "store");
        kernels.function(&hostMultiply, "multiply");
        kernels.variable(&hostTotal, "total", 4);
        kernels.variable(&hostFactor, "factor", 4);
    }
    ~Runtime() override { cudaGetLastError(); }

    static std::uint32_t* allocate(std::size_t count) {
        void* pointer = nullptr;
        EXPECT_EQ(cudaMalloc(&pointer, count * 4), cudaSuccess);
        return static_cast<std::uint32_t*>(pointer);
    }
    static std::vector<std::uint32_t> read(const std::uint32_t* from, std::size_t count) {
        std::vector<std::uint32_t> values(count);
        EXPECT_EQ(cudaMemcpy(values.data(), from, count * 4, cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }

    Registered kernels;
};

const std::vector<std::uint32_t> kFrom7 = {7, 8, 9, 10};

TEST_F(Runtime, LaunchesAsClangsObjectsDo) {
    std::uint32_t* p = allocate(4);
    EXPECT_EQ(__cudaPushCallConfiguration({1, 1, 1}, {4, 1, 1}, 0, nullptr), 0u);
    dim3 grid, block;
    std::size_t shared = 1;
    cudaStream_t stream;
    ASSERT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
    EXPECT_EQ(shared, 0u);
    std::uint32_t value = 7;
    void* arguments[] = {&p, &value};
    ASSERT_EQ(cudaLaunchKernel(&hostStore, grid, block, arguments, shared, stream), cudaSuccess);
    EXPECT_EQ(read(p, 4), kFrom7);
    cudaFree(p);
}

TEST_F(Runtime, LaunchesAsNvccsObjectsDo) {
    std::uint32_t *p = allocate(4), value = 7;
    const void* kernel = nullptr;
    ASSERT_EQ(__cudaGetKernel(&kernel, &hostStore), cudaSuccess);
    void* arguments[] = {&p, &value};
    ASSERT_EQ(__cudaLaunchKernel(kernel, {1, 1, 1}, {4, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    EXPECT_EQ(read(p, 4), kFrom7);
    cudaFree(p);
}

TEST_F(Runtime, LaunchesOnTheThreadsOwnStream) {
    std::uint32_t *p = allocate(4), value = 7, values[4] = {};
    void* arguments[] = {&p, &value};
    ASSERT_EQ(cudaLaunchKernel_ptsz(&hostStore, {1, 1, 1}, {4, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    ASSERT_EQ(cudaMemcpy_ptds(values, p, sizeof values, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(std::vector(values, values + 4), kFrom7);
    cudaFree(p);
}

TEST_F(Runtime, NestedConfigurationsComeBackInnermostFirst) {
    __cudaPushCallConfiguration({1, 1, 1}, {10, 1, 1}, 0, nullptr);
    __cudaPushCallConfiguration({1, 1, 1}, {20, 1, 1}, 0, nullptr);
    dim3 grid, first, second;
    std::size_t shared;
    cudaStream_t stream;
    __cudaPopCallConfiguration(&grid, &first, &shared, &stream);
    __cudaPopCallConfiguration(&grid, &second, &shared, &stream);
    EXPECT_EQ(first.x, 20u);
    EXPECT_EQ(second.x, 10u);
    EXPECT_EQ(__cudaPopCallConfiguration(&grid, &first, &shared, &stream), cudaErrorMissingConfiguration);
}

TEST_F(Runtime, VariablesAreReachedByTheirSymbols) {
    std::uint32_t factor = 6, value = 7, total = 0;
    ASSERT_EQ(cudaMemcpyToSymbol(&hostFactor, &factor, 4, 0, cudaMemcpyHostToDevice), cudaSuccess);
    void* arguments[] = {&value};
    ASSERT_EQ(cudaLaunchKernel(&hostMultiply, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    ASSERT_EQ(cudaMemcpyFromSymbol(&total, &hostTotal, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(total, 42u);
}

TEST_F(Runtime, ManagedVariablesAreSharedWithTheHost) {
    char host = 0;
    std::uint32_t* both = nullptr;
    kernels.function(&host, "addTwo");
    kernels.managed(reinterpret_cast<void**>(&both), "both", 4);
    ASSERT_TRUE(kernels.load());
    ASSERT_NE(both, nullptr);
    EXPECT_EQ(*both, 40u);
    *both = 50;
    ASSERT_EQ(cudaLaunchKernel(&host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(*both, 52u);
}

TEST_F(Runtime, AFaultStaysUntilTheDeviceIsReset) {
    std::uint32_t *nowhere = reinterpret_cast<std::uint32_t*>(std::uintptr_t{0x5000}), value = 7;
    void *arguments[] = {&nowhere, &value}, *p = nullptr;
    EXPECT_EQ(cudaLaunchKernel(&hostStore, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
    std::uint32_t* q = allocate(4);
    void* again[] = {&q, &value};
    ASSERT_EQ(cudaLaunchKernel(&hostStore, {1, 1, 1}, {4, 1, 1}, again, 0, nullptr), cudaSuccess);
    EXPECT_EQ(read(q, 4), kFrom7);
    cudaFree(q);
}

TEST_F(Runtime, TheLastErrorIsKeptUntilItIsTaken) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, std::size_t{1} << 50), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, PtxThatIsNoneIsInvalid) {
    char host = 0;
    Registered broken(fatBinary(".version 6.0\n.target sm_60\n.address_size 64\n.entry k() { nonsense; }\n"));
    broken.function(&host, "k");
    EXPECT_EQ(cudaLaunchKernel(&host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), 218);  // cudaErrorInvalidPtx
}

TEST_F(Runtime, MachineCodeAloneIsNoImageForTheDevice) {
    char host = 0;
    Registered machineCode(fatBinary(std::string("\x7f"
                                                 "ELF",
                                                 4) +
                                         std::string(60, '\0'),
                                     2));
    machineCode.function(&host, "k");
    EXPECT_EQ(cudaLaunchKernel(&host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), 209);
}

TEST_F(Runtime, AKernelThatItsCodeLacksIsAnInvalidFunction) {
    char host = 0;
    kernels.function(&host, "missing");
    EXPECT_EQ(cudaLaunchKernel(&host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
}

TEST_F(Runtime, PropertiesAreTheProfiles) {
    const bulkhead::arch::DeviceProfile profile = bulkhead::arch::findProfile("sim:gtx1080");
    cudaDeviceProp p;
    ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
    EXPECT_STREQ(p.name, "sim:gtx1080");
    EXPECT_EQ(p.major * 10 + p.minor, profile.compute.major * 10 + profile.compute.minor);
    EXPECT_EQ(p.multiProcessorCount, profile.sm.count);
    EXPECT_EQ(p.l2CacheSize, profile.l2.bytes);
    EXPECT_EQ(p.warpSize, 32);
    EXPECT_EQ(p.maxThreadsPerBlock, 1024);
    EXPECT_EQ(p.unifiedAddressing, 1);
}

TEST_F(Runtime, EventsCountSimulatedTime) {
    void *pinned = nullptr, *device = nullptr;
    const std::size_t bytes = 8 << 20;
    ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    const auto timeOf = [&](std::size_t part) {
        float ms = 0;
        cudaEventRecord(begin, nullptr);
        EXPECT_EQ(cudaMemcpyAsync(device, pinned, part, cudaMemcpyHostToDevice, nullptr), cudaSuccess);
        cudaEventRecord(end, nullptr);
        EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
        EXPECT_EQ(cudaEventElapsedTime(&ms, begin, end), cudaSuccess);
        return ms;
    };
    // No clock of the host gives the same time twice, and twice the time for twice the bytes.
    const float half = timeOf(bytes / 2), whole = timeOf(bytes), again = timeOf(bytes);
    EXPECT_GT(half, 0);
    EXPECT_FLOAT_EQ(whole, again);
    EXPECT_NEAR(whole / half, 2, 0.01);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaFree(device);
    cudaFreeHost(pinned);
}

TEST_F(Runtime, KnowsEveryErrorByName) {
    EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(700)), "cudaErrorIllegalAddress");
    EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(2)), "out of memory");
    EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(9)), "invalid configuration argument");
    EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST_F(Runtime, WhatIsMissingNamesItselfOnce) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(cudaIpcCloseMemHandle(nullptr), cudaErrorNotSupported);
    EXPECT_EQ(cudaIpcCloseMemHandle(nullptr), cudaErrorNotSupported);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "bulkhead: cudaIpcCloseMemHandle is not supported by this CUDA runtime\n");
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST_F(Runtime, CapturesItsLaunchesIntoGraphs) {
    std::uint32_t* words = allocate(4);
    ASSERT_EQ(cudaMemset(words, 0, 16), cudaSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    std::uint32_t value = 17;
    void* arguments[] = {&words, &value};
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    // The kernel's code may have to be loaded for it.
    ASSERT_EQ(cudaLaunchKernel(&hostStore, {1, 1, 1}, {4, 1, 1}, arguments, 0, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(read(words, 1)[0], 0u);
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    const std::vector<std::uint32_t> launched = read(words, 4);
    ASSERT_EQ(cudaMemset(words, 0, 16), cudaSuccess);
    ASSERT_EQ(cudaLaunchKernel(&hostStore, {1, 1, 1}, {4, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    EXPECT_EQ(read(words, 4), launched);
    EXPECT_NE(launched[1], 0u);

    cudaGraphNode_t node = nullptr;
    std::size_t count = 1;
    ASSERT_EQ(cudaGraphGetNodes(graph, &node, &count), cudaSuccess);
    cudaKernelNodeParams told = {};
    ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &told), cudaSuccess);
    EXPECT_EQ(told.func, &hostStore);
    EXPECT_EQ(told.blockDim.x, 4u);
    ASSERT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
    cudaStreamDestroy(stream);
    cudaFree(words);
}

TEST_F(Runtime, NodesOfSymbolsAndBoxesAreReadBack) {
    std::uint32_t from = 5, to = 0;
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t in = nullptr, out = nullptr, fill = nullptr;
    ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphAddMemcpyNodeToSymbol(&in, graph, nullptr, 0, &hostTotal, &from, 4, 0, cudaMemcpyHostToDevice),
              cudaSuccess);
    ASSERT_EQ(cudaGraphAddMemcpyNodeFromSymbol(&out, graph, &in, 1, &to, &hostTotal, 4, 0, cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(cudaGraphAddMemcpyNodeFromSymbol(&fill, graph, &in, 1, &to, &hostTotal, 4, 1, cudaMemcpyDeviceToHost),
              cudaErrorInvalidValue);
    cudaMemcpy3DParms box = {};
    ASSERT_EQ(cudaGraphMemcpyNodeGetParams(out, &box), cudaSuccess);
    EXPECT_EQ(box.dstPtr.ptr, &to);
    EXPECT_EQ(box.extent.width, 4u);
    EXPECT_EQ(box.kind, cudaMemcpyDeviceToHost);
    ASSERT_EQ(cudaGraphMemcpyNodeSetParams(out, &box), cudaSuccess);
    std::uint32_t* word = allocate(1);
    cudaGraphNodeParams settings = {};
    settings.type = cudaGraphNodeTypeMemset;
    settings.memset = {word, 0, 9, 4, 1, 1};
    ASSERT_EQ(cudaGraphAddNode(&fill, graph, nullptr, nullptr, 0, &settings), cudaSuccess);
    cudaMemsetParams told = {};
    ASSERT_EQ(cudaGraphMemsetNodeGetParams(fill, &told), cudaSuccess);
    EXPECT_EQ(told.dst, word);
    EXPECT_EQ(told.value, 9u);
    cudaGraphExec_t exec = nullptr;
    cudaGraphInstantiateParams how = {};
    ASSERT_EQ(cudaGraphInstantiateWithParams(&exec, graph, &how), cudaSuccess);
    EXPECT_EQ(how.result_out, cudaGraphInstantiateSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(to, 5u);
    EXPECT_EQ(read(word, 1)[0], 9u);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaFree(word);
}

TEST_F(Runtime, GraphsAllocateAndFreeMemory) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t allocation = nullptr, release = nullptr;
    ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    cudaMemAllocNodeParams settings = {};
    settings.poolProps.allocType = cudaMemAllocationTypePinned;
    settings.poolProps.location.type = cudaMemLocationTypeDevice;
    settings.bytesize = 512;
    ASSERT_EQ(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &settings), cudaSuccess);
    ASSERT_NE(settings.dptr, nullptr);
    ASSERT_EQ(cudaGraphAddMemFreeNode(&release, graph, &allocation, 1, settings.dptr), cudaSuccess);
    void* told = nullptr;
    ASSERT_EQ(cudaGraphMemFreeNodeGetParams(release, &told), cudaSuccess);
    EXPECT_EQ(told, settings.dptr);
    std::uint64_t reserved = 0;
    ASSERT_EQ(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved), cudaSuccess);
    EXPECT_EQ(reserved, 512u);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    ASSERT_EQ(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved), cudaSuccess);
    EXPECT_EQ(reserved, 0u);
}

TEST_F(Runtime, GivesOutTheVersionThatAProgramWasWrittenFor) {
    void *old = nullptr, *newer = nullptr, *named = nullptr;
    cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuGraphAddNode", &old, 12020, 0, &status), cudaSuccess);
    ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuGraphAddNode", &newer, 13000, 0, &status), cudaSuccess);
    ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuGraphAddNode_v2", &named, 13000, 0, &status), cudaSuccess);
    EXPECT_NE(old, newer);
    EXPECT_EQ(newer, named);
}

TEST_F(Runtime, GivesOutTheDriversFunctions) {
    int (*driverGetVersion)(int*) = nullptr;
    cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    int version = 0;
    ASSERT_EQ(cudaGetDriverEntryPoint("cuDriverGetVersion", reinterpret_cast<void**>(&driverGetVersion), 0, &status),
              cudaSuccess);
    ASSERT_EQ(status, cudaDriverEntryPointSuccess);
    EXPECT_EQ(driverGetVersion(&version), 0);
    EXPECT_GE(version, 13000);
}

}  // namespace
