#include "sim/transfers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bulkhead::sim {
namespace {

std::uint64_t linesOf(const CopiedBox& box, Bytes lineBytes) {
    return (box.width + lineBytes - 1) / lineBytes * box.height * box.depth;
}

VirtualAddress lineOf(const CopiedBox& box, std::uint64_t line, Bytes lineBytes) {
    const std::uint64_t perRow = (box.width + lineBytes - 1) / lineBytes, row = line / perRow;
    return box.address + row / box.height * box.slice + row % box.height * box.pitch + line % perRow * lineBytes;
}

}  // namespace

Transfers::Transfers(Simulation& sim, Units& units, EndsAt endsAt)
    : sim_(sim), units_(units), endsAt_(std::move(endsAt)) {}

void Transfers::begin(StreamId stream, const Transfer& transfer, Cycles when) {
    State& state = underWay_[stream] = {};
    state.transfer = transfer;
    const Bytes lineBytes = sim_.config.l2.lineBytes;
    if (transfer.from) state.lines = linesOf(*transfer.from, lineBytes);
    if (transfer.to) state.lines = std::max(state.lines, linesOf(*transfer.to, lineBytes));
    state.lines = std::max<std::uint64_t>(state.lines, 1);
    // What is sent meanwhile is told at the end of a window only, and a line that is read is then written.
    const Cycles wait = 2 * static_cast<Cycles>(sim_.profile.dram.latency) + 4 * units_.longestWindow();
    state.most = 1 + wait * state.lines / std::max<Cycles>(transfer.duration, 1);
    state.since = when;
    endsAt_(stream, state.due(state.lines));
    if (competing_) goCompeting(stream, state);
}

void Transfers::compete(bool kernelsRun) {
    if (kernelsRun == competing_) return;
    competing_ = kernelsRun;
    for (auto& [stream, state] : underWay_) competing_ ? goCompeting(stream, state) : goAlone(stream, state);
}

/// Its own pace from here on. What is under way still is taken for done, as its pace is that of what it sends: kernels
/// that come and go do not hold it up.
void Transfers::goAlone(StreamId stream, State& state) {
    if (!state.serial) return;  // it ends just now, or never competed
    state.serial = 0;
    state.since = sim_.now();
    state.first = state.issued;
    endsAt_(stream, state.due(state.lines));
}

void Transfers::goCompeting(StreamId stream, State& state) {
    if (!state.transfer.from && !state.transfer.to) return;  // it does not touch this GPU's memory
    const Cycles now = sim_.now();
    if (now >= state.due(state.lines)) return;  // it ends just now
    if (now > state.since)
        state.first += (now - state.since) * state.lines / std::max<Cycles>(state.transfer.duration, 1);
    state.first = std::min(state.first, state.lines - 1);
    state.since = std::max(now, state.since);
    state.issued = state.done = state.first;
    state.serial = nextSerial_++;
    endsAt_(stream, kNever);
}

Cycles Transfers::next() const {
    Cycles next = kNever;
    for (const auto& [stream, state] : underWay_)
        if (state.serial && state.mayIssue()) next = std::min(next, std::max(state.due(state.issued), sim_.now()));
    return next;
}

void Transfers::send(Cycles end) {
    for (auto& [stream, state] : underWay_) {
        if (!state.serial) continue;
        for (; state.mayIssue(); ++state.issued) {
            const Cycles when = std::max(state.due(state.issued), sim_.now());
            if (when >= end) break;
            request(stream, state, state.transfer.from ? RequestKind::read : RequestKind::write, state.issued, when);
        }
        if (state.mayIssue() || state.issued == state.lines) continue;
        state.since = std::max(end, state.due(state.issued));  // what it could not send in time is not made up for
        state.first = state.issued;
    }
}

void Transfers::request(StreamId stream, State& state, RequestKind kind, std::uint64_t line, Cycles when) {
    const bool reads = kind == RequestKind::read;
    const CopiedBox& box = reads ? *state.transfer.from : *state.transfer.to;
    const auto& l2 = sim_.config.l2;
    const VirtualAddress address = lineOf(box, std::min(line, linesOf(box, l2.lineBytes) - 1), l2.lineBytes);
    const RequestId id = sim_.requests.take();
    Request& request = sim_.requests[id];
    request.kind = kind;
    request.line = box.memory->physical(address, reads ? state.fromHint : state.toHint) / l2.lineBytes * l2.lineBytes;
    request.sm = kCopyEngine;
    request.token = stream;
    request.words = state.serial;
    request.since = line;
    request.sectors = static_cast<std::uint8_t>((1u << l2.lineBytes / l2.sectorBytes) - 1);
    request.bytes = static_cast<std::uint16_t>(l2.lineBytes);
    units_.sendCopied(id, when);
}

void Transfers::collect() {
    std::vector<std::pair<StreamId, Cycles>> ended;
    units_.takeCopied([&](const Message& message) {
        const Request request = sim_.requests[message.request];
        sim_.requests.release(message.request);
        const auto at = underWay_.find(request.token);
        if (at == underWay_.end() || at->second.serial != request.words) return;
        State& state = at->second;
        if (request.kind == RequestKind::read && state.transfer.to) {
            this->request(request.token, state, RequestKind::write, request.since,
                          std::max(message.arrival, sim_.now()));
            return;
        }
        state.lastDone = std::max(state.lastDone, message.arrival);
        if (++state.done == state.lines) ended.emplace_back(request.token, state.lastDone);
    });
    for (const auto& [stream, when] : ended) {
        end(stream);
        endsAt_(stream, when);
    }
}

}  // namespace bulkhead::sim
