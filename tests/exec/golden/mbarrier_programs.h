#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::golden {

/// An instruction on a program's one mbarrier object.
struct MbarrierStep {
    std::string operation;      ///< as in PTX, without its mbarrier.
    std::uint32_t operand = 0;  ///< a count, bytes or a parity; of a wait by token: which step's token it takes
    std::uint32_t answer = 0;   ///< whether the phase is over; of an arrival: pending_count of its token
};

/// A line of the recording, and back: `init 2; arrive 1 = 2; ...`.
std::string textOf(const std::vector<MbarrierStep>&);
std::vector<MbarrierStep> programOf(const std::string& text);

/// A module with the kernel k(in, out) of one thread, which writes each step's answer to `out`.
std::string moduleOf(const std::vector<MbarrierStep>&);

}  // namespace bulkhead::golden
