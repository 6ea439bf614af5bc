#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "corun/access_pattern.h"
#include "corun/actor.h"
#include "corun/machine_watch.h"
#include "corun/sharing.h"
#include "corun/victim_spec.h"
#include "experiment/child_process.h"
#include "workloads/workload.h"

namespace bulkhead::corun {

/// A workload, or what applications.h has beside them: is timed, and runs again and again while others are.
struct ApplicationSpec {
    std::string name;
    workloads::Size size = workloads::Size::standard;
    std::uint64_t seed = 1;
};

struct ActorSpec {
    unsigned partition = 0;
    std::variant<VictimSpec, AggressorSpec, ApplicationSpec> what;
};

/// Actors on one GPU, and how they share it.
struct CoRunSpec {
    std::string gpu;
    std::vector<std::string> settings = {};  ///< of a simulated GPU
    std::string scheduler = "gto";           ///< likewise, of warps
    bool watched = false;                    ///< likewise: runs have counters
    bool followed = false;                   ///< likewise, in this process: what actors do over time is noted
    std::vector<std::string> separate =
        {};                ///< likewise: what an aggressor has copies of its own of, by sim::Separation
    std::string map = {};  ///< file of bulkhead dissect; empty: of a simulated GPU, its own
    SharingSpec sharing = {};
    bool shareSms = false;  ///< a victim and an aggressor may meet on one
    std::vector<ActorSpec> actors = {};
};

/// The first actor of that kind; null where there is none.
template <class Spec, class Whole>
auto* find(Whole& spec) {
    for (auto& actor : spec.actors)
        if (auto* found = std::get_if<Spec>(&actor.what)) return found;
    return static_cast<decltype(std::get_if<Spec>(&spec.actors.front().what))>(nullptr);
}

/// Memory of a GPU that somebody took, until there was no more for him.
struct TakenMemory {
    Bytes bytes = 0;
    std::string refusal;  ///< what he was told then
};

/// Actors that are processes of their own, and so come and go.
class ActorProcesses {
  public:
    virtual ~ActorProcesses() = default;
    /// Has an actor's process end by itself. Seconds until it has.
    virtual double leave(std::size_t actor) = 0;
    /// Starts a process for an actor that has none. Seconds until it has done something on the GPU. Throws Error if it
    /// cannot.
    virtual double join(std::size_t actor) = 0;
    /// Ends an actor's process in the middle of whatever it does. Returns by what this way of sharing has it done.
    virtual std::string stop(std::size_t actor) = 0;
};

class CoRun {
  public:
    virtual ~CoRun() = default;
    virtual Actor& actor(std::size_t) = 0;
    /// Another one in its place. After an Error there is none.
    virtual void replace(std::size_t, const ActorSpec&) = 0;
    /// Where an actor is.
    virtual Place place(std::size_t actor) = 0;
    /// As much memory as an actor can have, which it gives back at once.
    virtual TakenMemory takeMemory(std::size_t) { throw Error("this actor cannot be asked for memory"); }
    /// Null where actors have no processes of their own.
    virtual ActorProcesses* processes() { return nullptr; }
    /// Everything about the GPU; null where nobody knows that.
    virtual const arch::DeviceProfile* profile() { return nullptr; }
    /// Of a GPU that is followed; null where none is.
    virtual const MachineWatch* watch() { return nullptr; }
};

/// In this process where that is possible, and otherwise in one for each actor.
std::unique_ptr<CoRun> makeCoRun(const CoRunSpec&);
/// In this process. With `only`, one of the actors: the others are in other processes.
std::unique_ptr<CoRun> makeLocalCoRun(const CoRunSpec&, std::optional<std::size_t> only = {});
/// A process for each actor: contexts that take turns, or clients of an MPS daemon that is started and ended with them.
std::unique_ptr<CoRun> makeRemoteCoRun(const CoRunSpec&);
/// A program on a simulated GPU, which has that GPU in its own process, and an aggressor that is made there too.
std::unique_ptr<CoRun> makeSimulatedProgram(const CoRunSpec&);

/// With its watch told of what happens there, if it is to be watched. `concurrentContexts`: those that CUDA's own calls
/// make there run side by side.
gpu::Gpu openGpu(const CoRunSpec&, MachineWatch&, bool concurrentContexts = false);

/// What aims aggressors on a GPU: its own map, or one of a file of bulkhead dissect. Empty where there is none.
MapMemory memoryMapper(gpu::Gpu&, const std::string& mapFile);

/// Before a real GPU is opened: device code that is loaded when it is first used would wait for the end of an aggressor
/// that is running.
void loadModulesEagerly();

/// Fills in what the specs of a victim and an aggressor leave open: layouts for this GPU and its sharing.
void completeLayouts(CoRunSpec&, const CacheGeometry&);

/// What the makers of actors are given. The watch is that of a GPU that counts launches, or null.
struct Stage {
    gpu::Gpu& gpu;
    gpu::Context context;
    const CacheGeometry& shape;
    const MachineWatch* watch;
};
std::unique_ptr<Actor> makeVictim(const Stage&, const VictimSpec&);
std::unique_ptr<Actor> makeWorkload(const Stage&, const VictimSpec&);
std::unique_ptr<Actor> makeApplication(const Stage&, const ApplicationSpec&);
/// A process on a real GPU, timed by what it does there: the driver library in front of it times kernels and copies.
std::unique_ptr<Actor> makeTimedProgram(const std::string& gpu, const std::string& victim,
                                        const experiment::ChildProcess::Environment&, double limitSeconds);
/// A process that is timed from its start to its end.
std::unique_ptr<Actor> makeProgram(std::vector<std::string> command, const experiment::ChildProcess::Environment&,
                                   double limitSeconds);

}  // namespace bulkhead::corun
