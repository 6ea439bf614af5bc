#pragma once

#include <cstdint>
#include <vector>

#include "sim/exec/program.h"
#include "sim/mem/cache_tags.h"
#include "sim/sim_context.h"

namespace bulkhead::sim {

class SmPort;

/// The instruction cache of an SM. A warp asks for a line when it comes to one that it is not in; while it runs through
/// a line, it has it. What is not here is read from L2 through the SM's port, a line at a time.
class InstructionCache {
  public:
    /// Names reads of code among those of the SM.
    static constexpr std::uint32_t kToken = ~std::uint32_t{0} - 1;
    /// Of a warp that has no line yet.
    static constexpr std::uint32_t kNoLine = ~std::uint32_t{0};

    InstructionCache(SimContext&, SmPort&, std::uint32_t port);

    bool exists() const { return tags_.sets() != 0; }
    /// A place in a program, shifted by that, is its line there. Without a cache, all are line 0.
    unsigned lineShift() const { return lineShift_; }

    /// Whether a line of the program is here; if not, it is on its way, or will be once `retry` is called.
    bool lookUp(const Program&, std::uint32_t line, std::uint32_t launch);
    /// A line has come.
    void receive(RequestId);
    /// The request port has room again: true if a line waits for it.
    bool retry() { return waitsForPort_ && !(waitsForPort_ = false); }

    /// Brings a line that a launch has fetched. False if it was here.
    bool bring(const Program&, std::uint32_t line);
    void invalidate() { tags_.invalidateClean(); }

  private:
    std::uint64_t addressOf(const Program&, std::uint32_t line) const;
    std::uint32_t setOf(std::uint64_t address) const;
    void send(std::uint64_t address, std::uint32_t launch);

    SimContext& sim_;
    SmPort& port_;
    std::uint32_t portNumber_;
    const MachineConfig::Instruction config_;
    unsigned lineShift_;
    CacheTags tags_;
    std::vector<std::uint64_t> underWay_;
    bool waitsForPort_ = false;
};

}  // namespace bulkhead::sim
