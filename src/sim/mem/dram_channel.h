#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "sim/mem/row_policy.h"
#include "sim/sim_context.h"

namespace bulkhead::sim {

class L2Slice;

/// A bank with its row buffer, and the requests that wait for it. Times are cycles of the memory clock.
struct DramBank {
    static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

    RequestId first = kNoRequest, last = kNoRequest;  ///< waiting, oldest first
    RequestId hit = kNoRequest;                       ///< the one of those for the open row that is served next
    std::uint64_t openRow = kClosed;
    std::uint64_t columnReady = 0;     ///< first cycle for a column command
    std::uint64_t prechargeReady = 0;  ///< first cycle for a precharge: tRAS and tWR kept
    std::uint64_t activateReady = 0;   ///< first cycle for an activate where the row was closed before it was needed
    std::uint64_t lastColumn = 0;      ///< cycle of the last column command
    std::uint32_t passed = 0;  ///< requests served since the row was opened while an older one wanted another row
    std::array<std::uint32_t, Separation::kMostCopies> fills = {};  ///< waiting, by copy of the queue
};

/// One DRAM channel: a queue that a scheduler reorders, banks with a row buffer each, one data bus, refresh. Times
/// inside are memory-clock cycles. Commands are placed when they become possible, so that an idle channel costs
/// nothing; the command bus itself is taken to be free.
class DramChannel {
  public:
    DramChannel(SimContext&, std::uint32_t index);
    virtual ~DramChannel() = default;

    /// In the queue, for requests of a launch.
    std::size_t room(std::uint32_t launch = 0) const { return capacity_ - queued_[sim_.separation.queuesOf(launch)]; }
    /// For a fill of a bank: there may be room in the queue, but not for so many of one bank.
    bool hasRoomForFill(std::uint32_t bank, std::uint32_t launch) const {
        return bankCapacity_ == 0 ||
               banks_[bankOf(bank, launch)].fills[sim_.separation.queuesOf(launch)] < bankCapacity_;
    }
    /// A fill or a write-back, for which there must be room.
    virtual void enqueue(RequestId) = 0;
    /// Slices that found no room are told when there is some.
    void notifyWhenRoom(L2Slice& slice) { slices_.push_back(&slice); }

    virtual void step() = 0;  ///< on EventKind::channelStep

  protected:
    void append(DramBank&, RequestId);
    void unlink(DramBank&, RequestId);
    void schedule(std::uint64_t cycle);
    void refresh(std::uint64_t cycle) {
        if (refreshInterval_ && cycle / refreshInterval_ != refreshes_) refreshBanks(cycle);
    }
    /// What the row policy did to a bank that had nothing to do.
    void settleRow(DramBank& bank, std::uint64_t cycle) const {
        if (rowPolicy_ && bank.openRow != DramBank::kClosed && bank.hit == kNoRequest) closeIdleRow(bank, cycle);
    }
    /// Among the copies of the banks.
    std::size_t bankOf(std::uint32_t bank, std::uint32_t launch) const {
        return bank + banksEach_ * sim_.separation.copyOf(Resource::banks, launch);
    }
    std::uint64_t& busFree(RequestId id) {
        return busFree_[sim_.separation.copyOf(Resource::bus, sim_.requests[id].launch)];
    }
    void offerRoom();

    SimContext& sim_;
    std::uint32_t index_;
    std::size_t capacity_, bankCapacity_;
    std::size_t banksEach_;            ///< of one copy of the banks
    std::vector<std::size_t> queued_;  ///< by copy of the queue
    std::vector<DramBank> banks_;
    std::vector<std::uint64_t> waiting_, hits_;  ///< bit per bank: has requests; has one for its open row
    std::vector<std::uint64_t> busFree_;         ///< first cycle for the next column command, by copy of the bus
    std::uint64_t scheduled_ = kNever;           ///< memory cycle of the next step
    const std::uint64_t refreshInterval_, refreshCycles_;
    std::uint64_t refreshes_ = 0;
    const std::unique_ptr<RowPolicy> rowPolicy_;  ///< null where rows stay open
    std::vector<L2Slice*> slices_;
    std::size_t turn_ = 0;  ///< the slice that is offered room first

  private:
    void refreshBanks(std::uint64_t cycle);
    void refreshBanks(std::span<DramBank>, std::uint64_t begin) const;
    std::size_t waiting() const { return std::accumulate(queued_.begin(), queued_.end(), std::size_t{0}); }
    void closeIdleRow(DramBank&, std::uint64_t cycle) const;
};

/// A row of the table of schedulers: what makes a channel of that kind.
struct DramSchedulerChoice {
    std::string_view name, meaning;
    std::unique_ptr<DramChannel> (*make)(SimContext&, std::uint32_t index);
};

/// In the order of the profile's choices.
std::span<const DramSchedulerChoice> dramSchedulers();
/// With the scheduler that the profile names.
std::unique_ptr<DramChannel> makeDramChannel(SimContext&, std::uint32_t index);

std::unique_ptr<DramChannel> makeFrFcfs(SimContext&, std::uint32_t index);
std::unique_ptr<DramChannel> makeFcfs(SimContext&, std::uint32_t index);
std::unique_ptr<DramChannel> makeFrFcfsCap(SimContext&, std::uint32_t index);
std::unique_ptr<DramChannel> makeParBs(SimContext&, std::uint32_t index);

}  // namespace bulkhead::sim
