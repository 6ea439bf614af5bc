#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/mem/cache_tags.h"
#include "sim/mem/mshr.h"
#include "sim/mem/read_joiner.h"
#include "sim/mem/wide_sectors.h"
#include "sim/sim_context.h"

namespace bulkhead::sim {

class DramChannel;
class SlicePort;

/// One slice of the L2 cache: a queue of requests, tags, MSHRs and a response port.
class L2Slice {
    enum class Served : std::uint8_t { yes, mshrFull, responseFull, dramFull, lineBusy };

  public:
    static constexpr std::uint32_t kMostPorts = 2;

    /// A row of the table of write policies: what serves a write, given the way of its line.
    struct WriteChoice {
        std::string_view name, meaning;
        Served (L2Slice::*serve)(RequestId, std::uint32_t way);
    };
    /// In the order of the profile's choices.
    static std::span<const WriteChoice> writePolicies();

    L2Slice(SimContext&, std::uint32_t index, SlicePort&, DramChannel&);

    void arrive(RequestId);                    ///< a request comes out of the crossbar
    void process(std::uint32_t port);          ///< on EventKind::sliceProcess: serve the head of its queue
    void fill(RequestId);                      ///< sectors came from DRAM
    void answer(RequestId id) { finish(id); }  ///< on EventKind::sliceAnswer: a miss is over
    void dramHasRoom();                        ///< the channel's queue is no longer full
    /// What a request does to the tags, without time: for blocks that are executed without it.
    void touch(RequestKind, std::uint32_t set, std::uint64_t line, std::uint8_t sectors, std::uint8_t complete,
               std::uint32_t launch, Retention);

    /// What a copy from elsewhere leaves: it goes on to DRAM, and stays where a way is empty.
    void keepCopied(std::uint32_t set, std::uint64_t line, std::uint8_t complete);

    /// How many ways of a set may hold persisting lines.
    void setPersistingWays(std::uint32_t ways) { persistingWays_ = ways; }
    void resetPersisting() { tags_.resetPersisting(); }

    /// Core cycles by which a miss takes longer than the DRAM's own timings: the memory controller's part of the
    /// profile's latency. It delays the answer, not the MSHR, which is free once the data are there.
    void setMissLatency(Cycles c) { missLatency_ = c; }

  private:
    static constexpr std::uint64_t kNeighbours = std::uint64_t{1} << 61;  ///< no physical address is as high

    struct Queue {
        RequestId first = kNoRequest, last = kNoRequest;
    };
    /// What requests queue at, and answers leave by.
    struct Port {
        Queue queue;
        Queue aside;                     ///< those of a neighbour that wait for what is its own (Separation)
        bool asideWaits = false;         ///< until something has changed
        std::uint64_t busyUntil = 0;     ///< L2 edge at which the tags are free
        std::uint64_t responseFree = 0;  ///< L2 edge at which the response port is free
        Served stalled = Served::yes;
        Cycles stalledSince = 0;
        Cycles scheduled = kNever;
    };

    Served serve(Port&, RequestId, std::uint64_t edge);
    Served serveRead(RequestId, std::uint32_t way);
    Served serveCopy(Port&, RequestId, std::uint64_t edge);
    Served writeBack(RequestId, std::uint32_t way);
    Served writeThrough(RequestId, std::uint32_t way);
    Served writeBackFetch(RequestId, std::uint32_t way);
    bool findCopy(RequestId);
    std::uint32_t copyFor(const Request&);
    void leaveCopy(const Request&, std::uint8_t sectors);
    void writeCopy(const Request&);
    void expectCopy(const Request&);
    void dropCopy(std::uint32_t set, std::uint64_t line);
    void mergeWords(LineState&, const Request&) const;
    void markDirty(std::uint32_t set, std::uint32_t way, std::uint8_t sectors, std::uint32_t launch);
    bool writeOldest(std::uint32_t set, std::uint32_t launch);
    std::uint32_t copySet(std::uint32_t set) const { return set / sets_ * sets_ + (set % sets_ + sets_ / 2) % sets_; }
    /// Of the MSHR for a line in a set: where there are two copies of the tags, a line may be under way to both.
    std::uint64_t mshrKey(std::uint32_t set, std::uint64_t line) const {
        return set < sets_ ? line : line | kNeighbours;
    }
    std::uint8_t widen(std::uint8_t sectors) const { return wide_[sectors]; }
    /// A line was brought in or used by one who says how it is to be kept.
    void retain(std::uint32_t set, std::uint32_t way, Retention retention) {
        if (retention != Retention::normal) [[unlikely]]
            tags_.retain(set, way, retention, persistingWays_);
    }
    void append(Queue&, RequestId);
    RequestId takeFirst(Queue&);
    bool waitsForItsOwn(Served, std::uint32_t launch) const;
    bool serveAside(std::uint32_t port, std::uint64_t edge);
    void noteStall(const Port&, std::uint32_t launch);
    void finish(RequestId);
    void respond(RequestId);
    void send(RequestId, const ReadJoiner::Answer&);
    void evict(std::uint32_t way, const Request& by);
    /// `copied`: the copy's request that waits for it, if it is not for the tags.
    void sendFill(const Request& by, std::uint8_t sectors, RequestId copied = kNoRequest);
    void writeDirty(std::uint32_t way, std::uint32_t launch);
    void sendWriteback(std::uint64_t line, std::uint32_t bank, std::uint64_t row, std::uint8_t sectors,
                       std::uint32_t launch);
    std::uint16_t bytesOf(std::uint8_t sectors) const;
    void schedule(std::uint32_t port, Cycles when);
    template <class Choice>
    void retryIf(Choice&& choice) {
        const auto count = static_cast<std::uint32_t>(ports_.size());
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t index = (turn_ + i) % count;
            const bool aside = std::exchange(ports_[index].asideWaits, false);
            if (aside || choice(ports_[index].stalled)) schedule(index, sim_.now());
        }
        turn_ = (turn_ + 1) % count;
    }
    std::uint32_t portOf(const Request& request) const {
        return sim_.separation.copyOf(Resource::ports, request.launch);
    }

    SimContext& sim_;
    std::uint32_t index_;
    SlicePort& port_;
    DramChannel& channel_;
    std::uint32_t sets_;  ///< of one copy of the tags
    CacheTags tags_;
    Served (L2Slice::*serveWrite_)(RequestId, std::uint32_t way);
    MshrFile mshrs_;
    ReadJoiner joiner_;
    WideSectors wide_;  ///< what a miss fetches
    std::vector<Port> ports_;
    std::uint32_t turn_ = 0;  ///< the port that is tried first
    std::uint64_t responseBacklog_;
    Cycles missLatency_ = 0;
    std::uint32_t persistingWays_ = 1;
};

}  // namespace bulkhead::sim
