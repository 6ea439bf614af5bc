#pragma once

#include <vector>

#include "support.h"

namespace bulkhead::driver {

/// Graphs of the kernels in support.h.
class GraphTest : public DriverTest {
  protected:
    CUgraph graph() const {
        CUgraph made = nullptr;
        EXPECT_EQ(api.cuGraphCreate(&made, 0), CUDA_SUCCESS);
        return made;
    }
    CUgraphExec instantiate(CUgraph from, unsigned long long flags = 0) const {
        CUgraphExec made = nullptr;
        EXPECT_EQ(api.cuGraphInstantiateWithFlags(&made, from, flags), CUDA_SUCCESS) << simulatorApi().lastError();
        return made;
    }
    void launchAndWait(CUgraphExec exec, CUstream in = nullptr) const {
        ASSERT_EQ(api.cuGraphLaunch(exec, in), CUDA_SUCCESS) << simulatorApi().lastError();
        ASSERT_EQ(api.cuStreamSynchronize(in), CUDA_SUCCESS) << simulatorApi().lastError();
    }
    CUDA_KERNEL_NODE_PARAMS kernel(const char* name, unsigned threads, void** parameters) const {
        CUDA_KERNEL_NODE_PARAMS settings = {};
        settings.func = function(name);
        settings.gridDimX = settings.gridDimY = settings.gridDimZ = 1;
        settings.blockDimX = threads, settings.blockDimY = settings.blockDimZ = 1;
        settings.kernelParams = parameters;
        return settings;
    }
    /// A node that doubles words.
    CUgraphNode twice(CUgraph in, CUdeviceptr words, unsigned count, std::vector<CUgraphNode> after = {}) const {
        void* parameters[] = {&words};
        const CUDA_KERNEL_NODE_PARAMS settings = kernel("twice", count, parameters);
        CUgraphNode node = nullptr;
        EXPECT_EQ(api.cuGraphAddKernelNode_v2(&node, in, after.data(), after.size(), &settings), CUDA_SUCCESS)
            << simulatorApi().lastError();
        return node;
    }
    /// A node that takes about that many rounds.
    CUgraphNode spinning(CUgraph in, CUdeviceptr word, unsigned rounds, std::vector<CUgraphNode> after = {}) const {
        void* parameters[] = {&word, &rounds};
        const CUDA_KERNEL_NODE_PARAMS settings = kernel("spin", 1, parameters);
        CUgraphNode node = nullptr;
        EXPECT_EQ(api.cuGraphAddKernelNode_v2(&node, in, after.data(), after.size(), &settings), CUDA_SUCCESS)
            << simulatorApi().lastError();
        return node;
    }
    CUgraphNode filling(CUgraph in, CUdeviceptr words, unsigned value, std::size_t count,
                        std::vector<CUgraphNode> after = {}) const {
        const CUDA_MEMSET_NODE_PARAMS fill = {words, 0, value, 4, count, 1};
        CUgraphNode node = nullptr;
        EXPECT_EQ(api.cuGraphAddMemsetNode(&node, in, after.data(), after.size(), &fill, context), CUDA_SUCCESS)
            << simulatorApi().lastError();
        return node;
    }
    static CUDA_MEMCPY3D toHost(void* to, CUdeviceptr from, std::size_t bytes) {
        CUDA_MEMCPY3D copy = {};
        copy.srcMemoryType = 2, copy.srcDevice = from;
        copy.dstMemoryType = 1, copy.dstHost = to;
        copy.WidthInBytes = bytes, copy.Height = copy.Depth = 1;
        return copy;
    }
    CUgraphNode copying(CUgraph in, const CUDA_MEMCPY3D& copy, std::vector<CUgraphNode> after = {}) const {
        CUgraphNode node = nullptr;
        EXPECT_EQ(api.cuGraphAddMemcpyNode(&node, in, after.data(), after.size(), &copy, context), CUDA_SUCCESS)
            << simulatorApi().lastError();
        return node;
    }
    std::size_t count(CUgraph of) const {
        std::size_t nodes = 99;
        EXPECT_EQ(api.cuGraphGetNodes(of, nullptr, &nodes), CUDA_SUCCESS);
        return nodes;
    }
    CUgraphNodeType typeOf(CUgraphNode node) const {
        CUgraphNodeType type = -1;
        EXPECT_EQ(api.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
        return type;
    }
    /// Simulated seconds that a launch takes.
    double launchSeconds(CUgraphExec exec) const {
        const CUstream s = stream(1);
        const CUevent begin = event(), end = event();
        EXPECT_EQ(api.cuEventRecord(begin, s), CUDA_SUCCESS);
        EXPECT_EQ(api.cuGraphLaunch(exec, s), CUDA_SUCCESS) << simulatorApi().lastError();
        EXPECT_EQ(api.cuEventRecord(end, s), CUDA_SUCCESS);
        EXPECT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
        return seconds(begin, end);
    }
    std::uint64_t graphMemory(CUgraphMem_attribute attribute) const {
        std::uint64_t value = ~0ull;
        EXPECT_EQ(api.cuDeviceGetGraphMemAttribute(device, attribute, &value), CUDA_SUCCESS);
        return value;
    }
};

}  // namespace bulkhead::driver
