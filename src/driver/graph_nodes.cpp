// What the nodes of a graph do: the parameters that programs give and read back.

#include <algorithm>
#include <cstring>

#include "driver/device_runtime.h"
#include "driver/graph.h"

namespace bulkhead::driver {
namespace {

constexpr unsigned kAssignInitial = 1;
constexpr int kMoveGraph = 1;
constexpr unsigned kMostBodies = 1024;

CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
    CUDA_KERNEL_NODE_PARAMS settings = {};
    std::memcpy(&settings, &old, sizeof old);
    return settings;
}

template <class Kind>
Kind& operationAs(CUgraphNode node) {
    auto* operation = std::get_if<Kind>(&knownNode(node)->operation);
    require(operation != nullptr, CUDA_ERROR_INVALID_VALUE, "a node of another kind");
    return *operation;
}

EventNode& eventOf(CUgraphNode node, bool records) {
    auto& operation = operationAs<EventNode>(node);
    require(operation.records == records, CUDA_ERROR_INVALID_VALUE, "a node of another kind");
    return operation;
}

CopyNode copyOf(const CUDA_MEMCPY3D* copy, CUcontext context) {
    requireOutput(copy);
    CUcontext in = contextOrCurrent(context);
    checkCopy(in, *copy);
    return {in, *copy};
}

FillNode fillOf(const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
    requireOutput(fill);
    CUcontext in = contextOrCurrent(context);
    require(fill->width > 0 && fill->height > 0, CUDA_ERROR_INVALID_VALUE, "a fill of nothing");
    checkFill(in, *fill);
    return {in, *fill};
}

HostNode hostOf(const CUDA_HOST_NODE_PARAMS* settings) {
    requireOutput(settings);
    require(settings->fn != nullptr, CUDA_ERROR_INVALID_VALUE, "no function");
    return {*settings};
}

EventNode eventOf(CUevent event, bool records) {
    require(isKnown(event), CUDA_ERROR_INVALID_VALUE, "no such event");
    return {records, event};
}

ChildNode childOf(CUgraph graph, CUgraph child, int ownership) {
    require(knownGraph(child) != graph, CUDA_ERROR_INVALID_VALUE, "a graph cannot be its own child");
    for (CUgraph outer = graph; outer; outer = outer->outer)
        require(outer != child, CUDA_ERROR_INVALID_VALUE, "a graph cannot be its own child");
    require(ownership == 0 || ownership == kMoveGraph, CUDA_ERROR_INVALID_VALUE, "a child is copied or moved");
    if (ownership == kMoveGraph) {
        const auto owned = state().graphs.find(child);
        require(owned != state().graphs.end(), CUDA_ERROR_INVALID_VALUE, "a graph that is part of one");
        std::shared_ptr<CUgraph_st> moved = owned->second;
        state().graphs.erase(owned);
        moved->outer = graph;
        return {moved};
    }
    require(!hasMemoryNodes(*child), CUDA_ERROR_NOT_SUPPORTED, "a child that allocates or frees memory");
    return {cloneGraph(*child, true, graph)};
}

AllocationNode allocationOf(const CUDA_MEM_ALLOC_NODE_PARAMS& settings) {
    const CUmemPoolProps& pool = settings.poolProps;
    require(pool.location.type == kDeviceLocation && pool.handleTypes == 0, CUDA_ERROR_NOT_SUPPORTED,
            "graphs allocate device memory of this process only");
    Device& device = deviceAt(pool.location.id);
    CUcontext context = currentContext();
    if (context->device != &device) context = primaryContext(device);
    require(settings.accessDescCount == 0 || settings.accessDescs, CUDA_ERROR_INVALID_VALUE, "access without places");
    std::vector<CUmemAccessDesc> access(settings.accessDescs, settings.accessDescs + settings.accessDescCount);
    for (const CUmemAccessDesc& to : access)
        require(to.location.type == kDeviceLocation && to.location.id == device.ordinal, CUDA_ERROR_INVALID_DEVICE,
                "a graph's memory is its device's alone");
    AllocationNode node = newAllocation(context, settings.bytesize);
    node.settings.poolProps = pool;
    node.access = std::move(access);
    return node;
}

ReleaseNode releaseOf(CUgraph graph, CUdeviceptr address) {
    const std::shared_ptr<GraphMemory> memory = findMemory(currentContext(), address);
    require(memory != nullptr, CUDA_ERROR_INVALID_VALUE, "memory that no graph allocates");
    CUgraph whole = graph;
    while (whole->outer) whole = whole->outer;
    forEachNode(*whole, [&](CUgraphNode node) {
        const auto* other = std::get_if<ReleaseNode>(&node->operation);
        require(!other || other->memory != memory, CUDA_ERROR_INVALID_VALUE, "memory that the graph frees already");
    });
    return {memory};
}

ConditionalNode conditionalOf(CUgraph graph, const CUDA_CONDITIONAL_NODE_PARAMS& settings) {
    const auto found = state().conditions.find(settings.handle);
    const std::shared_ptr<Condition> condition = found == state().conditions.end() ? nullptr : found->second.lock();
    require(condition && !condition->used, CUDA_ERROR_INVALID_VALUE, "no such condition, or one that a node has");
    require(settings.type >= kIf && settings.type <= kSwitch, CUDA_ERROR_INVALID_VALUE, "a condition of no known kind");
    const unsigned most = settings.type == kIf ? 2 : settings.type == kWhile ? 1 : kMostBodies;
    require(settings.size >= 1 && settings.size <= most, CUDA_ERROR_INVALID_VALUE, "too many bodies, or none");
    condition->used = true;
    ConditionalNode node;
    node.settings = settings;
    node.condition = condition;
    for (unsigned i = 0; i < settings.size; ++i) {
        node.bodies.push_back(newGraph(true, graph));
        node.handles.push_back(node.bodies.back().get());
    }
    return node;
}

/// Adds a node to a graph that a program named.
template <class Make>
CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, Make&& make,
             const CUgraphEdgeData* data = nullptr) {
    return call([&] {
        requireOutput(node);
        const std::vector<CUgraphNode> first = dependenciesOf(knownGraph(graph), dependencies, count);
        checkDependencies(first, data);
        *node = addNode(graph, first, data, make());
    });
}

/// What a program may read of a node's arguments, one pointer for each.
void** parametersOf(CUgraphNode node) {
    auto& work = std::get<KernelWork>(node->operation);
    node->parameters.clear();
    for (const auto& parameter : work.function->code->params)
        node->parameters.push_back(work.parameters.data() + parameter.offset);
    return node->parameters.empty() ? nullptr : node->parameters.data();
}

CUDA_KERNEL_NODE_PARAMS settingsOf(CUgraphNode node) {
    auto& work = operationAs<KernelWork>(node);
    require(isKnown(work.function), CUDA_ERROR_INVALID_HANDLE, "the kernel's module has been unloaded");
    CUDA_KERNEL_NODE_PARAMS settings = {};
    settings.func = work.kernel ? nullptr : work.function;
    settings.kern = work.kernel;
    settings.ctx = work.context;
    settings.gridDimX = work.grid.x, settings.gridDimY = work.grid.y, settings.gridDimZ = work.grid.z;
    settings.blockDimX = work.block.x, settings.blockDimY = work.block.y, settings.blockDimZ = work.block.z;
    settings.sharedMemBytes = work.sharedBytes;
    settings.kernelParams = parametersOf(node);
    return settings;
}

}  // namespace

Condition::~Condition() {
    if (address == 0) return;
    state().conditions.erase(kConditionMark | address);
    if (!context->destroyed) memoryOf(context).free(address);
}

KernelWork kernelOf(const CUDA_KERNEL_NODE_PARAMS& settings, const CUlaunchAttributes* keep) {
    CUcontext context = contextOrCurrent(settings.ctx);
    require((settings.func == nullptr) != (settings.kern == nullptr), CUDA_ERROR_INVALID_VALUE,
            "a node needs a function or a kernel");
    CUfunction function = resolveFunction(settings.func ? settings.func : reinterpret_cast<CUfunction>(settings.kern));
    KernelWork work = kernelWork(context, function, {settings.gridDimX, settings.gridDimY, settings.gridDimZ},
                                 {settings.blockDimX, settings.blockDimY, settings.blockDimZ}, settings.sharedMemBytes,
                                 settings.kernelParams, settings.extra, keep ? *keep : CUlaunchAttributes{});
    work.kernel = settings.kern;
    return work;
}

Operation operationOf(CUgraph graph, const CUgraphNodeParams& settings) {
    const auto& host = settings.host;
    switch (static_cast<NodeType>(settings.type)) {
        case NodeType::kernel:
            return kernelOf(settings.kernel);
        case NodeType::copy:
            require(settings.memcpy.flags == 0, CUDA_ERROR_INVALID_VALUE, "a copy has no flags");
            return copyOf(&settings.memcpy.copyParams, settings.memcpy.copyCtx);
        case NodeType::fill:
            return fillOf(&settings.memset.fill, settings.memset.ctx);
        case NodeType::host:
            return hostOf(&host);
        case NodeType::graph:
            return childOf(graph, settings.graph.graph, settings.graph.ownership);
        case NodeType::empty:
            return std::monostate{};
        case NodeType::eventWait:
            return eventOf(settings.eventWait, false);
        case NodeType::eventRecord:
            return eventOf(settings.eventRecord, true);
        case NodeType::allocation:
            return allocationOf(settings.alloc);
        case NodeType::release:
            return releaseOf(graph, settings.free);
        case NodeType::conditional:
            return conditionalOf(graph, settings.conditional);
        case NodeType::semaphoreSignal:
        case NodeType::semaphoreWait:
            throw Failure{CUDA_ERROR_NOT_SUPPORTED, "semaphores of other programs are not supported"};
        case NodeType::memoryOperations:
            throw Failure{CUDA_ERROR_NOT_SUPPORTED, "batches of memory operations are not supported"};
    }
    throw Failure{CUDA_ERROR_INVALID_VALUE, fmt::format("no kind of node has the number {}", settings.type)};
}

CUcontext contextOf(const Operation& operation) {
    if (const auto* work = std::get_if<KernelWork>(&operation)) return work->context;
    if (const auto* copy = std::get_if<CopyNode>(&operation)) return copy->context;
    if (const auto* fill = std::get_if<FillNode>(&operation)) return fill->context;
    if (const auto* conditional = std::get_if<ConditionalNode>(&operation)) return conditional->condition->context;
    return nullptr;
}

namespace simulated {

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    return add(node, graph, dependencies, count, [&] { return kernelOf(*settings); });
}
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    return add(node, graph, dependencies, count, [&] { return kernelOf(newer(*settings)); });
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* settings) {
    return call([&] {
        requireOutput(settings);
        *settings = settingsOf(node);
    });
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* settings) {
    return call([&] {
        requireOutput(settings);
        CUDA_KERNEL_NODE_PARAMS all = settingsOf(node);
        all.func = std::get<KernelWork>(node->operation).function;
        std::memcpy(settings, &all, sizeof *settings);
    });
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* settings) {
    return call([&] {
        requireOutput(settings);
        auto& work = operationAs<KernelWork>(node);
        work = kernelOf(*settings, &work.attributes);
    });
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_KERNEL_NODE_PARAMS all = newer(*settings);
    return cuGraphKernelNodeSetParams_v2(node, &all);
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
    return call([&] { operationAs<KernelWork>(to).attributes = operationAs<KernelWork>(from).attributes; });
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute, CUlaunchAttributeValue* value) {
    return call([&] {
        requireOutput(value);
        const CUlaunchAttributes& all = operationAs<KernelWork>(node).attributes;
        checkLaunchAttribute(attribute, {});
        const auto found = all.find(attribute);
        *value = found == all.end() ? CUlaunchAttributeValue{} : found->second;
    });
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       const CUlaunchAttributeValue* value) {
    return call([&] {
        requireOutput(value);
        auto& work = operationAs<KernelWork>(node);
        checkLaunchAttribute(attribute, *value);
        KernelWork changed = work;
        changed.attributes[attribute] = *value;
        requireNoEvents(changed.attributes);
        checkKernel(changed);
        work = std::move(changed);
    });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                              const CUDA_MEMCPY3D* copy, CUcontext context) {
    return add(node, graph, dependencies, count, [&] { return copyOf(copy, context); });
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* copy) {
    return call([&] {
        requireOutput(copy);
        *copy = operationAs<CopyNode>(node).copy;
    });
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* copy) {
    return call([&] {
        auto& operation = operationAs<CopyNode>(node);
        operation = copyOf(copy, operation.context);
    });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
    return add(node, graph, dependencies, count, [&] { return fillOf(fill, context); });
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* fill) {
    return call([&] {
        requireOutput(fill);
        *fill = operationAs<FillNode>(node).fill;
    });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill) {
    return call([&] {
        auto& operation = operationAs<FillNode>(node);
        operation = fillOf(fill, operation.context);
    });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                            const CUDA_HOST_NODE_PARAMS* settings) {
    return add(node, graph, dependencies, count, [&] { return hostOf(settings); });
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* settings) {
    return call([&] {
        requireOutput(settings);
        *settings = operationAs<HostNode>(node).call;
    });
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* settings) {
    return call([&] { operationAs<HostNode>(node) = hostOf(settings); });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                                  CUgraph child) {
    return add(node, graph, dependencies, count, [&] { return childOf(graph, child, 0); });
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child) {
    return call([&] {
        requireOutput(child);
        *child = operationAs<ChildNode>(node).graph.get();
    });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count) {
    return add(node, graph, dependencies, count, [] { return std::monostate{}; });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                                   CUevent event) {
    return add(node, graph, dependencies, count, [&] { return eventOf(event, true); });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
    return call([&] {
        requireOutput(event);
        *event = eventOf(node, true).event;
    });
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
    return call([&] { eventOf(node, true) = eventOf(event, true); });
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                                 CUevent event) {
    return add(node, graph, dependencies, count, [&] { return eventOf(event, false); });
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
    return call([&] {
        requireOutput(event);
        *event = eventOf(node, false).event;
    });
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
    return call([&] { eventOf(node, false) = eventOf(event, false); });
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    const CUresult added = add(node, graph, dependencies, count, [&] { return allocationOf(*settings); });
    if (added == CUDA_SUCCESS) settings->dptr = std::get<AllocationNode>((*node)->operation).memory->address;
    return added;
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* settings) {
    return call([&] {
        requireOutput(settings);
        const auto& operation = operationAs<AllocationNode>(node);
        *settings = operation.settings;
        settings->accessDescs = operation.access.empty() ? nullptr : operation.access.data();
        settings->accessDescCount = operation.access.size();
    });
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                               CUdeviceptr address) {
    return add(node, graph, dependencies, count, [&] { return releaseOf(graph, address); });
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
    return call([&] {
        requireOutput(address);
        *address = operationAs<ReleaseNode>(node).memory->address;
    });
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* data, std::size_t count, CUgraphNodeParams* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    const CUresult added = add(
        node, graph, dependencies, count, [&] { return operationOf(graph, *settings); }, data);
    if (added != CUDA_SUCCESS) return added;
    if (auto* allocation = std::get_if<AllocationNode>(&(*node)->operation))
        settings->alloc.dptr = allocation->memory->address;
    if (auto* conditional = std::get_if<ConditionalNode>(&(*node)->operation)) {
        settings->conditional.phGraph_out = conditional->handles.data();
        conditional->settings.phGraph_out = conditional->handles.data();
    }
    return added;
}
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                        CUgraphNodeParams* settings) {
    return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, settings);
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeType type = -1;
    if (const CUresult found = cuGraphNodeGetType(node, &type)) return found;
    if (type != settings->type) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<NodeType>(type)) {
        case NodeType::kernel:
            return cuGraphKernelNodeSetParams_v2(node, &settings->kernel);
        case NodeType::copy:
            return cuGraphMemcpyNodeSetParams(node, &settings->memcpy.copyParams);
        case NodeType::fill:
            return cuGraphMemsetNodeSetParams(node, &settings->memset.fill);
        case NodeType::host:
            return cuGraphHostNodeSetParams(node, &settings->host);
        case NodeType::eventWait:
            return cuGraphEventWaitNodeSetEvent(node, settings->eventWait);
        case NodeType::eventRecord:
            return cuGraphEventRecordNodeSetEvent(node, settings->eventRecord);
        default:
            return call([] { throw Failure{CUDA_ERROR_NOT_SUPPORTED, "the node's parameters cannot be changed"}; });
    }
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext context,
                                        unsigned initial, unsigned flags) {
    return call([&] {
        requireOutput(handle);
        knownGraph(graph);
        require((flags & ~kAssignInitial) == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags of a condition");
        auto condition = std::make_shared<Condition>();
        condition->context = contextOrCurrent(context)->root;
        condition->address = memoryOf(condition->context).allocate(sizeof(unsigned));
        condition->initial = initial;
        condition->assigned = flags == kAssignInitial;
        writeDevice(condition->context, condition->address, &initial, sizeof initial);
        *handle = kConditionMark | condition->address;
        state().conditions[*handle] = condition;
        graph->conditions.push_back(std::move(condition));
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
