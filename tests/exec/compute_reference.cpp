#include "compute_reference.h"

namespace bulkhead::sim::test {

std::uint64_t Words::next(unsigned bits) {
    const std::uint64_t top = std::uint64_t{1} << (bits - 1), mask = top | (top - 1);
    const std::uint64_t random = engine_();
    switch (engine_() % 8) {
        case 0: {
            // Integer edges; read as floats, zeros, subnormals and NaNs.
            const std::uint64_t edges[] = {0,        1,    2,    top,  top + 1, top - 1, mask,
                                           mask - 1, 0x7f, 0x80, 0xff, 0x7fff,  0x8000};
            return edges[random % std::size(edges)] & mask;
        }
        case 1: {
            // Float edges of every format: one, infinity, the largest, the smallest normal, NaN.
            const std::uint64_t edges[] = {0x3f800000,
                                           0x7f800000,
                                           0x7f7fffff,
                                           0x00800000,
                                           0x7fc00001,
                                           0x3c00,
                                           0x7c00,
                                           0x7bff,
                                           0x0400,
                                           0x7e01,
                                           0x3f80,
                                           0x7f80,
                                           0x3ff0000000000000,
                                           0x7ff0000000000000,
                                           0x7fefffffffffffff,
                                           0x0010000000000000,
                                           0x7ff8000000000001};
            return (edges[random % std::size(edges)] | (engine_() & 1 ? top : 0)) & mask;
        }
        case 2:
            return (random >> (engine_() % bits)) & mask;
        case 3:
            return (~std::uint64_t{0} << (engine_() % bits)) & mask;
        case 4: {
            // A float near one, with few bits set: ties and cancellation.
            const std::uint64_t one = bits == 64 ? 0x3ff0000000000000 : bits == 32 ? 0x3f800000 : 0x3c00;
            const unsigned mantissa = bits == 64 ? 52 : bits == 32 ? 23 : 10;
            const std::uint64_t fraction = random & engine_() & engine_() & ((std::uint64_t{1} << mantissa) - 1);
            const std::uint64_t exponent = (engine_() % 16) << mantissa;
            return ((one - (std::uint64_t{8} << mantissa) + exponent) | fraction | (engine_() & 1 ? top : 0)) & mask;
        }
        default:
            return random & mask;
    }
}

void expectMatches(const Operation& operation,
                   const std::function<std::uint64_t(const std::vector<std::uint64_t>&)>& reference, int warps) {
    expectMatches(operation, reference, warps,
                  [&](Words& words, std::size_t operand) { return words.next(operation.inputs[operand]); });
}

void expectMatches(const Operation& operation,
                   const std::function<std::uint64_t(const std::vector<std::uint64_t>&)>& reference, int warps,
                   const std::function<std::uint64_t(Words&, std::size_t)>& draw) {
    static const std::string kNames[] = {"%a", "%b", "%c", "%d"};
    std::string declarations = ".reg .pred %p, %q;\n.reg .b" + std::to_string(operation.output) + " %o0;\n";
    for (std::size_t i = 0; i < operation.inputs.size(); ++i)
        declarations += ".reg .b" + std::to_string(operation.inputs[i]) + " " + kNames[i] + ";\n";
    Snippet snippet(declarations, operation.body);
    Words words(std::hash<std::size_t>{}(operation.body.size()) ^ operation.output);
    std::vector<std::vector<std::uint64_t>> tuples(kLanes);
    int failures = 0;
    for (int warp = 0; warp < warps && failures < 5; ++warp) {
        for (int lane = 0; lane < kLanes; ++lane) {
            auto& tuple = tuples[static_cast<std::size_t>(lane)];
            tuple.clear();
            for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
                tuple.push_back(draw(words, i));
                snippet.set(kNames[i], lane, tuple.back());
            }
        }
        snippet.run();
        for (int lane = 0; lane < kLanes; ++lane) {
            const auto& tuple = tuples[static_cast<std::size_t>(lane)];
            const std::uint64_t expected = reference(tuple), got = snippet.get("%o0", lane);
            if (got == expected) continue;
            std::string text;
            for (std::uint64_t word : tuple) {
                char buffer[24];
                std::snprintf(buffer, sizeof buffer, " %llx", static_cast<unsigned long long>(word));
                text += buffer;
            }
            ADD_FAILURE() << operation.body << " of" << text << " gives " << std::hex << got << ", not " << expected;
            ++failures;
        }
    }
}

}  // namespace bulkhead::sim::test
