// Nodes of graphs: the runtime names kernels, symbols and directions of copies where the driver has functions,
// addresses and kinds of memory.

#include <cstring>

#include "cudart/copy.h"
#include "cudart/registry.h"
#include "driver/pointer_attributes.h"
#include "sdk/include/cuda_runtime_api.h"

namespace bulkhead::cudart {
namespace {

using driver::CUDA_HOST_NODE_PARAMS;
using driver::CUDA_KERNEL_NODE_PARAMS;
using driver::CUDA_MEM_ALLOC_NODE_PARAMS;
using driver::CUDA_MEMCPY3D;
using driver::CUDA_MEMSET_NODE_PARAMS;
using driver::CUgraphEdgeData;
using driver::CUgraphNodeParams;
using driver::CUlaunchAttributeValue;

static_assert(sizeof(cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS));
static_assert(sizeof(cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS));
static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
static_assert(sizeof(cudaGraphNodeParams) == sizeof(CUgraphNodeParams));

CUcontext contextNow() {
    CUcontext context = nullptr;
    check(ready().cuCtxGetCurrent(&context));
    return context;
}

template <class Parameters>
CUDA_KERNEL_NODE_PARAMS driverKernel(const Parameters* wanted) {
    require(wanted != nullptr);
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    kernel.func = Registry::instance().function(wanted->func);
    kernel.gridDimX = wanted->gridDim.x, kernel.gridDimY = wanted->gridDim.y, kernel.gridDimZ = wanted->gridDim.z;
    kernel.blockDimX = wanted->blockDim.x, kernel.blockDimY = wanted->blockDim.y, kernel.blockDimZ = wanted->blockDim.z;
    kernel.sharedMemBytes = wanted->sharedMemBytes;
    kernel.kernelParams = wanted->kernelParams;
    kernel.extra = wanted->extra;
    return kernel;
}

cudaKernelNodeParams runtimeKernel(const CUDA_KERNEL_NODE_PARAMS& kernel) {
    cudaKernelNodeParams told = {};
    const void* host = Registry::instance().hostFunction(kernel.func);
    told.func = const_cast<void*>(host ? host : static_cast<const void*>(kernel.func));
    told.gridDim = dim3(kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ);
    told.blockDim = dim3(kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ);
    told.sharedMemBytes = kernel.sharedMemBytes;
    told.kernelParams = kernel.kernelParams;
    told.extra = kernel.extra;
    return told;
}

CUDA_MEMCPY3D copyFor(const cudaMemcpy3DParms* box) {
    ready();
    require(box != nullptr);
    require(!box->srcArray && !box->dstArray, cudaErrorNotSupported);
    return driverCopy(*box);
}

CUDA_MEMCPY3D copyFor(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    cudaMemcpy3DParms box = {};
    box.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
    box.dstPtr = {to, bytes, bytes, 1};
    box.extent = {bytes, 1, 1};
    box.kind = kind;
    return copyFor(&box);
}

CUDA_MEMCPY3D toSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                       cudaMemcpyKind kind) {
    return copyFor(Registry::instance().partOf(symbol, bytes, offset), from, bytes, kind);
}

CUDA_MEMCPY3D fromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind) {
    return copyFor(to, Registry::instance().partOf(symbol, bytes, offset), bytes, kind);
}

cudaMemcpy3DParms runtimeCopy(const CUDA_MEMCPY3D& copy) {
    const bool fromHost = copy.srcMemoryType == driver::kHostMemory, toHost = copy.dstMemoryType == driver::kHostMemory;
    const std::size_t width = copy.WidthInBytes, height = copy.Height;
    cudaMemcpy3DParms box = {};
    box.srcPos = {copy.srcXInBytes, copy.srcY, copy.srcZ};
    box.dstPos = {copy.dstXInBytes, copy.dstY, copy.dstZ};
    box.srcPtr = {fromHost ? const_cast<void*>(copy.srcHost) : pointerTo(copy.srcDevice),
                  copy.srcPitch ? copy.srcPitch : width, width, copy.srcHeight ? copy.srcHeight : height};
    box.dstPtr = {toHost ? copy.dstHost : pointerTo(copy.dstDevice), copy.dstPitch ? copy.dstPitch : width, width,
                  copy.dstHeight ? copy.dstHeight : height};
    box.extent = {width, height, copy.Depth};
    box.kind = fromHost ? (toHost ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                        : (toHost ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
    return box;
}

CUgraphNodeParams driverNode(const cudaGraphNodeParams* wanted) {
    require(wanted != nullptr);
    CUgraphNodeParams node;
    std::memcpy(static_cast<void*>(&node), wanted, sizeof node);
    switch (wanted->type) {
        case cudaGraphNodeTypeKernel:
            node.kernel = driverKernel(&wanted->kernel);
            break;
        case cudaGraphNodeTypeMemcpy:
            require(wanted->memcpy.flags == 0);
            node.memcpy = {0, 0, contextNow(), copyFor(&wanted->memcpy.copyParams)};
            break;
        case cudaGraphNodeTypeMemset:
            node.memset.ctx = contextNow();
            break;
        case cudaGraphNodeTypeConditional:
            node.conditional.ctx = contextNow();
            break;
        default:
            ready();
            break;
    }
    return node;
}

cudaError_t addCopy(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
                    const CUDA_MEMCPY3D& copy) {
    return static_cast<cudaError_t>(
        newer(ready().cuGraphAddMemcpyNode)(node, graph, dependencies, count, &copy, contextNow()));
}

void setCopy(cudaGraphNode_t node, const CUDA_MEMCPY3D& copy) {
    check(newer(ready().cuGraphMemcpyNodeSetParams)(node, &copy));
}
void setCopy(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D& copy) {
    check(newer(ready().cuGraphExecMemcpyNodeSetParams)(exec, node, &copy, contextNow()));
}

const CUDA_MEMSET_NODE_PARAMS* drivers(const cudaMemsetParams* fill) {
    return reinterpret_cast<const CUDA_MEMSET_NODE_PARAMS*>(fill);
}
const CUDA_HOST_NODE_PARAMS* drivers(const cudaHostNodeParams* host) {
    return reinterpret_cast<const CUDA_HOST_NODE_PARAMS*>(host);
}

}  // namespace
}  // namespace bulkhead::cudart

using namespace bulkhead::cudart;

#define BULKHEAD_NODE_PARAMETERS \
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, std::size_t count

BULKHEAD_EXPORT cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                                             std::size_t count, cudaGraphNodeParams* parameters) {
    return call([&] {
        CUgraphNodeParams wanted = driverNode(parameters);
        check(newer(ready().cuGraphAddNode_v2)(node, graph, dependencies,
                                               reinterpret_cast<const CUgraphEdgeData*>(edges), count, &wanted));
        if (parameters->type == cudaGraphNodeTypeMemAlloc) parameters->alloc.dptr = pointerTo(wanted.alloc.dptr);
        if (parameters->type == cudaGraphNodeTypeConditional)
            parameters->conditional.phGraph_out = wanted.conditional.phGraph_out;
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
    return call([&] {
        CUgraphNodeParams wanted = driverNode(parameters);
        check(newer(ready().cuGraphNodeSetParams)(node, &wanted));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                       cudaGraphNodeParams* parameters) {
    return call([&] {
        CUgraphNodeParams wanted = driverNode(parameters);
        check(newer(ready().cuGraphExecNodeSetParams)(exec, node, &wanted));
    });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddKernelNode(BULKHEAD_NODE_PARAMETERS, const cudaKernelNodeParams* parameters) {
    return call([&] {
        const CUDA_KERNEL_NODE_PARAMS kernel = driverKernel(parameters);
        check(newer(ready().cuGraphAddKernelNode_v2)(node, graph, dependencies, count, &kernel));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
    return call([&] {
        require(parameters != nullptr);
        CUDA_KERNEL_NODE_PARAMS kernel = {};
        check(newer(ready().cuGraphKernelNodeGetParams_v2)(node, &kernel));
        if (!kernel.func && kernel.kern) check(newer(ready().cuKernelGetFunction)(&kernel.func, kernel.kern));
        *parameters = runtimeKernel(kernel);
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
    return call([&] {
        const CUDA_KERNEL_NODE_PARAMS kernel = driverKernel(parameters);
        check(newer(ready().cuGraphKernelNodeSetParams_v2)(node, &kernel));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                             const cudaKernelNodeParams* parameters) {
    return call([&] {
        const CUDA_KERNEL_NODE_PARAMS kernel = driverKernel(parameters);
        check(newer(ready().cuGraphExecKernelNodeSetParams_v2)(exec, node, &kernel));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
    return call([&] { check(newer(ready().cuGraphKernelNodeCopyAttributes)(to, from)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                                            cudaLaunchAttributeValue* value) {
    return call([&] {
        check(newer(ready().cuGraphKernelNodeGetAttribute)(node, attribute,
                                                           reinterpret_cast<CUlaunchAttributeValue*>(value)));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                                            const cudaLaunchAttributeValue* value) {
    return call([&] {
        check(newer(ready().cuGraphKernelNodeSetAttribute)(node, attribute,
                                                           reinterpret_cast<const CUlaunchAttributeValue*>(value)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddMemcpyNode(BULKHEAD_NODE_PARAMETERS, const cudaMemcpy3DParms* parameters) {
    return call([&] { check(addCopy(node, graph, dependencies, count, copyFor(parameters))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphAddMemcpyNode1D(BULKHEAD_NODE_PARAMETERS, void* to, const void* from,
                                                     std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { check(addCopy(node, graph, dependencies, count, copyFor(to, from, bytes, kind))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphAddMemcpyNodeToSymbol(BULKHEAD_NODE_PARAMETERS, const void* symbol,
                                                           const void* from, std::size_t bytes, std::size_t offset,
                                                           cudaMemcpyKind kind) {
    return call([&] { check(addCopy(node, graph, dependencies, count, toSymbol(symbol, from, bytes, offset, kind))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphAddMemcpyNodeFromSymbol(BULKHEAD_NODE_PARAMETERS, void* to, const void* symbol,
                                                             std::size_t bytes, std::size_t offset,
                                                             cudaMemcpyKind kind) {
    return call([&] { check(addCopy(node, graph, dependencies, count, fromSymbol(to, symbol, bytes, offset, kind))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
    return call([&] {
        require(parameters != nullptr);
        CUDA_MEMCPY3D copy = {};
        check(newer(ready().cuGraphMemcpyNodeGetParams)(node, &copy));
        *parameters = runtimeCopy(copy);
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
    return call([&] { setCopy(node, copyFor(parameters)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from,
                                                           std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { setCopy(node, copyFor(to, from, bytes, kind)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol,
                                                                 const void* from, std::size_t bytes,
                                                                 std::size_t offset, cudaMemcpyKind kind) {
    return call([&] { setCopy(node, toSymbol(symbol, from, bytes, offset, kind)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol,
                                                                   std::size_t bytes, std::size_t offset,
                                                                   cudaMemcpyKind kind) {
    return call([&] { setCopy(node, fromSymbol(to, symbol, bytes, offset, kind)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                             const cudaMemcpy3DParms* parameters) {
    return call([&] { setCopy(exec, node, copyFor(parameters)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                               const void* from, std::size_t bytes,
                                                               cudaMemcpyKind kind) {
    return call([&] { setCopy(exec, node, copyFor(to, from, bytes, kind)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                                     const void* symbol, const void* from,
                                                                     std::size_t bytes, std::size_t offset,
                                                                     cudaMemcpyKind kind) {
    return call([&] { setCopy(exec, node, toSymbol(symbol, from, bytes, offset, kind)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                                       void* to, const void* symbol, std::size_t bytes,
                                                                       std::size_t offset, cudaMemcpyKind kind) {
    return call([&] { setCopy(exec, node, fromSymbol(to, symbol, bytes, offset, kind)); });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddMemsetNode(BULKHEAD_NODE_PARAMETERS, const cudaMemsetParams* parameters) {
    return call([&] {
        CUcontext context = contextNow();
        check(newer(ready().cuGraphAddMemsetNode)(node, graph, dependencies, count, drivers(parameters), context));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
    return call([&] {
        check(newer(ready().cuGraphMemsetNodeGetParams)(node, reinterpret_cast<CUDA_MEMSET_NODE_PARAMS*>(parameters)));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
    return call([&] { check(newer(ready().cuGraphMemsetNodeSetParams)(node, drivers(parameters))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                             const cudaMemsetParams* parameters) {
    return call([&] {
        CUcontext context = contextNow();
        check(newer(ready().cuGraphExecMemsetNodeSetParams)(exec, node, drivers(parameters), context));
    });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddHostNode(BULKHEAD_NODE_PARAMETERS, const cudaHostNodeParams* parameters) {
    return call(
        [&] { check(newer(ready().cuGraphAddHostNode)(node, graph, dependencies, count, drivers(parameters))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
    return call([&] {
        check(newer(ready().cuGraphHostNodeGetParams)(node, reinterpret_cast<CUDA_HOST_NODE_PARAMS*>(parameters)));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
    return call([&] { check(newer(ready().cuGraphHostNodeSetParams)(node, drivers(parameters))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                           const cudaHostNodeParams* parameters) {
    return call([&] { check(newer(ready().cuGraphExecHostNodeSetParams)(exec, node, drivers(parameters))); });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddChildGraphNode(BULKHEAD_NODE_PARAMETERS, cudaGraph_t child) {
    return call([&] { check(newer(ready().cuGraphAddChildGraphNode)(node, graph, dependencies, count, child)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* child) {
    return call([&] { check(newer(ready().cuGraphChildGraphNodeGetGraph)(node, child)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                                 cudaGraph_t child) {
    return call([&] { check(newer(ready().cuGraphExecChildGraphNodeSetParams)(exec, node, child)); });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddEmptyNode(BULKHEAD_NODE_PARAMETERS) {
    return call([&] { check(newer(ready().cuGraphAddEmptyNode)(node, graph, dependencies, count)); });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddEventRecordNode(BULKHEAD_NODE_PARAMETERS, cudaEvent_t event) {
    return call([&] { check(newer(ready().cuGraphAddEventRecordNode)(node, graph, dependencies, count, event)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
    return call([&] { check(newer(ready().cuGraphEventRecordNodeGetEvent)(node, event)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return call([&] { check(newer(ready().cuGraphEventRecordNodeSetEvent)(node, event)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                                 cudaEvent_t event) {
    return call([&] { check(newer(ready().cuGraphExecEventRecordNodeSetEvent)(exec, node, event)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphAddEventWaitNode(BULKHEAD_NODE_PARAMETERS, cudaEvent_t event) {
    return call([&] { check(newer(ready().cuGraphAddEventWaitNode)(node, graph, dependencies, count, event)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
    return call([&] { check(newer(ready().cuGraphEventWaitNodeGetEvent)(node, event)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return call([&] { check(newer(ready().cuGraphEventWaitNodeSetEvent)(node, event)); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                               cudaEvent_t event) {
    return call([&] { check(newer(ready().cuGraphExecEventWaitNodeSetEvent)(exec, node, event)); });
}

BULKHEAD_EXPORT cudaError_t cudaGraphAddMemAllocNode(BULKHEAD_NODE_PARAMETERS, cudaMemAllocNodeParams* parameters) {
    return call([&] {
        check(newer(ready().cuGraphAddMemAllocNode)(node, graph, dependencies, count,
                                                    reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(parameters)));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* parameters) {
    return call([&] {
        check(newer(ready().cuGraphMemAllocNodeGetParams)(node,
                                                          reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(parameters)));
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphAddMemFreeNode(BULKHEAD_NODE_PARAMETERS, void* pointer) {
    return call(
        [&] { check(newer(ready().cuGraphAddMemFreeNode)(node, graph, dependencies, count, addressOf(pointer))); });
}
BULKHEAD_EXPORT cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        check(newer(ready().cuGraphMemFreeNodeGetParams)(node, &address));
        *static_cast<void**>(pointer) = pointerTo(address);
    });
}
BULKHEAD_EXPORT cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                                             unsigned defaultValue, unsigned flags) {
    return call([&] {
        CUcontext context = contextNow();
        check(newer(ready().cuGraphConditionalHandleCreate)(reinterpret_cast<std::uint64_t*>(handle), graph, context,
                                                            defaultValue, flags));
    });
}
