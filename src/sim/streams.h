#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sim/launch.h"
#include "sim/sim_context.h"
#include "sim/transfer.h"

namespace bulkhead::sim {

/// What contexts have put into their streams: each is done in order, streams beside each other, but for markers that
/// one records and another waits for.
class Streams {
  public:
    struct LaunchActions {
        std::function<void(LaunchId)> expect;  ///< nothing is before it any more but its own latency
        std::function<void(LaunchId)> start;   ///< its turn has come
        std::function<void(LaunchId)> blocks;  ///< it is set up: its blocks may be placed
        std::function<void(LaunchId)> end;     ///< the time has come that endLaunchAt() was told
        std::function<void(StreamId, const Transfer&, Cycles)> transfer;  ///< its turn has come, then
    };
    Streams(SimContext&, LaunchActions);

    StreamId create(ContextId);
    ContextId contextOf(StreamId stream) const { return streams_.at(stream).context; }
    bool idle(StreamId stream) const { return streams_.at(stream).commands.empty(); }
    bool allIdle() const;

    void launch(StreamId, LaunchId, const LaunchSpec&);
    // `when` may lie back: in the window that has just ended.
    void launchEnded(StreamId, LaunchId, Cycles when);
    /// All of its blocks have started.
    void launchBegun(StreamId, LaunchId, Cycles when);
    /// All of its blocks have ended or let dependent launches start.
    void launchLetsDependents(StreamId, LaunchId, Cycles when);
    /// The launches that a stream's launch follows and that may not have ended: those before it in its stream, and
    /// those whose markers it has waited for.
    std::vector<LaunchId> earlierThan(StreamId, LaunchId) const;
    /// The stream's launch is done but for time that is to pass.
    void endLaunchAt(StreamId, Cycles when);
    /// Something that takes a while; `action` happens at its end.
    void enqueue(StreamId, Cycles duration, std::function<void()> action);
    /// A copy or fill: its end is told by endTransferAt(). `action` happens then.
    void enqueue(StreamId, const Transfer&, std::function<void()> action);
    /// The stream's transfer ends then; kNever: nobody knows when.
    void endTransferAt(StreamId, Cycles when);
    MarkerId createMarker();
    /// Nobody waits for it or asks for it any more.
    void destroyMarker(MarkerId marker) { spareMarkers_.push_back(marker); }
    void record(StreamId, MarkerId);
    void wait(StreamId, MarkerId);
    std::optional<Cycles> recordedAt(MarkerId marker) const { return markers_.at(marker).at; }

    /// Forgets everything that streams hold. Moments that were still to be recorded are taken for now.
    void discard();
    /// Likewise of one context, but for launches that have started: those are still to be ended. Returns the launches,
    /// started or not, of which no block was placed yet and nothing but time was before them.
    std::vector<LaunchId> discard(ContextId);
    StreamId count() const { return static_cast<StreamId>(streams_.size()); }

    /// Whether time alone will start or finish something.
    bool pending() const { return pending_ != 0; }

  private:
    struct Command {
        enum class Kind : std::uint8_t { launch, action, record, wait } kind = Kind::launch;
        LaunchId launch = 0;
        MarkerId marker = 0;
        Cycles duration = 0;
        std::function<void()> action;
        std::optional<Transfer> transfer;
        bool begun = false;
        // Of a launch:
        enum class Stage : std::uint8_t { submitted, setUp, running } stage = Stage::submitted;
        bool startsEarly = false, letsDependents = false;
        std::optional<MarkerId> whenBegun, whenLet;
        Cycles doneAt = kNever;  ///< while time alone finishes it
    };
    struct Stream {
        ContextId context = 0;
        std::deque<Command> commands;        ///< the first, and launches that have started early behind it, have begun
        std::vector<LaunchId> earlier = {};  ///< whose markers it has waited for
    };
    struct Marker {
        std::optional<Cycles> at;
        std::optional<LaunchId> by;  ///< recorded by a launch of that stream, which may not have ended
        StreamId stream = 0;
        std::vector<StreamId> waiting;
    };

    void put(StreamId, Command);
    void pump(StreamId, Cycles when);
    void begin(StreamId, Command&, Cycles when);
    void schedule(StreamId, Command&, Cycles when);
    void finish(StreamId, std::deque<Command>::iterator, Cycles when);
    void commandDone(StreamId);
    void advanceLaunch(StreamId, Command&);
    bool passMarker(StreamId, const Command&, Cycles when);
    std::vector<StreamId> mark(MarkerId, Cycles when);
    void markOfLaunch(std::optional<MarkerId>&, StreamId, LaunchId, Cycles when);
    std::deque<Command>::iterator commandOf(StreamId, LaunchId);
    void takeMarksForNow(const Command&);

    SimContext& sim_;
    LaunchActions actions_;
    Cycles launchLatency_, launchSetup_;
    std::deque<Stream> streams_;
    std::deque<Marker> markers_;
    std::vector<MarkerId> spareMarkers_;
    std::uint64_t pending_ = 0;  ///< commands begun, with an event to come
};

}  // namespace bulkhead::sim
