#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "sim/launch.h"
#include "sim/sim_context.h"
#include "sim/transfer.h"
#include "sim/units.h"

namespace bulkhead::sim {

/// Copies and fills that are under way. One that has the GPU to itself takes its time, and nothing else is done for it.
/// While kernels run, it reads and writes line by line: what it reads is answered by L2 or DRAM, what it writes goes
/// through a slice to DRAM. It sends lines as fast as it would move them by itself, and has so many under way that it
/// needs no longer where memory is free. So kernels are slowed by it, and it by them.
class Transfers {
  public:
    /// Told when a stream's transfer ends if nothing comes between, or kNever: nobody knows yet.
    using EndsAt = std::function<void(StreamId, Cycles when)>;
    Transfers(Simulation&, Units&, EndsAt);

    void begin(StreamId, const Transfer&, Cycles when);
    /// Whether kernels run from now on.
    void compete(bool kernelsRun);
    /// Sends what is due before that time, which ends a window.
    void send(Cycles end);
    /// When something is due; kNever while time alone passes.
    Cycles next() const;
    /// Takes what memory has answered in a window.
    void collect();
    /// It is over.
    void end(StreamId stream) { underWay_.erase(stream); }
    void discard() { underWay_.clear(); }

  private:
    struct State {
        Transfer transfer;
        std::uint64_t lines = 0;  ///< in all
        Cycles since = 0;         ///< from then on, at its own pace ...
        std::uint64_t first = 0;  ///< ... beginning with this line
        std::uint64_t issued = 0, done = 0;
        std::uint64_t most = 0;    ///< lines under way
        std::uint32_t serial = 0;  ///< names its requests; other ones are no longer waited for
        Cycles lastDone = 0;
        std::uint32_t fromHint = 0, toHint = 0;

        Cycles due(std::uint64_t line) const { return since + (line - first) * transfer.duration / lines; }
        bool mayIssue() const { return issued < lines && issued - done < most; }
    };

    void goAlone(StreamId, State&);
    void goCompeting(StreamId, State&);
    void request(StreamId, State&, RequestKind, std::uint64_t line, Cycles when);

    Simulation& sim_;
    Units& units_;
    EndsAt endsAt_;
    std::map<StreamId, State> underWay_;
    bool competing_ = false;
    std::uint32_t nextSerial_ = 1;
};

}  // namespace bulkhead::sim
