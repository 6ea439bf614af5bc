// Executable graphs: made from graphs, changed in place, launched.

#include <algorithm>
#include <set>

#include "driver/graph.h"

namespace bulkhead::driver {
namespace {

constexpr std::uint64_t kAutoFree = 1, kUpload = 2, kDeviceLaunch = 4, kNodePriority = 8;

/// CUgraphInstantiateResult.
enum class Instantiated : CUgraphInstantiateResult {
    yes = 0,
    error = 1,
    invalidStructure = 2,
    unsupportedOperation = 3,
    severalContexts = 4,
    unusedCondition = 5,
};

/// CUgraphExecUpdateResult.
enum class Updated : CUgraphExecUpdateResult {
    yes = 0,
    error = 1,
    topology = 2,
    nodeType = 3,
    function = 4,
    parameters = 5,
    unsupported = 6,
    unsupportedFunction = 7,
    attributes = 8,
};

/// Why a graph cannot be instantiated.
struct Obstacle {
    Instantiated result = Instantiated::yes;
    CUgraphNode node = nullptr;
};

bool allowedInBody(CUgraphNode node) {
    switch (node->type()) {
        case NodeType::kernel:
        case NodeType::copy:
        case NodeType::fill:
        case NodeType::empty:
        case NodeType::graph:
        case NodeType::conditional:
            return true;
        default:
            return false;
    }
}

Obstacle circleIn(const CUgraph_st& graph) {
    const std::vector<CUgraphNode> order = sorted(graph);
    const std::set<CUgraphNode> reached(order.begin(), order.end());
    for (const auto& node : graph.nodes)
        if (!reached.count(node.get())) return {Instantiated::invalidStructure, node.get()};
    return {};
}

Obstacle obstacleIn(const CUgraph_st& graph) {
    Obstacle found = circleIn(graph);
    const auto note = [&](Instantiated result, CUgraphNode node) {
        if (found.result == Instantiated::yes) found = {result, node};
    };
    const Device* device = nullptr;
    forEachNode(graph, [&](CUgraphNode node) {
        if (const auto* child = std::get_if<ChildNode>(&node->operation)) {
            if (const Obstacle inner = circleIn(*child->graph); inner.node) note(inner.result, inner.node);
        }
        if (const auto* conditional = std::get_if<ConditionalNode>(&node->operation)) {
            for (const auto& body : conditional->bodies) {
                if (const Obstacle inner = circleIn(*body); inner.node) note(inner.result, inner.node);
                forEachNode(*body, [&](CUgraphNode part) {
                    if (!allowedInBody(part)) note(Instantiated::unsupportedOperation, part);
                });
            }
        }
        CUcontext context = contextOf(node->operation);
        if (!context) return;
        if (context->destroyed) return note(Instantiated::error, node);
        if (device && device != context->device) note(Instantiated::severalContexts, node);
        device = context->device;
    });
    for (const auto& condition : graph.conditions)
        if (!condition->used) note(Instantiated::unusedCondition, nullptr);
    return found;
}

CUgraphExec instantiate(CUgraph graph, std::uint64_t flags, Obstacle* obstacle) {
    knownGraph(graph);
    require((flags & ~(kAutoFree | kUpload | kDeviceLaunch | kNodePriority)) == 0, CUDA_ERROR_INVALID_VALUE,
            "unknown flags of an executable graph");
    require(!(flags & kDeviceLaunch), CUDA_ERROR_NOT_SUPPORTED, "graphs are not launched by kernels");
    *obstacle = obstacleIn(*graph);
    switch (obstacle->result) {
        case Instantiated::yes:
            break;
        case Instantiated::severalContexts:
            throw Failure{CUDA_ERROR_NOT_SUPPORTED, "a graph's nodes run on one simulated GPU"};
        case Instantiated::unsupportedOperation:
            throw Failure{CUDA_ERROR_NOT_SUPPORTED, "a node that a conditional node's body cannot have"};
        case Instantiated::invalidStructure:
            throw Failure{CUDA_ERROR_INVALID_VALUE, "nodes that depend on each other in a circle"};
        default:
            throw Failure{CUDA_ERROR_INVALID_VALUE, "a condition without a node, or a context that is gone"};
    }
    const bool memory = hasMemoryNodes(*graph);
    require(!memory || !graph->instantiated, CUDA_ERROR_NOT_SUPPORTED,
            "a graph that allocates or frees memory is instantiated once at a time");
    auto exec = std::make_shared<CUgraphExec_st>();
    exec->plan = cloneGraph(*graph, false);
    exec->flags = flags;
    exec->plan->usesNodePriorities = (flags & kNodePriority) != 0;
    if (memory && state().graphs.count(graph)) {
        exec->source = state().graphs.at(graph);
        graph->instantiated = true;
    }
    CUgraphExec handle = remember(exec.get());
    state().execs[handle] = std::move(exec);
    return handle;
}

/// A plan that nothing under way looks at.
CUgraph_st& changeable(CUgraphExec exec) {
    if (exec->plan.use_count() == 1) return *exec->plan;
    std::shared_ptr<CUgraph_st> copy = cloneGraph(*exec->plan, false);
    std::vector<unsigned long long> origins;
    forEachNode(*exec->plan, [&](CUgraphNode node) { origins.push_back(node->origin); });
    auto origin = origins.begin();
    forEachNode(*copy, [&](CUgraphNode node) { node->origin = *origin++; });
    exec->plan = std::move(copy);
    return *exec->plan;
}

/// What a node of the graph became.
CUgraphNode counterpart(CUgraphExec exec, CUgraphNode node) {
    knownExec(exec);
    knownNode(node);
    CUgraphNode found = nullptr;
    forEachNode(changeable(exec), [&](CUgraphNode candidate) {
        if (candidate->origin == node->number) found = candidate;
    });
    require(found != nullptr, CUDA_ERROR_INVALID_VALUE, "a node of another graph");
    return found;
}

template <class Kind>
Kind& counterpartAs(CUgraphExec exec, CUgraphNode node) {
    auto* operation = std::get_if<Kind>(&counterpart(exec, node)->operation);
    require(operation != nullptr, CUDA_ERROR_INVALID_VALUE, "a node of another kind");
    return *operation;
}

bool sameSides(const CUDA_MEMCPY3D& a, const CUDA_MEMCPY3D& b) {
    return a.srcMemoryType == b.srcMemoryType && a.dstMemoryType == b.dstMemoryType;
}

bool isFlat(const CUDA_MEMSET_NODE_PARAMS& fill) {
    return fill.height == 1;
}

/// Compares what is to be executed with a graph, and takes the graph's parameters over where they may differ.
class Update {
  public:
    CUgraphExecUpdateResultInfo result = {};

    bool compare(const CUgraph_st& now, const CUgraph_st& wanted) {
        if (now.nodes.size() != wanted.nodes.size()) return differ(Updated::topology, nullptr);
        const Indices inNow = indicesIn(now), inWanted = indicesIn(wanted);
        for (std::size_t i = 0; i < now.nodes.size(); ++i)
            if (!compare(inNow, *now.nodes[i], inWanted, *wanted.nodes[i])) return false;
        return true;
    }

    static void apply(CUgraph_st& now, const CUgraph_st& wanted) {
        for (std::size_t i = 0; i < now.nodes.size(); ++i) apply(now.nodes[i]->operation, wanted.nodes[i]->operation);
        takeObjects(now, wanted);
    }

  private:
    bool differ(Updated why, const CUgraphNode_st* node, CUgraphNode from = nullptr) {
        result = {static_cast<CUgraphExecUpdateResult>(why), const_cast<CUgraphNode>(node), from};
        return false;
    }

    using Indices = std::unordered_map<const CUgraphNode_st*, std::size_t>;
    static Indices indicesIn(const CUgraph_st& graph) {
        Indices indices;
        for (const auto& node : graph.nodes) indices.emplace(node.get(), indices.size());
        return indices;
    }

    bool compare(const Indices& inNow, const CUgraphNode_st& now, const Indices& inWanted,
                 const CUgraphNode_st& wanted) {
        if (now.type() != wanted.type()) return differ(Updated::nodeType, &wanted);
        std::set<std::size_t> before, after;
        for (const auto& edge : now.dependencies) before.insert(inNow.at(edge.from));
        for (const auto& edge : wanted.dependencies) {
            const std::size_t index = inWanted.at(edge.from);
            if (!before.count(index)) return differ(Updated::topology, &wanted, edge.from);
            after.insert(index);
        }
        if (before != after) return differ(Updated::topology, &wanted);
        return compare(now.operation, wanted);
    }

    bool compare(const Operation& now, const CUgraphNode_st& node) {
        const Operation& wanted = node.operation;
        if (const auto* kernel = std::get_if<KernelWork>(&now)) {
            const auto& other = std::get<KernelWork>(wanted);
            if (kernel->context->root != other.context->root) return differ(Updated::unsupportedFunction, &node);
            if (kernel->cooperative() != other.cooperative()) return differ(Updated::attributes, &node);
        }
        if (const auto* copy = std::get_if<CopyNode>(&now)) {
            const auto& other = std::get<CopyNode>(wanted);
            if (copy->context->root != other.context->root || !sameSides(copy->copy, other.copy))
                return differ(Updated::parameters, &node);
        }
        if (const auto* fill = std::get_if<FillNode>(&now)) {
            const auto& other = std::get<FillNode>(wanted);
            if (fill->context->root != other.context->root || isFlat(fill->fill) != isFlat(other.fill))
                return differ(Updated::parameters, &node);
        }
        if (std::holds_alternative<AllocationNode>(now) || std::holds_alternative<ReleaseNode>(now))
            return differ(Updated::unsupported, &node);
        if (const auto* child = std::get_if<ChildNode>(&now))
            return compare(*child->graph, *std::get<ChildNode>(wanted).graph);
        if (const auto* conditional = std::get_if<ConditionalNode>(&now)) {
            const auto& other = std::get<ConditionalNode>(wanted);
            if (conditional->settings.type != other.settings.type || conditional->bodies.size() != other.bodies.size())
                return differ(Updated::parameters, &node);
            for (std::size_t i = 0; i < other.bodies.size(); ++i)
                if (!compare(*conditional->bodies[i], *other.bodies[i])) return false;
        }
        return true;
    }

    static void apply(Operation& now, const Operation& wanted) {
        if (auto* child = std::get_if<ChildNode>(&now)) return apply(*child->graph, *std::get<ChildNode>(wanted).graph);
        if (auto* conditional = std::get_if<ConditionalNode>(&now)) {
            const auto& other = std::get<ConditionalNode>(wanted);
            conditional->condition = other.condition;
            for (std::size_t i = 0; i < other.bodies.size(); ++i) apply(*conditional->bodies[i], *other.bodies[i]);
            return;
        }
        now = wanted;
    }
};

CUgraphExecUpdateResultInfo update(CUgraphExec exec, CUgraph graph) {
    knownExec(exec);
    knownGraph(graph);
    Update comparison;
    if (comparison.compare(*exec->plan, *graph)) Update::apply(changeable(exec), *graph);
    return comparison.result;
}

/// Nothing that a launch needs may have gone.
void requireRunnable(const CUgraph_st& plan, const Device* device) {
    forEachNode(plan, [&](CUgraphNode node) {
        if (!node->enabled) return;
        if (CUcontext context = contextOf(node->operation)) {
            require(!context->destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, "a context of the graph's is gone");
            require(context->device == device, CUDA_ERROR_INVALID_VALUE, "a graph of another GPU");
        }
        if (const auto* work = std::get_if<KernelWork>(&node->operation))
            require(isKnown(work->function), CUDA_ERROR_INVALID_HANDLE, "a kernel's module has been unloaded");
        if (const auto* copy = std::get_if<CopyNode>(&node->operation)) checkCopy(copy->context, copy->copy);
        if (const auto* fill = std::get_if<FillNode>(&node->operation)) checkFill(fill->context, fill->fill);
        if (const auto* event = std::get_if<EventNode>(&node->operation))
            require(isKnown(event->event), CUDA_ERROR_INVALID_HANDLE, "an event of the graph's has been destroyed");
    });
}

/// Memory that a graph allocates and frees.
struct MemoryUse {
    std::set<std::shared_ptr<GraphMemory>> allocated, freed;

    explicit MemoryUse(const CUgraph_st& plan) {
        forEachNode(plan, [&](CUgraphNode node) {
            if (const auto* a = std::get_if<AllocationNode>(&node->operation)) allocated.insert(a->memory);
            if (const auto* r = std::get_if<ReleaseNode>(&node->operation)) freed.insert(r->memory);
        });
    }
    void check(bool autoFree) const {
        for (const auto& memory : allocated)
            require(!memory->live || autoFree, CUDA_ERROR_INVALID_VALUE,
                    "memory of the launch before has not been freed");
        for (const auto& memory : freed)
            require(memory->live || allocated.count(memory), CUDA_ERROR_INVALID_VALUE,
                    "memory of a graph that no launch has allocated");
    }
    void note(Device& device) const {
        for (const auto& memory : allocated)
            if (memory->live) becomeFree(memory);
        Bytes passing = 0;
        for (const auto& memory : allocated) passing += memory->bytes;
        noteUse(device, passing);
        for (const auto& memory : freed)
            if (memory->live) becomeFree(memory);
        for (const auto& memory : allocated)
            if (!freed.count(memory)) becomeLive(memory);
    }
};

void launch(CUgraphExec exec, CUstream on) {
    sim::Machine& gpu = gpuOf(on->context);
    Device& device = *on->context->device;
    const std::shared_ptr<CUgraph_st> plan = exec->plan;
    requireRunnable(*plan, &device);
    const MemoryUse memory(*plan);
    memory.check((exec->flags & kAutoFree) != 0);
    order(on);
    memory.note(device);
    if (exec->lastEnd && exec->device == &device) gpu.wait(on->id, *exec->lastEnd);
    assignConditions(plan, on);
    play(plan, plan.get(), on);
    exec->lastEnd = gpu.createMarker();
    exec->device = &device;
    gpu.record(on->id, *exec->lastEnd);
    enqueue(on, 0, [plan] { static_cast<void>(plan); });
}

CUgraphNode canBeDisabled(CUgraphNode node) {
    const NodeType type = node->type();
    require(type == NodeType::kernel || type == NodeType::copy || type == NodeType::fill, CUDA_ERROR_INVALID_VALUE,
            "only kernels, copies and fills can be disabled");
    return node;
}

}  // namespace

namespace simulated {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    return call([&] {
        requireOutput(exec);
        Obstacle obstacle;
        *exec = instantiate(graph, flags, &obstacle);
    });
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log,
                               std::size_t logBytes) {
    Obstacle obstacle;
    if (log && logBytes) *log = '\0';
    const CUresult made = call([&] {
        requireOutput(exec);
        *exec = instantiate(graph, 0, &obstacle);
    });
    if (errorNode) *errorNode = obstacle.node;
    return made;
}
CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* errorNode, char* log, std::size_t logBytes) {
    return cuGraphInstantiate_v2(exec, graph, errorNode, log, logBytes);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    Obstacle obstacle;
    const CUresult made = call([&] {
        requireOutput(exec);
        if (settings->flags & kUpload) requireNotCapturing(streamOf(current(), settings->hUploadStream));
        *exec = instantiate(graph, settings->flags, &obstacle);
    });
    if (made != CUDA_SUCCESS && obstacle.result == Instantiated::yes) obstacle.result = Instantiated::error;
    settings->result_out = static_cast<CUgraphInstantiateResult>(obstacle.result);
    settings->hErrNode_out = obstacle.node;
    return made;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
    return call([&] {
        knownExec(exec);
        if (const std::shared_ptr<CUgraph_st> source = exec->source.lock()) source->instantiated = false;
        forget(exec);
        state().execs.erase(exec);
    });
}
CUresult cuGraphExecGetFlags(CUgraphExec exec, std::uint64_t* flags) {
    return call([&] {
        requireOutput(flags);
        *flags = knownExec(exec)->flags;
    });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    return call([&] {
        CUstream on = streamOf(current(), stream);
        knownExec(exec);
        if (!capturing(on)) return launch(exec, on);
        require(!hasMemoryNodes(*exec->plan), CUDA_ERROR_NOT_SUPPORTED, "a child that allocates or frees memory");
        captureOperation(on, ChildNode{cloneGraph(*exec->plan, true)});
    });
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
    return call([&] {
        requireNotCapturing(streamOf(current(), stream));
        knownExec(exec);
    });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* result) {
    return call([&] {
        requireOutput(result);
        *result = {static_cast<CUgraphExecUpdateResult>(Updated::error), nullptr, nullptr};
        *result = update(exec, graph);
        require(result->result == static_cast<CUgraphExecUpdateResult>(Updated::yes),
                CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph differs in what an update cannot change");
    });
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* errorNode, CUgraphExecUpdateResult* result) {
    CUgraphExecUpdateResultInfo all = {};
    const CUresult updated = cuGraphExecUpdate_v2(exec, graph, &all);
    if (errorNode) *errorNode = all.errorNode;
    if (result) *result = all.result;
    return updated;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
    return call([&] { canBeDisabled(counterpart(exec, node))->enabled = enabled != 0; });
}
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
    return call([&] {
        requireOutput(enabled);
        *enabled = canBeDisabled(counterpart(exec, node))->enabled ? 1 : 0;
    });
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* settings) {
    return call([&] {
        requireOutput(settings);
        auto& work = counterpartAs<KernelWork>(exec, node);
        KernelWork wanted = kernelOf(*settings, &work.attributes);
        require(wanted.context->root == work.context->root, CUDA_ERROR_INVALID_VALUE, "a kernel of another context");
        work = std::move(wanted);
    });
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS all = {settings->func,
                                   settings->gridDimX,
                                   settings->gridDimY,
                                   settings->gridDimZ,
                                   settings->blockDimX,
                                   settings->blockDimY,
                                   settings->blockDimZ,
                                   settings->sharedMemBytes,
                                   settings->kernelParams,
                                   settings->extra,
                                   nullptr,
                                   nullptr};
    return cuGraphExecKernelNodeSetParams_v2(exec, node, &all);
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy,
                                        CUcontext context) {
    return call([&] {
        requireOutput(copy);
        auto& operation = counterpartAs<CopyNode>(exec, node);
        CUcontext in = context ? liveContext(context) : operation.context;
        checkCopy(in, *copy);
        require(in->root == operation.context->root && sameSides(*copy, operation.copy), CUDA_ERROR_INVALID_VALUE,
                "a copy between other kinds of memory, or in another context");
        operation = {in, *copy};
    });
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill,
                                        CUcontext context) {
    return call([&] {
        requireOutput(fill);
        auto& operation = counterpartAs<FillNode>(exec, node);
        CUcontext in = context ? liveContext(context) : operation.context;
        checkFill(in, *fill);
        require(in->root == operation.context->root && isFlat(*fill) == isFlat(operation.fill),
                CUDA_ERROR_INVALID_VALUE, "a fill of another shape, or in another context");
        operation = {in, *fill};
    });
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* settings) {
    return call([&] {
        requireOutput(settings);
        require(settings->fn != nullptr, CUDA_ERROR_INVALID_VALUE, "no function");
        counterpartAs<HostNode>(exec, node).call = *settings;
    });
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
    return call([&] {
        auto& operation = counterpartAs<ChildNode>(exec, node);
        Update comparison;
        require(comparison.compare(*operation.graph, *knownGraph(child)), CUDA_ERROR_INVALID_VALUE,
                "the child differs in what an update cannot change");
        Update::apply(*operation.graph, *child);
    });
}

}  // namespace simulated

namespace {

CUresult setEvent(CUgraphExec exec, CUgraphNode node, CUevent event, bool records) {
    return call([&] {
        auto& operation = counterpartAs<EventNode>(exec, node);
        require(operation.records == records, CUDA_ERROR_INVALID_VALUE, "a node of another kind");
        require(isKnown(event), CUDA_ERROR_INVALID_VALUE, "no such event");
        operation.event = event;
    });
}

}  // namespace

namespace simulated {

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
    return setEvent(exec, node, event, true);
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
    return setEvent(exec, node, event, false);
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* settings) {
    if (!settings) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<NodeType>(settings->type)) {
        case NodeType::kernel:
            return cuGraphExecKernelNodeSetParams_v2(exec, node, &settings->kernel);
        case NodeType::copy:
            return cuGraphExecMemcpyNodeSetParams(exec, node, &settings->memcpy.copyParams, settings->memcpy.copyCtx);
        case NodeType::fill:
            return cuGraphExecMemsetNodeSetParams(exec, node, &settings->memset.fill, settings->memset.ctx);
        case NodeType::host:
            return cuGraphExecHostNodeSetParams(exec, node, &settings->host);
        case NodeType::graph:
            return cuGraphExecChildGraphNodeSetParams(exec, node, settings->graph.graph);
        case NodeType::eventWait:
            return cuGraphExecEventWaitNodeSetEvent(exec, node, settings->eventWait);
        case NodeType::eventRecord:
            return cuGraphExecEventRecordNodeSetEvent(exec, node, settings->eventRecord);
        default:
            return call([] { throw Failure{CUDA_ERROR_NOT_SUPPORTED, "the node's parameters cannot be changed"}; });
    }
}

}  // namespace simulated
}  // namespace bulkhead::driver
