#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::golden {

/// How the operand values of an input are chosen: edge values of its format and seeded random ones.
enum class Values : std::uint8_t {
    integer,  ///< two's complement edges and random words
    shift,    ///< mostly around 0, 16, 32, 64 and 255
    field,    ///< bit positions and lengths, 0..300
    small,    ///< 0..7, so that equal values are frequent
    mask,     ///< bit patterns: sparse, dense, runs
    f16,
    bf16,
    f16x2,
    bf16x2,
    f32,
    f64,
    sine,       ///< f32 in [-2 pi, 2 pi], then beyond
    e4m3x2,     ///< every byte pattern
    shflClamp,  ///< the c operand of shfl
};

struct Input {
    unsigned bits;  ///< 16, 32 or 64: the register
    Values values;
};

/// How a simulated result is held against the hardware's.
enum class Compare : std::uint8_t {
    bits,    ///< equal to the bit
    approx,  ///< an approximate function: both within the manual's error bound of the exact value
};

/// One instruction, or a few that belong together, as lines of PTX over inputs %a, %b, %c, %d and outputs %o0, %o1,
/// %o2. Scratch registers: %p, %q (pred), %r0..%r3 (b32), %h0..%h3 (b16), %l0..%l3 (b64), %f (f32).
struct Variant {
    std::string name;  ///< unique; seeds the inputs
    std::string body;
    std::vector<Input> inputs;
    std::vector<unsigned> outputs;  ///< register widths in bits: 16, 32 or 64
    Compare compare = Compare::bits;
    bool negative = false;  ///< a unary operation meets the negative edge values, not the positive ones
};

constexpr int kTuples = 128;  ///< four warps

/// Every instruction variant that is checked against hardware.
const std::vector<Variant>& variants();

/// Operand values of a variant, tuple after tuple: inputs.size() words each, zero-extended.
std::vector<std::uint64_t> inputsOf(const Variant&);

/// `.reg` declarations that a body needs.
std::string declarations(const Variant&);

/// A module with one kernel `k(in, out)` that evaluates the variant for thread i on tuple i; 64-bit words both ways.
std::string moduleOf(const Variant&);

}  // namespace bulkhead::golden
