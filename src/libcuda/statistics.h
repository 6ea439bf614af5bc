#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "base/result.h"
#include "gpu/launch_log.h"
#include "gpu/sampled.h"
#include "metrics/launch_row.h"
#include "sim/observer.h"

namespace bulkhead::libcuda {

enum class Transfer { hostToDevice, deviceToHost, deviceToDevice, unified, fill };
constexpr int kTransfers = 5;

/// All launches of one kernel on one GPU, added up.
struct KernelSum {
    std::uint64_t launches = 0, failed = 0;
    Cycles cycles = 0;
    sim::Counters counters;
    gpu::Sampled sampled;
};

/// What a process did on its GPUs, where they count launches. Written when the process ends, if it was asked for:
/// BULKHEAD_STATS names a file for JSON, BULKHEAD_SUMMARY=1 puts a table on standard error. BULKHEAD_TIMELINE and
/// BULKHEAD_OBSERVE name files for a trace and for why it went so, of each GPU beyond the first with its number.
class Statistics {
  public:
    static Statistics& instance();  ///< never destroyed

    /// The observer for a GPU about to be made; began() tells which it became.
    sim::Observer& watch(const arch::DeviceProfile&, std::string scheduler);
    void began(const gpu::LaunchCounters&);
    void transferred(Transfer, std::size_t bytes);

    nlohmann::ordered_json json() const;
    std::string table() const;
    std::vector<metrics::LaunchRow> rows() const;
    void write() const;

  private:
    class Watcher;
    static Result timedTable(const Watcher&);
    static Result functionalTable(const Watcher&);
    void writeWatched() const;
    struct TransferSum {
        std::uint64_t calls = 0, bytes = 0;
    };

    std::vector<std::unique_ptr<Watcher>> watchers_;
    mutable std::mutex mutex_;
    std::array<TransferSum, kTransfers> transfers_;
    int process_ = 0;  ///< that which made the GPUs: a child of it reports nothing
};

}  // namespace bulkhead::libcuda
