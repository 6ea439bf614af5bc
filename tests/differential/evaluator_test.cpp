#include <gtest/gtest.h>

#include "exec/compute_variants.h"
#include "exec/golden/recordings.h"
#include "host_float.h"
#include "operation.h"

// What operations mean to the evaluator, against what an H200 answered.

namespace bulkhead::differential {
namespace {

using golden::kTuples;
using golden::Recorded;
using golden::Variant;

FloatType typeOf(OpenNan open) {
    return open == OpenNan::f64 ? FloatType::f64 : open == OpenNan::f32 ? FloatType::f32 : FloatType::f16;
}

bool sameWidths(const Operation& operation, const Variant& variant) {
    if (operation.results.size() != variant.outputs.size() || operation.sources.size() != variant.inputs.size())
        return false;
    for (std::size_t i = 0; i < variant.outputs.size(); ++i)
        if (bitsOf(operation.results[i]) != variant.outputs[i]) return false;
    for (std::size_t i = 0; i < variant.inputs.size(); ++i)
        if (bitsOf(operation.sources[i].width) != variant.inputs[i].bits) return false;
    return true;
}

/// The first tuple for which the operation gives something else.
void expectRecorded(const Operation& operation, const Variant& variant, const Recorded& recorded) {
    const std::vector<std::uint64_t> inputs = golden::inputsOf(variant);
    ASSERT_EQ(recorded.inputHash, golden::hashOf(inputs)) << "the inputs have changed since";
    const std::size_t sources = variant.inputs.size(), results = variant.outputs.size();
    for (std::size_t tuple = 0; tuple < kTuples; ++tuple) {
        Evaluation e;
        std::copy_n(&inputs[tuple * sources], sources, e.in);
        if (operation.divides && e.in[1] == 0) continue;  // which programs do not do
        operation.evaluate(e);
        for (std::size_t i = 0; i < results; ++i) {
            const std::uint64_t value = e.out[i] & maskOf(variant.outputs[i]),
                                hardware = recorded.outputs[tuple * results + i];
            if (value == hardware) continue;
            if (operation.openNan != OpenNan::none && isNan(typeOf(operation.openNan), value) &&
                isNan(typeOf(operation.openNan), hardware))
                continue;
            FAIL() << variant.name << ", tuple " << tuple << std::hex << ": " << e.in[0] << " " << e.in[1] << " "
                   << e.in[2] << " " << e.in[3] << " gives " << value << ", hardware says " << hardware;
        }
    }
}

TEST(Evaluator, meansWhatAnH200Does) {
    std::size_t checked = 0;
    for (const Family& family : families())
        for (const Operation& operation : family.operations) {
            if (!operation.evaluate) continue;
            for (const Variant& variant : golden::variants())
                if (variant.body == operation.body && sameWidths(operation, variant)) {
                    const auto found = golden::recordings().find(variant.name);
                    if (found == golden::recordings().end()) continue;
                    expectRecorded(operation, variant, found->second);
                    ++checked;
                }
        }
    EXPECT_GT(checked, 1000u);
}

}  // namespace
}  // namespace bulkhead::differential
