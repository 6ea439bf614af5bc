#include "walls/walled_graphs.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "walls/walled_calls.h"

namespace bulkhead::walls {

using driver::CUdeviceptr;
using driver::CUgraph;
using driver::CUgraphExec;
using driver::CUgraphNode;
using driver::CUstream;

namespace {

constexpr driver::CUstreamCaptureMode kRelaxed = 2;
constexpr unsigned kNoDestructorSync = 1, kMove = 1;

/// While it lives, calls that a capture in this thread forbids are allowed: they are the walls' own.
class Unhindered {
  public:
    explicit Unhindered(const driver::DriverApi& api) : api_(api) { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
    ~Unhindered() { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
    Unhindered(const Unhindered&) = delete;
    Unhindered& operator=(const Unhindered&) = delete;

  private:
    const driver::DriverApi& api_;
    driver::CUstreamCaptureMode mode_ = kRelaxed;
};

}  // namespace

struct WalledGraphs::Memory {
    std::mutex mutex;
    std::set<CUdeviceptr> live;
    std::vector<CUdeviceptr> ended;
};

// Captures.

bool WalledGraphs::isCaptured(CUstream stream) const {
    if (origins_.empty()) return false;
    driver::CUstreamCaptureStatus status = 0;
    return walled_.inner_.cuStreamIsCapturing(stream, &status) == driver::CUDA_SUCCESS && status != 0;
}

void WalledGraphs::begin(CUstream stream, driver::CUstreamCaptureMode mode) {
    check(walled_.inner_.cuStreamBeginCapture(stream, mode));
    origins_.insert(stream);
}

void WalledGraphs::beginInto(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                             const driver::CUgraphEdgeData* data, std::size_t count, driver::CUstreamCaptureMode mode) {
    check(walled_.inner_.cuStreamBeginCaptureToGraph(stream, graph, dependencies, data, count, mode));
    origins_.insert(stream);
}

CUgraph WalledGraphs::end(CUstream stream) {
    driver::CUstreamCaptureStatus status = 0;
    std::uint64_t id = 0;
    if (walled_.inner_.cuStreamGetCaptureInfo(stream, &status, &id) == driver::CUDA_SUCCESS) lastLaunch_.erase(id);
    CUgraph graph = nullptr;
    const driver::CUresult result = walled_.inner_.cuStreamEndCapture(stream, &graph);
    if (!isCaptured(stream)) origins_.erase(stream);
    check(result);
    return graph;
}

void WalledGraphs::leave(CUstream stream) {
    origins_.erase(stream);
    std::erase_if(lastLaunch_, [&](const auto& entry) { return entry.second == stream; });
}

void WalledGraphs::takeTurn(CUstream stream) {
    driver::CUstreamCaptureStatus status = 0;
    std::uint64_t id = 0;
    check(walled_.inner_.cuStreamGetCaptureInfo(stream, &status, &id));
    const auto [last, isFirst] = lastLaunch_.try_emplace(id, stream);
    if (!isFirst && last->second != stream && isCaptured(last->second)) walled_.wait(stream, last->second);
    last->second = stream;
}

CUdeviceptr WalledGraphs::memoryFor(CUstream stream, Bytes bytes) {
    const driver::DriverApi& api = walled_.inner_;
    const Unhindered unhindered(api);
    freeEnded();
    if (!memory_) memory_ = std::make_shared<Memory>();
    driver::CUstreamCaptureStatus status = 0;
    std::uint64_t id = 0;
    CUgraph graph = nullptr;
    check(api.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr, nullptr));
    CUdeviceptr address = 0;
    check(api.cuMemAlloc(&address, bytes));

    struct Ended {
        std::weak_ptr<Memory> memory;
        CUdeviceptr address = 0;
        static void tell(void* data) {
            const std::unique_ptr<Ended> self(static_cast<Ended*>(data));
            const std::shared_ptr<Memory> memory = self->memory.lock();
            if (!memory) return;
            const std::lock_guard held(memory->mutex);
            if (memory->live.erase(self->address) != 0) memory->ended.push_back(self->address);
        }
    };
    driver::CUuserObject object = nullptr;
    auto ended = std::make_unique<Ended>(Ended{memory_, address});
    {
        const std::lock_guard held(memory_->mutex);
        memory_->live.insert(address);
    }
    check(api.cuUserObjectCreate(&object, ended.get(), Ended::tell, 1, kNoDestructorSync));
    static_cast<void>(ended.release());
    check(api.cuGraphRetainUserObject(graph, object, 1, kMove));
    return address;
}

void WalledGraphs::freeEnded() {
    if (!memory_) return;
    std::vector<CUdeviceptr> ended;
    {
        const std::lock_guard held(memory_->mutex);
        ended.swap(memory_->ended);
    }
    for (const CUdeviceptr address : ended) walled_.inner_.cuMemFree(address);
}

// Nodes.

WalledGraphs::KernelCall WalledGraphs::kernelCall(driver::CUDA_KERNEL_NODE_PARAMS settings) const {
    if (settings.func == nullptr) settings.func = reinterpret_cast<driver::CUfunction>(settings.kern);
    const auto found = walled_.functions_.find(settings.func);
    if (found == walled_.functions_.end())
        throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such kernel inside the walls"};
    const WalledContext::Function& function = found->second;
    KernelCall call;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < function.own; ++i)
        bytes = std::max(bytes, function.parameters[i].offset + function.parameters[i].bytes);
    call.values = std::make_shared<std::vector<std::uint64_t>>((bytes + 7) / 8 + 1);
    auto* values = reinterpret_cast<std::uint8_t*>(call.values->data());
    const std::span<const std::uint8_t> packed = packedArguments(settings.extra);
    if (settings.kernelParams == nullptr && packed.size() < bytes)
        throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "parameters of " + function.name + " are missing"};
    for (std::size_t i = 0; i < function.own; ++i) {
        const WalledContext::Parameter& p = function.parameters[i];
        const void* from = settings.kernelParams ? settings.kernelParams[i] : packed.data() + p.offset;
        std::memcpy(values + p.offset, from, p.bytes);
        call.arguments.push_back(values + p.offset);
    }
    call.settings = settings;
    call.settings.kern = nullptr;
    call.settings.ctx = walled_.handle();
    call.settings.kernelParams = nullptr;
    call.settings.extra = nullptr;
    return call;
}

void WalledGraphs::perform(const Call& call, CUstream stream) const {
    if (const auto* kernel = std::get_if<KernelCall>(&call)) {
        const driver::CUDA_KERNEL_NODE_PARAMS& s = kernel->settings;
        std::vector<void*> arguments = kernel->arguments;
        walled_.launch(
            s.func, {{s.gridDimX, s.gridDimY, s.gridDimZ}, {s.blockDimX, s.blockDimY, s.blockDimZ}, s.sharedMemBytes},
            stream, arguments.data(), nullptr);
    } else if (const auto* copy = std::get_if<driver::CUDA_MEMCPY3D>(&call)) {
        copyBox(walled_, *copy, stream);
    } else {
        const auto& fill = std::get<driver::CUDA_MEMSET_NODE_PARAMS>(call);
        walled_.fill(fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height, stream);
    }
}

CUstream WalledGraphs::recorder() {
    if (recorder_ == nullptr) recorder_ = walled_.makeStream(0);
    return recorder_;
}

/// As a graph of its own.
CUgraph WalledGraphs::capture(const Call& call) {
    const Unhindered unhindered(walled_.inner_);
    begin(recorder(), kRelaxed);
    try {
        perform(call, recorder_);
    } catch (...) {
        try {
            walled_.inner_.cuGraphDestroy(end(recorder_));
        } catch (const Failure&) {
            // What went wrong first is told.
        }
        throw;
    }
    return end(recorder_);
}

/// Whether the driver behind has such a node: a launch that it places.
bool WalledGraphs::isOne(const Call& call) const {
    return std::holds_alternative<KernelCall>(call) && !walled_.hasPersistentBlocks();
}

/// Into a graph. The node that it ends with, or null where it ends with several.
CUgraphNode WalledGraphs::captureInto(CUgraph graph, const Before& before, const Call& call) {
    const driver::DriverApi& api = walled_.inner_;
    const Unhindered unhindered(api);
    beginInto(recorder(), graph, before.nodes, before.data, before.count, kRelaxed);
    CUgraphNode node = nullptr;
    try {
        perform(call, recorder_);
        const CUgraphNode* last = nullptr;
        std::size_t count = 0;
        driver::CUstreamCaptureStatus status = 0;
        check(api.cuStreamGetCaptureInfo_v2(recorder_, &status, nullptr, nullptr, &last, &count));
        if (count == 1) node = *last;
    } catch (...) {
        CUgraph same = nullptr;
        api.cuStreamEndCapture(recorder_, &same);
        leave(recorder_);
        throw;
    }
    end(recorder_);
    return node;
}

CUgraphNode WalledGraphs::add(CUgraph graph, const Before& before, Call call) {
    if (isOne(call)) {
        const CUgraphNode launched = captureInto(graph, before, call);
        if (launched == nullptr) throw Failure{driver::CUDA_ERROR_UNKNOWN, "a launch that is no node"};
        return launched;
    }
    const driver::DriverApi& api = walled_.inner_;
    std::vector<CUgraphNode> nodes(before.nodes, before.nodes + before.count);
    std::vector<driver::CUgraphEdgeData> data(before.count);
    if (before.data != nullptr) std::copy_n(before.data, before.count, data.begin());
    // Blocks that place themselves: see WalledContext::takeTurn.
    const auto last = lastRecorded_.find(graph);
    if (last != lastRecorded_.end() && std::find(nodes.begin(), nodes.end(), last->second) == nodes.end()) {
        nodes.push_back(last->second);
        data.emplace_back();
    }
    const CUgraph child = capture(call);
    driver::CUgraphNodeParams settings = {};
    settings.type = static_cast<driver::CUgraphNodeType>(driver::NodeType::graph);
    settings.graph.graph = child;
    CUgraphNode node = nullptr;
    const driver::CUresult result =
        api.cuGraphAddNode_v2(&node, graph, nodes.data(), data.data(), nodes.size(), &settings);
    api.cuGraphDestroy(child);
    check(result);
    recorded_.insert_or_assign(node, Recorded{graph, std::move(call)});
    if (walled_.hasPersistentBlocks()) lastRecorded_[graph] = node;
    return node;
}

const WalledGraphs::Call* WalledGraphs::callOf(CUgraphNode node) const {
    const auto found = recorded_.find(node);
    return found == recorded_.end() ? nullptr : &found->second.call;
}

/// In the context that the node has: that of its place. `exec`: null for the graph itself.
void WalledGraphs::setLaunch(CUgraphExec exec, CUgraphNode node, const KernelCall& call) const {
    const driver::DriverApi& api = walled_.inner_;
    driver::CUDA_KERNEL_NODE_PARAMS before = {}, after = call.settings;
    check(api.cuGraphKernelNodeGetParams_v2(node, &before));
    std::vector<void*> arguments = call.arguments;
    after.kernelParams = arguments.data();
    after.ctx = before.ctx;
    check(exec ? api.cuGraphExecKernelNodeSetParams_v2(exec, node, &after)
               : api.cuGraphKernelNodeSetParams_v2(node, &after));
}

void WalledGraphs::set(CUgraphNode node, Call call) {
    if (isOne(call)) return setLaunch(nullptr, node, std::get<KernelCall>(call));
    const driver::DriverApi& api = walled_.inner_;
    const auto found = recorded_.find(node);
    if (found == recorded_.end() || found->second.call.index() != call.index())
        throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "a node that does something else"};
    CUgraph child = nullptr;
    check(api.cuGraphChildGraphNodeGetGraph(node, &child));
    std::size_t count = 0;
    check(api.cuGraphGetNodes(child, nullptr, &count));
    std::vector<CUgraphNode> nodes(count);
    check(api.cuGraphGetNodes(child, nodes.data(), &count));
    for (const CUgraphNode old : nodes) check(api.cuGraphDestroyNode(old));
    captureInto(child, {}, call);
    found->second.call = std::move(call);
}

void WalledGraphs::setIn(CUgraphExec exec, CUgraphNode node, const Call& call) {
    if (isOne(call)) return setLaunch(exec, node, std::get<KernelCall>(call));
    const Call* before = callOf(node);
    if (before == nullptr || before->index() != call.index())
        throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "a node that does something else"};
    const CUgraph child = capture(call);
    const driver::CUresult result = walled_.inner_.cuGraphExecChildGraphNodeSetParams(exec, node, child);
    walled_.inner_.cuGraphDestroy(child);
    check(result);
}

void WalledGraphs::launch(CUgraphExec exec, CUstream real) {
    freeEnded();
    if (walled_.hasPersistentBlocks() && !isCaptured(real)) walled_.takeTurn(real);
    check(walled_.inner_.cuGraphLaunch(exec, real));
}

void WalledGraphs::forget(CUgraph graph) {
    std::erase_if(recorded_, [&](const auto& entry) { return entry.second.graph == graph; });
    lastRecorded_.erase(graph);
}

void WalledGraphs::forget(CUgraphNode node) {
    recorded_.erase(node);
    std::erase_if(lastRecorded_, [&](const auto& entry) { return entry.second == node; });
}

void WalledGraphs::clear() {
    origins_.clear();
    lastLaunch_.clear();
    recorded_.clear();
    lastRecorded_.clear();
    if (recorder_ != nullptr) walled_.inner_.cuStreamDestroy(recorder_);
    recorder_ = nullptr;
    freeEnded();
    if (!memory_) return;
    for (const CUdeviceptr address : memory_->live) walled_.inner_.cuMemFree(address);
    memory_.reset();
}

}  // namespace bulkhead::walls
