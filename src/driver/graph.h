#pragma once

#include <thread>
#include <variant>

#include "driver/state.h"

// Graphs: what nodes do, how they hang together, and what captures are under way. A graph that was instantiated is a
// copy of its own, whose nodes nobody has handles of.

namespace bulkhead::driver {

/// A word of device memory that kernels set and a conditional node reads.
struct Condition {
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    unsigned initial = 0;
    bool assigned = false;  ///< set to `initial` when the graph is launched
    bool used = false;      ///< by a node

    ~Condition();
};

/// Memory of an allocation node. Its place is fixed from the node's creation on, until nobody names it any more.
struct GraphMemory {
    CUcontext context = nullptr;  ///< a root
    CUdeviceptr address = 0;
    Bytes bytes = 0;
    bool live = false;  ///< a launch has allocated it, and nothing has freed it since

    ~GraphMemory();
};

struct CopyNode {
    CUcontext context = nullptr;
    CUDA_MEMCPY3D copy = {};
};
struct FillNode {
    CUcontext context = nullptr;
    CUDA_MEMSET_NODE_PARAMS fill = {};
};
struct HostNode {
    CUDA_HOST_NODE_PARAMS call = {};
};
struct EventNode {
    bool records = false;
    CUevent event = nullptr;
};
struct AllocationNode {
    CUDA_MEM_ALLOC_NODE_PARAMS settings = {};
    std::vector<CUmemAccessDesc> access;
    std::shared_ptr<GraphMemory> memory;
};
struct ReleaseNode {
    std::shared_ptr<GraphMemory> memory;
};
struct ChildNode {
    std::shared_ptr<CUgraph_st> graph;
};
struct ConditionalNode {
    CUDA_CONDITIONAL_NODE_PARAMS settings = {};
    std::shared_ptr<Condition> condition;
    std::vector<std::shared_ptr<CUgraph_st>> bodies;
    std::vector<CUgraph> handles;  ///< what the program reads the bodies' handles from
};

/// std::monostate: of an empty node.
using Operation = std::variant<std::monostate, KernelWork, CopyNode, FillNode, HostNode, EventNode, AllocationNode,
                               ReleaseNode, ChildNode, ConditionalNode>;

struct CUgraphNode_st {
    CUgraph graph = nullptr;
    unsigned long long number = 0;  ///< no other node has it
    unsigned long long origin = 0;  ///< of a copy: the number of that which it was copied from
    Operation operation;
    bool enabled = true;

    struct Edge {
        CUgraphNode from = nullptr;
        CUgraphEdgeData data = {};
    };
    std::vector<Edge> dependencies;  ///< in the order in which they were added
    std::vector<CUgraphNode> dependents;

    std::vector<void*> parameters;  ///< what a program is given to read a kernel's arguments by

    NodeType type() const;
};

/// A program's reference counter, which graphs may hold references of.
struct CUuserObject_st {
    void* data = nullptr;
    CUhostFn destroy = nullptr;
    std::uint64_t references = 0;
};

/// Streams that a graph's branches run in.
struct Lanes {
    std::map<unsigned long long, std::vector<std::unique_ptr<CUstream_st>>> byContext;  ///< by its number
    std::unique_ptr<CUstream_st> control;  ///< of a conditional node's body
    ~Lanes();
};

struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  ///< in the order of their creation
    CUgraph outer = nullptr;                             ///< that it is a child or a body in
    bool visible = true;                                 ///< programs have handles of its nodes
    std::vector<std::shared_ptr<Condition>> conditions;
    std::map<CUuserObject, std::uint64_t> objects;  ///< references that it holds
    bool instantiated = false;                      ///< of one with memory nodes: only one of it may be
    bool usesNodePriorities = false;                ///< else all of it has the priority of the stream it is launched in
    Lanes lanes;

    ~CUgraph_st();
};

struct CUgraphExec_st {
    std::shared_ptr<CUgraph_st> plan;  ///< held as well by what is under way
    std::uint64_t flags = 0;
    std::optional<sim::MarkerId> lastEnd;  ///< of the launch before
    Device* device = nullptr;              ///< that `lastEnd` is of
    std::weak_ptr<CUgraph_st> source;      ///< what it was made from
};

/// A sequence of calls that becomes a graph.
struct Capture {
    unsigned long long id = 0;
    CUstreamCaptureMode mode = 0;
    std::thread::id thread;
    CUgraph graph = nullptr;
    bool ownsGraph = true;  ///< the graph was made for it
    CUstream origin = nullptr;
    std::vector<CUstream> streams;
    std::vector<CUgraphNode> left;  ///< the last nodes of streams that have been destroyed since
    bool invalidated = false, over = false;
};

constexpr CUgraphConditionalNodeType kIf = 0, kWhile = 1, kSwitch = 2;

// Structure (graph.cpp).
CUgraph knownGraph(CUgraph);
CUgraphNode knownNode(CUgraphNode);
CUgraphExec knownExec(CUgraphExec);
std::shared_ptr<CUgraph_st> newGraph(bool visible, CUgraph outer = nullptr);
CUgraph rememberGraph(std::shared_ptr<CUgraph_st>);
/// Ends a graph that a handle was given of.
void destroyGraph(CUgraph);
std::shared_ptr<CUgraph_st> cloneGraph(const CUgraph_st&, bool visible, CUgraph outer = nullptr);
CUgraphNode addNode(CUgraph, std::span<const CUgraphNode> dependencies, const CUgraphEdgeData*, Operation);
/// Throws Failure for edges that a new node cannot have.
void checkDependencies(std::span<const CUgraphNode>, const CUgraphEdgeData*);
std::vector<CUgraphNode> dependenciesOf(CUgraph, const CUgraphNode*, std::size_t count);
/// Nodes such that each comes after those it depends on, in the order of creation otherwise. Fewer than there are if
/// some depend on each other in a circle.
std::vector<CUgraphNode> sorted(const CUgraph_st&);
/// Calls visit(node) for each node, those of children and bodies included.
template <class Visit>
void forEachNode(const CUgraph_st& graph, Visit&& visit) {
    for (const auto& node : graph.nodes) {
        visit(node.get());
        if (const auto* child = std::get_if<ChildNode>(&node->operation)) forEachNode(*child->graph, visit);
        if (const auto* conditional = std::get_if<ConditionalNode>(&node->operation))
            for (const auto& body : conditional->bodies) forEachNode(*body, visit);
    }
}
bool hasMemoryNodes(const CUgraph_st&);
void releaseObject(CUuserObject, std::uint64_t count);
/// Has a graph hold what another one holds, and nothing else.
void takeObjects(CUgraph_st&, const CUgraph_st& from);

// What nodes do (graph_nodes.cpp). Each checks what the program gave.
KernelWork kernelOf(const CUDA_KERNEL_NODE_PARAMS&, const CUlaunchAttributes* keep = nullptr);
Operation operationOf(CUgraph, const CUgraphNodeParams&);
/// The context that a node runs in, if it matters.
CUcontext contextOf(const Operation&);

// Memory nodes (graph_memory.cpp).
AllocationNode newAllocation(CUcontext, Bytes);
std::shared_ptr<GraphMemory> findMemory(CUcontext, CUdeviceptr);
/// A launch has allocated it.
void becomeLive(const std::shared_ptr<GraphMemory>&);
/// It has been freed.
void becomeFree(const std::shared_ptr<GraphMemory>&);
/// A launch uses so much more at once than what it leaves behind.
void noteUse(Device&, Bytes atOnce);

// Running (graph_run.cpp).
/// Puts a graph's work behind what a stream holds; whatever is put into the stream later comes after all of it. Returns
/// the markers that it takes until then.
std::vector<sim::MarkerId> play(const std::shared_ptr<CUgraph_st>& plan, CUgraph, CUstream);
/// Sets conditions to the values that they have at a launch.
void assignConditions(const std::shared_ptr<CUgraph_st>& plan, CUstream);

/// Adds what a stream was told to the graph that it is captured into.
void captureOperation(CUstream, Operation);

}  // namespace bulkhead::driver
