// Graphs and captures: what the runtime passes on to the driver as it is.

#include "cudart/runtime.h"
#include "sdk/include/cuda_runtime_api.h"

using namespace bulkhead::cudart;
using bulkhead::driver::CUDA_GRAPH_INSTANTIATE_PARAMS;
using bulkhead::driver::CUgraphEdgeData;
using bulkhead::driver::CUgraphExecUpdateResultInfo;

static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData));
static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));

namespace {

CUgraphEdgeData* drivers(cudaGraphEdgeData* edges) {
    return reinterpret_cast<CUgraphEdgeData*>(edges);
}
const CUgraphEdgeData* drivers(const cudaGraphEdgeData* edges) {
    return reinterpret_cast<const CUgraphEdgeData*>(edges);
}
int* drivers(cudaStreamCaptureStatus* status) {
    return reinterpret_cast<int*>(status);
}

}  // namespace

BULKHEAD_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return call([&] { check(ready().cuStreamBeginCapture(streamOf(stream), mode)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                          const cudaGraphNode_t* dependencies,
                                                          const cudaGraphEdgeData* edges, std::size_t count,
                                                          cudaStreamCaptureMode mode) {
    return call([&] {
        check(newer(ready().cuStreamBeginCaptureToGraph)(streamOf(stream), graph, dependencies, drivers(edges), count,
                                                         mode));
    });
}

BULKHEAD_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return call([&] { check(ready().cuStreamEndCapture(streamOf(stream), graph)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return call([&] { check(ready().cuStreamIsCapturing(streamOf(stream), drivers(status))); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                     unsigned long long* id, cudaGraph_t* graph,
                                                     const cudaGraphNode_t** dependencies,
                                                     const cudaGraphEdgeData** edges, std::size_t* count) {
    return call([&] {
        check(newer(ready().cuStreamGetCaptureInfo_v3)(streamOf(stream), drivers(status),
                                                       reinterpret_cast<std::uint64_t*>(id), graph, dependencies,
                                                       reinterpret_cast<const CUgraphEdgeData**>(edges), count));
    });
}

BULKHEAD_EXPORT cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                                const cudaGraphEdgeData* edges, std::size_t count,
                                                                unsigned flags) {
    return call([&] {
        check(newer(ready().cuStreamUpdateCaptureDependencies_v2)(streamOf(stream), dependencies, drivers(edges), count,
                                                                  flags));
    });
}

BULKHEAD_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return call([&] { check(ready().cuThreadExchangeStreamCaptureMode(reinterpret_cast<int*>(mode))); });
}

/// A call of the runtime that is one of the driver's with the same arguments.
#define BULKHEAD_SAME(runtime, drivers, parameters, arguments)         \
    BULKHEAD_EXPORT cudaError_t runtime parameters {                   \
        return call([&] { check(newer(ready().drivers) arguments); }); \
    }

BULKHEAD_SAME(cudaGraphCreate, cuGraphCreate, (cudaGraph_t * graph, unsigned flags), (graph, flags))
BULKHEAD_SAME(cudaGraphDestroy, cuGraphDestroy, (cudaGraph_t graph), (graph))
BULKHEAD_SAME(cudaGraphClone, cuGraphClone, (cudaGraph_t * clone, cudaGraph_t original), (clone, original))
BULKHEAD_SAME(cudaGraphNodeFindInClone, cuGraphNodeFindInClone,
              (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone), (node, original, clone))
BULKHEAD_SAME(cudaGraphDestroyNode, cuGraphDestroyNode, (cudaGraphNode_t node), (node))
BULKHEAD_SAME(cudaGraphNodeGetType, cuGraphNodeGetType, (cudaGraphNode_t node, cudaGraphNodeType* type),
              (node, reinterpret_cast<int*>(type)))
BULKHEAD_SAME(cudaGraphGetNodes, cuGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count),
              (graph, nodes, count))
BULKHEAD_SAME(cudaGraphGetRootNodes, cuGraphGetRootNodes,
              (cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count), (graph, nodes, count))
BULKHEAD_SAME(cudaGraphGetEdges, cuGraphGetEdges_v2,
              (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
               std::size_t* count),
              (graph, from, to, drivers(edges), count))
BULKHEAD_SAME(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
              (cudaGraphNode_t node, cudaGraphNode_t* dependencies, cudaGraphEdgeData* edges, std::size_t* count),
              (node, dependencies, drivers(edges), count))
BULKHEAD_SAME(cudaGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
              (cudaGraphNode_t node, cudaGraphNode_t* dependents, cudaGraphEdgeData* edges, std::size_t* count),
              (node, dependents, drivers(edges), count))
BULKHEAD_SAME(cudaGraphAddDependencies, cuGraphAddDependencies_v2,
              (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
               const cudaGraphEdgeData* edges, std::size_t count),
              (graph, from, to, drivers(edges), count))
BULKHEAD_SAME(cudaGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
              (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
               const cudaGraphEdgeData* edges, std::size_t count),
              (graph, from, to, drivers(edges), count))
BULKHEAD_SAME(cudaGraphDebugDotPrint, cuGraphDebugDotPrint, (cudaGraph_t graph, const char* path, unsigned flags),
              (graph, path, flags))
BULKHEAD_SAME(cudaUserObjectCreate, cuUserObjectCreate,
              (cudaUserObject_t * object, void* data, cudaHostFn_t destroy, unsigned references, unsigned flags),
              (object, data, destroy, references, flags))
BULKHEAD_SAME(cudaUserObjectRetain, cuUserObjectRetain, (cudaUserObject_t object, unsigned count), (object, count))
BULKHEAD_SAME(cudaUserObjectRelease, cuUserObjectRelease, (cudaUserObject_t object, unsigned count), (object, count))
BULKHEAD_SAME(cudaGraphRetainUserObject, cuGraphRetainUserObject,
              (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
              (graph, object, count, flags))
BULKHEAD_SAME(cudaGraphReleaseUserObject, cuGraphReleaseUserObject,
              (cudaGraph_t graph, cudaUserObject_t object, unsigned count), (graph, object, count))

BULKHEAD_SAME(cudaGraphInstantiate, cuGraphInstantiateWithFlags,
              (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags), (exec, graph, flags))
BULKHEAD_SAME(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
              (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags), (exec, graph, flags))
BULKHEAD_SAME(cudaGraphExecDestroy, cuGraphExecDestroy, (cudaGraphExec_t exec), (exec))
BULKHEAD_SAME(cudaGraphExecGetFlags, cuGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long* flags),
              (exec, reinterpret_cast<std::uint64_t*>(flags)))
BULKHEAD_SAME(cudaGraphLaunch, cuGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, streamOf(stream)))
BULKHEAD_SAME(cudaGraphUpload, cuGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), (exec, streamOf(stream)))
BULKHEAD_SAME(cudaGraphExecUpdate, cuGraphExecUpdate_v2,
              (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result),
              (exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(result)))
BULKHEAD_SAME(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled,
              (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled), (exec, node, enabled))
BULKHEAD_SAME(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled,
              (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled), (exec, node, enabled))

BULKHEAD_EXPORT cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                           cudaGraphInstantiateParams* parameters) {
    return call([&] {
        require(parameters != nullptr);
        const cudaStream_t given = parameters->uploadStream;
        parameters->uploadStream = streamOf(given);
        const CUresult made = newer(ready().cuGraphInstantiateWithParams)(
            exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters));
        parameters->uploadStream = given;
        check(made);
    });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                                           void* value) {
    return call([&] { check(newer(ready().cuDeviceGetGraphMemAttribute)(deviceAt(device), attribute, value)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                                           void* value) {
    return call([&] { check(newer(ready().cuDeviceSetGraphMemAttribute)(deviceAt(device), attribute, value)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGraphMemTrim(int device) {
    return call([&] { check(newer(ready().cuDeviceGraphMemTrim)(deviceAt(device))); });
}
