// What translating accesses adds to a module besides its functions' bodies. What translated code does is tested with
// the simulator.

#include "ptx/translated_accesses.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bulkhead::ptx {
namespace {

constexpr const char* kHead = ".version 6.3\n.target sm_60 // .const\n.address_size 64\n";
constexpr const char* kKernel =
    ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>; .reg .b32 %r;\nld.param.u64 %rd0, [p]; "
    "cvta.to.global.u64 %rd1, %rd0; ld.global.u32 %r, [%rd1]; st.global.u32 [%rd1], %r; ret;\n}\n";

AccessTranslation withConstants() {
    AccessTranslation t;
    t.base = t.bytes = AccessTranslation::kAlignment;
    t.constants = ".const .align 8 .b32 table[2] = {1, 2};";
    t.translate = [](const AccessTranslation::Registers& r) {
        return "ld.const.u32 %bulkhead_low, [table+4]; " + r.moved(r.low, r.high, "%bulkhead_a1");
    };
    return t;
}

TEST(TranslatedModules, ConstantsAreDeclaredOnceAndBeforeTheirUse) {
    const std::string text =
        withTranslatedAccesses(parse(std::string(kHead) + kKernel, "test.ptx"), withConstants()).text;
    const Module module = parse(text, "test.ptx");
    ASSERT_EQ(module.variables.size(), 1u) << text;
    EXPECT_EQ(module.variables[0].bytes, 8u);
    EXPECT_LT(text.find("table[2]"), text.find("table+4"));
    // Two accesses, one body for pointers that are known to be inside and one for others.
    const std::vector<Instruction>& body = module.find("k")->body;
    EXPECT_EQ(std::count_if(body.begin(), body.end(),
                            [](const Instruction& i) { return i.opcode == "ld" && i.has("const"); }),
              4);
}

TEST(TranslatedModules, WhatCannotBeTranslatedRefusesTheKernelsThatMayComeToIt) {
    const std::string function =
        ".func sample(.param .b64 view)\n{\n.reg .f32 %f<6>; .reg .b64 %rd;\nld.param.u64 %rd, [view]; "
        "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd, {%f5}]; ret;\n}\n";
    const std::string samples =
        ".visible .entry samples(.param .u64 view)\n{\n.reg .b64 %rd;\nld.param.u64 %rd, [view];\n"
        "{ .param .b64 q; st.param.b64 [q], %rd; call sample, (q); }\nret;\n}\n";
    const RewrittenModule rewritten =
        withTranslatedAccesses(parse(kHead + function + samples + kKernel, "test.ptx"), withConstants());
    ASSERT_EQ(rewritten.refused.size(), 1u);
    EXPECT_NE(rewritten.refused.at("samples").find("test.ptx:7:27: an access that cannot be translated"),
              std::string::npos)
        << rewritten.refused.at("samples");
    const Module module = parse(rewritten.text, "test.ptx");
    for (const char* name : {"sample", "samples"}) EXPECT_EQ(module.find(name)->body.at(0).opcode, "trap") << name;
    EXPECT_GT(module.find("k")->body.size(), 10u) << "translated";
}

TEST(TranslatedModules, ConstantMemoryIsWhatVariablesLeaveOf64KB) {
    EXPECT_EQ(constantBytesLeft(parse(std::string(kHead) + kKernel, "test.ptx")), 65536u);
    const std::string some = ".const .align 4 .b8 a[40000];\n.global .b8 other[90000];\n";
    const std::uint64_t left = constantBytesLeft(parse(kHead + some + kKernel, "test.ptx"));
    EXPECT_LE(left, 25536u);
    EXPECT_GE(left, 25536u - 8) << "but for its alignment";
    EXPECT_EQ(constantBytesLeft(parse(std::string(kHead) + ".const .b8 a[65536];\n" + kKernel, "test.ptx")), 0u);
}

}  // namespace
}  // namespace bulkhead::ptx
