#pragma once

#include <cstdint>
#include <string>

namespace bulkhead::calibrate {

/// A microbenchmark as PTX: one generator for any instruction, and nothing that a compiler above the assembler could
/// leave out. Rounds of `repeats` bodies are timed by the SM's clock.
///
/// A probe may use these registers: %input (its lane's 16 words of 64 bits, which the assembler knows nothing of),
/// %region and %count (arguments), %sink (an address to store results to), %lane, %warp, %thread, %block, %blocks; %p0
/// to %p7 (predicates), %r0 to %r31 (32 bits) and %d0 to %d31 (64 bits) are its own.
struct ProbeText {
    std::string module;    ///< declarations of the module
    std::string setup;     ///< before the first round
    std::string perRound;  ///< at the start of each round, not timed
    std::string body;      ///< timed
    std::string awaited;   ///< timed: stores that wait for results
};

/// A module with one kernel, `probe`.
std::string ptxOf(const ProbeText&);

/// The same body, which every warp repeats until a time that all warps of a block have in common: how many instructions
/// of a kind an SM executes while none of its warps has ended.
std::string ratePtxOf(const ProbeText&);

/// The head of every module.
extern const char* const kPtxHead;

/// Waits for a register: a store of it cannot issue before its value is there, nor the next reading of the clock before
/// the store.
std::string await32(const std::string& name);
std::string await64(const std::string& name);

/// Adds chains of so many loads each, from register 8 on: where a load finds its own address, all of them go there.
/// `registers` is 'r' or 'd', as wide as what `load` loads.
void addChains(ProbeText&, unsigned chains, std::uint32_t length, const std::string& load, char registers);

}  // namespace bulkhead::calibrate
