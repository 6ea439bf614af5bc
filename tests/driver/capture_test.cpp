#include <thread>

#include "graph_support.h"

namespace bulkhead::driver {
namespace {

using Words = std::vector<unsigned>;
constexpr CUstreamCaptureMode kGlobal = 0, kThreadLocal = 1, kRelaxed = 2;

class Captures : public GraphTest {
  protected:
    CUstreamCaptureStatus statusOf(CUstream s) const {
        CUstreamCaptureStatus status = 9;
        EXPECT_EQ(api.cuStreamIsCapturing(s, &status), CUDA_SUCCESS);
        return status;
    }
    CUgraph endOf(CUstream s) const {
        CUgraph made = nullptr;
        EXPECT_EQ(api.cuStreamEndCapture(s, &made), CUDA_SUCCESS) << simulatorApi().lastError();
        return made;
    }
    /// The capture must have been broken by what came before.
    void expectBroken(CUstream s) const {
        CUgraph made = nullptr;
        EXPECT_EQ(statusOf(s), 2);
        EXPECT_EQ(launch("twice", allocateAnyway(), 1, 1, s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(api.cuStreamEndCapture(s, &made), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(made, nullptr);
        EXPECT_EQ(statusOf(s), 0);
    }
    CUdeviceptr word = 0;
    CUdeviceptr allocateAnyway() const { return word; }
    void SetUp() override {
        GraphTest::SetUp();
        word = upload<unsigned>({1});
    }
};

TEST_F(Captures, callsBecomeNodesAndNothingRuns) {
    unsigned result = 0;
    int calls = 0;
    const CUstream s = stream(1);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    EXPECT_EQ(statusOf(s), 1);
    ASSERT_EQ(api.cuMemsetD32Async(word, 5, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", word, 1, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyDtoHAsync(&result, word, 4, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLaunchHostFunc(
                  s, [](void* data) { ++*static_cast<int*>(data); }, &calls),
              CUDA_SUCCESS);
    const CUgraph g = endOf(s);
    EXPECT_EQ(statusOf(s), 0);
    EXPECT_EQ(result, 0u);
    EXPECT_EQ(download<unsigned>(word, 1), Words{1});
    CUgraphNode nodes[5] = {};
    std::size_t n = 5;
    ASSERT_EQ(api.cuGraphGetNodes(g, nodes, &n), CUDA_SUCCESS);
    ASSERT_EQ(n, 4u);
    EXPECT_EQ(typeOf(nodes[0]), 2);
    EXPECT_EQ(typeOf(nodes[1]), 0);
    EXPECT_EQ(typeOf(nodes[2]), 1);
    EXPECT_EQ(typeOf(nodes[3]), 3);
    launchAndWait(instantiate(g), s);
    EXPECT_EQ(result, 10u);
    EXPECT_EQ(calls, 1);
}

TEST_F(Captures, pageableMemoryIsReadWhenTheGraphRuns) {
    unsigned source = 3;
    const CUstream s = stream(1);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyHtoDAsync(word, &source, 4, s), CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(endOf(s));
    source = 4;
    launchAndWait(exec, s);
    EXPECT_EQ(download<unsigned>(word, 1), Words{4});
}

TEST_F(Captures, aForkAndAJoinBecomeBranches) {
    const CUdeviceptr p = allocate(8);
    const CUstream s = stream(1), other = stream(1);
    const CUevent fork = event(), join = event();
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemsetD32Async(p, 0, 2, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(fork, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
    EXPECT_EQ(statusOf(other), 1);
    ASSERT_EQ(spin(p, 20000, s), CUDA_SUCCESS);
    ASSERT_EQ(spin(p + 4, 20000, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(join, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(s, join, 0), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", p, 1, 2, s), CUDA_SUCCESS);
    const CUgraph g = endOf(s);
    EXPECT_EQ(statusOf(other), 0);
    std::size_t edges = 0;
    ASSERT_EQ(api.cuGraphGetEdges(g, nullptr, nullptr, &edges), CUDA_SUCCESS);
    EXPECT_EQ(count(g), 4u);
    EXPECT_EQ(edges, 4u);
    const double both = launchSeconds(instantiate(g));
    EXPECT_EQ(download<unsigned>(p, 2), (Words{40000, 40000}));
    const CUgraph alone = graph();
    spinning(alone, p, 20000);
    EXPECT_LT(both, 1.2 * launchSeconds(instantiate(alone)));
    // An event of a capture is none of a stream's; the codes are those of an H200.
    EXPECT_EQ(api.cuEventSynchronize(join), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuStreamWaitEvent(other, join, 0), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuEventRecord(join, other), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventSynchronize(join), CUDA_SUCCESS);
}

TEST_F(Captures, aBranchThatIsNotJoinedEndsTheCaptureInVain) {
    const CUstream s = stream(1), other = stream(1);
    const CUevent fork = event();
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", word, 1, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(fork, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", word, 1, 1, other), CUDA_SUCCESS);
    CUgraph g = nullptr;
    EXPECT_EQ(api.cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(g, nullptr);
    EXPECT_EQ(statusOf(s), 0);
    EXPECT_EQ(statusOf(other), 0);
}

TEST_F(Captures, aStreamMayBeDestroyedOnceItIsJoined) {
    for (const bool joined : {true, false}) {
        const CUstream s = stream(1), other = stream(1);
        const CUevent fork = event(), join = event();
        ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
        ASSERT_EQ(api.cuEventRecord(fork, s), CUDA_SUCCESS);
        ASSERT_EQ(api.cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
        ASSERT_EQ(launch("twice", word, 1, 1, other), CUDA_SUCCESS);
        ASSERT_EQ(api.cuEventRecord(join, other), CUDA_SUCCESS);
        if (joined) {
            ASSERT_EQ(api.cuStreamWaitEvent(s, join, 0), CUDA_SUCCESS);
        }
        ASSERT_EQ(api.cuStreamDestroy(other), CUDA_SUCCESS);
        ASSERT_EQ(api.cuEventDestroy(join), CUDA_SUCCESS);
        CUgraph g = nullptr;
        EXPECT_EQ(api.cuStreamEndCapture(s, &g), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
}

TEST_F(Captures, whatHasNoPlaceInAGraphBreaksTheCapture) {
    const CUstream s = stream(0), free = stream(1);
    const CUevent e = event();
    const auto begin = [&](CUstream in) { ASSERT_EQ(api.cuStreamBeginCapture(in, kGlobal), CUDA_SUCCESS); };
    begin(s);
    EXPECT_EQ(api.cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(s);
    begin(s);
    EXPECT_EQ(api.cuStreamSynchronize(free), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);  // as an H200 does
    expectBroken(s);
    begin(s);
    EXPECT_EQ(api.cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(s);
    begin(s);
    EXPECT_EQ(api.cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(s);
    begin(s);
    CUstreamCaptureStatus status = 0;
    EXPECT_EQ(api.cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(statusOf(s), 1);  // a question breaks nothing
    EXPECT_EQ(launch("twice", word, 1, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    expectBroken(s);
    begin(s);
    unsigned value = 0;
    EXPECT_EQ(api.cuMemcpyDtoH(&value, word, 4), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    expectBroken(s);
    begin(free);
    EXPECT_EQ(api.cuMemcpyDtoH(&value, word, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(free);
    begin(free);
    EXPECT_EQ(launch("twice", word, 1, 1, nullptr), CUDA_SUCCESS);  // does not wait for the default stream
    EXPECT_EQ(statusOf(free), 1);
    CUdeviceptr p = 0;
    EXPECT_EQ(api.cuMemAlloc(&p, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(free);
    begin(free);
    ASSERT_EQ(api.cuEventRecord(e, free), CUDA_SUCCESS);
    EXPECT_EQ(api.cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT);
    expectBroken(free);
    begin(free);
    EXPECT_EQ(api.cuStreamAddCallback(
                  free, [](CUstream, CUresult, void*) {}, nullptr, 0),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(free);
}

TEST_F(Captures, waitsThatWouldReachOutsideBreakTheCapture) {
    const CUstream a = stream(1), b = stream(1);
    const CUevent outside = event(), inA = event(), never = event();
    ASSERT_EQ(api.cuEventRecord(outside, b), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamBeginCapture(a, kGlobal), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamWaitEvent(a, never, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamWaitEvent(a, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    expectBroken(a);
    ASSERT_EQ(api.cuStreamBeginCapture(a, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamBeginCapture(b, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(inA, a), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamWaitEvent(b, inA, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    expectBroken(a);
    expectBroken(b);
    ASSERT_EQ(api.cuStreamBeginCapture(a, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(inA, a), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamWaitEvent(nullptr, inA, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    expectBroken(a);
}

TEST_F(Captures, captureBeginsAndEndsWhereItMay) {
    const CUstream s = stream(1), other = stream(1);
    const CUevent e = event();
    CUgraph g = nullptr;
    EXPECT_EQ(api.cuStreamBeginCapture(nullptr, kGlobal), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(api.cuStreamBeginCapture(s, 3), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_ERROR_ILLEGAL_STATE);
    CUresult elsewhere = CUDA_SUCCESS;
    std::thread([&] {
        api.cuCtxSetCurrent(context);
        CUgraph none = nullptr;
        elsewhere = api.cuStreamEndCapture(s, &none);
    }).join();
    EXPECT_EQ(elsewhere, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    ASSERT_EQ(api.cuEventRecord(e, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(other, e, 0), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamEndCapture(other, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    expectBroken(s);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kRelaxed), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamDestroy(s), CUDA_SUCCESS);  // and the capture with it
    CUdeviceptr p = 0;
    EXPECT_EQ(api.cuMemAlloc(&p, 4), CUDA_SUCCESS);
}

TEST_F(Captures, modesSayWhomUnsafeCallsAreForbidden) {
    const CUstream s = stream(1);
    const auto allocated = [&] {
        CUdeviceptr p = 0;
        return api.cuMemAlloc(&p, 4);
    };
    const auto elsewhere = [&] {
        CUresult result = CUDA_SUCCESS;
        std::thread([&] {
            api.cuCtxSetCurrent(context);
            result = allocated();
        }).join();
        return result;
    };
    ASSERT_EQ(api.cuStreamBeginCapture(s, kRelaxed), CUDA_SUCCESS);
    EXPECT_EQ(allocated(), CUDA_SUCCESS);
    endOf(s);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kThreadLocal), CUDA_SUCCESS);
    EXPECT_EQ(elsewhere(), CUDA_SUCCESS);
    EXPECT_EQ(allocated(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(s);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    CUstreamCaptureMode mode = kRelaxed;
    ASSERT_EQ(api.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, kGlobal);
    EXPECT_EQ(allocated(), CUDA_SUCCESS);
    ASSERT_EQ(api.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, kRelaxed);
    EXPECT_EQ(elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expectBroken(s);
}

TEST_F(Captures, theStateOfACaptureIsToldAndSet) {
    const CUstream s = stream(1);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", word, 1, 1, s), CUDA_SUCCESS);
    CUstreamCaptureStatus status = 0;
    std::uint64_t id = 0, again = 0;
    CUgraph g = nullptr;
    const CUgraphNode* nodes = nullptr;
    const CUgraphEdgeData* edges = nullptr;
    std::size_t n = 0;
    ASSERT_EQ(api.cuStreamGetCaptureInfo_v3(s, &status, &id, &g, &nodes, &edges, &n), CUDA_SUCCESS);
    EXPECT_EQ(status, 1);
    ASSERT_EQ(n, 1u);
    EXPECT_EQ(typeOf(nodes[0]), 0);
    ASSERT_EQ(api.cuStreamGetCaptureInfo(s, &status, &again), CUDA_SUCCESS);
    EXPECT_EQ(again, id);
    EXPECT_NE(id, 0u);
    // A node beside, which the next one shall come after as well.
    CUgraphNode beside = filling(g, word, 1, 1);
    ASSERT_EQ(api.cuStreamUpdateCaptureDependencies(s, &beside, 1, 0), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamGetCaptureInfo_v2(s, &status, nullptr, nullptr, &nodes, &n), CUDA_SUCCESS);
    EXPECT_EQ(n, 2u);
    ASSERT_EQ(api.cuStreamUpdateCaptureDependencies_v2(s, &beside, nullptr, 1, 1), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamGetCaptureInfo_v2(s, &status, nullptr, nullptr, &nodes, &n), CUDA_SUCCESS);
    ASSERT_EQ(n, 1u);
    EXPECT_EQ(nodes[0], beside);
    EXPECT_EQ(endOf(s), g);
    EXPECT_EQ(api.cuStreamUpdateCaptureDependencies(s, &beside, 1, 0), CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(Captures, streamOrderedMemoryBecomesMemoryNodes) {
    const CUstream s = stream(1);
    unsigned result = 0;
    CUdeviceptr p = 0;
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemAllocAsync(&p, 64, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemsetD32Async(p, 33, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuMemcpyDtoHAsync(&result, p, 4, s), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemFreeAsync(word, s), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(api.cuMemFreeAsync(p, s), CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(endOf(s));
    launchAndWait(exec, s);
    launchAndWait(exec, s);
    EXPECT_EQ(result, 33u);
    EXPECT_EQ(graphMemory(0), 0u);
}

TEST_F(Captures, externalEventsBecomeNodes) {
    const CUstream s = stream(1), other = stream(1);
    const CUevent before = event(), after = event();
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuStreamWaitEvent(s, before, 1), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", word, 1, 1, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecordWithFlags(after, s, 1), CUDA_SUCCESS);
    const CUgraph g = endOf(s);
    EXPECT_EQ(count(g), 3u);
    ASSERT_EQ(spin(word, 700, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventRecord(before, other), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(instantiate(g), s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuEventSynchronize(after), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(word, 1), Words{1400});
}

TEST_F(Captures, aLaunchOfAGraphBecomesAChild) {
    const CUgraph inner = graph();
    twice(inner, word, 1);
    const CUgraphExec exec = instantiate(inner);
    const CUstream s = stream(1);
    ASSERT_EQ(api.cuStreamBeginCapture(s, kGlobal), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    ASSERT_EQ(api.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    const CUgraph g = endOf(s);
    CUgraphNode node = nullptr;
    std::size_t n = 1;
    ASSERT_EQ(api.cuGraphGetRootNodes(g, &node, &n), CUDA_SUCCESS);
    EXPECT_EQ(typeOf(node), 4);
    launchAndWait(instantiate(g), s);
    EXPECT_EQ(download<unsigned>(word, 1), Words{4});
}

TEST_F(Captures, aThreadsOwnDefaultStreamIsCaptured) {
    ASSERT_EQ(api.cuStreamBeginCapture(kPerThreadStream, kThreadLocal), CUDA_SUCCESS);
    ASSERT_EQ(launch("twice", word, 1, 1, kPerThreadStream), CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(endOf(kPerThreadStream));
    launchAndWait(exec, kPerThreadStream);
    EXPECT_EQ(download<unsigned>(word, 1), Words{2});
}

}  // namespace
}  // namespace bulkhead::driver
