#include "sim/sm/coalescer.h"

#include <algorithm>
#include <bit>

namespace bulkhead::sim {
namespace {

/// A bit for each four bytes of 64 that are all touched.
std::uint32_t wholeWords(std::uint64_t bytes) {
    bytes &= bytes >> 1;
    bytes &= bytes >> 2;
    std::uint32_t words = 0;
    for (unsigned w = 0; w < 16; ++w) words |= static_cast<std::uint32_t>(bytes >> (4 * w) & 1) << w;
    return words;
}

}  // namespace

Coalescer::Coalescer(std::uint64_t lineBytes, std::uint64_t sectorBytes)
    : lineShift_(static_cast<unsigned>(std::countr_zero(lineBytes))),
      sectorShift_(static_cast<unsigned>(std::countr_zero(sectorBytes))) {}

void Coalescer::add(Transactions& out, Coverage* coverage, std::uint64_t address, unsigned bytes, bool store) const {
    const std::uint64_t line = address >> lineShift_ << lineShift_;
    // Lanes mostly continue the last line or open one beyond all others; anything else needs a search.
    std::size_t i = out.count;
    if (i && out.items[i - 1].line == line) {
        --i;
    } else if (i && line <= out.highest) {
        for (i = 0; i < out.count && out.items[i].line != line; ++i) {
        }
    }
    if (i == out.count) {
        out.items[out.count++] = {line, 0, 0, 0, 0};
        out.highest = std::max(out.highest, line);
        if (store) coverage[i] = {};
    }
    const unsigned offset = static_cast<unsigned>(address - line);
    const unsigned first = offset >> sectorShift_, last = (offset + bytes - 1) >> sectorShift_;
    out.items[i].sectors |= static_cast<std::uint8_t>((2u << last) - (1u << first));
    if (store) {
        const std::uint64_t ones = bytes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
        if (offset < 64) {
            coverage[i].low |= ones << offset;
        } else {
            coverage[i].high |= ones << (offset - 64);
        }
    }
}

void Coalescer::finish(Transactions& out, const Coverage* coverage, bool store) const {
    for (std::size_t i = 0; i < out.count; ++i) {
        Transaction& t = out.items[i];
        t.bytes = static_cast<std::uint16_t>(std::popcount(t.sectors) << sectorShift_);
        if (!store) continue;
        t.words = wholeWords(coverage[i].low) | wholeWords(coverage[i].high) << 16;
        for (unsigned s = 0; s < (1u << (lineShift_ - sectorShift_)); ++s) {
            const unsigned from = s << sectorShift_, length = 1u << sectorShift_;
            bool whole = true;
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned lo = std::max(from, half * 64), hi = std::min(from + length, half * 64 + 64);
                if (lo >= hi) continue;
                const std::uint64_t want = (hi - lo == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (hi - lo)) - 1)
                                           << (lo - half * 64);
                if (((half ? coverage[i].high : coverage[i].low) & want) != want) whole = false;
            }
            if (whole) t.complete |= static_cast<std::uint8_t>(1u << s);
        }
    }
}

/// One stretch of bytes, every one of them touched.
void Coalescer::gatherRange(std::uint64_t from, std::uint64_t to, Transactions& out) const {
    out.count = 0;
    for (std::uint64_t line = from >> lineShift_ << lineShift_; line < to; line += std::uint64_t{1} << lineShift_) {
        const auto first = static_cast<unsigned>(std::max(from, line) - line);
        const auto last =
            static_cast<unsigned>(std::min(to, line + (std::uint64_t{1} << lineShift_)) - line);  // beyond
        const unsigned sectorMask = (1u << sectorShift_) - 1;
        const unsigned low = first >> sectorShift_, high = (last + sectorMask) >> sectorShift_;
        const unsigned wholeLow = (first + sectorMask) >> sectorShift_, wholeHigh = last >> sectorShift_;
        const auto sectors = static_cast<std::uint8_t>((1u << high) - (1u << low));
        const auto complete =
            static_cast<std::uint8_t>(wholeLow < wholeHigh ? (1u << wholeHigh) - (1u << wholeLow) : 0);
        const unsigned wordLow = (first + 3) / 4, wordHigh = last / 4;
        const auto words = static_cast<std::uint32_t>(
            wordLow < wordHigh ? (std::uint64_t{1} << wordHigh) - (std::uint64_t{1} << wordLow) : 0);
        out.items[out.count++] = {line, words, sectors, complete,
                                  static_cast<std::uint16_t>((high - low) << sectorShift_)};
    }
}

void Coalescer::gather(const Access& access, Transactions& out) const {
    if (access.pattern == AccessPattern::consecutive)
        return gatherRange(access.address[0], access.address[0] + std::uint64_t{kLanes} * access.bytes, out);
    if (access.pattern == AccessPattern::uniform) {
        const std::uint64_t at = access.address[std::countr_zero(access.lanes)];
        return gatherRange(at, at + access.bytes, out);
    }
    Coverage coverage[kMaxTransactions];
    const bool store = access.kind == AccessKind::store;
    out.count = 0;
    out.highest = 0;
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1)
        add(out, coverage, access.address[std::countr_zero(rest)], access.bytes, store);
    finish(out, coverage, store);
}

void Coalescer::gatherTexels(std::span<const Access> accesses, Transactions& out) const {
    out.count = 0;
    out.highest = 0;
    for (const Access& access : accesses)
        for (LaneMask rest = access.lanes; rest; rest &= rest - 1)
            add(out, nullptr, access.address[std::countr_zero(rest)], access.bytes, false);
    finish(out, nullptr, false);
}

void Coalescer::gatherLocal(const Access& access, std::uint64_t base, Transactions& out) const {
    Coverage coverage[kMaxTransactions];
    const bool store = access.kind == AccessKind::store;
    out.count = 0;
    out.highest = 0;
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<std::uint64_t>(std::countr_zero(rest));
        for (std::uint64_t at = access.address[lane], end = at + access.bytes; at < end;) {
            const std::uint64_t piece = std::min<std::uint64_t>(4 - at % 4, end - at);
            add(out, coverage, base + (at / 4 * kLanes + lane) * 4 + at % 4, static_cast<unsigned>(piece), store);
            at += piece;
        }
    }
    finish(out, coverage, store);
}

namespace {

/// Whether every bank is asked for one word at most, which serves any number of lanes. No lane wants more than a word.
bool isFreeOfConflicts(const Access& access, unsigned banks, unsigned shift) {
    std::uint64_t asked = 0, word[64], last = ~std::uint64_t{0};
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
        const std::uint64_t w = access.address[std::countr_zero(rest)] >> shift;
        if (w == last) continue;
        last = w;
        const std::size_t bank = w & (banks - 1);
        if (asked >> bank & 1) {
            if (word[bank] != w) return false;
        } else {
            asked |= std::uint64_t{1} << bank;
            word[bank] = w;
        }
    }
    return true;
}

}  // namespace

void Coalescer::takeTurns(const Access& access, std::uint64_t interval, Transactions& lines) const {
    std::uint64_t seen[kLanes];
    std::uint8_t times[kLanes];
    std::size_t count = 0;
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
        const std::uint64_t address = access.address[std::countr_zero(rest)];
        const auto at = static_cast<std::size_t>(std::find(seen, seen + count, address) - seen);
        if (at == count) {
            seen[count] = address;
            times[count++] = 1;
        } else {
            ++times[at];
        }
    }
    // An assembler makes one operation of lanes that all have the same address (a vote, a sum, and one lane's atomic).
    if (access.combines && count == 1) return;
    constexpr std::uint64_t kMillion = 1'000'000;
    for (std::size_t a = 0; a < count; ++a) {
        const auto turns = static_cast<std::uint16_t>(
            std::min<std::uint64_t>((interval * times[a] + kMillion / 2) / kMillion, 0xffff));
        for (std::size_t i = 0; i < lines.count; ++i)
            if (lines.items[i].line == seen[a] >> lineShift_ << lineShift_)
                lines.items[i].turns = std::max(lines.items[i].turns, turns);
    }
}

unsigned bankPasses(const Access& access, unsigned banks, unsigned bankBytes) {
    const auto shift = static_cast<unsigned>(std::countr_zero(bankBytes));
    const bool serial = access.kind == AccessKind::atomic || access.kind == AccessKind::reduction;
    if (!serial && access.pattern == AccessPattern::consecutive)
        return std::max(1u, kLanes * access.bytes / (banks * bankBytes));
    if (!serial && access.pattern == AccessPattern::uniform && access.bytes <= banks * bankBytes) return 1;
    if (!serial && access.bytes <= bankBytes && isFreeOfConflicts(access, banks, shift)) return 1;
    constexpr std::uint8_t kEnd = 0xff;
    std::uint64_t word[kLanes * 4];
    std::uint8_t next[kLanes * 4], first[64], load[64];
    std::fill_n(first, banks, kEnd);
    std::fill_n(load, banks, std::uint8_t{0});
    unsigned count = 0, most = 1;
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
        const std::uint64_t address = access.address[std::countr_zero(rest)];
        for (std::uint64_t w = address >> shift; w <= (address + access.bytes - 1) >> shift; ++w) {
            const std::size_t bank = w & (banks - 1);
            std::uint8_t same = serial ? kEnd : first[bank];
            while (same != kEnd && word[same] != w) same = next[same];
            if (same != kEnd) continue;  // one word serves any number of lanes
            word[count] = w;
            next[count] = first[bank];
            first[bank] = static_cast<std::uint8_t>(count++);
            most = std::max<unsigned>(most, ++load[bank]);
        }
    }
    return most;
}

}  // namespace bulkhead::sim
