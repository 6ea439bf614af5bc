// Graphs of a tenant, and captures of its streams. Nodes that launch, copy or fill do so inside the walls
// (walled_graphs); all others are the driver's.

#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

// Captures.

void expectOwnStream(CUstream stream) {
    if (isDefaultStream(stream))
        throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the default stream is not captured inside walls"};
}

CUresult streamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    return inside([&](WalledContext& walled) {
        expectOwnStream(stream);
        walled.graphs().begin(walled.enter(stream), mode);
    });
}
CUresult streamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* data, std::size_t count, CUstreamCaptureMode mode) {
    return inside([&](WalledContext& walled) {
        expectOwnStream(stream);
        walled.graphs().beginInto(walled.enter(stream), graph, dependencies, data, count, mode);
    });
}
CUresult streamEndCapture(CUstream stream, CUgraph* graph) {
    return inside([&](WalledContext& walled) {
        requireOutput(graph);
        *graph = nullptr;
        *graph = walled.graphs().end(walled.enter(stream));
    });
}

// Nodes of the walls' own.

CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1& s) {
    return {s.func,      s.gridDimX,       s.gridDimY,     s.gridDimZ, s.blockDimX, s.blockDimY,
            s.blockDimZ, s.sharedMemBytes, s.kernelParams, s.extra,    nullptr,     nullptr};
}
CUDA_KERNEL_NODE_PARAMS_v1 older(const CUDA_KERNEL_NODE_PARAMS& s) {
    return {s.func,      s.gridDimX,  s.gridDimY,       s.gridDimZ,     s.blockDimX,
            s.blockDimY, s.blockDimZ, s.sharedMemBytes, s.kernelParams, s.extra};
}

WalledGraphs::Call callFrom(WalledContext& walled, const CUDA_KERNEL_NODE_PARAMS& settings) {
    return walled.graphs().kernelCall(settings);
}
WalledGraphs::Call callFrom(WalledContext& walled, const CUDA_KERNEL_NODE_PARAMS_v1& settings) {
    return walled.graphs().kernelCall(newer(settings));
}
WalledGraphs::Call callFrom(WalledContext&, const CUDA_MEMCPY3D& copy) {
    return copy;
}
WalledGraphs::Call callFrom(WalledContext&, const CUDA_MEMSET_NODE_PARAMS& fill) {
    return fill;
}

template <class Settings>
CUresult addNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                 const Settings* settings) {
    return inside([&](WalledContext& walled) {
        requireOutput(node, graph, settings);
        *node = walled.graphs().add(graph, {dependencies, nullptr, count}, callFrom(walled, *settings));
    });
}
template <class Settings>
CUresult addNodeIn(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                   const Settings* settings, CUcontext) {
    return addNode(node, graph, dependencies, count, settings);
}
template <class Settings>
CUresult setNode(CUgraphNode node, const Settings* settings) {
    return inside([&](WalledContext& walled) {
        requireOutput(node, settings);
        walled.graphs().set(node, callFrom(walled, *settings));
    });
}
template <class Settings>
CUresult setExecNode(CUgraphExec exec, CUgraphNode node, const Settings* settings) {
    return inside([&](WalledContext& walled) {
        requireOutput(exec, node, settings);
        walled.graphs().setIn(exec, node, callFrom(walled, *settings));
    });
}
template <class Settings>
CUresult setExecNodeIn(CUgraphExec exec, CUgraphNode node, const Settings* settings, CUcontext) {
    return setExecNode(exec, node, settings);
}

CUresult kernelNodeGetParamsNewer(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* settings) {
    return inside([&](WalledContext& walled) {
        requireOutput(node, settings);
        const WalledGraphs::Call* call = walled.graphs().callOf(node);
        if (call == nullptr) {
            check(walled.inner().cuGraphKernelNodeGetParams_v2(node, settings));
        } else if (const auto* kernel = std::get_if<WalledGraphs::KernelCall>(call)) {
            *settings = kernel->settings;
            settings->kernelParams = const_cast<void**>(kernel->arguments.data());
        } else {
            throw Failure{CUDA_ERROR_INVALID_VALUE, "a node that launches nothing"};
        }
        settings->ctx = walled.handle();
    });
}
CUresult kernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* settings) {
    if (settings == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS found = {};
    const CUresult result = kernelNodeGetParamsNewer(node, &found);
    if (result == CUDA_SUCCESS) *settings = older(found);
    return result;
}
template <class Settings>
CUresult getNode(CUgraphNode node, Settings* settings) {
    return inside([&](WalledContext& walled) {
        requireOutput(node, settings);
        const WalledGraphs::Call* call = walled.graphs().callOf(node);
        const Settings* found = call ? std::get_if<Settings>(call) : nullptr;
        if (found == nullptr) throw Failure{CUDA_ERROR_INVALID_VALUE, "a node that does something else"};
        *settings = *found;
    });
}
CUresult kernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID id, const CUlaunchAttributeValue* value) {
    return inside([&](WalledContext& walled) {
        requireOutput(node, value);
        CUlaunchAttribute attribute = {};
        attribute.id = id;
        attribute.value = *value;
        for (const CUlaunchAttribute& kept : attributesBehind(walled, {&attribute, 1}))
            check(walled.inner().cuGraphKernelNodeSetAttribute(node, kept.id, &kept.value));
    });
}

/// What the calls for nodes of any type have in common.
template <class Launch, class Copy, class Fill, class Other>
CUresult byType(const CUgraphNodeParams* settings, Launch&& launch, Copy&& copy, Fill&& fill, Other&& other) {
    if (settings == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<NodeType>(settings->type)) {
        case NodeType::kernel:
            return launch(&settings->kernel);
        case NodeType::copy:
            return copy(&settings->memcpy.copyParams);
        case NodeType::fill:
            return fill(&settings->memset.fill);
        case NodeType::host:
        case NodeType::graph:
        case NodeType::empty:
        case NodeType::eventWait:
        case NodeType::eventRecord:
            return other();
        default:
            return refused("a graph's node of type " + std::to_string(settings->type) + " is not supported");
    }
}

CUresult addAnyNodeNewer(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                         std::size_t count, CUgraphNodeParams* settings) {
    const auto own = [&](const auto* call) {
        return inside([&](WalledContext& walled) {
            requireOutput(node, graph);
            *node = walled.graphs().add(graph, {dependencies, data, count}, callFrom(walled, *call));
        });
    };
    return byType(settings, own, own, own, [&] {
        return inside([&](WalledContext& walled) {
            check(walled.inner().cuGraphAddNode_v2(node, graph, dependencies, data, count, settings));
        });
    });
}
CUresult addAnyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                    CUgraphNodeParams* settings) {
    return addAnyNodeNewer(node, graph, dependencies, nullptr, count, settings);
}
CUresult setAnyNode(CUgraphNode node, CUgraphNodeParams* settings) {
    const auto own = [&](const auto* call) { return setNode(node, call); };
    return byType(settings, own, own, own, [&] {
        return inside([&](WalledContext& walled) { check(walled.inner().cuGraphNodeSetParams(node, settings)); });
    });
}
CUresult setAnyExecNode(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* settings) {
    const auto own = [&](const auto* call) { return setExecNode(exec, node, call); };
    return byType(settings, own, own, own, [&] {
        return inside(
            [&](WalledContext& walled) { check(walled.inner().cuGraphExecNodeSetParams(exec, node, settings)); });
    });
}
CUresult nodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    return inside([&](WalledContext& walled) {
        requireOutput(node, type);
        constexpr NodeType kTypes[] = {NodeType::kernel, NodeType::copy, NodeType::fill};  // in the order of a Call
        const WalledGraphs::Call* call = walled.graphs().callOf(node);
        if (call == nullptr) return check(walled.inner().cuGraphNodeGetType(node, type));
        *type = static_cast<CUgraphNodeType>(kTypes[call->index()]);
    });
}

// Graphs.

CUresult graphDestroy(CUgraph graph) {
    return inside([&](WalledContext& walled) {
        check(walled.inner().cuGraphDestroy(graph));
        walled.graphs().forget(graph);
    });
}
CUresult graphDestroyNode(CUgraphNode node) {
    return inside([&](WalledContext& walled) {
        check(walled.inner().cuGraphDestroyNode(node));
        walled.graphs().forget(node);
    });
}
CUresult graphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* settings) {
    return inside([&](WalledContext& walled) {
        requireOutput(exec, settings);
        const CUstream given = settings->hUploadStream;
        if (given != nullptr) settings->hUploadStream = walled.enter(given);
        const CUresult result = walled.inner().cuGraphInstantiateWithParams(exec, graph, settings);
        settings->hUploadStream = given;
        check(result);
    });
}
CUresult graphLaunch(CUgraphExec exec, CUstream stream) {
    return inside([&](WalledContext& walled) {
        requireOutput(exec);
        walled.graphs().launch(exec, walled.enter(stream));
    });
}

}  // namespace

void enterGraphCalls(DriverApi& api) {
    passOnAnywhere<&DriverApi::cuThreadExchangeStreamCaptureMode>(api);
    passOn<&DriverApi::cuStreamIsCapturing, &DriverApi::cuStreamGetCaptureInfo, &DriverApi::cuStreamGetCaptureInfo_v2,
           &DriverApi::cuStreamGetCaptureInfo_v3, &DriverApi::cuStreamUpdateCaptureDependencies,
           &DriverApi::cuStreamUpdateCaptureDependencies_v2>(api);
    api.cuStreamBeginCapture = streamBeginCapture;
    api.cuStreamBeginCaptureToGraph = streamBeginCaptureToGraph;
    api.cuStreamEndCapture = streamEndCapture;

    passOn<&DriverApi::cuGraphCreate, &DriverApi::cuGraphClone, &DriverApi::cuGraphNodeFindInClone,
           &DriverApi::cuGraphGetNodes, &DriverApi::cuGraphGetRootNodes, &DriverApi::cuGraphGetEdges,
           &DriverApi::cuGraphGetEdges_v2, &DriverApi::cuGraphNodeGetDependencies,
           &DriverApi::cuGraphNodeGetDependencies_v2, &DriverApi::cuGraphNodeGetDependentNodes,
           &DriverApi::cuGraphNodeGetDependentNodes_v2, &DriverApi::cuGraphAddDependencies,
           &DriverApi::cuGraphAddDependencies_v2, &DriverApi::cuGraphRemoveDependencies,
           &DriverApi::cuGraphRemoveDependencies_v2, &DriverApi::cuGraphDebugDotPrint, &DriverApi::cuUserObjectCreate,
           &DriverApi::cuUserObjectRetain, &DriverApi::cuUserObjectRelease, &DriverApi::cuGraphRetainUserObject,
           &DriverApi::cuGraphReleaseUserObject>(api);
    passOn<&DriverApi::cuGraphAddHostNode, &DriverApi::cuGraphHostNodeGetParams, &DriverApi::cuGraphHostNodeSetParams,
           &DriverApi::cuGraphAddChildGraphNode, &DriverApi::cuGraphChildGraphNodeGetGraph,
           &DriverApi::cuGraphAddEmptyNode, &DriverApi::cuGraphAddEventRecordNode,
           &DriverApi::cuGraphEventRecordNodeGetEvent, &DriverApi::cuGraphEventRecordNodeSetEvent,
           &DriverApi::cuGraphAddEventWaitNode, &DriverApi::cuGraphEventWaitNodeGetEvent,
           &DriverApi::cuGraphEventWaitNodeSetEvent, &DriverApi::cuGraphKernelNodeGetAttribute,
           &DriverApi::cuGraphKernelNodeCopyAttributes>(api);
    passOn<&DriverApi::cuGraphInstantiate, &DriverApi::cuGraphInstantiate_v2, &DriverApi::cuGraphInstantiateWithFlags,
           &DriverApi::cuGraphExecDestroy, &DriverApi::cuGraphExecGetFlags, &DriverApi::cuGraphUpload,
           &DriverApi::cuGraphExecUpdate, &DriverApi::cuGraphExecUpdate_v2, &DriverApi::cuGraphNodeSetEnabled,
           &DriverApi::cuGraphNodeGetEnabled, &DriverApi::cuGraphExecHostNodeSetParams,
           &DriverApi::cuGraphExecChildGraphNodeSetParams, &DriverApi::cuGraphExecEventRecordNodeSetEvent,
           &DriverApi::cuGraphExecEventWaitNodeSetEvent>(api);

    api.cuGraphDestroy = graphDestroy;
    api.cuGraphDestroyNode = graphDestroyNode;
    api.cuGraphNodeGetType = nodeGetType;
    api.cuGraphInstantiateWithParams = graphInstantiateWithParams;
    api.cuGraphLaunch = graphLaunch;

    api.cuGraphAddKernelNode = addNode<CUDA_KERNEL_NODE_PARAMS_v1>;
    api.cuGraphAddKernelNode_v2 = addNode<CUDA_KERNEL_NODE_PARAMS>;
    api.cuGraphAddMemcpyNode = addNodeIn<CUDA_MEMCPY3D>;
    api.cuGraphAddMemsetNode = addNodeIn<CUDA_MEMSET_NODE_PARAMS>;
    api.cuGraphAddNode = addAnyNode;
    api.cuGraphAddNode_v2 = addAnyNodeNewer;
    api.cuGraphKernelNodeGetParams = kernelNodeGetParams;
    api.cuGraphKernelNodeGetParams_v2 = kernelNodeGetParamsNewer;
    api.cuGraphMemcpyNodeGetParams = getNode<CUDA_MEMCPY3D>;
    api.cuGraphMemsetNodeGetParams = getNode<CUDA_MEMSET_NODE_PARAMS>;
    api.cuGraphKernelNodeSetParams = setNode<CUDA_KERNEL_NODE_PARAMS_v1>;
    api.cuGraphKernelNodeSetParams_v2 = setNode<CUDA_KERNEL_NODE_PARAMS>;
    api.cuGraphMemcpyNodeSetParams = setNode<CUDA_MEMCPY3D>;
    api.cuGraphMemsetNodeSetParams = setNode<CUDA_MEMSET_NODE_PARAMS>;
    api.cuGraphKernelNodeSetAttribute = kernelNodeSetAttribute;
    api.cuGraphNodeSetParams = setAnyNode;
    api.cuGraphExecKernelNodeSetParams = setExecNode<CUDA_KERNEL_NODE_PARAMS_v1>;
    api.cuGraphExecKernelNodeSetParams_v2 = setExecNode<CUDA_KERNEL_NODE_PARAMS>;
    api.cuGraphExecMemcpyNodeSetParams = setExecNodeIn<CUDA_MEMCPY3D>;
    api.cuGraphExecMemsetNodeSetParams = setExecNodeIn<CUDA_MEMSET_NODE_PARAMS>;
    api.cuGraphExecNodeSetParams = setAnyExecNode;
}

}  // namespace bulkhead::walls
