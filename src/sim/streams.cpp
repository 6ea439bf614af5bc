#include "sim/streams.h"

#include <algorithm>

namespace bulkhead::sim {

Streams::Streams(SimContext& sim, LaunchActions actions)
    : sim_(sim),
      actions_(std::move(actions)),
      launchLatency_(sim.config.launch.latency),
      launchSetup_(sim.config.launch.setup) {
    sim.onEvent<&Streams::commandDone>(EventKind::command, *this);
}

StreamId Streams::create(ContextId context) {
    streams_.push_back({context, {}});
    return static_cast<StreamId>(streams_.size() - 1);
}

bool Streams::allIdle() const {
    return std::all_of(streams_.begin(), streams_.end(), [](const Stream& s) { return s.commands.empty(); });
}

void Streams::put(StreamId stream, Command command) {
    streams_.at(stream).commands.push_back(std::move(command));
    pump(stream, sim_.now());
}

void Streams::launch(StreamId stream, LaunchId launch) {
    Command command;
    command.kind = Command::Kind::launch;
    command.launch = launch;
    command.duration = launchLatency_;
    put(stream, std::move(command));
}

void Streams::enqueue(StreamId stream, Cycles duration, std::function<void()> action) {
    Command command;
    command.kind = Command::Kind::action;
    command.duration = duration;
    command.action = std::move(action);
    put(stream, std::move(command));
}

void Streams::enqueue(StreamId stream, const Transfer& transfer, std::function<void()> action) {
    Command command;
    command.kind = Command::Kind::action;
    command.transfer = transfer;
    command.action = std::move(action);
    put(stream, std::move(command));
}

void Streams::endTransferAt(StreamId id, Cycles when) {
    Command& command = streams_[id].commands.front();
    command.doneAt = when == kNever ? kNever : std::max(when, sim_.now());
    if (when != kNever) sim_.schedule(command.doneAt, EventKind::command, id);
}

MarkerId Streams::createMarker() {
    if (!spareMarkers_.empty()) {
        const MarkerId spare = spareMarkers_.back();
        spareMarkers_.pop_back();
        markers_[spare] = {};
        return spare;
    }
    markers_.emplace_back();
    return static_cast<MarkerId>(markers_.size() - 1);
}

void Streams::record(StreamId stream, MarkerId marker) {
    markers_.at(marker).at.reset();
    Command command;
    command.kind = Command::Kind::record;
    command.marker = marker;
    put(stream, std::move(command));
}

void Streams::wait(StreamId stream, MarkerId marker) {
    Command command;
    command.kind = Command::Kind::wait;
    command.marker = marker;
    put(stream, std::move(command));
}

/// Starts whatever is at the head of a stream.
void Streams::pump(StreamId id, Cycles when) {
    Stream& stream = streams_[id];
    while (!stream.commands.empty() && !stream.commands.front().begun) {
        Command& head = stream.commands.front();
        if (head.kind == Command::Kind::launch || head.kind == Command::Kind::action) return begin(id, head, when);
        if (!passMarker(id, head, when)) return;
    }
}

void Streams::begin(StreamId id, Command& command, Cycles when) {
    command.begun = true;
    if (command.transfer) {
        ++pending_;
        return actions_.transfer(id, *command.transfer, when);
    }
    schedule(id, command, std::max(when + command.duration, sim_.now()));
}

void Streams::schedule(StreamId id, Command& command, Cycles when) {
    command.doneAt = when;
    ++pending_;
    sim_.schedule(when, EventKind::command, id);
}

void Streams::endLaunchAt(StreamId id, Cycles when) {
    schedule(id, streams_[id].commands.front(), when);
}

void Streams::launchEnded(StreamId id, Cycles when) {
    if (streams_[id].commands.front().doneAt != kNever) --pending_;  // it has failed before its time
    finish(id, when);
}

/// False: the stream waits for the marker.
bool Streams::passMarker(StreamId id, const Command& command, Cycles when) {
    Marker& marker = markers_[command.marker];
    std::vector<StreamId> released;
    if (command.kind == Command::Kind::record) {
        marker.at = when;
        released.swap(marker.waiting);
    } else if (!marker.at) {
        marker.waiting.push_back(id);
        return false;
    }
    streams_[id].commands.pop_front();
    for (StreamId other : released) pump(other, when);
    return true;
}

void Streams::commandDone(StreamId id) {
    std::deque<Command>& commands = streams_[id].commands;
    if (commands.empty() || commands.front().doneAt != sim_.now()) return;  // what it was for has been discarded
    Command& head = commands.front();
    head.doneAt = kNever;
    --pending_;
    sim_.noteEffect();
    if (head.kind == Command::Kind::launch) return advanceLaunch(id, head);
    const std::function<void()> action = std::move(head.action);
    if (action) action();
    finish(id, sim_.now());
}

void Streams::advanceLaunch(StreamId id, Command& command) {
    switch (command.stage) {
        case Command::Stage::submitted:
            command.stage = Command::Stage::setUp;
            actions_.start(command.launch);
            if (launchSetup_) return schedule(id, command, sim_.now() + launchSetup_);
            [[fallthrough]];
        case Command::Stage::setUp:
            command.stage = Command::Stage::running;
            return actions_.blocks(command.launch);
        case Command::Stage::running:
            return actions_.end(command.launch);
    }
}

void Streams::finish(StreamId id, Cycles when) {
    streams_[id].commands.pop_front();
    pump(id, when);
}

void Streams::discard() {
    for (Stream& stream : streams_) {
        for (const Command& command : stream.commands)
            if (command.kind == Command::Kind::record) markers_[command.marker].at = sim_.now();
        stream.commands.clear();
    }
    for (Marker& marker : markers_) marker.waiting.clear();
    pending_ = 0;
}

}  // namespace bulkhead::sim
