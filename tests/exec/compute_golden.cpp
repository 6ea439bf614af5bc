#include <algorithm>
#include <bit>
#include <cmath>

#include "compute_harness.h"
#include "compute_variants.h"
#include "golden/recordings.h"

// Every instruction variant against what an H200 answered (golden/run_on_gpu.cpp wrote the file).

namespace bulkhead::sim::test {
namespace {

using golden::Compare;
using golden::hashOf;
using golden::kTuples;
using golden::Recorded;
using golden::recordings;
using golden::Variant;

std::vector<std::uint64_t> simulate(const Variant& variant, const std::vector<std::uint64_t>& inputs) {
    Snippet snippet(golden::declarations(variant), variant.body);
    static const std::string kInputs[] = {"%a", "%b", "%c", "%d"}, kOutputs[] = {"%o0", "%o1", "%o2"};
    std::vector<std::uint64_t> outputs;
    for (int warp = 0; warp < kTuples / kLanes; ++warp) {
        for (int lane = 0; lane < kLanes; ++lane)
            for (std::size_t i = 0; i < variant.inputs.size(); ++i)
                snippet.set(kInputs[i], lane,
                            inputs[static_cast<std::size_t>(warp * kLanes + lane) * variant.inputs.size() + i]);
        snippet.run();
        for (int lane = 0; lane < kLanes; ++lane)
            for (std::size_t i = 0; i < variant.outputs.size(); ++i) outputs.push_back(snippet.get(kOutputs[i], lane));
    }
    return outputs;
}

std::string hex(std::uint64_t value) {
    char text[20];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string describe(const Variant& variant, const std::vector<std::uint64_t>& inputs, std::size_t tuple) {
    std::string text = variant.name + " tuple " + std::to_string(tuple) + ":";
    for (std::size_t i = 0; i < variant.inputs.size(); ++i)
        text += " " + hex(inputs[tuple * variant.inputs.size() + i]);
    return text;
}

/// The variants of one opcode, exact ones only.
class Golden : public testing::TestWithParam<std::string> {};

std::string opcodeOf(const Variant& variant) {
    return variant.name.substr(0, variant.name.find_first_of(". "));
}

void expectRecorded(const Variant& variant, const Recorded& recorded) {
    const std::vector<std::uint64_t> inputs = golden::inputsOf(variant);
    ASSERT_EQ(recorded.inputHash, hashOf(inputs)) << "the inputs have changed since: run golden/run_on_gpu.cpp again";
    const std::vector<std::uint64_t> outputs = simulate(variant, inputs);
    int shown = 0;
    for (std::size_t i = 0; i < outputs.size() && shown < 8; ++i) {
        if (outputs[i] == recorded.outputs[i]) continue;
        const std::size_t count = variant.outputs.size();
        ADD_FAILURE() << describe(variant, inputs, i / count) << " -> " << hex(outputs[i]) << " in output " << i % count
                      << ", hardware says " << hex(recorded.outputs[i]);
        ++shown;
    }
}

TEST_P(Golden, matchesHardware) {
    for (const Variant& variant : golden::variants()) {
        if (variant.compare != Compare::bits || opcodeOf(variant) != GetParam()) continue;
        const auto found = recordings().find(variant.name);
        if (found != recordings().end()) expectRecorded(variant, found->second);
    }
}

std::vector<std::string> opcodes() {
    std::vector<std::string> list;
    for (const Variant& variant : golden::variants())
        if (variant.compare == Compare::bits && std::find(list.begin(), list.end(), opcodeOf(variant)) == list.end())
            list.push_back(opcodeOf(variant));
    return list;
}

INSTANTIATE_TEST_SUITE_P(Compute, Golden, testing::ValuesIn(opcodes()), [](const auto& info) { return info.param; });

TEST(GoldenFile, hasEveryVariant) {
    std::size_t missing = 0;
    std::string first;
    for (const Variant& variant : golden::variants())
        if (!recordings().contains(variant.name) && missing++ == 0) first = variant.name;
    EXPECT_EQ(missing, 0u) << "not recorded yet, the first is " << first << ": run golden/run_on_gpu.cpp";
}

/// Where hardware's approximation and the simulator's differ, it is by less than twice the manual's bound, and
/// infinities, zeros and NaNs are the same.
TEST(GoldenFile, approximationsAreNearHardwares) {
    for (const Variant& variant : golden::variants()) {
        const auto found = recordings().find(variant.name);
        if (variant.compare != Compare::approx || found == recordings().end()) continue;
        const std::vector<std::uint64_t> inputs = golden::inputsOf(variant);
        ASSERT_EQ(found->second.inputHash, hashOf(inputs))
            << "the inputs have changed since: run golden/run_on_gpu.cpp again";
        const std::vector<std::uint64_t> outputs = simulate(variant, inputs);
        const std::string& name = variant.name;
        const bool pairs = name.find("x2") != std::string::npos;
        const bool brain = name.find("bf16") != std::string::npos,
                   half = !brain && name.find("f16") != std::string::npos;
        const bool wave = name.starts_with("sin") || name.starts_with("cos");
        const double relative = brain                                  ? 0x1p-6
                                : half                                 ? 0x1p-9
                                : name.starts_with("tanh")             ? 0x1p-10
                                : name.starts_with("rsqrt.approx.f64") ? 0x1p-51
                                : name.ends_with("f64")                ? 0x1p-19
                                                                       : 0x1p-21;
        const double absolute = wave ? 0x1p-19 : name.starts_with("lg2") ? 0x1p-21 : 0;
        for (std::size_t i = 0; i < outputs.size(); ++i)
            for (const unsigned shift : pairs ? std::vector<unsigned>{0, 16} : std::vector<unsigned>{0}) {
                const auto value = [&](std::uint64_t bits) -> double {
                    bits >>= shift;
                    if (variant.outputs[0] == 64) return std::bit_cast<double>(bits);
                    if (brain) return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
                    if (!half) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
                    const double fraction = static_cast<double>(bits & 0x3ff);
                    const int exponent = static_cast<int>(bits >> 10 & 31);
                    const double sign = bits & 0x8000 ? -1 : 1;
                    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
                    return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
                };
                const double ours = value(outputs[i]), theirs = value(found->second.outputs[i]);
                // Sines of arguments beyond the range of the bound are anyone's.
                if (wave && i >= 96) continue;
                const std::string where = describe(variant, inputs, i);
                if (!std::isfinite(theirs)) {
                    if (std::isnan(theirs))
                        EXPECT_TRUE(std::isnan(ours)) << where;
                    else
                        EXPECT_EQ(ours, theirs) << where;
                    continue;
                }
                // Near the bottom of the format the last place is the bound.
                const double least = half                       ? 0x1p-24
                                     : brain                    ? 0x1p-133
                                     : variant.outputs[0] == 64 ? 0x1p-1074
                                                                : 0x1p-148;
                EXPECT_NEAR(ours, theirs, std::max({std::abs(theirs) * relative, absolute, least})) << where;
            }
    }
}

}  // namespace
}  // namespace bulkhead::sim::test
