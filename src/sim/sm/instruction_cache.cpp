#include "sim/sm/instruction_cache.h"

#include <algorithm>
#include <bit>

#include "sim/mem/crossbar.h"

namespace bulkhead::sim {

InstructionCache::InstructionCache(SimContext& sim, SmPort& port, std::uint32_t portNumber)
    : sim_(sim),
      port_(port),
      portNumber_(portNumber),
      config_(sim.config.instruction),
      lineShift_(config_.sets ? config_.lineShift : 0),
      tags_(config_.sets, config_.ways) {}

std::uint64_t InstructionCache::addressOf(const Program& program, std::uint32_t line) const {
    return program.codeAddress + line * config_.lineBytes;
}

std::uint32_t InstructionCache::setOf(std::uint64_t address) const {
    return static_cast<std::uint32_t>(address / config_.lineBytes % config_.sets);
}

bool InstructionCache::lookUp(const Program& program, std::uint32_t line, std::uint32_t launch) {
    const std::uint64_t address = addressOf(program, line);
    const std::uint32_t set = setOf(address), way = tags_.find(set, address);
    if (way != CacheTags::kNoWay) {
        tags_.use(set, way);
        return true;
    }
    if (std::ranges::find(underWay_, address) != underWay_.end()) return false;
    if (port_.canSend())
        send(address, launch);
    else
        waitsForPort_ = true;
    return false;
}

void InstructionCache::send(std::uint64_t address, std::uint32_t launch) {
    ++sim_.counters(launch).instructionMisses;
    underWay_.push_back(address);
    const auto& l2 = sim_.config.l2;
    const std::uint64_t line = address / l2.lineBytes * l2.lineBytes;
    const Bytes first = (address - line) / l2.sectorBytes, end = first + config_.lineBytes / l2.sectorBytes;
    const RequestId id = sim_.requests.take();
    Request& request = sim_.requests[id];
    request.goTo(sim_.profile.map, line);
    request.kind = RequestKind::read;
    request.sm = portNumber_;
    request.launch = launch;
    request.token = kToken;
    request.sectors = static_cast<std::uint8_t>((1u << end) - (1u << first));
    request.bytes = static_cast<std::uint16_t>((end - first) * l2.sectorBytes);
    port_.send(id);
}

void InstructionCache::receive(RequestId id) {
    const Request& request = sim_.requests[id];
    const std::uint64_t address =
        request.line + static_cast<unsigned>(std::countr_zero(request.sectors)) * sim_.config.l2.sectorBytes;
    sim_.requests.release(id);
    std::erase(underWay_, address);
    const std::uint32_t set = setOf(address);
    tags_.place(set, tags_.victim(set), address, 0);
}

bool InstructionCache::bring(const Program& program, std::uint32_t line) {
    const std::uint64_t address = addressOf(program, line);
    const std::uint32_t set = setOf(address), way = tags_.find(set, address);
    if (way != CacheTags::kNoWay) {
        tags_.use(set, way);
        return false;
    }
    if (std::ranges::find(underWay_, address) == underWay_.end()) tags_.place(set, tags_.victim(set), address, 0);
    return true;
}

}  // namespace bulkhead::sim
