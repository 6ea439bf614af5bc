#include "sim/sm/bulk_copy_unit.h"

#include <bit>
#include <utility>

#include "sim/exec/pending_effects.h"
#include "sim/mem/crossbar.h"
#include "sim/sm/sm.h"

namespace bulkhead::sim {

BulkCopyUnit::BulkCopyUnit(SimContext& sim, SmPort& port, Sm& sm, PendingEffects& effects, std::uint32_t portNumber)
    : sim_(sim), port_(port), sm_(sm), effects_(effects), portNumber_(portNumber) {
    sim_.onEvent<&BulkCopyUnit::advance>(EventKind::bulkCopy, *this);
    sim_.onEvent<&BulkCopyUnit::betweenDone>(EventKind::bulkBetween, *this);
}

void BulkCopyUnit::submit(BulkCopy&& copy) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(copies_.size()));
        copies_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    UnderWay& u = copies_[index];
    u = {};
    u.copy = std::move(copy);
    u.startsAt = std::max(sim_.now() + kLatency, next_);
    next_ = u.startsAt + kInterval;
    sm_.copyBegins(u.copy.slot, u.launch, u.generation);
    if (u.copy.way == BulkWay::toGlobal) sm_.joinBulkGroup(u.copy.slot, u.readGroup, u.writeGroup);
    queue_.push_back(index);
    if (queue_.size() == 1) wakeAt(u.startsAt);
}

void BulkCopyUnit::forget(const Block& block) {
    for (UnderWay& u : copies_)
        if (u.copy.block == &block) u.copy.block = nullptr;
}

void BulkCopyUnit::wakeAt(Cycles when) {
    if (scheduled_ <= when) return;
    scheduled_ = when;
    sim_.schedule(when, EventKind::bulkCopy, 0);
}

void BulkCopyUnit::advance(std::uint32_t) {
    if (sim_.now() != scheduled_) return;
    scheduled_ = kNever;
    if (held_) {
        waitsForGpu_ = true;
        return;
    }
    while (!queue_.empty()) {
        const std::uint32_t index = queue_.front();
        UnderWay& u = copies_[index];
        if (u.startsAt > sim_.now()) return wakeAt(u.startsAt);
        if (u.copy.way == BulkWay::between) {
            queue_.pop_front();
            const Cycles passes = (u.copy.bytes + kBetweenBytes - 1) / kBetweenBytes;
            sim_.schedule(sim_.now() + sim_.config.cluster.latency + passes, EventKind::bulkBetween, index);
            if (!queue_.empty()) wakeAt(std::max(copies_[queue_.front()].startsAt, sim_.now() + passes));
            return;
        }
        // Sources are read when the first line is sent; nothing may write them before bulk_group.read says so.
        if (u.copy.way == BulkWay::toGlobal && !u.read && port_.canSend()) {
            u.read = true;
            u.copy.takeEffect(effects_);
        }
        if (sendLine(index)) return wakeAt(sim_.now() + 1);
        if (u.piece < u.copy.pieces.size()) {
            waitsForPort_ = true;
            return;
        }
        queue_.pop_front();
        allSent(index);
    }
}

/// The next line that holds pieces of the tensor. False if there is no room for it, or no line left.
bool BulkCopyUnit::sendLine(std::uint32_t index) {
    UnderWay& u = copies_[index];
    const auto& pieces = u.copy.pieces;
    while (u.piece < pieces.size() && (!pieces[u.piece].host || !u.copy.block)) ++u.piece;
    if (u.piece == pieces.size() || !port_.canSend()) return false;
    const AddressSpace& memory = *u.copy.block->launch->memory;
    const auto& l2 = sim_.config.l2;
    constexpr std::uint64_t kWord = 4;
    const std::uint64_t first = (pieces[u.piece].global + u.offset) / l2.lineBytes;
    const std::uint64_t line =
        memory.physical(pieces[u.piece].global + u.offset, mappingHint_) / l2.lineBytes * l2.lineBytes;
    std::uint8_t sectors = 0;
    std::uint64_t words = 0;
    for (; u.piece < pieces.size() && pieces[u.piece].host; ++u.piece, u.offset = 0) {
        const BulkPiece& piece = pieces[u.piece];
        const std::uint64_t begin = piece.global + u.offset;
        if (begin / l2.lineBytes != first) break;
        const std::uint64_t end = std::min(piece.global + piece.bytes, (first + 1) * l2.lineBytes);
        for (std::uint64_t at = begin % l2.lineBytes; at < end - first * l2.lineBytes; at += kWord) {
            sectors |= static_cast<std::uint8_t>(1u << at / l2.sectorBytes);
            words |= std::uint64_t{1} << at / kWord;
        }
        if (end < piece.global + piece.bytes) {
            u.offset = static_cast<std::uint32_t>(end - piece.global);
            break;
        }
    }
    const RequestId id = sim_.requests.take();
    Request& request = sim_.requests[id];
    const bool writes = u.copy.way == BulkWay::toGlobal;
    request.kind = !writes ? RequestKind::read : u.copy.reduce ? RequestKind::reduction : RequestKind::write;
    request.goTo(sim_.profile.map, line);
    request.isBulk = true;
    request.sm = portNumber_;
    request.launch = u.launch;
    request.token = kTokens << kTokenShift | index;
    request.sectors = sectors;
    request.bytes = static_cast<std::uint16_t>(std::popcount(sectors) * l2.sectorBytes);
    request.retention = sim_.retentionOf(u.launch, line);
    if (request.kind == RequestKind::write) {
        const std::uint64_t whole = (std::uint64_t{1} << l2.sectorBytes / kWord) - 1;
        for (unsigned s = 0; s < 8; ++s)
            if (const unsigned shift = s * static_cast<unsigned>(l2.sectorBytes / kWord);
                shift < 64 && (words >> shift & whole) == whole)
                request.complete |= static_cast<std::uint8_t>(1u << s);
        request.words = static_cast<std::uint32_t>(words);
        request.bytes += static_cast<std::uint16_t>(
            std::popcount(static_cast<std::uint8_t>(sectors & ~request.complete)) * sim_.config.crossbar.maskExtra);
    }
    if (writes) {
        sm_.bulkStoreSent(u.launch);
        sm_.takeShared(request.bytes);
    }
    ++u.requests;
    port_.send(id);
    return true;
}

void BulkCopyUnit::allSent(std::uint32_t index) {
    UnderWay& u = copies_[index];
    u.sent = true;
    if (u.copy.way == BulkWay::toGlobal) sm_.bulkSourceRead(u.copy.slot, u.generation, u.readGroup);
    if (!u.requests) end(index);
}

void BulkCopyUnit::receive(RequestId id) {
    const std::uint32_t index = sim_.requests[id].token & ((1u << kTokenShift) - 1);
    if (copies_[index].copy.way == BulkWay::toShared) sm_.takeShared(sim_.requests[id].bytes);
    sim_.requests.release(id);
    answered(index);
}

void BulkCopyUnit::stored(std::uint32_t token) {
    answered(token & ((1u << kTokenShift) - 1));
}

void BulkCopyUnit::answered(std::uint32_t index) {
    UnderWay& u = copies_[index];
    if (--u.requests == 0 && u.sent) end(index);
}

void BulkCopyUnit::end(std::uint32_t index) {
    UnderWay& u = copies_[index];
    if (u.copy.way == BulkWay::toGlobal)
        sm_.bulkWritten(u.copy.slot, u.generation, u.writeGroup);
    else
        u.copy.takeEffect(effects_);
    sim_.noteEffect();
    sm_.lookAtPhases();
    u.copy = {};
    free_.push_back(index);
}

void BulkCopyUnit::betweenDone(std::uint32_t index) {
    if (!held_) return end(index);
    arrived_.push_back(index);
    waitsForGpu_ = true;
}

void BulkCopyUnit::hold(bool held) {
    if (held == held_) return;
    held_ = held;
    if (held || !waitsForGpu_) return;
    waitsForGpu_ = false;
    for (const std::uint32_t index : std::exchange(arrived_, {})) end(index);
    wakeAt(sim_.now());
}

void BulkCopyUnit::requestPortFreed() {
    if (!waitsForPort_) return;
    waitsForPort_ = false;
    wakeAt(sim_.now());
}

}  // namespace bulkhead::sim
