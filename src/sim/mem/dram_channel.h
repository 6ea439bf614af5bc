#pragma once

#include <cstdint>
#include <vector>

#include "sim/sim_context.h"

namespace bulkhead::sim {

class L2Slice;

/// One DRAM channel: a queue that is reordered first-ready first-come first-served, up to an age, banks with a row
/// buffer each, one data bus. Times inside are memory-clock cycles. Commands are placed when they become possible, so
/// that an idle channel costs nothing; the command bus itself is taken to be free.
class DramChannel {
  public:
    DramChannel(SimContext&, std::uint32_t index);

    std::size_t room() const { return capacity_ - queued_; }
    /// A fill or a write-back; `room()` must not be 0.
    void enqueue(RequestId);
    /// Slices that found no room are told when there is some.
    void notifyWhenRoom(L2Slice& slice) { slices_.push_back(&slice); }

    void step();  ///< on EventKind::channelStep

  private:
    struct Bank {
        RequestId first = kNoRequest, last = kNoRequest;  ///< waiting, oldest first
        RequestId hit = kNoRequest;                       ///< the oldest that wants the open row
        std::uint64_t openRow = kClosed;
        std::uint64_t columnReady = 0;     ///< first cycle for a column command
        std::uint64_t prechargeReady = 0;  ///< first cycle for a precharge: tRAS and tWR kept
    };
    static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

    bool overdue(const Bank&) const;
    void refuseHits();
    void openRows(std::uint64_t cycle);
    bool issueColumn(std::uint64_t cycle);
    void schedule(std::uint64_t cycle);
    RequestId findHit(const Bank&, RequestId from) const;
    void remove(Bank&, RequestId);
    void offerRoom();

    SimContext& sim_;
    std::uint32_t index_;
    std::size_t capacity_, queued_ = 0;
    Cycles ageLimit_;
    std::vector<Bank> banks_;
    std::vector<std::uint64_t> waiting_, hits_;  ///< bit per bank: has requests; has one for its open row
    std::uint64_t busFree_ = 0;                  ///< first cycle for the next column command
    std::uint64_t scheduled_ = kNever;           ///< memory cycle of the next step
    std::vector<L2Slice*> slices_;
    std::size_t turn_ = 0;  ///< the slice that is offered room first
};

}  // namespace bulkhead::sim
