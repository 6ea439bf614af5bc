#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// Miss status holding registers: one entry per line under way, each with a bounded list of those who wait for it.
/// Found through a small chained hash, so that many entries cost no more than few.
class MshrFile {
  public:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    struct Entry {
        std::uint64_t line = 0;
        std::uint32_t first = kNone, last = kNone;  ///< waiters
        std::uint32_t waiters = 0;
        std::uint32_t chain = kNone;
        std::uint8_t copy = 0;        ///< of the file, that it belongs to
        std::uint8_t pending = 0;     ///< sectors asked for and not yet here
        std::uint8_t prefetched = 0;  ///< those of them that nobody has asked for, while that is so for all
        /// Where in shared memory the data go, which then serves as a cache (CIAO IV-B); kNone: to the cache itself.
        std::uint32_t sharedPlace = kNone;
    };
    struct Waiter {
        std::uint32_t token = 0;
        std::uint32_t next = kNone;
        std::uint8_t sectors = 0;  ///< still needed
    };

    /// `copies`: each with so many entries (Separation).
    MshrFile(std::uint32_t entries, std::uint32_t merges, std::uint32_t copies = 1)
        : merges_(merges),
          entries_(std::size_t{entries} * copies),
          heads_(std::bit_ceil(entries_.size() * 2), kNone),
          unused_(copies, entries) {
        for (std::uint32_t i = entries * copies; i-- > 0;) {
            entries_[i].chain = free_;
            free_ = i;
        }
    }

    bool full(std::uint32_t copy = 0) const { return unused_[copy] == 0; }
    std::uint32_t unused(std::uint32_t copy = 0) const { return unused_[copy]; }
    bool canMerge(std::uint32_t entry) const { return entries_[entry].waiters < merges_; }
    Entry& operator[](std::uint32_t entry) { return entries_[entry]; }
    const Entry& operator[](std::uint32_t entry) const { return entries_[entry]; }

    std::uint32_t find(std::uint64_t line) const {
        for (std::uint32_t e = heads_[bucket(line)]; e != kNone; e = entries_[e].chain)
            if (entries_[e].line == line) return e;
        return kNone;
    }

    std::uint32_t allocate(std::uint64_t line, std::uint32_t copy = 0) {
        const std::uint32_t e = free_;
        free_ = entries_[e].chain;
        --unused_[copy];
        entries_[e] = {};
        entries_[e].line = line;
        entries_[e].copy = static_cast<std::uint8_t>(copy);
        std::uint32_t& head = heads_[bucket(line)];
        entries_[e].chain = head;
        head = e;
        return e;
    }

    void wait(std::uint32_t entry, std::uint32_t token, std::uint8_t sectors) {
        std::uint32_t w = freeWaiter_;
        if (w == kNone) {
            w = static_cast<std::uint32_t>(waiters_.size());
            waiters_.emplace_back();
        } else {
            freeWaiter_ = waiters_[w].next;
        }
        waiters_[w] = {token, kNone, sectors};
        Entry& e = entries_[entry];
        if (e.last == kNone) {
            e.first = w;
        } else {
            waiters_[e.last].next = w;
        }
        e.last = w;
        ++e.waiters;
    }

    /// Sectors have come: calls done(token) for everyone who has all they wait for, in order of arrival. True when
    /// nothing is left to wait for; the entry is then free again.
    template <class Done>
    bool arrive(std::uint32_t entry, std::uint8_t sectors, Done&& done) {
        entries_[entry].pending &= static_cast<std::uint8_t>(~sectors);
        std::uint32_t previous = kNone;
        for (std::uint32_t w = entries_[entry].first; w != kNone;) {
            const std::uint32_t next = waiters_[w].next;
            waiters_[w].sectors &= static_cast<std::uint8_t>(~sectors);
            if (waiters_[w].sectors == 0) {
                const std::uint32_t token = waiters_[w].token;
                Entry& e = entries_[entry];
                (previous == kNone ? e.first : waiters_[previous].next) = next;
                if (e.last == w) e.last = previous;
                --e.waiters;
                waiters_[w].next = freeWaiter_;
                freeWaiter_ = w;
                done(token);
            } else {
                previous = w;
            }
            w = next;
        }
        if (entries_[entry].waiters || entries_[entry].pending) return false;
        release(entry);
        return true;
    }

    /// Shared memory is divided differently from now on: what was to go there goes to the cache.
    void forgetSharedPlaces() {
        for (Entry& entry : entries_) entry.sharedPlace = kNone;
    }

  private:
    std::size_t bucket(std::uint64_t line) const {
        return static_cast<std::size_t>((line * 0x9E3779B97F4A7C15u) >> 40) & (heads_.size() - 1);
    }
    void release(std::uint32_t entry) {
        std::uint32_t* link = &heads_[bucket(entries_[entry].line)];
        while (*link != entry) link = &entries_[*link].chain;
        *link = entries_[entry].chain;
        entries_[entry].chain = free_;
        free_ = entry;
        ++unused_[entries_[entry].copy];
    }

    std::uint32_t merges_;
    std::vector<Entry> entries_;
    std::vector<Waiter> waiters_;  ///< as many as have waited at once, which is far fewer than may
    std::vector<std::uint32_t> heads_;
    std::uint32_t free_ = kNone, freeWaiter_ = kNone;
    std::vector<std::uint32_t> unused_;  ///< by copy
};

}  // namespace bulkhead::sim
