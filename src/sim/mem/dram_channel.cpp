#include "sim/mem/dram_channel.h"

#include <algorithm>
#include <bit>

#include "sim/mem/l2_slice.h"

namespace bulkhead::sim {

DramChannel::DramChannel(SimContext& sim, std::uint32_t index)
    : sim_(sim),
      index_(index),
      capacity_(static_cast<std::size_t>(sim.profile.dram.queue)),
      ageLimit_(static_cast<Cycles>(sim.profile.dram.ageLimit)),
      banks_(sim.profile.map.banksPerChannel()),
      waiting_((banks_.size() + 63) / 64, 0),
      hits_(waiting_.size(), 0) {}

void DramChannel::enqueue(RequestId id) {
    Request& request = sim_.requests[id];
    request.next = kNoRequest;
    request.since = sim_.now;
    Bank& bank = banks_[request.bank];
    if (bank.last == kNoRequest) {
        bank.first = id;
    } else {
        sim_.requests[bank.last].next = id;
    }
    bank.last = id;
    ++queued_;
    waiting_[request.bank >> 6] |= std::uint64_t{1} << (request.bank & 63);
    if (bank.hit == kNoRequest && bank.openRow == request.row && !overdue(bank)) {
        bank.hit = id;
        hits_[request.bank >> 6] |= std::uint64_t{1} << (request.bank & 63);
    }
    // The step happens as an event of this same cycle, after all that arrives now has been queued.
    schedule(sim_.memoryClock.edgeAt(sim_.now));
}

void DramChannel::schedule(std::uint64_t cycle) {
    if (cycle >= scheduled_) return;
    scheduled_ = cycle;
    sim_.events.push(std::max(sim_.memoryClock.coreAt(cycle), sim_.now), EventKind::channelStep, index_);
}

void DramChannel::step() {
    // Several memory cycles may fall into one core cycle. An event that finds its work done does nothing.
    while (scheduled_ != kNever && sim_.memoryClock.coreAt(scheduled_) <= sim_.now) {
        const std::uint64_t cycle = scheduled_;
        scheduled_ = kNever;
        refuseHits();
        openRows(cycle);
        if (issueColumn(cycle)) openRows(cycle);

        std::uint64_t next = kNever;
        for (std::size_t word = 0; word < waiting_.size(); ++word) {
            for (std::uint64_t rest = waiting_[word]; rest; rest &= rest - 1) {
                const Bank& bank = banks_[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
                next =
                    std::min(next, bank.hit != kNoRequest ? std::max(bank.columnReady, busFree_) : bank.prechargeReady);
            }
        }
        if (next != kNever) schedule(std::max(next, cycle + 1));
    }
}

/// Whether the oldest request has waited for another row for too long.
bool DramChannel::overdue(const Bank& bank) const {
    const Request& oldest = sim_.requests[bank.first];
    return oldest.row != bank.openRow && sim_.now - oldest.since > ageLimit_;
}

/// Banks whose oldest request is overdue serve no more hits, so that its row is opened next.
void DramChannel::refuseHits() {
    for (std::size_t word = 0; word < hits_.size(); ++word) {
        for (std::uint64_t rest = hits_[word]; rest; rest &= rest - 1) {
            Bank& bank = banks_[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
            if (!overdue(bank)) continue;
            bank.hit = kNoRequest;
            hits_[word] &= ~(rest & -rest);
        }
    }
}

/// Precharge and activate for every bank whose queue holds nothing for its open row.
void DramChannel::openRows(std::uint64_t cycle) {
    const auto& dram = sim_.profile.dram;
    for (std::size_t word = 0; word < waiting_.size(); ++word) {
        for (std::uint64_t rest = waiting_[word] & ~hits_[word]; rest; rest &= rest - 1) {
            const std::size_t b = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
            Bank& bank = banks_[b];
            if (bank.openRow != kClosed && bank.prechargeReady > cycle) continue;
            const Request& oldest = sim_.requests[bank.first];
            Counters& counters = sim_.counters[oldest.launch];
            std::uint64_t activate = cycle;
            if (bank.openRow == kClosed) {
                ++counters.dramRowMisses;
            } else {
                ++counters.dramRowConflicts;
                activate += static_cast<std::uint64_t>(dram.tRP);
            }
            bank.openRow = oldest.row;
            bank.columnReady = activate + static_cast<std::uint64_t>(dram.tRCD);
            bank.prechargeReady = activate + static_cast<std::uint64_t>(dram.tRAS);
            bank.hit = bank.first;
            hits_[word] |= std::uint64_t{1} << (b & 63);
            // The access that opens a row is counted above; only later ones are row hits.
            sim_.requests[bank.first].remaining = 1;
        }
    }
}

/// Reads or writes the oldest request whose row is open and ready.
bool DramChannel::issueColumn(std::uint64_t cycle) {
    if (busFree_ > cycle) return false;
    RequestId best = kNoRequest;
    for (std::size_t word = 0; word < hits_.size(); ++word) {
        for (std::uint64_t rest = hits_[word]; rest; rest &= rest - 1) {
            const Bank& bank = banks_[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
            if (bank.columnReady > cycle) continue;
            if (best == kNoRequest || sim_.requests[bank.hit].since < sim_.requests[best].since) best = bank.hit;
        }
    }
    if (best == kNoRequest) return false;

    const auto& dram = sim_.profile.dram;
    Request& request = sim_.requests[best];
    Bank& bank = banks_[request.bank];
    Counters& counters = sim_.counters[request.launch];
    if (!request.remaining) ++counters.dramRowHits;
    request.remaining = 0;
    counters.bytesDram += request.bytes;
    sim_.traffic.dram += request.bytes;
    const std::uint64_t bursts =
        (request.bytes + static_cast<std::uint64_t>(dram.burstBytes) - 1) / static_cast<std::uint64_t>(dram.burstBytes);
    const std::uint64_t transfer = bursts * static_cast<std::uint64_t>(dram.tCCD);
    busFree_ = cycle + transfer;
    const std::uint64_t end = cycle + static_cast<std::uint64_t>(dram.tCL) + transfer;
    remove(bank, best);
    if (request.kind == RequestKind::writeback) {
        ++counters.dramWrites;
        bank.prechargeReady = std::max(bank.prechargeReady, end + static_cast<std::uint64_t>(dram.tWR));
        sim_.requests.release(best);
    } else {
        ++counters.dramReads;
        bank.prechargeReady = std::max(bank.prechargeReady, busFree_);
        sim_.events.push(sim_.memoryClock.coreAt(end), EventKind::dramDone, best);
    }
    offerRoom();
    return true;
}

/// The slice that takes some is offered it last the next time.
void DramChannel::offerRoom() {
    const std::size_t first = turn_;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
        const std::size_t slice = (first + i) % slices_.size();
        const std::size_t before = queued_;
        slices_[slice]->dramHasRoom();
        if (queued_ != before) turn_ = (slice + 1) % slices_.size();
    }
}

void DramChannel::remove(Bank& bank, RequestId id) {
    const std::uint32_t b = sim_.requests[id].bank;
    RequestId previous = kNoRequest;
    for (RequestId r = bank.first; r != id; r = sim_.requests[r].next) previous = r;
    const RequestId next = sim_.requests[id].next;
    (previous == kNoRequest ? bank.first : sim_.requests[previous].next) = next;
    if (bank.last == id) bank.last = previous;
    --queued_;
    const std::uint64_t bit = std::uint64_t{1} << (b & 63);
    if (bank.first == kNoRequest) waiting_[b >> 6] &= ~bit;
    bank.hit = findHit(bank, next);
    if (bank.hit == kNoRequest) hits_[b >> 6] &= ~bit;
}

RequestId DramChannel::findHit(const Bank& bank, RequestId from) const {
    for (RequestId r = from; r != kNoRequest; r = sim_.requests[r].next)
        if (sim_.requests[r].row == bank.openRow) return r;
    return kNoRequest;
}

}  // namespace bulkhead::sim
