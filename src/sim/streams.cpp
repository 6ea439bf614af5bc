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

void Streams::launch(StreamId stream, LaunchId launch, const LaunchSpec& spec) {
    Command command;
    command.kind = Command::Kind::launch;
    command.launch = launch;
    command.startsEarly = spec.startsEarly;
    command.whenBegun = spec.whenBegun;
    command.whenLet = spec.whenLet;
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

/// Starts whatever is at the head of a stream, or may start behind launches that are there.
void Streams::pump(StreamId id, Cycles when) {
    std::deque<Command>& commands = streams_[id].commands;
    for (;;) {
        const auto next = std::ranges::find_if(commands, [](const Command& c) { return !c.begun; });
        if (next == commands.end()) return;
        const auto lets = [](const Command& c) { return c.letsDependents; };
        if (next != commands.begin() && !(next->startsEarly && std::all_of(commands.begin(), next, lets))) return;
        if (next->kind == Command::Kind::launch || next->kind == Command::Kind::action) return begin(id, *next, when);
        if (!passMarker(id, *next, when)) return;
    }
}

void Streams::begin(StreamId id, Command& command, Cycles when) {
    command.begun = true;
    if (command.transfer) {
        ++pending_;
        return actions_.transfer(id, *command.transfer, when);
    }
    if (command.kind == Command::Kind::launch) actions_.expect(command.launch);
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

std::deque<Streams::Command>::iterator Streams::commandOf(StreamId id, LaunchId launch) {
    return std::ranges::find_if(
        streams_[id].commands, [&](const Command& c) { return c.kind == Command::Kind::launch && c.launch == launch; });
}

void Streams::launchEnded(StreamId id, LaunchId launch, Cycles when) {
    const auto command = commandOf(id, launch);
    if (command->doneAt != kNever) --pending_;  // it has failed before its time
    markOfLaunch(command->whenBegun, id, launch, when);
    markOfLaunch(command->whenLet, id, launch, when);
    for (Stream& stream : streams_) std::erase(stream.earlier, launch);
    finish(id, commandOf(id, launch), when);
}

void Streams::launchBegun(StreamId id, LaunchId launch, Cycles when) {
    markOfLaunch(commandOf(id, launch)->whenBegun, id, launch, when);
}

void Streams::launchLetsDependents(StreamId id, LaunchId launch, Cycles when) {
    const auto command = commandOf(id, launch);
    command->letsDependents = true;
    markOfLaunch(command->whenLet, id, launch, when);
    pump(id, when);
}

std::vector<LaunchId> Streams::earlierThan(StreamId id, LaunchId launch) const {
    std::vector<LaunchId> earlier = streams_[id].earlier;
    for (const Command& command : streams_[id].commands) {
        if (command.launch == launch) break;
        earlier.push_back(command.launch);
    }
    return earlier;
}

/// Returns the streams that waited for it.
std::vector<StreamId> Streams::mark(MarkerId id, Cycles when) {
    Marker& marker = markers_[id];
    marker.at = when;
    return std::exchange(marker.waiting, {});
}

void Streams::markOfLaunch(std::optional<MarkerId>& given, StreamId id, LaunchId launch, Cycles when) {
    if (!given) return;
    const MarkerId marker = *std::exchange(given, std::nullopt);
    markers_[marker].by = launch;
    markers_[marker].stream = id;
    for (StreamId other : mark(marker, when)) pump(other, when);
}

/// False: the stream waits for the marker.
bool Streams::passMarker(StreamId id, const Command& command, Cycles when) {
    Marker& marker = markers_[command.marker];
    std::vector<StreamId> released;
    if (command.kind == Command::Kind::record) {
        released = mark(command.marker, when);
    } else if (!marker.at) {
        marker.waiting.push_back(id);
        return false;
    } else if (marker.by && commandOf(marker.stream, *marker.by) != streams_[marker.stream].commands.end()) {
        streams_[id].earlier.push_back(*marker.by);
    }
    streams_[id].commands.pop_front();
    for (StreamId other : released) pump(other, when);
    return true;
}

void Streams::commandDone(StreamId id) {
    std::deque<Command>& commands = streams_[id].commands;
    const auto done = std::ranges::find_if(commands, [&](const Command& c) { return c.doneAt == sim_.now(); });
    if (done == commands.end()) return;  // what it was for has been discarded
    done->doneAt = kNever;
    --pending_;
    sim_.noteEffect();
    if (done->kind == Command::Kind::launch) return advanceLaunch(id, *done);
    const std::function<void()> action = std::move(done->action);
    if (action) action();
    finish(id, commands.begin(), sim_.now());
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

void Streams::finish(StreamId id, std::deque<Command>::iterator command, Cycles when) {
    streams_[id].commands.erase(command);
    pump(id, when);
}

void Streams::discard() {
    for (Stream& stream : streams_) {
        for (const Command& command : stream.commands) takeMarksForNow(command);
        stream.commands.clear();
    }
    for (Marker& marker : markers_) marker.waiting.clear();
    pending_ = 0;
}

std::vector<LaunchId> Streams::discard(ContextId context) {
    std::vector<LaunchId> expected;
    const auto goes = [&](const Command& command) {
        const bool isLaunch = command.kind == Command::Kind::launch;
        if (isLaunch && command.begun && command.stage != Command::Stage::running) expected.push_back(command.launch);
        if (isLaunch && command.stage != Command::Stage::submitted) return false;
        if (command.begun && (command.transfer || command.doneAt != kNever)) --pending_;
        takeMarksForNow(command);
        return true;
    };
    for (Stream& stream : streams_)
        if (stream.context == context) std::erase_if(stream.commands, goes);
    for (Marker& marker : markers_)
        std::erase_if(marker.waiting, [&](StreamId id) { return streams_[id].context == context; });
    return expected;
}

void Streams::takeMarksForNow(const Command& command) {
    if (command.kind == Command::Kind::record) markers_[command.marker].at = sim_.now();
    for (const std::optional<MarkerId>& marker : {command.whenBegun, command.whenLet})
        if (marker) markers_[*marker].at = sim_.now();
}

}  // namespace bulkhead::sim
