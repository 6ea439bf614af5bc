// Streams that are captured: what they are told becomes nodes of a graph, and what has no place there breaks the
// capture. The rules are those of "Stream Management" and "Graph Management" in CUDA's driver API.

#include <algorithm>
#include <set>

#include "driver/graph.h"

namespace bulkhead::driver {
namespace {

constexpr CUstreamCaptureMode kGlobal = 0, kRelaxed = 2;
constexpr CUstreamCaptureStatus kNotCaptured = 0, kCaptureActive = 1, kCaptureInvalidated = 2;
constexpr unsigned kAddDependencies = 0, kSetDependencies = 1;

thread_local CUstreamCaptureMode modeOfThread = kGlobal;

[[noreturn]] void breakCapture(Capture& capture, CUresult code, const char* why) {
    const bool broken = capture.invalidated;
    capture.invalidated = true;
    if (broken) throw Failure{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call has broken the capture"};
    throw Failure{code, why};
}

template <class Visit>
void forEachBlockingStream(CUcontext context, Visit&& visit) {
    for (const auto& [thread, stream] : context->perThread) visit(stream.get());
    for (const auto& stream : context->streams)
        if (stream->blocking) visit(stream.get());
}

void setPlace(CapturedPlace& place, CUgraphNode node) {
    place.nodes = {node};
    place.edges = {{}};
}

void extend(CapturedPlace& place, std::span<const CUgraphNode> nodes, const CUgraphEdgeData* data) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (std::find(place.nodes.begin(), place.nodes.end(), nodes[i]) != place.nodes.end()) continue;
        place.nodes.push_back(nodes[i]);
        place.edges.push_back(data ? data[i] : CUgraphEdgeData{});
    }
}

void beginCapture(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, std::span<const CUgraphNode> dependencies,
                  const CUgraphEdgeData* data) {
    require(mode >= kGlobal && mode <= kRelaxed, CUDA_ERROR_INVALID_VALUE, "no such mode of capturing");
    require(stream != stream->context->null.get(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            "the legacy default stream cannot be captured");
    require(!stream->captured.capture, CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured already");
    auto capture = std::make_shared<Capture>();
    capture->id = state().nextId++;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->ownsGraph = graph == nullptr;
    capture->graph = graph ? graph : rememberGraph(newGraph(true));
    capture->origin = stream;
    capture->streams = {stream};
    stream->captured = {capture, {}, {}};
    extend(stream->captured, dependencies, data);
    state().captures.push_back(std::move(capture));
}

void finishCapture(Capture& capture) {
    capture.over = true;
    for (CUstream stream : capture.streams) stream->captured = {};
    std::erase_if(state().captures, [&](const auto& one) { return one.get() == &capture; });
}

/// Every stream that was drawn in must have come back: the origin's next node would come after all they hold.
bool joined(const Capture& capture) {
    std::set<CUgraphNode> before;
    std::vector<CUgraphNode> open = capture.origin->captured.nodes;
    while (!open.empty()) {
        CUgraphNode node = open.back();
        open.pop_back();
        if (!before.insert(node).second) continue;
        for (const auto& edge : node->dependencies) open.push_back(edge.from);
    }
    std::vector<CUgraphNode> last = capture.left;
    for (CUstream stream : capture.streams)
        last.insert(last.end(), stream->captured.nodes.begin(), stream->captured.nodes.end());
    return std::all_of(last.begin(), last.end(), [&](CUgraphNode node) { return before.count(node) != 0; });
}

CUgraph endCapture(CUstream stream) {
    const std::shared_ptr<Capture> capture = stream->captured.capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
    if (capture->origin != stream)
        breakCapture(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture did not begin in this stream");
    require(capture->mode == kRelaxed || capture->thread == std::this_thread::get_id(),
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began in another thread");
    const bool complete = joined(*capture), valid = !capture->invalidated;
    finishCapture(*capture);
    if (complete && valid) return capture->graph;
    if (capture->ownsGraph) destroyGraph(capture->graph);
    require(valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call has broken the capture");
    throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream that was drawn in has work that nothing waits for"};
}

/// The captured nodes that a stream's next one waits for because of an event.
void join(CUstream stream, const CapturedPlace& event) {
    if (!stream->captured.capture) {
        stream->captured = {event.capture, {}, {}};
        event.capture->streams.push_back(stream);
    }
    extend(stream->captured, event.nodes, event.edges.data());
}

CUstreamCaptureStatus statusOf(CUstream stream) {
    const auto& capture = stream->captured.capture;
    if (!capture) return kNotCaptured;
    return capture->invalidated ? kCaptureInvalidated : kCaptureActive;
}

/// A stream that is asked about. The legacy default one has no answer while one that it waits for is captured, but a
/// question breaks no capture.
CUstream asked(CUstream stream) {
    CUstream on = streamOf(current(), stream);
    if (on != on->context->null.get()) return on;
    forEachBlockingStream(on->context, [](CUstream other) {
        require(!other->captured.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                "the legacy default stream waits for one that is being captured");
    });
    return on;
}

CUresult captureInfo(CUstream stream, CUstreamCaptureStatus* status, std::uint64_t* id, CUgraph* graph,
                     const CUgraphNode** nodes, const CUgraphEdgeData** edges, std::size_t* count, bool losesEdges) {
    return call([&] {
        requireOutput(status);
        CUstream on = asked(stream);
        *status = statusOf(on);
        if (*status != kCaptureActive) return;
        const CapturedPlace& place = on->captured;
        if (losesEdges)
            for (const CUgraphEdgeData& edge : place.edges)
                require(edge.type == 0 && edge.from_port == 0, CUDA_ERROR_LOSSY_QUERY,
                        "an edge of another kind than the ordinary one");
        if (id) *id = place.capture->id;
        if (graph) *graph = place.capture->graph;
        if (nodes) *nodes = place.nodes.data();
        if (edges) *edges = place.edges.data();
        if (count) *count = place.nodes.size();
    });
}

}  // namespace

bool capturing(CUstream stream) {
    const auto& capture = stream->captured.capture;
    if (!capture) return false;
    require(!capture->invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call has broken the capture");
    return true;
}

void requireNotCapturing(CUstream stream) {
    if (stream->captured.capture)
        breakCapture(*stream->captured.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                     "not possible in a stream that is being captured");
    if (state().captures.empty() || stream != stream->context->null.get()) return;
    forEachBlockingStream(stream->context, [](CUstream other) {
        if (other->captured.capture)
            breakCapture(*other->captured.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                         "the legacy default stream waits for one that is being captured");
    });
}

void requireNoneCapturing(CUcontext context) {
    for (const auto& capture : state().captures)
        for (CUstream stream : capture->streams)
            if (stream->context == context)
                breakCapture(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                             "the context has a stream that is being captured");
}

void requireSafe() {
    if (modeOfThread == kRelaxed) return;
    for (const auto& capture : state().captures) {
        const bool own = capture->thread == std::this_thread::get_id() && capture->mode != kRelaxed;
        if (own || (modeOfThread == kGlobal && capture->mode == kGlobal))
            breakCapture(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not safe while a stream is being captured");
    }
}

void requireNotCaptured(CUevent event) {
    if (const auto& capture = event->captured.capture) {
        require(!capture->over && !capture->invalidated, CUDA_ERROR_INVALID_VALUE,
                "an event of a capture that has ended");
        capture->invalidated = true;
        throw Failure{CUDA_ERROR_CAPTURED_EVENT, "an event that was captured into a graph"};
    }
    requireSafe();
}

void dropCapture(CUstream stream) {
    const std::shared_ptr<Capture> capture = stream->captured.capture;
    if (!capture) return;
    capture->left.insert(capture->left.end(), stream->captured.nodes.begin(), stream->captured.nodes.end());
    stream->captured = {};
    std::erase(capture->streams, stream);
    if (capture->origin != stream) return;
    capture->invalidated = true;
    finishCapture(*capture);
    if (capture->ownsGraph) destroyGraph(capture->graph);
}

void captureOperation(CUstream stream, Operation operation) {
    CapturedPlace& place = stream->captured;
    if (auto* child = std::get_if<ChildNode>(&operation)) child->graph->outer = place.capture->graph;
    setPlace(place, addNode(place.capture->graph, place.nodes, place.edges.data(), std::move(operation)));
}

bool captureKernel(CUstream stream, KernelWork work) {
    if (!capturing(stream)) return false;
    requireNoEvents(work.attributes);
    keepPriority(work, stream->priority);
    captureOperation(stream, std::move(work));
    return true;
}

bool captureCopy(CUcontext context, CUstream stream, const CUDA_MEMCPY3D& copy) {
    if (!capturing(stream)) return false;
    captureOperation(stream, CopyNode{context, copy});
    return true;
}

bool captureFill(CUcontext context, CUstream stream, const CUDA_MEMSET_NODE_PARAMS& fill) {
    if (!capturing(stream)) return false;
    captureOperation(stream, FillNode{context, fill});
    return true;
}

bool captureHostFunction(CUstream stream, CUhostFn function, void* data) {
    if (!capturing(stream)) return false;
    captureOperation(stream, HostNode{{function, data}});
    return true;
}

bool captureRecord(CUstream stream, CUevent event, bool external) {
    if (!capturing(stream)) return false;
    if (external)
        captureOperation(stream, EventNode{true, event});
    else
        event->captured = stream->captured;
    return true;
}

bool captureWait(CUstream stream, CUevent event, bool external) {
    const std::shared_ptr<Capture> own = stream->captured.capture;
    if (external && capturing(stream)) {
        captureOperation(stream, EventNode{false, event});
        return true;
    }
    const std::shared_ptr<Capture>& other = event->captured.capture;
    if (!other) {
        if (!capturing(stream)) return false;
        if (event->marker)
            breakCapture(*own, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                         "a captured stream cannot wait for work that is not captured");
        return true;
    }
    require(!other->over, CUDA_ERROR_INVALID_VALUE, "an event of a capture that has ended");
    require(!other->invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call has broken the capture");
    if (stream == stream->context->null.get())
        breakCapture(*other, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                     "the legacy default stream cannot wait for captured work");
    if (own && own != other) {
        own->invalidated = true;
        breakCapture(*other, CUDA_ERROR_STREAM_CAPTURE_MERGE, "two captures would become one");
    }
    join(stream, event->captured);
    return true;
}

std::optional<CUdeviceptr> captureAllocation(CUcontext context, CUstream stream, Bytes bytes) {
    if (!capturing(stream)) return std::nullopt;
    AllocationNode node = newAllocation(context, bytes);
    const CUdeviceptr address = node.memory->address;
    captureOperation(stream, std::move(node));
    return address;
}

bool captureRelease(CUcontext context, CUstream stream, CUdeviceptr address) {
    if (!capturing(stream)) return false;
    CUgraphNodeParams settings = {};
    settings.type = static_cast<CUgraphNodeType>(NodeType::release);
    settings.free = address;
    static_cast<void>(context);
    captureOperation(stream, operationOf(stream->captured.capture->graph, settings));
    return true;
}

namespace simulated {

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    return call([&] { beginCapture(streamOf(current(), stream), mode, nullptr, {}, nullptr); });
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* data, std::size_t count, CUstreamCaptureMode mode) {
    return call([&] {
        CUstream on = streamOf(current(), stream);
        beginCapture(on, mode, graph, dependenciesOf(knownGraph(graph), dependencies, count), data);
    });
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    return call([&] {
        CUstream on = streamOf(current(), stream);
        const auto& capture = on->captured.capture;
        require(graph || (capture && !capture->ownsGraph), CUDA_ERROR_INVALID_VALUE, "no place for the graph");
        CUgraph ignored = nullptr;
        CUgraph& made = graph ? *graph : ignored;
        made = nullptr;
        made = endCapture(on);
    });
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return captureInfo(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr, false);
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, std::uint64_t* id) {
    return captureInfo(stream, status, id, nullptr, nullptr, nullptr, nullptr, false);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, std::uint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, std::size_t* count) {
    return captureInfo(stream, status, id, graph, dependencies, nullptr, count, dependencies != nullptr);
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, std::uint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                                   std::size_t* count) {
    return captureInfo(stream, status, id, graph, dependencies, edges, count, dependencies && !edges);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData* data,
                                              std::size_t count, unsigned flags) {
    return call([&] {
        CUstream on = streamOf(current(), stream);
        require(flags == kAddDependencies || flags == kSetDependencies, CUDA_ERROR_INVALID_VALUE, "unknown flags");
        require(on->captured.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
        capturing(on);
        const std::vector<CUgraphNode> nodes = dependenciesOf(on->captured.capture->graph, dependencies, count);
        if (flags == kSetDependencies) on->captured.nodes.clear(), on->captured.edges.clear();
        extend(on->captured, nodes, data);
    });
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, std::size_t count,
                                           unsigned flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return call([&] {
        requireOutput(mode);
        require(*mode >= kGlobal && *mode <= kRelaxed, CUDA_ERROR_INVALID_VALUE, "no such mode of capturing");
        std::swap(*mode, modeOfThread);
    });
}

}  // namespace simulated
}  // namespace bulkhead::driver
