#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"

namespace bulkhead::corun {

/// How a GPU is shared by equal partitions.
struct SharingSpec {
    std::string way = "streams";  ///< a row of the table
    unsigned partitions = 2;
    bool limitThreads = false;             ///< of mps: to each partition's share
    std::string blockPlacement = "usual";  ///< of walls: what places blocks, "blocks" or "driver"
    bool limitMemory = false;              ///< of mps between processes: likewise
    bool leased = false;                   ///< of walls between processes: each joins a partition by isolate run
    bool processes = false;                ///< of a real GPU: a process each, under MPS, also where the way needs none
};

/// Where an actor is: the walls around it.
struct Place {
    unsigned sms = 0, colors = 0;  ///< inside; 0 where it has no such wall
    std::string placement;         ///< what placed blocks inside; empty where nothing had to
    unsigned strayBlocks = 0;      ///< that ran outside so far

    nlohmann::ordered_json toJson() const;
    /// Throws Error, which begins with `where`.
    static Place fromJson(const nlohmann::json&, const std::string& where);
};

/// A GPU that is shared, in this process: a context for each partition.
class Sharing {
  public:
    virtual ~Sharing() = default;
    virtual gpu::Context contextOf(unsigned partition) = 0;
    virtual Place placeOf(unsigned /*partition*/) const { return {}; }
};

struct SharingSite {
    gpu::Gpu& gpu;
    const SharingSpec& spec;
    const std::string& map;        ///< file of bulkhead dissect, for walls between slices of a real GPU
    std::optional<unsigned> only;  ///< this partition: the others are in other processes
    unsigned firstSms;             ///< that the first of two partitions asks for; 0: half
};

/// What a way puts up around each partition.
enum class WallsAround : std::uint8_t { nothing, compute, computeAndMemory };

/// A row of the table of ways.
struct SharingWay {
    std::string_view name;
    std::string_view inPaper;  ///< what Fractional GPUs (V-A) calls it; empty where it has no other name
    std::string_view description;
    bool separateProcesses;  ///< a real GPU needs a process for each partition
    bool timeSliced;         ///< partitions take turns
    bool confines;           ///< the driver keeps each partition on SMs of its own
    WallsAround walls;
    std::unique_ptr<Sharing> (*make)(const SharingSite&);
    std::string_view title = {};  ///< of a column of results; empty: its name
};
const std::vector<SharingWay>& sharingWays();
/// "streams (none), processes, ...": all names, with the paper's.
std::string sharingNames();
/// By either name. Throws Error that lists them.
const SharingWay& findSharing(std::string_view name);

// Each in the file of its name.
std::unique_ptr<Sharing> shareByStreams(const SharingSite&);
std::unique_ptr<Sharing> shareByProcesses(const SharingSite&);
std::unique_ptr<Sharing> shareByMps(const SharingSite&);
std::unique_ptr<Sharing> shareByGreenContexts(const SharingSite&);
std::unique_ptr<Sharing> shareByComputeWalls(const SharingSite&);
std::unique_ptr<Sharing> shareByWalls(const SharingSite&);

}  // namespace bulkhead::corun
