#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

#include "base/units.h"

namespace bulkhead::sim {

constexpr Cycles kNever = std::numeric_limits<Cycles>::max();

enum class EventKind : std::uint8_t {
    smWake,        ///< there is something to do on the SM
    blockStart,    ///< subject: place of a block on the SM
    fetched,       ///< warps that wait for their next instruction look again
    phaseAwaited,  ///< subject: slot of a warp that has waited for a phase for long enough
    otherReached,  ///< subject: load from another SM's shared memory whose data are there
    bulkCopy,      ///< the SM's copy engine sends its next line
    bulkBetween,   ///< subject: copy between shared memories that has arrived
    inject,        ///< the SM's request port is free
    sliceArrive,   ///< subject: request
    sliceProcess,  ///< subject: slice
    channelStep,   ///< subject: DRAM channel
    dramDone,      ///< subject: request
    sliceAnswer,   ///< subject: request whose data have come from DRAM
    respond,       ///< subject: request, at its SM
    deliver,       ///< subject: request, after waiting for the SM's port
    acknowledge,   ///< subject: write or reduction that has been done, at its SM
    timeSlice,     ///< subject: generation of the quantum
    switchDone,    ///< subject: context group that takes over
    command,       ///< subject: stream whose head command is done
    kinds,         ///< how many there are
};

struct Event {
    EventKind kind;
    std::uint32_t subject;
};

/// Who is told of the events of each kind.
class EventHandlers {
  public:
    /// `Method` is one of the unit's and takes the event's subject. The unit must stay where it is.
    template <auto Method, class Unit>
    void set(EventKind kind, Unit& unit) {
        handlers_[static_cast<std::size_t>(kind)] = {
            &unit, [](void* u, std::uint32_t subject) { (static_cast<Unit*>(u)->*Method)(subject); }};
    }
    void handle(const Event& event) const {
        const Handler& handler = handlers_[static_cast<std::size_t>(event.kind)];
        handler.call(handler.unit, event.subject);
    }

  private:
    struct Handler {
        void* unit = nullptr;
        void (*call)(void* unit, std::uint32_t subject) = nullptr;
    };
    Handler handlers_[static_cast<std::size_t>(EventKind::kinds)];
};

/// What will happen, and when. A wheel of buckets for the near future, a heap for the rest: pushing and popping near
/// events costs a few instructions and never allocates once warm. Events of one cycle come out in the order they went
/// in, which makes every run the same.
class EventQueue {
  public:
    EventQueue() : heads_(kBuckets, kNone), tails_(kBuckets, kNone) {}

    /// `when` must not lie before the last time given to popAt.
    void push(Cycles when, EventKind kind, std::uint32_t subject) {
        if (when - base_ >= kBuckets) {
            far_.push({when, sequence_++, {kind, subject}});
            return;
        }
        insert(when, {kind, subject});
    }

    /// The time of the earliest event, or kNever.
    Cycles next() const {
        const Cycles near = nextNear();
        return far_.empty() ? near : std::min(near, far_.top().when);
    }

    /// Moves the wheel to this time; every event before it must have been popped.
    void advance(Cycles now) {
        base_ = now;
        while (!far_.empty() && far_.top().when - base_ < kBuckets) {
            insert(far_.top().when, far_.top().event);
            far_.pop();
        }
    }

    /// Takes the next event of cycle `now` (the time last advanced to); false if there is none left.
    bool popAt(Cycles now, Event& out) {
        const std::uint32_t b = static_cast<std::uint32_t>(now) & (kBuckets - 1);
        const std::uint32_t n = heads_[b];
        if (n == kNone) return false;
        out = nodes_[n].event;
        heads_[b] = nodes_[n].next;
        if (heads_[b] == kNone) {
            words_[b >> 6] &= ~(std::uint64_t{1} << (b & 63));
            if (words_[b >> 6] == 0) summary_ &= ~(std::uint64_t{1} << (b >> 6));
        }
        nodes_[n].next = free_;
        free_ = n;
        return true;
    }

    bool empty() const { return summary_ == 0 && far_.empty(); }

  private:
    static constexpr std::uint32_t kWords = 8, kBuckets = kWords * 64;  // words are found through one summary
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    struct Node {
        Event event;
        std::uint32_t next;
    };
    struct Far {
        Cycles when;
        std::uint64_t sequence;
        Event event;
        bool operator>(const Far& o) const { return when != o.when ? when > o.when : sequence > o.sequence; }
    };

    void insert(Cycles when, Event event) {
        std::uint32_t n = free_;
        if (n == kNone) {
            n = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back({});
        } else {
            free_ = nodes_[n].next;
        }
        nodes_[n] = {event, kNone};
        const std::uint32_t b = static_cast<std::uint32_t>(when) & (kBuckets - 1);
        if (heads_[b] == kNone) {
            heads_[b] = n;
            words_[b >> 6] |= std::uint64_t{1} << (b & 63);
            summary_ |= std::uint64_t{1} << (b >> 6);
        } else {
            nodes_[tails_[b]].next = n;
        }
        tails_[b] = n;
    }

    Cycles nextNear() const {
        if (summary_ == 0) return kNever;
        const std::uint32_t start = static_cast<std::uint32_t>(base_) & (kBuckets - 1);
        const std::uint32_t word = start >> 6, bit = start & 63;
        const std::uint64_t here = words_[word] >> bit;
        if (here) return base_ + std::countr_zero(here);
        // The other words in turn; the starting one last, for buckets that wrapped around.
        const std::uint64_t later = summary_ >> (word + 1) << (word + 1);
        const auto found = static_cast<std::uint32_t>(std::countr_zero(later ? later : summary_));
        const std::uint32_t bucket = found * 64 + std::countr_zero(words_[found]);
        return base_ + ((bucket - start) & (kBuckets - 1));
    }

    Cycles base_ = 0;
    std::uint64_t sequence_ = 0;
    std::vector<std::uint32_t> heads_, tails_;
    std::uint64_t words_[kWords] = {};
    std::uint64_t summary_ = 0;
    std::vector<Node> nodes_;
    std::uint32_t free_ = kNone;
    std::priority_queue<Far, std::vector<Far>, std::greater<>> far_;
};

}  // namespace bulkhead::sim
