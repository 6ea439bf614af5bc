// Graphs as a structure: nodes, edges, copies, and what keeps a program's objects alive.

#include "driver/graph.h"

#include <algorithm>
#include <set>
#include <utility>

namespace bulkhead::driver {
namespace {

constexpr unsigned kNoDestructorSync = 1, kMoveReferences = 1;

bool isDefault(const CUgraphEdgeData& data) {
    return data.from_port == 0 && data.to_port == 0 && data.type == 0;
}

bool sameEdge(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
    return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

void checkEdge(const CUgraphEdgeData& data) {
    constexpr unsigned char kLastPort = 2, kProgrammatic = 1;
    const bool known = data.from_port <= kLastPort && data.to_port == 0 && data.type <= kProgrammatic;
    const bool clean = std::all_of(std::begin(data.reserved), std::end(data.reserved), [](auto b) { return b == 0; });
    require(known && clean, CUDA_ERROR_INVALID_VALUE, "an edge of an unknown kind");
}

CUgraphNode inGraph(CUgraph graph, CUgraphNode node) {
    require(knownNode(node)->graph == graph, CUDA_ERROR_INVALID_VALUE, "a node of another graph");
    return node;
}

void connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData& data) {
    checkEdge(data);
    require(from != to, CUDA_ERROR_INVALID_VALUE, "a node cannot depend on itself");
    for (const auto& edge : to->dependencies)
        require(edge.from != from || !sameEdge(edge.data, data), CUDA_ERROR_INVALID_VALUE,
                "the nodes are connected already");
    to->dependencies.push_back({from, data});
    from->dependents.push_back(to);
}

void disconnect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData& data) {
    const auto found = std::find_if(to->dependencies.begin(), to->dependencies.end(),
                                    [&](const auto& edge) { return edge.from == from && sameEdge(edge.data, data); });
    require(found != to->dependencies.end(), CUDA_ERROR_INVALID_VALUE, "the nodes are not connected");
    to->dependencies.erase(found);
    from->dependents.erase(std::find(from->dependents.begin(), from->dependents.end(), to));
}

CUgraphEdgeData edgeAt(const CUgraphEdgeData* data, std::size_t i) {
    return data ? data[i] : CUgraphEdgeData{};
}

/// Graphs with memory nodes keep what they have.
void requireNoMemoryNodes(CUgraph graph) {
    require(!hasMemoryNodes(*graph), CUDA_ERROR_NOT_SUPPORTED, "a graph that allocates or frees memory");
}

void requireNotUnderCapture(CUgraph graph) {
    for (const auto& capture : state().captures)
        require(capture->graph != graph, CUDA_ERROR_INVALID_VALUE, "a stream is being captured into the graph");
}

struct Link {
    CUgraphNode from, to;
    CUgraphEdgeData data;
};

/// Writes as many links as there is room for, or says how many there are. Without a place for the kinds of edges, they
/// must all be ordinary ones.
void answer(const std::vector<Link>& links, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
            std::size_t* count) {
    requireOutput(count);
    if (!from && !to) {
        *count = links.size();
        return;
    }
    for (std::size_t i = 0; i < *count; ++i) {
        const bool there = i < links.size();
        if (there && !data)
            require(isDefault(links[i].data), CUDA_ERROR_LOSSY_QUERY, "an edge of another kind than the ordinary one");
        if (from) from[i] = there ? links[i].from : nullptr;
        if (to) to[i] = there ? links[i].to : nullptr;
        if (data) data[i] = there ? links[i].data : CUgraphEdgeData{};
    }
    *count = std::min(*count, links.size());
}

std::vector<Link> linksInto(CUgraphNode node) {
    std::vector<Link> links;
    links.reserve(node->dependencies.size());
    for (const auto& edge : node->dependencies) links.push_back({edge.from, node, edge.data});
    return links;
}

void giveNodes(const std::vector<CUgraphNode>& found, CUgraphNode* nodes, std::size_t* count) {
    std::vector<Link> links;
    links.reserve(found.size());
    for (CUgraphNode node : found) links.push_back({node, node, {}});
    answer(links, nodes, nullptr, nullptr, count);
}

Operation cloneOperation(const Operation& operation, bool visible, CUgraph outer) {
    if (const auto* child = std::get_if<ChildNode>(&operation))
        return ChildNode{cloneGraph(*child->graph, visible, outer)};
    if (const auto* conditional = std::get_if<ConditionalNode>(&operation)) {
        ConditionalNode copy = *conditional;
        for (std::size_t i = 0; i < copy.bodies.size(); ++i) {
            copy.bodies[i] = cloneGraph(*conditional->bodies[i], visible, outer);
            copy.handles[i] = copy.bodies[i].get();
        }
        return copy;
    }
    return operation;
}

CUuserObject knownObject(CUuserObject object) {
    require(isKnown(object), CUDA_ERROR_INVALID_VALUE, "no such user object");
    return object;
}

}  // namespace

NodeType CUgraphNode_st::type() const {
    struct {
        NodeType operator()(const std::monostate&) const { return NodeType::empty; }
        NodeType operator()(const KernelWork&) const { return NodeType::kernel; }
        NodeType operator()(const CopyNode&) const { return NodeType::copy; }
        NodeType operator()(const FillNode&) const { return NodeType::fill; }
        NodeType operator()(const HostNode&) const { return NodeType::host; }
        NodeType operator()(const EventNode& e) const {
            return e.records ? NodeType::eventRecord : NodeType::eventWait;
        }
        NodeType operator()(const AllocationNode&) const { return NodeType::allocation; }
        NodeType operator()(const ReleaseNode&) const { return NodeType::release; }
        NodeType operator()(const ChildNode&) const { return NodeType::graph; }
        NodeType operator()(const ConditionalNode&) const { return NodeType::conditional; }
    } const typeOf;
    return std::visit(typeOf, operation);
}

CUgraph_st::~CUgraph_st() {
    if (visible) {
        forget(CUgraph{this});
        for (const auto& node : nodes) forget(node.get());
    }
    for (const auto& [object, count] : objects) releaseObject(object, count);
}

CUgraph knownGraph(CUgraph graph) {
    requireInitialized();
    require(isKnown(graph), CUDA_ERROR_INVALID_VALUE, "no such graph");
    return graph;
}
CUgraphNode knownNode(CUgraphNode node) {
    requireInitialized();
    require(isKnown(node), CUDA_ERROR_INVALID_VALUE, "no such node");
    return node;
}
CUgraphExec knownExec(CUgraphExec exec) {
    requireInitialized();
    require(isKnown(exec), CUDA_ERROR_INVALID_VALUE, "no such executable graph");
    return exec;
}

std::shared_ptr<CUgraph_st> newGraph(bool visible, CUgraph outer) {
    auto graph = std::make_shared<CUgraph_st>();
    graph->visible = visible;
    graph->outer = outer;
    if (visible) remember(graph.get());
    return graph;
}

CUgraph rememberGraph(std::shared_ptr<CUgraph_st> graph) {
    CUgraph handle = graph.get();
    state().graphs[handle] = std::move(graph);
    return handle;
}

void destroyGraph(CUgraph graph) {
    state().graphs.erase(graph);
}

std::vector<CUgraphNode> dependenciesOf(CUgraph graph, const CUgraphNode* dependencies, std::size_t count) {
    require(count == 0 || dependencies, CUDA_ERROR_INVALID_VALUE, "dependencies without nodes");
    std::vector<CUgraphNode> nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(inGraph(graph, dependencies[i]));
    return nodes;
}

void checkDependencies(std::span<const CUgraphNode> dependencies, const CUgraphEdgeData* data) {
    const std::set<CUgraphNode> distinct(dependencies.begin(), dependencies.end());
    require(distinct.size() == dependencies.size(), CUDA_ERROR_INVALID_VALUE, "a dependency twice");
    for (std::size_t i = 0; i < dependencies.size(); ++i) checkEdge(edgeAt(data, i));
}

CUgraphNode addNode(CUgraph graph, std::span<const CUgraphNode> dependencies, const CUgraphEdgeData* data,
                    Operation operation) {
    auto node = std::make_unique<CUgraphNode_st>();
    node->graph = graph;
    node->number = state().nextId++;
    node->operation = std::move(operation);
    CUgraphNode handle = node.get();
    for (std::size_t i = 0; i < dependencies.size(); ++i) connect(dependencies[i], handle, edgeAt(data, i));
    graph->nodes.push_back(std::move(node));
    return graph->visible ? remember(handle) : handle;
}

std::shared_ptr<CUgraph_st> cloneGraph(const CUgraph_st& original, bool visible, CUgraph outer) {
    std::shared_ptr<CUgraph_st> copy = newGraph(visible, outer);
    std::unordered_map<const CUgraphNode_st*, CUgraphNode> counterpart;
    for (const auto& node : original.nodes) {
        CUgraphNode made = addNode(copy.get(), {}, nullptr, cloneOperation(node->operation, visible, copy.get()));
        made->origin = node->number;
        made->enabled = node->enabled;
        counterpart[node.get()] = made;
    }
    for (const auto& node : original.nodes) {
        for (const auto& edge : node->dependencies)
            counterpart[node.get()]->dependencies.push_back({counterpart.at(edge.from), edge.data});
        for (CUgraphNode dependent : node->dependents)
            counterpart[node.get()]->dependents.push_back(counterpart.at(dependent));
    }
    copy->conditions = original.conditions;
    takeObjects(*copy, original);
    return copy;
}

std::vector<CUgraphNode> sorted(const CUgraph_st& graph) {
    std::unordered_map<CUgraphNode, std::size_t> missing;
    std::map<unsigned long long, CUgraphNode> ready;  // by number: in the order of creation
    for (const auto& node : graph.nodes) {
        missing[node.get()] = node->dependencies.size();
        if (node->dependencies.empty()) ready[node->number] = node.get();
    }
    std::vector<CUgraphNode> order;
    while (!ready.empty()) {
        CUgraphNode next = ready.begin()->second;
        ready.erase(ready.begin());
        order.push_back(next);
        for (CUgraphNode dependent : next->dependents)
            if (--missing[dependent] == 0) ready[dependent->number] = dependent;
    }
    return order;
}

bool hasMemoryNodes(const CUgraph_st& graph) {
    bool found = false;
    forEachNode(graph, [&](CUgraphNode node) {
        found |= std::holds_alternative<AllocationNode>(node->operation) ||
                 std::holds_alternative<ReleaseNode>(node->operation);
    });
    return found;
}

void releaseObject(CUuserObject object, std::uint64_t count) {
    object->references -= count;
    if (object->references) return;
    const std::shared_ptr<CUuserObject_st> last = state().userObjects.at(object);
    forget(object);
    state().userObjects.erase(object);
    runHostFunction([&] { last->destroy(last->data); });
}

void takeObjects(CUgraph_st& graph, const CUgraph_st& from) {
    const auto before = std::exchange(graph.objects, from.objects);
    for (const auto& [object, count] : graph.objects) object->references += count;
    for (const auto& [object, count] : before) releaseObject(object, count);
}

namespace simulated {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
    return call([&] {
        requireInitialized();
        requireOutput(graph);
        require(flags == 0, CUDA_ERROR_INVALID_VALUE, "a graph has no flags");
        *graph = rememberGraph(newGraph(true));
    });
}
CUresult cuGraphDestroy(CUgraph graph) {
    return call([&] {
        require(state().graphs.count(knownGraph(graph)) != 0, CUDA_ERROR_INVALID_VALUE, "a graph that is part of one");
        requireNotUnderCapture(graph);
        destroyGraph(graph);
    });
}
CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
    return call([&] {
        requireOutput(clone);
        requireNoMemoryNodes(knownGraph(original));
        *clone = rememberGraph(cloneGraph(*original, true));
    });
}
CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
    return call([&] {
        requireOutput(node);
        knownNode(original);
        CUgraphNode found = nullptr;
        forEachNode(*knownGraph(clone), [&](CUgraphNode candidate) {
            if (candidate->origin == original->number) found = candidate;
        });
        require(found != nullptr, CUDA_ERROR_INVALID_VALUE, "the graph is no clone of the node's");
        *node = found;
    });
}
CUresult cuGraphDestroyNode(CUgraphNode node) {
    return call([&] {
        CUgraph graph = knownNode(node)->graph;
        requireNoMemoryNodes(graph);
        requireNotUnderCapture(graph);
        for (const auto& edge : node->dependencies) std::erase(edge.from->dependents, node);
        for (CUgraphNode dependent : node->dependents)
            std::erase_if(dependent->dependencies, [&](const auto& edge) { return edge.from == node; });
        forget(node);
        std::erase_if(graph->nodes, [&](const auto& owned) { return owned.get() == node; });
    });
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    return call([&] {
        requireOutput(type);
        *type = static_cast<CUgraphNodeType>(knownNode(node)->type());
    });
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
    return call([&] {
        std::vector<CUgraphNode> all;
        for (const auto& node : knownGraph(graph)->nodes) all.push_back(node.get());
        giveNodes(all, nodes, count);
    });
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
    return call([&] {
        std::vector<CUgraphNode> roots;
        for (const auto& node : knownGraph(graph)->nodes)
            if (node->dependencies.empty()) roots.push_back(node.get());
        giveNodes(roots, nodes, count);
    });
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                            std::size_t* count) {
    return call([&] {
        require((from == nullptr) == (to == nullptr) && (from || !data), CUDA_ERROR_INVALID_VALUE,
                "a place for one end of the edges only");
        std::vector<Link> links;
        for (const auto& node : knownGraph(graph)->nodes)
            for (const Link& link : linksInto(node.get())) links.push_back(link);
        answer(links, from, to, data, count);
    });
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
    return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* dependencies, CUgraphEdgeData* data,
                                       std::size_t* count) {
    return call([&] {
        require(dependencies || !data, CUDA_ERROR_INVALID_VALUE, "a place for the kinds of edges only");
        answer(linksInto(knownNode(node)), dependencies, nullptr, data, count);
    });
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies, std::size_t* count) {
    return cuGraphNodeGetDependencies_v2(node, dependencies, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* dependents, CUgraphEdgeData* data,
                                         std::size_t* count) {
    return call([&] {
        require(dependents || !data, CUDA_ERROR_INVALID_VALUE, "a place for the kinds of edges only");
        std::vector<Link> links;
        for (const auto& other : knownNode(node)->graph->nodes)
            for (const Link& link : linksInto(other.get()))
                if (link.from == node) links.push_back(link);
        answer(links, nullptr, dependents, data, count);
    });
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* dependents, std::size_t* count) {
    return cuGraphNodeGetDependentNodes_v2(node, dependents, nullptr, count);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, std::size_t count) {
    return call([&] {
        const std::vector<CUgraphNode> first = dependenciesOf(knownGraph(graph), from, count);
        const std::vector<CUgraphNode> then = dependenciesOf(graph, to, count);
        for (std::size_t i = 0; i < count; ++i) connect(first[i], then[i], edgeAt(data, i));
    });
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count) {
    return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* data, std::size_t count) {
    return call([&] {
        const std::vector<CUgraphNode> first = dependenciesOf(knownGraph(graph), from, count);
        const std::vector<CUgraphNode> then = dependenciesOf(graph, to, count);
        if (count) requireNoMemoryNodes(graph);
        for (std::size_t i = 0; i < count; ++i) disconnect(first[i], then[i], edgeAt(data, i));
    });
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count) {
    return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn destroy, unsigned references, unsigned flags) {
    return call([&] {
        requireInitialized();
        requireOutput(object);
        require(destroy && references > 0 && flags == kNoDestructorSync, CUDA_ERROR_INVALID_VALUE,
                "a user object needs a function, a reference and CU_USER_OBJECT_NO_DESTRUCTOR_SYNC");
        auto made = std::make_shared<CUuserObject_st>();
        made->data = data;
        made->destroy = destroy;
        made->references = references;
        *object = remember(made.get());
        state().userObjects[*object] = std::move(made);
    });
}
CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
    return call([&] {
        require(count > 0, CUDA_ERROR_INVALID_VALUE, "no references");
        knownObject(object)->references += count;
    });
}
CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
    return call([&] {
        require(count > 0 && count <= knownObject(object)->references, CUDA_ERROR_INVALID_VALUE,
                "more references than there are");
        releaseObject(object, count);
    });
}
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
    return call([&] {
        knownGraph(graph);
        knownObject(object);
        require(count > 0 && (flags & ~kMoveReferences) == 0, CUDA_ERROR_INVALID_VALUE, "no references, or flags");
        if (!(flags & kMoveReferences)) object->references += count;
        graph->objects[object] += count;
    });
}
CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
    return call([&] {
        const auto held = knownGraph(graph)->objects.find(knownObject(object));
        require(held != graph->objects.end() && count > 0 && count <= held->second, CUDA_ERROR_INVALID_VALUE,
                "more references than the graph holds");
        if ((held->second -= count) == 0) graph->objects.erase(held);
        releaseObject(object, count);
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
