// A graph as text for Graphviz.

#include <fstream>

#include "driver/graph.h"

namespace bulkhead::driver {
namespace {

const char* nameOf(NodeType type) {
    switch (type) {
        case NodeType::kernel:
            return "KERNEL";
        case NodeType::copy:
            return "MEMCPY";
        case NodeType::fill:
            return "MEMSET";
        case NodeType::host:
            return "HOST";
        case NodeType::graph:
            return "GRAPH";
        case NodeType::empty:
            return "EMPTY";
        case NodeType::eventWait:
            return "EVENT_WAIT";
        case NodeType::eventRecord:
            return "EVENT_RECORD";
        case NodeType::allocation:
            return "MEM_ALLOC";
        case NodeType::release:
            return "MEM_FREE";
        case NodeType::conditional:
            return "CONDITIONAL";
        default:
            return "NODE";
    }
}

std::string described(const CUgraphNode_st& node) {
    const auto* work = std::get_if<KernelWork>(&node.operation);
    if (!work || !isKnown(work->function)) return "";
    return fmt::format("\\n{}<<<{}x{}x{}, {}x{}x{}, {}>>>", work->function->code->name, work->grid.x, work->grid.y,
                       work->grid.z, work->block.x, work->block.y, work->block.z, work->sharedBytes);
}

class DotWriter {
  public:
    explicit DotWriter(std::ostream& out) : out_(out) {}

    void write(const CUgraph_st& graph) {
        const unsigned number = graphs_++;
        out_ << fmt::format("subgraph cluster_{} {{\nlabel=\"graph_{}\";\n", number, number);
        std::unordered_map<const CUgraphNode_st*, std::string> names;
        for (const auto& node : graph.nodes) {
            const std::string name = fmt::format("graph_{}_node_{}", number, names.size());
            names[node.get()] = name;
            out_ << fmt::format("\"{}\"[shape=box label=\"{}\\n{}{}\"];\n", name, names.size() - 1,
                                nameOf(node->type()), described(*node));
        }
        for (const auto& node : graph.nodes)
            for (const auto& edge : node->dependencies)
                out_ << fmt::format("\"{}\" -> \"{}\";\n", names.at(edge.from), names.at(node.get()));
        for (const auto& node : graph.nodes) {
            if (const auto* child = std::get_if<ChildNode>(&node->operation)) write(*child->graph);
            if (const auto* conditional = std::get_if<ConditionalNode>(&node->operation))
                for (const auto& body : conditional->bodies) write(*body);
        }
        out_ << "}\n";
    }

  private:
    std::ostream& out_;
    unsigned graphs_ = 0;
};

}  // namespace

namespace simulated {

CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned flags) {
    return call([&] {
        constexpr unsigned kAllFlags = (1u << 16) - 1;
        requireOutput(path);
        require((flags & ~kAllFlags) == 0, CUDA_ERROR_INVALID_VALUE, "unknown flags of a drawing");
        knownGraph(graph);
        std::ofstream out(path);
        out << "digraph dot {\n";
        DotWriter(out).write(*graph);
        out << "}\n" << std::flush;
        require(out.good(), CUDA_ERROR_OPERATING_SYSTEM, "the file cannot be written");
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
