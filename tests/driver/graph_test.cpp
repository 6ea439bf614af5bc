#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "graph_support.h"
#include "temporary_directory.h"

namespace bulkhead::driver {
namespace {

using Words = std::vector<unsigned>;

class Graphs : public GraphTest {};

TEST_F(Graphs, aHundredLaunchesAreAHundredTimesTheArithmetic) {
    // 3 * 2 + ... : each launch doubles a word after another has been filled anew.
    const CUdeviceptr p = upload<unsigned>({1, 3});
    const CUgraph g = graph();
    twice(g, p, 1);
    filling(g, p + 4, 7, 1);
    const CUgraphExec exec = instantiate(g);
    const CUstream s = stream(1);
    for (int i = 0; i < 100; ++i) {
        if (i % 31 == 0) {
            const unsigned one = 1;
            ASSERT_EQ(api.cuMemcpyHtoDAsync(p, &one, 4, s), CUDA_SUCCESS);
        }
        ASSERT_EQ(api.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    }
    ASSERT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
    // The last reset is before launch 93, so launches 93 to 99 have doubled it.
    EXPECT_EQ(download<unsigned>(p, 2), (Words{1u << 7, 7}));
}

TEST_F(Graphs, edgesOrderNodesOfEveryKind) {
    struct Seen {
        unsigned word = 0, calls = 0;
    } seen;
    const CUdeviceptr p = allocate(4);
    unsigned result = 0;
    const CUgraph g = graph();
    const CUgraphNode fill = filling(g, p, 5, 1);
    const CUgraphNode first = twice(g, p, 1, {fill});
    CUgraphNode empty = nullptr, host = nullptr;
    ASSERT_EQ(api.cuGraphAddEmptyNode(&empty, g, &first, 1), CUDA_SUCCESS);
    const CUgraphNode second = twice(g, p, 1, {empty});
    const CUgraphNode copy = copying(g, toHost(&seen.word, p, 4), {second});
    const CUDA_HOST_NODE_PARAMS call = {[](void* data) { ++static_cast<Seen*>(data)->calls; }, &seen};
    ASSERT_EQ(api.cuGraphAddHostNode(&host, g, &copy, 1, &call), CUDA_SUCCESS);
    copying(g, toHost(&result, p, 4), {host});
    const CUgraphExec exec = instantiate(g);
    launchAndWait(exec);
    EXPECT_EQ(seen.word, 20u);
    EXPECT_EQ(result, 20u);
    launchAndWait(exec);
    EXPECT_EQ(seen.calls, 2u);
    ASSERT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphDestroy(g), CUDA_SUCCESS);
}

TEST_F(Graphs, branchesThatNoEdgeOrdersOverlap) {
    constexpr unsigned kRounds = 20000;
    const CUdeviceptr p = allocate(16);
    const auto secondsOf = [&](bool ordered, unsigned nodes) {
        const CUgraph g = graph();
        CUgraphNode before = nullptr;
        for (unsigned i = 0; i < nodes; ++i)
            before =
                spinning(g, p + 4 * i, kRounds, ordered && before ? std::vector{before} : std::vector<CUgraphNode>{});
        return launchSeconds(instantiate(g));
    };
    const double one = secondsOf(false, 1);
    EXPECT_NEAR(secondsOf(true, 2) / one, 2, 0.05);
    EXPECT_NEAR(secondsOf(false, 2) / one, 1, 0.05);
    EXPECT_NEAR(secondsOf(false, 4) / one, 1, 0.05);
    EXPECT_EQ(secondsOf(false, 4), secondsOf(false, 4));
}

TEST_F(Graphs, launchesOfOneAreOrderedEvenInTwoStreams) {
    const CUdeviceptr p = upload<unsigned>({1});
    const CUgraph g = graph();
    const CUgraphNode wait = spinning(g, allocate(4), 5000);
    twice(g, p, 1, {wait});
    const CUgraphExec exec = instantiate(g);
    const CUstream a = stream(1), b = stream(1);
    const double alone = launchSeconds(exec);
    const CUevent begin = event(), end = event();
    ASSERT_EQ(api.cuEventRecord(begin, a), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(exec, a), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(exec, b), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(end, b), CUDA_SUCCESS);
    ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(p, 1), Words{8});
    EXPECT_NEAR(seconds(begin, end) / alone, 2, 0.05);
}

TEST_F(Graphs, aLaunchTakesItsTurnInTheStream) {
    const CUdeviceptr p = upload<unsigned>({3});
    const CUgraph g = graph();
    twice(g, p, 1);
    const CUgraphExec exec = instantiate(g);
    const CUstream s = stream(1);
    ASSERT_EQ(spin(p, 1000, s), CUDA_SUCCESS);  // leaves 1000 there
    ASSERT_EQ(api.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", p, 1, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(p, 1), Words{4000});
}

TEST_F(Graphs, structureIsToldAndChanged) {
    const CUgraph g = graph();
    CUgraphNode a = nullptr, b = nullptr, c = nullptr;
    ASSERT_EQ(api.cuGraphAddEmptyNode(&a, g, nullptr, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphAddEmptyNode(&b, g, &a, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphAddEmptyNode(&c, g, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(count(g), 3u);
    CUgraphNode nodes[4] = {};
    std::size_t n = 4;
    ASSERT_EQ(api.cuGraphGetRootNodes(g, nodes, &n), CUDA_SUCCESS);
    EXPECT_EQ(n, 2u);
    EXPECT_EQ((std::set<CUgraphNode>{nodes[0], nodes[1]}), (std::set<CUgraphNode>{a, c}));
    EXPECT_EQ(nodes[2], nullptr);
    ASSERT_EQ(api.cuGraphAddDependencies(g, &b, &c, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphAddDependencies(g, &b, &c, 1), CUDA_ERROR_INVALID_VALUE);
    n = 4;
    ASSERT_EQ(api.cuGraphNodeGetDependencies(c, nodes, &n), CUDA_SUCCESS);
    EXPECT_EQ(n, 1u);
    EXPECT_EQ(nodes[0], b);
    n = 4;
    ASSERT_EQ(api.cuGraphNodeGetDependentNodes(b, nodes, &n), CUDA_SUCCESS);
    EXPECT_EQ(n, 1u);
    EXPECT_EQ(nodes[0], c);
    CUgraphNode to[4] = {};
    n = 4;
    ASSERT_EQ(api.cuGraphGetEdges(g, nodes, to, &n), CUDA_SUCCESS);
    EXPECT_EQ(n, 2u);
    ASSERT_EQ(api.cuGraphRemoveDependencies(g, &b, &c, 1), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphRemoveDependencies(g, &b, &c, 1), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuGraphDestroyNode(b), CUDA_SUCCESS);
    EXPECT_EQ(count(g), 2u);
    CUgraphNodeType type = 0;
    EXPECT_EQ(api.cuGraphNodeGetType(b, &type), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(typeOf(a), 5);
}

TEST_F(Graphs, edgesOfAnotherKindAreNotToldToThoseWhoCannotHearOfIt) {
    const CUgraph g = graph();
    const CUgraphNode a = spinning(g, allocate(4), 1), b = spinning(g, allocate(4), 1);
    CUgraphEdgeData programmatic = {1, 0, 1, {}}, told[2] = {};
    ASSERT_EQ(api.cuGraphAddDependencies_v2(g, &a, &b, &programmatic, 1), CUDA_SUCCESS);
    CUgraphNode from[2], to[2];
    std::size_t n = 2;
    EXPECT_EQ(api.cuGraphGetEdges(g, from, to, &n), CUDA_ERROR_LOSSY_QUERY);
    n = 2;
    ASSERT_EQ(api.cuGraphGetEdges_v2(g, from, to, told, &n), CUDA_SUCCESS);
    EXPECT_EQ(n, 1u);
    EXPECT_EQ(told[0].type, 1);
    EXPECT_EQ(told[0].from_port, 1);
    const CUgraphEdgeData unknown = {9, 0, 0, {}};
    EXPECT_EQ(api.cuGraphAddDependencies_v2(g, &b, &a, &unknown, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, aCircleCannotBeInstantiated) {
    const CUgraph g = graph();
    CUgraphNode a = nullptr, b = nullptr;
    ASSERT_EQ(api.cuGraphAddEmptyNode(&a, g, nullptr, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphAddEmptyNode(&b, g, &a, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphAddDependencies(g, &b, &a, 1), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS settings = {};
    EXPECT_EQ(api.cuGraphInstantiateWithParams(&exec, g, &settings), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(settings.result_out, 2);
    EXPECT_NE(settings.hErrNode_out, nullptr);
    EXPECT_EQ(api.cuGraphInstantiateWithFlags(&exec, g, 1 << 10), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, parametersAreReadBackAndChanged) {
    const CUdeviceptr p = upload<unsigned>({1, 10}), q = p + 4;
    const CUgraph g = graph();
    const CUgraphNode node = twice(g, p, 1);
    CUDA_KERNEL_NODE_PARAMS settings = {};
    ASSERT_EQ(api.cuGraphKernelNodeGetParams_v2(node, &settings), CUDA_SUCCESS);
    EXPECT_EQ(settings.func, function("twice"));
    EXPECT_EQ(settings.ctx, context);
    EXPECT_EQ(settings.blockDimX, 1u);
    EXPECT_EQ(*static_cast<CUdeviceptr*>(settings.kernelParams[0]), p);
    void* parameters[] = {const_cast<CUdeviceptr*>(&q)};
    settings.kernelParams = parameters;
    ASSERT_EQ(api.cuGraphKernelNodeSetParams_v2(node, &settings), CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS_v1 old = {};
    ASSERT_EQ(api.cuGraphKernelNodeGetParams(node, &old), CUDA_SUCCESS);
    EXPECT_EQ(*static_cast<CUdeviceptr*>(old.kernelParams[0]), q);
    launchAndWait(instantiate(g));
    EXPECT_EQ(download<unsigned>(p, 2), (Words{1, 20}));

    const CUgraphNode fill = filling(g, p, 3, 2);
    CUDA_MEMSET_NODE_PARAMS wanted = {};
    ASSERT_EQ(api.cuGraphMemsetNodeGetParams(fill, &wanted), CUDA_SUCCESS);
    EXPECT_EQ(wanted.value, 3u);
    EXPECT_EQ(wanted.width, 2u);
    wanted.value = 4;
    EXPECT_EQ(api.cuGraphMemsetNodeSetParams(fill, &wanted), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphMemsetNodeGetParams(node, &wanted), CUDA_ERROR_INVALID_VALUE);

    unsigned word = 0;
    const CUgraphNode copy = copying(g, toHost(&word, p, 4));
    CUDA_MEMCPY3D box = {};
    ASSERT_EQ(api.cuGraphMemcpyNodeGetParams(copy, &box), CUDA_SUCCESS);
    EXPECT_EQ(box.dstHost, &word);
    box.srcDevice = q;
    EXPECT_EQ(api.cuGraphMemcpyNodeSetParams(copy, &box), CUDA_SUCCESS);
    box.srcDevice = 0;
    EXPECT_EQ(api.cuGraphMemcpyNodeSetParams(copy, &box), CUDA_ERROR_INVALID_VALUE);

    const CUevent first = event(), second = event();
    CUgraphNode record = nullptr;
    CUevent told = nullptr;
    ASSERT_EQ(api.cuGraphAddEventRecordNode(&record, g, nullptr, 0, first), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphEventRecordNodeSetEvent(record, second), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphEventRecordNodeGetEvent(record, &told), CUDA_SUCCESS);
    EXPECT_EQ(told, second);
    EXPECT_EQ(api.cuGraphEventWaitNodeGetEvent(record, &told), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, attributesOfKernelsStay) {
    const CUgraph g = graph();
    const CUgraphNode a = twice(g, allocate(4), 1), b = twice(g, allocate(4), 1);
    constexpr CUlaunchAttributeID cooperative = 2, cluster = 4, none = 99;
    CUlaunchAttributeValue value = {};
    value.cooperative = 1;
    ASSERT_EQ(api.cuGraphKernelNodeSetAttribute(a, cooperative, &value), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphKernelNodeCopyAttributes(b, a), CUDA_SUCCESS);
    value.cooperative = 0;
    ASSERT_EQ(api.cuGraphKernelNodeGetAttribute(b, cooperative, &value), CUDA_SUCCESS);
    EXPECT_EQ(value.cooperative, 1);
    const CUgraph big = graph();
    CUdeviceptr p = allocate(4);
    void* parameters[] = {&p};
    CUDA_KERNEL_NODE_PARAMS settings = kernel("twice", 1024, parameters);
    settings.gridDimX = 1 << 20;
    CUgraphNode many = nullptr;
    ASSERT_EQ(api.cuGraphAddKernelNode_v2(&many, big, nullptr, 0, &settings), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphKernelNodeSetAttribute(many, cooperative, &value), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    value.clusterDim = {2, 1, 1};
    EXPECT_EQ(api.cuGraphKernelNodeSetAttribute(a, cluster, &value), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuGraphKernelNodeSetAttribute(a, none, &value), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, badArgumentsOfNodesAreRefused) {
    const CUgraph g = graph(), other = graph();
    CUgraphNode node = nullptr, elsewhere = nullptr;
    CUgraphConditionalHandle handle = 0;
    EXPECT_EQ(api.cuGraphConditionalHandleCreate(&handle, g, reinterpret_cast<CUcontext>(other), 0, 0),
              CUDA_ERROR_INVALID_CONTEXT);
    ASSERT_EQ(api.cuGraphAddEmptyNode(&elsewhere, other, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphAddEmptyNode(&node, g, &elsewhere, 1), CUDA_ERROR_INVALID_VALUE);
    const CUgraphNode same[] = {elsewhere, elsewhere};
    EXPECT_EQ(api.cuGraphAddEmptyNode(&node, other, same, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuGraphAddEmptyNode(&node, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuGraphAddEmptyNode(&node, g, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr p = allocate(4);
    void* parameters[] = {&p};
    CUDA_KERNEL_NODE_PARAMS settings = kernel("twice", 4096, parameters);
    EXPECT_EQ(api.cuGraphAddKernelNode_v2(&node, g, nullptr, 0, &settings), CUDA_ERROR_INVALID_VALUE);
    settings = kernel("twice", 1, parameters);
    settings.func = nullptr;
    EXPECT_EQ(api.cuGraphAddKernelNode_v2(&node, g, nullptr, 0, &settings), CUDA_ERROR_INVALID_VALUE);
    const CUDA_MEMSET_NODE_PARAMS odd = {p, 0, 0, 3, 1, 1};
    EXPECT_EQ(api.cuGraphAddMemsetNode(&node, g, nullptr, 0, &odd, context), CUDA_ERROR_INVALID_VALUE);
    const CUDA_HOST_NODE_PARAMS nothing = {};
    EXPECT_EQ(api.cuGraphAddHostNode(&node, g, nullptr, 0, &nothing), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuGraphAddChildGraphNode(&node, g, nullptr, 0, g), CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams generic = {};
    generic.type = 12;
    EXPECT_EQ(api.cuGraphAddNode_v2(&node, g, nullptr, nullptr, 0, &generic), CUDA_ERROR_NOT_SUPPORTED);
    generic.type = 77;
    EXPECT_EQ(api.cuGraphAddNode_v2(&node, g, nullptr, nullptr, 0, &generic), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(count(g), 0u);
    EXPECT_EQ(api.cuGraphDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuGraphLaunch(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, aCloneIsItsOwn) {
    const CUdeviceptr p = upload<unsigned>({1, 1}), q = p + 4;
    const CUgraph g = graph();
    const CUgraphNode node = twice(g, p, 1);
    CUgraph clone = nullptr;
    CUgraphNode found = nullptr;
    ASSERT_EQ(api.cuGraphClone(&clone, g), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphNodeFindInClone(&found, node, clone), CUDA_SUCCESS);
    ASSERT_NE(found, node);
    EXPECT_EQ(api.cuGraphNodeFindInClone(&found, node, g), CUDA_ERROR_INVALID_VALUE);
    void* parameters[] = {const_cast<CUdeviceptr*>(&q)};
    const CUDA_KERNEL_NODE_PARAMS settings = kernel("twice", 1, parameters);
    ASSERT_EQ(api.cuGraphKernelNodeSetParams_v2(found, &settings), CUDA_SUCCESS);
    launchAndWait(instantiate(g));
    launchAndWait(instantiate(clone));
    EXPECT_EQ(download<unsigned>(p, 2), (Words{2, 2}));
    ASSERT_EQ(api.cuGraphDestroy(g), CUDA_SUCCESS);
    EXPECT_EQ(count(clone), 1u);
}

TEST_F(Graphs, aChildRunsWhereItsNodeStands) {
    const CUdeviceptr p = upload<unsigned>({0});
    const CUgraph inner = graph(), g = graph();
    const CUgraphNode first = twice(inner, p, 1);
    twice(inner, p, 1, {first});
    const CUgraphNode fill = filling(g, p, 3, 1);
    CUgraphNode child = nullptr;
    ASSERT_EQ(api.cuGraphAddChildGraphNode(&child, g, &fill, 1, inner), CUDA_SUCCESS);
    twice(g, p, 1, {child});
    ASSERT_EQ(api.cuGraphDestroy(inner), CUDA_SUCCESS);  // the node has a copy
    const CUgraphExec exec = instantiate(g);
    launchAndWait(exec);
    EXPECT_EQ(download<unsigned>(p, 1), Words{24});
    // The copy's nodes are the program's to change, and to disable in what was instantiated.
    CUgraph copy = nullptr;
    CUgraphNode nodes[2] = {};
    std::size_t n = 2;
    ASSERT_EQ(api.cuGraphChildGraphNodeGetGraph(child, &copy), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphGetNodes(copy, nodes, &n), CUDA_SUCCESS);
    ASSERT_EQ(n, 2u);
    ASSERT_EQ(api.cuGraphNodeSetEnabled(exec, nodes[0], 0), CUDA_SUCCESS);
    launchAndWait(exec);
    EXPECT_EQ(download<unsigned>(p, 1), Words{12});
    EXPECT_EQ(api.cuGraphDestroy(copy), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, disabledNodesDoNothing) {
    const CUdeviceptr p = upload<unsigned>({1});
    const CUgraph g = graph();
    const CUgraphNode a = twice(g, p, 1), b = twice(g, p, 1, {a});
    CUgraphNode empty = nullptr;
    ASSERT_EQ(api.cuGraphAddEmptyNode(&empty, g, &b, 1), CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(g);
    unsigned enabled = 9;
    ASSERT_EQ(api.cuGraphNodeGetEnabled(exec, a, &enabled), CUDA_SUCCESS);
    EXPECT_EQ(enabled, 1u);
    ASSERT_EQ(api.cuGraphNodeSetEnabled(exec, a, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphNodeGetEnabled(exec, a, &enabled), CUDA_SUCCESS);
    EXPECT_EQ(enabled, 0u);
    launchAndWait(exec);
    EXPECT_EQ(download<unsigned>(p, 1), Words{2});
    ASSERT_EQ(api.cuGraphNodeSetEnabled(exec, a, 1), CUDA_SUCCESS);
    launchAndWait(exec);
    EXPECT_EQ(download<unsigned>(p, 1), Words{8});
    EXPECT_EQ(api.cuGraphNodeSetEnabled(exec, empty, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, aLaunchThatIsUnderWayKeepsItsParameters) {
    CUdeviceptr p = upload<unsigned>({1, 1}), q = p + 4;
    const CUgraph g = graph();
    const CUgraphNode wait = spinning(g, allocate(4), 5000), node = twice(g, p, 1, {wait});
    const CUgraphExec exec = instantiate(g);
    const CUstream s = stream(1);
    ASSERT_EQ(api.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    void* parameters[] = {&q};
    const CUDA_KERNEL_NODE_PARAMS settings = kernel("twice", 1, parameters);
    ASSERT_EQ(api.cuGraphExecKernelNodeSetParams_v2(exec, node, &settings), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);  // what is under way goes on
    ASSERT_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(p, 2), (Words{2, 2}));
    EXPECT_EQ(api.cuGraphLaunch(exec, s), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, anUpdateTakesOverWhatMayDiffer) {
    const CUdeviceptr p = upload<unsigned>({1, 1}), q = p + 4;
    const CUgraph g = graph(), same = graph(), longer = graph(), other = graph(), ordered = graph();
    twice(g, p, 1), filling(g, p, 3, 1);
    twice(same, q, 1), filling(same, p, 5, 1);
    twice(longer, q, 1), filling(longer, p, 5, 1), twice(longer, q, 1);
    filling(other, p, 5, 1), twice(other, q, 1);
    const CUgraphNode first = twice(ordered, q, 1), second = filling(ordered, p, 5, 1, {first});
    const CUgraphExec exec = instantiate(g);
    CUgraphExecUpdateResultInfo result = {};
    ASSERT_EQ(api.cuGraphExecUpdate_v2(exec, same, &result), CUDA_SUCCESS);
    EXPECT_EQ(result.result, 0);
    launchAndWait(exec);
    EXPECT_EQ(download<unsigned>(p, 2), (Words{5, 2}));
    EXPECT_EQ(api.cuGraphExecUpdate_v2(exec, longer, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(result.result, 2);
    EXPECT_EQ(api.cuGraphExecUpdate_v2(exec, other, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(result.result, 3);
    EXPECT_NE(result.errorNode, nullptr);
    EXPECT_EQ(api.cuGraphExecUpdate_v2(exec, ordered, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(result.result, 2);
    EXPECT_EQ(result.errorNode, second);
    EXPECT_EQ(result.errorFromNode, first);
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult old = 0;
    EXPECT_EQ(api.cuGraphExecUpdate(exec, other, &node, &old), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(old, 3);
    launchAndWait(exec);  // as before
    EXPECT_EQ(download<unsigned>(p, 2), (Words{5, 4}));
}

TEST_F(Graphs, whatWasInstantiatedIsChangedNodeByNode) {
    const CUdeviceptr p = upload<unsigned>({0, 0});
    unsigned there = 0, here = 0;
    int calls = 0;
    const CUgraph g = graph();
    const CUgraphNode fill = filling(g, p, 3, 1), copy = copying(g, toHost(&there, p, 4), {fill});
    CUgraphNode host = nullptr, record = nullptr;
    const CUDA_HOST_NODE_PARAMS nothing = {[](void*) {}, nullptr};
    ASSERT_EQ(api.cuGraphAddHostNode(&host, g, &copy, 1, &nothing), CUDA_SUCCESS);
    const CUevent early = event(), late = event();
    ASSERT_EQ(api.cuGraphAddEventRecordNode(&record, g, &host, 1, early), CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(g);
    const CUDA_MEMSET_NODE_PARAMS nine = {p, 0, 9, 4, 1, 1}, tall = {p, 4, 9, 4, 1, 2};
    const CUDA_MEMCPY3D to = toHost(&here, p, 4);
    CUDA_MEMCPY3D within = to;
    within.dstMemoryType = 2, within.dstDevice = p + 4;
    const CUDA_HOST_NODE_PARAMS counting = {[](void* data) { ++*static_cast<int*>(data); }, &calls};
    ASSERT_EQ(api.cuGraphExecMemsetNodeSetParams(exec, fill, &nine, context), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphExecMemsetNodeSetParams(exec, fill, &tall, context), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuGraphExecMemcpyNodeSetParams(exec, copy, &to, context), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphExecMemcpyNodeSetParams(exec, copy, &within, context), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuGraphExecHostNodeSetParams(exec, host, &counting), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphExecEventRecordNodeSetEvent(exec, record, late), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphExecHostNodeSetParams(exec, fill, &counting), CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeParams generic = {};
    generic.type = 3;
    generic.host = counting;
    ASSERT_EQ(api.cuGraphExecNodeSetParams(exec, host, &generic), CUDA_SUCCESS);
    launchAndWait(exec);
    EXPECT_EQ(there, 0u);
    EXPECT_EQ(here, 9u);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(api.cuEventQuery(late), CUDA_SUCCESS);
    float milliseconds = 0;
    EXPECT_EQ(api.cuEventElapsedTime(&milliseconds, late, late), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventElapsedTime(&milliseconds, early, late), CUDA_ERROR_INVALID_HANDLE);
    std::uint64_t flags = 9;
    ASSERT_EQ(api.cuGraphExecGetFlags(exec, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, 0u);
}

TEST_F(Graphs, eventsTieLaunchesToStreams) {
    const CUdeviceptr p = upload<unsigned>({1});
    const CUstream s = stream(1), other = stream(1);
    const CUevent before = event(), after = event();
    const CUgraph g = graph();
    CUgraphNode wait = nullptr, record = nullptr;
    ASSERT_EQ(api.cuGraphAddEventWaitNode(&wait, g, nullptr, 0, before), CUDA_SUCCESS);
    const CUgraphNode node = twice(g, p, 1, {wait});
    ASSERT_EQ(api.cuGraphAddEventRecordNode(&record, g, &node, 1, after), CUDA_SUCCESS);
    ASSERT_EQ(spin(p, 3000, other), CUDA_SUCCESS);  // leaves 3000 there
    ASSERT_EQ(api.cuEventRecord(before, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(instantiate(g), s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(other, after, 0), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", p, 1, 1, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(p, 1), Words{12000});
    EXPECT_GT(seconds(before, after), 0);
}

TEST_F(Graphs, memoryNodesHaveTheirPlaceAndTheirRules) {
    const CUgraph g = graph();
    CUDA_MEM_ALLOC_NODE_PARAMS settings = {};
    settings.poolProps.allocType = 1;
    settings.poolProps.location = {1, device};
    settings.bytesize = 4096;
    CUgraphNode allocation = nullptr, release = nullptr, node = nullptr;
    ASSERT_EQ(api.cuGraphAddMemAllocNode(&allocation, g, nullptr, 0, &settings), CUDA_SUCCESS);
    ASSERT_NE(settings.dptr, 0u);
    EXPECT_EQ(graphMemory(0), 0u);
    EXPECT_EQ(graphMemory(2), 4096u);
    const CUgraphNode fill = filling(g, settings.dptr, 21, 1, {allocation});
    const CUgraphNode doubled = twice(g, settings.dptr, 1, {fill});
    unsigned result = 0;
    const CUgraphNode copy = copying(g, toHost(&result, settings.dptr, 4), {doubled});
    ASSERT_EQ(api.cuGraphAddMemFreeNode(&release, g, &copy, 1, settings.dptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphAddMemFreeNode(&node, g, &copy, 1, settings.dptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuGraphAddMemFreeNode(&node, g, &copy, 1, allocate(4)), CUDA_ERROR_INVALID_VALUE);
    CUgraph clone = nullptr;
    EXPECT_EQ(api.cuGraphClone(&clone, g), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(api.cuGraphDestroyNode(release), CUDA_ERROR_NOT_SUPPORTED);
    const CUgraphExec exec = instantiate(g);
    CUgraphExec again = nullptr;
    EXPECT_EQ(api.cuGraphInstantiateWithFlags(&again, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    launchAndWait(exec);
    launchAndWait(exec);
    EXPECT_EQ(result, 42u);
    EXPECT_EQ(graphMemory(0), 0u);
    EXPECT_EQ(graphMemory(1), 4096u);
    CUdeviceptr told = 0;
    ASSERT_EQ(api.cuGraphMemFreeNodeGetParams(release, &told), CUDA_SUCCESS);
    EXPECT_EQ(told, settings.dptr);
    CUDA_MEM_ALLOC_NODE_PARAMS read = {};
    ASSERT_EQ(api.cuGraphMemAllocNodeGetParams(allocation, &read), CUDA_SUCCESS);
    EXPECT_EQ(read.bytesize, 4096u);
    EXPECT_EQ(read.dptr, settings.dptr);
    ASSERT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphDestroy(g), CUDA_SUCCESS);
    EXPECT_EQ(graphMemory(2), 0u);
    std::uint64_t zero = 0, one = 1;
    EXPECT_EQ(api.cuDeviceSetGraphMemAttribute(device, 1, &zero), CUDA_SUCCESS);
    EXPECT_EQ(graphMemory(1), 0u);
    EXPECT_EQ(api.cuDeviceSetGraphMemAttribute(device, 1, &one), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuDeviceSetGraphMemAttribute(device, 0, &zero), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuDeviceGraphMemTrim(device), CUDA_SUCCESS);
}

TEST_F(Graphs, memoryThatALaunchLeavesMustBeFreedBeforeTheNext) {
    const CUgraph g = graph();
    CUDA_MEM_ALLOC_NODE_PARAMS settings = {};
    settings.poolProps.location = {1, device};
    settings.bytesize = 256;
    CUgraphNode allocation = nullptr;
    ASSERT_EQ(api.cuGraphAddMemAllocNode(&allocation, g, nullptr, 0, &settings), CUDA_SUCCESS);
    filling(g, settings.dptr, 6, 1, {allocation});
    CUgraphExec exec = instantiate(g);
    EXPECT_EQ(api.cuMemFree(settings.dptr), CUDA_ERROR_INVALID_VALUE);  // not allocated yet
    launchAndWait(exec);
    EXPECT_EQ(graphMemory(0), 256u);
    EXPECT_EQ(download<unsigned>(settings.dptr, 1), Words{6});
    EXPECT_EQ(api.cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuMemFreeAsync(settings.dptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(graphMemory(0), 0u);
    launchAndWait(exec);
    ASSERT_EQ(api.cuMemFree(settings.dptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    exec = instantiate(g, 1);  // frees by itself
    launchAndWait(exec);
    launchAndWait(exec);
    ASSERT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphDestroy(g), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(settings.dptr, 1), Words{6});  // still the program's
    ASSERT_EQ(api.cuMemFree(settings.dptr), CUDA_SUCCESS);
    EXPECT_EQ(graphMemory(2), 0u);
}

TEST_F(Graphs, userObjectsLiveAsLongAsGraphsHoldThem) {
    int gone = 0;
    const CUhostFn note = [](void* data) { ++*static_cast<int*>(data); };
    CUuserObject object = nullptr;
    EXPECT_EQ(api.cuUserObjectCreate(&object, &gone, note, 1, 0), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuUserObjectCreate(&object, &gone, note, 1, 1), CUDA_SUCCESS);
    const CUgraph g = graph();
    ASSERT_EQ(api.cuUserObjectRetain(object, 2), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphRetainUserObject(g, object, 1, 1), CUDA_SUCCESS);  // moves one there
    EXPECT_EQ(api.cuGraphReleaseUserObject(g, object, 2), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuUserObjectRelease(object, 2), CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(g);
    ASSERT_EQ(api.cuGraphDestroy(g), CUDA_SUCCESS);
    EXPECT_EQ(gone, 0);
    ASSERT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(gone, 1);
    EXPECT_EQ(api.cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, anUpdateTakesTheUserObjectsOver) {
    int gone[2] = {};
    CUgraph graphs[2];
    for (int i = 0; i < 2; ++i) {
        CUuserObject object = nullptr;
        graphs[i] = graph();
        ASSERT_EQ(api.cuUserObjectCreate(
                      &object, &gone[i], [](void* data) { ++*static_cast<int*>(data); }, 1, 1),
                  CUDA_SUCCESS);
        ASSERT_EQ(api.cuGraphRetainUserObject(graphs[i], object, 1, 1), CUDA_SUCCESS);
    }
    const CUgraphExec exec = instantiate(graphs[0]);
    ASSERT_EQ(api.cuGraphDestroy(graphs[0]), CUDA_SUCCESS);
    EXPECT_EQ(gone[0], 0);
    CUgraphExecUpdateResultInfo result = {};
    ASSERT_EQ(api.cuGraphExecUpdate_v2(exec, graphs[1], &result), CUDA_SUCCESS);
    EXPECT_EQ(gone[0], 1);
    ASSERT_EQ(api.cuGraphDestroy(graphs[1]), CUDA_SUCCESS);
    EXPECT_EQ(gone[1], 0);
    ASSERT_EQ(api.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(gone[1], 1);
}

TEST_F(Graphs, aDrawingNamesNodesAndEdges) {
    TemporaryDirectory folder;
    const CUgraph g = graph();
    const CUgraphNode fill = filling(g, allocate(4), 1, 1);
    twice(g, allocate(4), 1, {fill});
    const std::string path = (folder / "graph.dot").string();
    ASSERT_EQ(api.cuGraphDebugDotPrint(g, path.c_str(), 0), CUDA_SUCCESS);
    const std::string text = readFile(path);
    EXPECT_NE(text.find("digraph"), std::string::npos);
    EXPECT_NE(text.find("MEMSET"), std::string::npos);
    EXPECT_NE(text.find("twice<<<1x1x1, 1x1x1, 0>>>"), std::string::npos) << text;
    EXPECT_NE(text.find("\"graph_0_node_0\" -> \"graph_0_node_1\""), std::string::npos);
    EXPECT_EQ(api.cuGraphDebugDotPrint(g, "/nonexistent/graph.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
}

TEST_F(Graphs, aKernelsFaultIsFoundWhereTheLaunchIsWaitedFor) {
    const CUgraph g = graph();
    CUdeviceptr p = allocate(4);
    void* parameters[] = {&p};
    const CUDA_KERNEL_NODE_PARAMS settings = kernel("wild", 1, parameters);
    CUgraphNode node = nullptr;
    ASSERT_EQ(api.cuGraphAddKernelNode_v2(&node, g, nullptr, 0, &settings), CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(g);
    ASSERT_EQ(api.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(api.cuGraphLaunch(exec, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Graphs, whatALaunchNeedsMustStillBeThere) {
    const CUgraph g = graph();
    const CUdeviceptr p = allocate(4);
    filling(g, p, 1, 1);
    const CUgraphExec exec = instantiate(g);
    ASSERT_EQ(api.cuMemFree(p), CUDA_SUCCESS);
    EXPECT_EQ(api.cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace bulkhead::driver
