#pragma once

#include <algorithm>
#include <bit>

#include "sim/mem/dram_channel.h"

namespace bulkhead::sim {

/// A channel whose requests a Scheduler orders. A scheduler is a class of its own file, compiled into its channel,
/// since it is asked at every step:
///   Scheduler(SimContext&, std::span<const DramBank>)
///   bool arrive(id)             takes note of a new request; whether the order of others has changed
///   bool leave(bank, id)        the same for one that is served
///   RequestId toOpen(bank)      whose row is opened next
///   RequestId hit(bank, from)   of the requests from this one on, the one for the open row that is served next
///   bool refuses(bank)          whether the bank serves no more hits, since another row is due
///   bool before(a, b)           which of two requests for open rows has the bus first
template <class Scheduler>
class ScheduledChannel final : public DramChannel {
  public:
    ScheduledChannel(SimContext& sim, std::uint32_t index) : DramChannel(sim, index), scheduler_(sim, banks_) {}

    void enqueue(RequestId id) override {
        Request& request = sim_.requests[id];
        request.bank = static_cast<std::uint32_t>(bankOf(request.bank, request.launch));
        const std::uint64_t cycle = sim_.memoryClock.edgeAt(sim_.now());
        DramBank& bank = banks_[request.bank];
        refresh(cycle);
        settleRow(bank, cycle);
        append(bank, id);
        if (scheduler_.arrive(id)) {
            findHits();
        } else if (bank.hit == kNoRequest && bank.openRow == request.row && !scheduler_.refuses(bank)) {
            bank.hit = id;
            hits_[request.bank >> 6] |= std::uint64_t{1} << (request.bank & 63);
        }
        // The step happens as an event of this same cycle, after all that arrives now has been queued.
        schedule(cycle);
    }

    void step() override {
        // Several memory cycles may fall into one core cycle. An event that finds its work done does nothing.
        while (scheduled_ != kNever && sim_.memoryClock.coreAt(scheduled_) <= sim_.now()) {
            const std::uint64_t cycle = scheduled_;
            scheduled_ = kNever;
            refresh(cycle);
            refuseHits();
            openRows(cycle);
            while (issueColumn(cycle)) openRows(cycle);
            const std::uint64_t next = nextCommand();
            if (next != kNever) schedule(std::max(next, cycle + 1));
        }
    }

  private:
    template <class Body>
    void forBanks(const std::vector<std::uint64_t>& bits, Body body) {
        for (std::size_t word = 0; word < bits.size(); ++word)
            for (std::uint64_t rest = bits[word]; rest; rest &= rest - 1) {
                const std::size_t bank = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
                body(banks_[bank], bank);
            }
    }

    /// First cycle in which anything can be done for a bank with requests.
    std::uint64_t nextCommand() {
        std::uint64_t next = kNever;
        forBanks(waiting_, [&](const DramBank& bank, std::size_t) {
            const std::uint64_t ready = bank.hit != kNoRequest ? std::max(bank.columnReady, busFree(bank.hit))
                                        : bank.openRow == DramBank::kClosed ? bank.activateReady
                                                                            : bank.prechargeReady;
            next = std::min(next, ready);
        });
        return next;
    }

    void setHit(DramBank& bank, std::size_t b, RequestId hit) {
        const std::uint64_t bit = std::uint64_t{1} << (b & 63);
        bank.hit = hit;
        if (hit == kNoRequest) {
            hits_[b >> 6] &= ~bit;
        } else {
            hits_[b >> 6] |= bit;
        }
    }

    /// Anew for every bank.
    void findHits() {
        forBanks(waiting_, [&](DramBank& bank, std::size_t b) { setHit(bank, b, scheduler_.hit(bank, bank.first)); });
    }

    void refuseHits() {
        for (std::size_t word = 0; word < hits_.size(); ++word) {
            for (std::uint64_t rest = hits_[word]; rest; rest &= rest - 1) {
                DramBank& bank = banks_[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
                if (!scheduler_.refuses(bank)) continue;
                bank.hit = kNoRequest;
                hits_[word] &= ~(rest & -rest);
            }
        }
    }

    /// Precharge and activate for every bank that has nothing to serve from its open row.
    void openRows(std::uint64_t cycle) {
        const auto& dram = sim_.config.dram;
        for (std::size_t word = 0; word < waiting_.size(); ++word) {
            for (std::uint64_t rest = waiting_[word] & ~hits_[word]; rest; rest &= rest - 1) {
                const std::size_t b = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
                DramBank& bank = banks_[b];
                settleRow(bank, cycle);
                const bool closed = bank.openRow == DramBank::kClosed;
                if ((closed ? bank.activateReady : bank.prechargeReady) > cycle) continue;
                const RequestId id = scheduler_.toOpen(bank);
                Request& request = sim_.requests[id];
                Counters& counters = sim_.counters(request.launch);
                std::uint64_t activate = cycle;
                if (closed) {
                    ++counters.dramRowMisses;
                } else {
                    ++counters.dramRowConflicts;
                    activate += dram.tRP;
                }
                bank.openRow = request.row;
                bank.columnReady = activate + dram.tRCD;
                bank.prechargeReady = activate + dram.tRAS;
                bank.passed = 0;
                setHit(bank, b, id);
                // The access that opens a row is counted above; only later ones are row hits.
                request.opensRow = true;
            }
        }
    }

    /// Reads or writes the request that comes first of those whose rows are open and ready.
    bool issueColumn(std::uint64_t cycle) {
        if (std::ranges::min(busFree_) > cycle) return false;
        RequestId best = kNoRequest;
        forBanks(hits_, [&](const DramBank& bank, std::size_t) {
            if (bank.columnReady > cycle || busFree(bank.hit) > cycle) return;
            if (best == kNoRequest || scheduler_.before(bank.hit, best)) best = bank.hit;
        });
        if (best == kNoRequest) return false;

        const auto& dram = sim_.config.dram;
        Request& request = sim_.requests[best];
        DramBank& bank = banks_[request.bank];
        Counters& counters = sim_.counters(request.launch);
        if (!request.opensRow) ++counters.dramRowHits;
        request.opensRow = false;
        counters.bytesDram += request.bytes;
        sim_.dramMoved(request.bytes);
        const std::uint64_t bursts = (request.bytes + dram.burstBytes - 1) / dram.burstBytes;
        const std::uint64_t transfer = bursts * dram.tCCD;
        busFree(best) = cycle + transfer;
        bank.lastColumn = cycle;
        const std::uint64_t end = cycle + dram.tCL + transfer;
        remove(bank, best);
        if (request.kind == RequestKind::writeback) {
            ++counters.dramWrites;
            counters.bytesDramWritten += request.bytes;
            bank.prechargeReady = std::max(bank.prechargeReady, end + dram.tWR);
            sim_.requests.release(best);
        } else {
            ++counters.dramReads;
            bank.prechargeReady = std::max(bank.prechargeReady, cycle + transfer);
            sim_.schedule(sim_.memoryClock.coreAt(end), EventKind::dramDone, best);
        }
        offerRoom();
        return true;
    }

    void remove(DramBank& bank, RequestId id) {
        const Request& request = sim_.requests[id];
        if (bank.first != id && sim_.requests[bank.first].row != bank.openRow) ++bank.passed;
        const RequestId next = request.next;
        unlink(bank, id);
        if (scheduler_.leave(bank, id)) {
            setHit(bank, request.bank, kNoRequest);
            findHits();
        } else {
            setHit(bank, request.bank, scheduler_.hit(bank, next));
        }
    }

    Scheduler scheduler_;
};

}  // namespace bulkhead::sim
