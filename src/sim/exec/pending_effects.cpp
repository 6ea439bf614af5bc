#include "sim/exec/pending_effects.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/time_order.h"

namespace bulkhead::sim {
namespace {

/// Visits the lanes' bytes, as few pieces as their pattern allows: visit(address, where memory has them, their number,
/// first lane).
template <class Visit>
void eachPiece(const Access& a, const Places& p, Visit visit) {
    if (p.linear && a.pattern != AccessPattern::scattered)
        return visit(a.address[0], p.of(a, 0),
                     a.pattern == AccessPattern::uniform ? a.bytes : std::uint32_t{a.bytes} * kLanes, 0u);
    for (LaneMask m = a.lanes; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        visit(a.address[lane], p.of(a, lane), std::uint32_t{a.bytes}, lane);
    }
}

}  // namespace

/// Where the line's mark is, or would be.
std::size_t PendingEffects::placeOf(std::uint64_t line) const {
    const std::size_t mask = marks_.size() - 1;
    std::size_t at = (line ^ line >> 9) & mask;
    while (marks_[at].window == window_ && marks_[at].line != line) at = (at + 1) & mask;
    return at;
}

PendingEffects::Mark& PendingEffects::mark(std::uint64_t line) {
    Mark* mark = &marks_[placeOf(line)];
    if (mark->window == window_) return *mark;
    if (++marked_ > marks_.size() / 2) {
        growMarks();
        mark = &marks_[placeOf(line)];
    }
    *mark = {line, window_, kNone, false};
    return *mark;
}

void PendingEffects::growMarks() {
    const std::vector<Mark> before = std::exchange(marks_, std::vector<Mark>(marks_.size() * 2));
    for (const Mark& mark : before)
        if (mark.window == window_) marks_[placeOf(mark.line)] = mark;
}

PendingEffects::Seen PendingEffects::look(const Access& a, const Places& p) const {
    bool stores = false, atomics = false;
    eachPiece(a, p, [&](std::uint64_t address, const std::uint8_t*, std::uint32_t bytes, unsigned) {
        const std::uint64_t last = (address + bytes - 1) >> kLineShift;
        for (std::uint64_t line = address >> kLineShift; line <= last; ++line) {
            const Mark* mark = markOf(line);
            if (!mark) continue;
            stores = true;
            atomics |= mark->atomics;
        }
    });
    return atomics ? Seen::atomics : stores ? Seen::stores : Seen::memory;
}

void PendingEffects::read(std::uint64_t address, const std::uint8_t* from, std::size_t bytes, std::uint8_t* to) const {
    std::memcpy(to, from, bytes);
    const Mark* mark = entries_.empty() ? nullptr : markOf(address >> kLineShift);
    if (!mark) return;
    const auto first = static_cast<std::uint32_t>(address % kLine);
    std::uint32_t open = (std::uint32_t{1} << bytes) - 1;  // bytes of no later store
    for (std::uint32_t at = mark->last; at != kNone && open; at = entries_[at].previous) {
        const Entry& store = entries_[at];
        for (std::uint32_t rest = open; rest; rest &= rest - 1) {
            const auto i = static_cast<unsigned>(std::countr_zero(rest));
            const std::uint32_t offset = first + i - store.offset;
            if (offset >= store.bytes) continue;
            to[i] = data_[store.data + offset];
            open &= ~(std::uint32_t{1} << i);
        }
    }
}

std::uint32_t PendingEffects::room(std::size_t bytes) {
    const std::uint32_t at = used_;
    used_ += static_cast<std::uint32_t>((bytes + 15) / 16 * 16);
    if (used_ > capacity_) {
        const std::uint32_t larger = std::max<std::uint32_t>(std::bit_ceil(used_), 4096);
        auto data = std::make_unique_for_overwrite<std::uint8_t[]>(larger);
        if (at) std::memcpy(data.get(), data_.get(), at);
        data_ = std::move(data);
        capacity_ = larger;
    }
    return at;
}

void PendingEffects::addStore(std::uint64_t address, std::uint8_t* to, std::uint32_t data, std::uint32_t bytes) {
    while (bytes) {
        const auto offset = static_cast<std::uint32_t>(address % kLine);
        const std::uint32_t part = std::min(bytes, kLine - offset);
        Mark& line = mark(address >> kLineShift);
        Entry& entry = entries_.emplace_back();
        entry.when = now_;
        entry.to = to;
        entry.previous = line.last;
        entry.offset = offset;
        entry.data = data;
        entry.bytes = part;
        line.last = static_cast<std::uint32_t>(entries_.size() - 1);
        address += part;
        to += part;
        data += part;
        bytes -= part;
    }
}

Places PendingEffects::store(const Access& a, const Places& p) {
    const std::uint32_t data = room(std::size_t{a.bytes} * kLanes);
    std::uint8_t* const first = data_.get() + data;
    Places places;
    if (p.linear && a.pattern != AccessPattern::scattered) {
        places.layLinear(reinterpret_cast<std::uintptr_t>(first) - a.address[0]);
    } else {
        for (unsigned lane = 0; lane < kLanes; ++lane) places.lane[lane] = first + std::size_t{lane} * a.bytes;
    }
    eachPiece(a, p, [&](std::uint64_t address, std::uint8_t* to, std::uint32_t bytes, unsigned lane) {
        addStore(address, to, data + lane * a.bytes, bytes);
    });
    return places;
}

void* PendingEffects::defer(const Access& a, std::size_t bytes, Run run) {
    if (a.kind != AccessKind::load && !a.remote)
        for (LaneMask m = a.lanes; m; m &= m - 1) mark(a.address[std::countr_zero(m)] >> kLineShift).atomics = true;
    return defer(bytes, run);
}

void PendingEffects::store(std::uint64_t address, std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes) {
    const std::uint32_t data = room(bytes);
    std::memcpy(data_.get() + data, from, bytes);
    addStore(address, to, data, bytes);
}

void* PendingEffects::deferOn(std::uint64_t address, std::size_t accessed, std::size_t bytes, Run run) {
    for (std::uint64_t line = address >> kLineShift; line <= (address + accessed - 1) >> kLineShift; ++line)
        mark(line).atomics = true;
    return defer(bytes, run);
}

void* PendingEffects::defer(std::size_t bytes, Run run) {
    const std::uint32_t data = room(bytes);
    Entry& entry = entries_.emplace_back();
    entry.when = now_;
    entry.to = nullptr;
    entry.run = run;
    entry.data = data;
    return data_.get() + data;
}

void PendingEffects::show(const Entry& entry) {
    if (entry.to)
        std::memcpy(entry.to, data_.get() + entry.data, entry.bytes);
    else
        changed_ |= entry.run(data_.get() + entry.data);
}

void PendingEffects::clear() {
    entries_.clear();
    prints_.clear();
    used_ = marked_ = 0;
    ++window_;
}

void PendingEffects::show(const std::vector<PendingEffects*>& all) {
    TimeOrder<Entry> entries;
    TimeOrder<Print> prints;
    for (std::size_t i = 0; i < all.size(); ++i) {
        entries.add(i, all[i]->entries_);
        prints.add(i, all[i]->prints_);
    }
    entries.visit([&](std::size_t of, const Entry& entry) { all[of]->show(entry); });
    prints.visit([](std::size_t, const Print& print) {
        if (print.launch->print) print.launch->print(print.text);
    });
    for (PendingEffects* effects : all) effects->clear();
}

}  // namespace bulkhead::sim
