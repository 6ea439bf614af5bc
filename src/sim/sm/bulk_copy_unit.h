#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/exec/bulk_copy.h"
#include "sim/sim_context.h"

namespace bulkhead::sim {

class PendingEffects;
class Sm;
class SmPort;

/// The copy engine of an SM (NVIDIA's Tensor Memory Accelerator): bulk copies wait in a queue and are served one after
/// the other, a line of global memory each cycle that the request port has room. Data go to L2 and DRAM past L1D. What
/// a copy brings is there, and its bytes are complete, when the last line has come; what it takes away is read when its
/// turn comes.
class BulkCopyUnit final : public BulkCopies {
  public:
    BulkCopyUnit(SimContext&, SmPort&, Sm&, PendingEffects&, std::uint32_t port);

    void submit(BulkCopy&&) override;
    /// The block has ended: its copies have no effect any more.
    void forget(const Block&);

    /// Whether a request is one of its own, by the request's token.
    static bool owns(std::uint32_t token) { return token >> kTokenShift == kTokens; }
    void receive(RequestId);
    void stored(std::uint32_t token);
    void requestPortFreed();
    /// Sends nothing, and ends nothing by itself, while the GPU is another context's.
    void hold(bool held);
    /// Whether it has something to do once it is not held any more.
    bool waitsForGpu() const { return waitsForGpu_; }

  private:
    static constexpr unsigned kTokenShift = 20;
    static constexpr std::uint32_t kTokens = 0x800;
    /// From the instruction until its first request, and from one copy to the next. Measured on an H200
    /// (results/h200/tensor-cores.json): a wait for 16 bytes that are in L2 takes 341 cycles, for eight times 128 668.
    static constexpr Cycles kLatency = 46, kInterval = 46;
    /// Bytes that pass between shared memories in a cycle. Assumed.
    static constexpr std::uint32_t kBetweenBytes = 32;

    struct UnderWay {
        BulkCopy copy;
        std::uint32_t launch = 0, generation = 0;
        std::uint64_t readGroup = 0, writeGroup = 0;
        Cycles startsAt = 0;
        std::size_t piece = 0;       ///< the next to be sent
        std::uint32_t offset = 0;    ///< in it
        std::uint32_t requests = 0;  ///< under way
        bool read = false;           ///< the sources of a copy to global memory
        bool sent = false;           ///< all of them
    };

    void advance(std::uint32_t);
    void betweenDone(std::uint32_t copy);
    void wakeAt(Cycles);
    bool sendLine(std::uint32_t index);
    void answered(std::uint32_t index);
    void allSent(std::uint32_t index);
    void end(std::uint32_t index);

    SimContext& sim_;
    SmPort& port_;
    Sm& sm_;
    PendingEffects& effects_;
    std::uint32_t portNumber_;
    std::uint32_t mappingHint_ = 0;
    std::vector<UnderWay> copies_;
    std::vector<std::uint32_t> free_;
    std::deque<std::uint32_t> queue_;
    Cycles scheduled_ = kNever;
    Cycles next_ = 0;  ///< when it can begin another copy
    bool waitsForPort_ = false, held_ = false, waitsForGpu_ = false;
    std::vector<std::uint32_t> arrived_;  ///< between shared memories, while it was held
};

}  // namespace bulkhead::sim
