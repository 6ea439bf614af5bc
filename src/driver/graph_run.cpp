// A graph's work in simulated time. Branches that no edge orders run in streams of their own, side by side; markers
// stand for the edges between them. A conditional node decides when its turn has come.

#include "driver/graph.h"

namespace bulkhead::driver {
namespace {

using Plan = std::shared_ptr<CUgraph_st>;

/// The streams of one graph during one launch.
class Run {
  public:
    Run(const Plan& plan, CUgraph graph, CUstream entry)
        : plan_(plan), graph_(graph), entry_(entry), gpu_(gpuOf(entry->context)), begin_(newMarker()) {
        gpu_.record(entry->id, begin_);
    }

    /// Returns the markers that it takes until all is done.
    std::vector<sim::MarkerId> all();

  private:
    struct Place {
        CUstream lane = nullptr;
        sim::MarkerId end = 0;
    };

    sim::MarkerId newMarker() {
        markers_.push_back(gpu_.createMarker());
        return markers_.back();
    }
    CUstream laneFor(CUgraphNode);
    void perform(CUgraphNode, CUstream lane);
    void perform(const EventNode&, CUstream lane);
    void perform(CUgraphNode, const ConditionalNode&, CUstream lane);

    const Plan& plan_;
    CUgraph graph_;
    CUstream entry_;
    sim::Machine& gpu_;
    std::vector<sim::MarkerId> markers_;
    sim::MarkerId begin_;
    std::unordered_map<CUgraphNode, Place> places_;
    std::unordered_map<CUstream, CUgraphNode> last_;  ///< of each stream in use
    std::map<CUcontext, std::size_t> taken_;
};

/// The stream of a node that this one follows immediately, or one that nothing of this launch is in yet.
CUstream Run::laneFor(CUgraphNode node) {
    CUcontext context = contextOf(node->operation);
    if (!context) context = entry_->context;
    for (const auto& edge : node->dependencies) {
        CUstream lane = places_.at(edge.from).lane;
        if (lane->context == context && last_.at(lane) == edge.from) return lane;
    }
    auto& lanes = graph_->lanes.byContext[context->number];
    const std::size_t index = taken_[context]++;
    if (index == lanes.size()) lanes.push_back(newStream(context, false, 0));
    CUstream lane = lanes[index].get();
    lane->priority = plan_->usesNodePriorities ? 0 : entry_->priority;
    gpu_.wait(lane->id, begin_);
    return lane;
}

std::vector<sim::MarkerId> Run::all() {
    for (CUgraphNode node : sorted(*graph_)) {
        CUstream lane = laneFor(node);
        for (const auto& edge : node->dependencies) {
            const Place& before = places_.at(edge.from);
            if (before.lane != lane) gpu_.wait(lane->id, before.end);
        }
        if (node->enabled) perform(node, lane);
        const sim::MarkerId end = newMarker();
        gpu_.record(lane->id, end);
        places_[node] = {lane, end};
        last_[lane] = node;
    }
    for (const auto& node : graph_->nodes)
        if (node->dependents.empty()) gpu_.wait(entry_->id, places_.at(node.get()).end);
    return std::move(markers_);
}

void Run::perform(CUgraphNode node, CUstream lane) {
    if (const auto* work = std::get_if<KernelWork>(&node->operation))
        enqueueKernel(lane, *work, plan_->usesNodePriorities ? work->priorityIn(lane) : lane->priority);
    if (const auto* copy = std::get_if<CopyNode>(&node->operation)) enqueueCopy(copy->context, lane, copy->copy);
    if (const auto* fill = std::get_if<FillNode>(&node->operation)) enqueueFill(fill->context, lane, fill->fill);
    if (const auto* host = std::get_if<HostNode>(&node->operation))
        enqueueHostFunction(lane, [call = host->call] { call.fn(call.userData); });
    if (const auto* event = std::get_if<EventNode>(&node->operation)) perform(*event, lane);
    if (const auto* child = std::get_if<ChildNode>(&node->operation))
        for (const sim::MarkerId marker : play(plan_, child->graph.get(), lane)) markers_.push_back(marker);
    if (const auto* conditional = std::get_if<ConditionalNode>(&node->operation)) perform(node, *conditional, lane);
}

void Run::perform(const EventNode& node, CUstream lane) {
    if (!node.records) {
        if (node.event->marker) gpu_.wait(lane->id, *node.event->marker);
        return;
    }
    node.event->captured = {};
    node.event->marker = gpu_.createMarker();
    gpu_.record(lane->id, *node.event->marker);
}

CUgraph chosenBody(const ConditionalNode& node) {
    unsigned value = 0;
    readDevice(node.condition->context, node.condition->address, &value, sizeof value);
    std::size_t index = value;
    if (node.settings.type == kIf) index = value ? 0 : 1;
    if (node.settings.type == kWhile) index = value ? 0 : node.bodies.size();
    return index < node.bodies.size() ? node.bodies[index].get() : nullptr;
}

/// Happens when a conditional node's turn has come, and of a loop after each round.
void decide(const Plan& plan, const ConditionalNode* node, CUstream control, sim::MarkerId done) {
    sim::Machine& gpu = gpuOf(control->context);
    try {
        CUgraph body = chosenBody(*node);
        const bool goesOn = body && node->settings.type == kWhile;
        if (body)
            // A round takes time, whatever is in it: a loop that nobody ends goes on for ever, and the clock with it.
            gpu.enqueue(control->id, goesOn ? 1 : 0, [=, &gpu, markers = play(plan, body, control)] {
                for (const sim::MarkerId marker : markers) gpu.destroyMarker(marker);
                if (goesOn) decide(plan, node, control, done);
            });
        if (goesOn) return;
    } catch (const Failure& failure) {
        markFailed(control->context, failure.code, failure.why);
    } catch (const Error& error) {
        markFailed(control->context, CUDA_ERROR_LAUNCH_FAILED, error.what());
    }
    gpu.record(control->id, done);
}

void Run::perform(CUgraphNode, const ConditionalNode& node, CUstream lane) {
    std::unique_ptr<CUstream_st>& control = node.bodies.front()->lanes.control;
    if (!control) control = newStream(lane->context, false, 0);
    const sim::MarkerId done = newMarker();
    enqueue(lane, 0,
            [plan = plan_, node = &node, control = control.get(), done] { decide(plan, node, control, done); });
    gpu_.wait(lane->id, done);
}

}  // namespace

Lanes::~Lanes() {
    const auto giveBack = [](const std::unique_ptr<CUstream_st>& lane) {
        if (!lane->context->destroyed) lane->context->root->spareStreams.push_back(lane->id);
    };
    for (const auto& [number, lanes] : byContext)
        for (const auto& lane : lanes) giveBack(lane);
    if (control) giveBack(control);
}

std::vector<sim::MarkerId> play(const Plan& plan, CUgraph graph, CUstream entry) {
    return Run(plan, graph, entry).all();
}

void assignConditions(const Plan& plan, CUstream stream) {
    forEachNode(*plan, [&](CUgraphNode node) {
        const auto* conditional = std::get_if<ConditionalNode>(&node->operation);
        if (!conditional || !conditional->condition->assigned) return;
        enqueue(stream, 0, [condition = conditional->condition] {
            writeDevice(condition->context, condition->address, &condition->initial, sizeof condition->initial);
        });
    });
}

}  // namespace bulkhead::driver
