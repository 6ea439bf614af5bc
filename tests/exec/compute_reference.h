#pragma once

#include <bit>
#include <cfenv>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compute_harness.h"

namespace bulkhead::sim::test {

/// Words with many edge cases of integers and floats of a width among them, the same in every run.
class Words {
  public:
    explicit Words(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t next(unsigned bits);
    std::uint64_t below(std::uint64_t n) { return engine_() % n; }

  private:
    std::mt19937_64 engine_;
};

struct Operation {
    std::string body;              ///< over %a, %b, %c, %d and %o0
    std::vector<unsigned> inputs;  ///< register widths
    unsigned output;
};

/// Runs the operation on `warps` x 32 seeded tuples and compares with the reference, which gets the operands and
/// returns the result, both zero-extended.
void expectMatches(const Operation&, const std::function<std::uint64_t(const std::vector<std::uint64_t>&)>& reference,
                   int warps = 64);

/// As expectMatches, with the operands drawn by `draw(operand)`.
void expectMatches(const Operation&, const std::function<std::uint64_t(const std::vector<std::uint64_t>&)>& reference,
                   int warps, const std::function<std::uint64_t(Words&, std::size_t)>& draw);

/// The host's rounding direction, while it lives.
class HostRounding {
  public:
    explicit HostRounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
    ~HostRounding() { std::fesetround(before_); }
    HostRounding(const HostRounding&) = delete;
    HostRounding& operator=(const HostRounding&) = delete;

  private:
    int before_;
};

struct Mode {
    const char* name;         ///< rn
    const char* integerName;  ///< rni
    int host;                 ///< FE_TONEAREST

    friend void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }
};
constexpr Mode kModes[] = {
    {"rn", "rni", FE_TONEAREST}, {"rz", "rzi", FE_TOWARDZERO}, {"rm", "rmi", FE_DOWNWARD}, {"rp", "rpi", FE_UPWARD}};

}  // namespace bulkhead::sim::test
