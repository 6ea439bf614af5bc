#include <algorithm>

#include "compute_harness.h"
#include "compute_variants.h"

// What holds for every instruction: lanes outside the mask keep their registers, a result may overwrite an operand, and
// each instruction belongs to a pipeline.

namespace bulkhead::sim::test {
namespace {

using golden::Variant;

const std::string kInputs[] = {"%a", "%b", "%c", "%d"}, kOutputs[] = {"%o0", "%o1", "%o2"};

void load(Snippet& snippet, const Variant& variant, const std::vector<std::uint64_t>& inputs) {
    for (int lane = 0; lane < kLanes; ++lane)
        for (std::size_t i = 0; i < variant.inputs.size(); ++i)
            snippet.set(kInputs[i], lane, inputs[static_cast<std::size_t>(lane) * variant.inputs.size() + i]);
}

/// Lanes see one another in these, so a mask changes the result.
bool isCollective(const Variant& variant) {
    return variant.body.find(".sync") != std::string::npos || variant.body.find("activemask") != std::string::npos;
}

TEST(Lanes, outsideTheMaskNothingChanges) {
    for (const Variant& variant : golden::variants()) {
        const std::vector<std::uint64_t> inputs = golden::inputsOf(variant);
        Snippet full(golden::declarations(variant), variant.body), partial(golden::declarations(variant), variant.body);
        load(full, variant, inputs);
        full.run();
        constexpr LaneMask kMask = 0x8f0f31a5;
        constexpr std::uint64_t kUntouched = 0xa5a5;
        load(partial, variant, inputs);
        for (std::size_t i = 0; i < variant.outputs.size(); ++i)
            for (int lane = 0; lane < kLanes; ++lane) partial.set(kOutputs[i], lane, kUntouched);
        partial.run(kMask);
        for (std::size_t i = 0; i < variant.outputs.size(); ++i)
            for (int lane = 0; lane < kLanes; ++lane) {
                const std::uint64_t got = partial.get(kOutputs[i], lane);
                const bool active = kMask >> lane & 1;
                if (active && isCollective(variant)) continue;
                ASSERT_EQ(got, active ? full.get(kOutputs[i], lane) : kUntouched) << variant.name << " lane " << lane;
            }
    }
}

TEST(Lanes, aResultMayOverwriteAnOperand) {
    for (const Variant& variant : golden::variants()) {
        if (variant.outputs.size() != 1 || std::count(variant.body.begin(), variant.body.end(), ';') != 1) continue;
        const std::vector<std::uint64_t> inputs = golden::inputsOf(variant);
        Snippet apart(golden::declarations(variant), variant.body);
        load(apart, variant, inputs);
        apart.run();
        for (std::size_t i = 0; i < variant.inputs.size(); ++i) {
            if (variant.inputs[i].bits != variant.outputs[0]) continue;
            std::string body = variant.body;
            const std::size_t at = body.find("%o0");
            body.replace(at, 3, kInputs[i]);
            Snippet same(golden::declarations(variant), body);
            load(same, variant, inputs);
            same.run();
            for (int lane = 0; lane < kLanes; ++lane)
                ASSERT_EQ(same.get(kInputs[i], lane), apart.get("%o0", lane)) << body << " lane " << lane;
        }
    }
}

TEST(Lanes, eachInstructionHasItsPipeline) {
    const auto classOf = [](const std::string& declarations, const std::string& body) {
        return Snippet(declarations, body).instrs().at(0).opClass;
    };
    const std::string words = ".reg .b32 %a, %b, %o;", doubles = ".reg .b64 %a, %b, %o;";
    EXPECT_EQ(classOf(words, "add.s32 %o, %a, %b;"), arch::OpClass::integer);
    EXPECT_EQ(classOf(words, "mul.lo.s32 %o, %a, %b;"), arch::OpClass::integerMul);
    EXPECT_EQ(classOf(words, "div.u32 %o, %a, %b;"), arch::OpClass::integerDiv);
    EXPECT_EQ(classOf(words, "fma.rn.f32 %o, %a, %b, %a;"), arch::OpClass::fp32);
    EXPECT_EQ(classOf(words, "div.rn.f32 %o, %a, %b;"), arch::OpClass::fp32Div);
    EXPECT_EQ(classOf(words, "sin.approx.f32 %o, %a;"), arch::OpClass::special);
    EXPECT_EQ(classOf(doubles, "add.f64 %o, %a, %b;"), arch::OpClass::fp64);
    EXPECT_EQ(classOf(doubles, "sqrt.rn.f64 %o, %a;"), arch::OpClass::fp64Div);
    EXPECT_EQ(classOf(words, "cvt.rn.f32.s32 %o, %a;"), arch::OpClass::convert);
    EXPECT_EQ(classOf(words, "shfl.sync.idx.b32 %o, %a, %b, 31, -1;"), arch::OpClass::shuffle);
}

TEST(Lanes, orderOfModifiersDoesNotMatter) {
    EXPECT_EQ(refusal(".reg .b32 %a, %o;", "add.ftz.rn.f32 %o, %a, %a;"), "");
    EXPECT_EQ(refusal(".reg .b32 %a, %o;", "add.rn.ftz.f32 %o, %a, %a;"), "");
}

TEST(Lanes, whatIsNoFormOfAnInstructionIsRefused) {
    const std::string words = ".reg .b32 %a, %b, %o; .reg .pred %p;";
    EXPECT_NE(refusal(words, "add.rn.s32 %o, %a, %b;").find("no supported form of 'add'"), std::string::npos);
    EXPECT_NE(refusal(words, "add.s32 %o, %a;").find("3 operands expected, 2 given"), std::string::npos);
    EXPECT_NE(refusal(words, "lop3.b32 %o, %a, %b, %a, 256;").find("look-up table"), std::string::npos);
    EXPECT_NE(refusal(words, "mov.b32 %o, {%a, %b, %a};").find("do not make 32 bits"), std::string::npos);
    EXPECT_NE(refusal(words, "setp.ltu.s32 %p, %a, %b;"), "");
    EXPECT_NE(refusal(words, "div.f32 %o, %a, %b;"), "");
}

}  // namespace
}  // namespace bulkhead::sim::test
