#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operation.h"

namespace bulkhead::differential {

struct Register {
    Width width = Width::b32;
    unsigned index = 0;
    bool operator==(const Register&) const = default;
};

// Registers that programs compute with and that are compared at the end.
constexpr unsigned kPredicates = 4, kHalves = 6, kWords = 8, kDoubles = 8;
constexpr unsigned kNesting = 3;
/// Behind them: of each level of nesting, which threads are there; and the counters of loops with their predicates.
constexpr Register maskRegister(unsigned level) {
    return {Width::b32, kWords + level};
}
constexpr Register counterRegister(unsigned level) {
    return {Width::b32, kWords + kNesting + 1 + level};
}
constexpr Register loopPredicate(unsigned level) {
    return {Width::pred, kPredicates + level};
}
constexpr unsigned kAllWords = kWords + 2 * kNesting + 2, kAllPredicates = kPredicates + kNesting;

struct Operand {
    bool isLiteral = false;
    Register reg;
    std::uint64_t literal = 0;
};

struct Instruction {
    enum class Kind : std::uint8_t {
        operation,
        label,
        branch,         ///< to labels[0]
        branchIndexed,  ///< to one of four labels, by the low bits of sources[0]
        barrier,
        call,  ///< results[0] = function(sources)
    };
    Kind kind = Kind::operation;
    const Operation* operation = nullptr;
    std::vector<Register> results;
    std::vector<Operand> sources;
    std::uint64_t constant = 0;
    int guard = -1;  ///< predicate register
    bool guardNegated = false;
    std::vector<unsigned> labels;
    unsigned function = 0;
};
using Body = std::vector<Instruction>;

/// Where the bytes of a thread lie in a program's input, and in the same places of its output.
struct Record {
    static constexpr unsigned kDoublesAt = 0, kWordsAt = kDoublesAt + 8 * kDoubles, kHalvesAt = kWordsAt + 4 * kWords,
                              kPredicatesAt = kHalvesAt + 2 * kHalves, kSharedAt = kPredicatesAt + 4,
                              kLocalAt = kSharedAt + kSlotBytes, kBytes = kLocalAt + kSlotBytes;
};
static_assert(Record::kSharedAt % 16 == 0);
/// Behind the records of all threads come their slots of global memory.
constexpr unsigned kGlobalAt = kThreads * Record::kBytes, kDataBytes = kGlobalAt + kThreads * kSlotBytes;
using Data = std::vector<std::uint8_t>;

struct Program {
    Body body;
    /// Called with %r0, %r1 and %d0; they return %d0. All their other registers begin with 0.
    std::vector<Body> functions;
    Data input;

    std::size_t instructions() const;
    bool isMisassembled() const;
};

/// A kernel of that name, after the functions it calls; `prologue` goes in front of the first kernel of a module.
std::string textOf(const Program&, const std::string& kernel);
std::string modulePrologue();

/// One instruction as it stands in the kernel.
std::string textOf(const Instruction&, const std::string& kernel);

std::string nameOf(Register);

/// What differs first between two outputs of a program: "thread 3, %r2: 00000001 and 00000002"; empty if nothing.
std::string firstDifference(const Data&, const Data&);

}  // namespace bulkhead::differential
