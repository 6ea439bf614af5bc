#include "sim/mem/dram_channel.h"

#include <algorithm>
#include <array>

#include "sim/mem/l2_slice.h"

namespace bulkhead::sim {
namespace {

constexpr std::array kSchedulers = {
    DramSchedulerChoice{"fr-fcfs", "requests for open rows first, up to an age; then the oldest", makeFrFcfs},
    DramSchedulerChoice{"fcfs", "the oldest of each bank first", makeFcfs},
    DramSchedulerChoice{"fr-fcfs-cap", "requests for an open row pass an older one dram.hitCap times at most",
                        makeFrFcfsCap},
    DramSchedulerChoice{"par-bs", "in batches, shortest kernel first (Mutlu and Moscibroda, ISCA 2008)", makeParBs},
};
static_assert(std::ranges::equal(kSchedulers, arch::DeviceProfile::kDramSchedulerNames, {},
                                 &DramSchedulerChoice::name));

}  // namespace

std::span<const DramSchedulerChoice> dramSchedulers() {
    return kSchedulers;
}

std::unique_ptr<DramChannel> makeDramChannel(SimContext& sim, std::uint32_t index) {
    return kSchedulers[static_cast<std::size_t>(sim.profile.dram.scheduler)].make(sim, index);
}

DramChannel::DramChannel(SimContext& sim, std::uint32_t index)
    : sim_(sim),
      index_(index),
      capacity_(sim.config.dram.queue),
      bankCapacity_(sim.config.dram.bankQueue),
      banksEach_(sim.profile.map.banksPerChannel()),
      queued_(sim.separation.copiesOfQueues()),
      banks_(banksEach_ * sim.separation.copies(Resource::banks)),
      waiting_((banks_.size() + 63) / 64, 0),
      hits_(waiting_.size(), 0),
      busFree_(sim.separation.copies(Resource::bus)),
      refreshInterval_(sim.config.dram.tREFI),
      refreshCycles_(sim.config.dram.tRFC),
      rowPolicy_(makeRowPolicy(sim.profile.dram)) {}

void DramChannel::append(DramBank& bank, RequestId id) {
    Request& request = sim_.requests[id];
    request.next = kNoRequest;
    request.since = sim_.now();
    (bank.last == kNoRequest ? bank.first : sim_.requests[bank.last].next) = id;
    bank.last = id;
    const std::uint32_t copy = sim_.separation.queuesOf(request.launch);
    ++queued_[copy];
    if (request.kind == RequestKind::fill) ++bank.fills[copy];
    waiting_[request.bank >> 6] |= std::uint64_t{1} << (request.bank & 63);
}

void DramChannel::unlink(DramBank& bank, RequestId id) {
    RequestId previous = kNoRequest;
    for (RequestId r = bank.first; r != id; r = sim_.requests[r].next) previous = r;
    const Request& request = sim_.requests[id];
    (previous == kNoRequest ? bank.first : sim_.requests[previous].next) = request.next;
    if (bank.last == id) bank.last = previous;
    const std::uint32_t copy = sim_.separation.queuesOf(request.launch);
    --queued_[copy];
    if (request.kind == RequestKind::fill) --bank.fills[copy];
    if (bank.first == kNoRequest) waiting_[request.bank >> 6] &= ~(std::uint64_t{1} << (request.bank & 63));
}

void DramChannel::schedule(std::uint64_t cycle) {
    if (cycle >= scheduled_) return;
    scheduled_ = cycle;
    sim_.schedule(std::max(sim_.memoryClock.coreAt(cycle), sim_.now()), EventKind::channelStep, index_);
}

/// All banks at once, every refreshInterval_. Of those that fell into a time in which nothing was done, only the last
/// one can still be felt.
void DramChannel::refreshBanks(std::uint64_t cycle) {
    refreshes_ = cycle / refreshInterval_;
    for (std::size_t first = 0; first < banks_.size(); first += banksEach_)
        refreshBanks(std::span(banks_).subspan(first, banksEach_), refreshes_ * refreshInterval_);
    std::ranges::fill(hits_, 0);
}

void DramChannel::refreshBanks(std::span<DramBank> banks, std::uint64_t begin) const {
    for (const DramBank& bank : banks)
        begin = std::max(
            begin, bank.openRow == DramBank::kClosed ? bank.activateReady : bank.prechargeReady + sim_.config.dram.tRP);
    for (DramBank& bank : banks) {
        bank.openRow = DramBank::kClosed;
        bank.hit = kNoRequest;
        bank.activateReady = begin + refreshCycles_;
    }
}

void DramChannel::closeIdleRow(DramBank& bank, std::uint64_t cycle) const {
    const std::uint64_t closed = std::max(rowPolicy_->closesAt(bank.lastColumn), bank.prechargeReady);
    if (closed > cycle) return;
    bank.openRow = DramBank::kClosed;
    bank.activateReady = closed + sim_.config.dram.tRP;
}

/// The slice that takes some is offered it last the next time.
void DramChannel::offerRoom() {
    const std::size_t first = turn_;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
        const std::size_t slice = (first + i) % slices_.size();
        const std::size_t before = waiting();
        slices_[slice]->dramHasRoom();
        if (waiting() != before) turn_ = (slice + 1) % slices_.size();
    }
}

}  // namespace bulkhead::sim
