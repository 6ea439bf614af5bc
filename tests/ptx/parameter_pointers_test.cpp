// Which registers are surely a parameter's pointer, moved by some distance.

#include "ptx/parameter_pointers.h"

#include <gtest/gtest.h>

namespace bulkhead::ptx {
namespace {

using Slots = std::set<ParameterSlot>;

struct Pointers {
    Module module;
    std::vector<Slots> of;

    explicit Pointers(const std::string& body)
        : module(parse(".version 6.3\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, "
                       ".param .align 8 .b8 s[24])\n{\n.reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<16>;\n"
                       "ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1;\n"
                       "ld.param.u64 %rd3, [b]; cvta.to.global.u64 %rd4, %rd3;\n" +
                           body + "\nret;\n}\n",
                       "test.ptx")),
          of(parameterPointers(module.functions.at(0))) {}
    Slots operator[](const std::string& name) const {
        const auto& registers = module.functions[0].registers;
        for (std::size_t i = 0; i < registers.size(); ++i)
            if (registers[i].name == name) return of[i];
        throw Error("no register {}", name);
    }
};

TEST(ParameterPointers, AnElementOfAnArray) {
    const Pointers p(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd2, %rd5; sub.s64 %rd7, %rd6, 8;\n"
        "mad.wide.u32 %rd8, %r1, 4, %rd4;");
    EXPECT_EQ(p["%rd2"], (Slots{{"a", 0}}));
    EXPECT_EQ(p["%rd5"], Slots());
    EXPECT_EQ(p["%rd6"], (Slots{{"a", 0}}));
    EXPECT_EQ(p["%rd7"], (Slots{{"a", 0}}));
    EXPECT_EQ(p["%rd8"], (Slots{{"b", 0}}));
}

TEST(ParameterPointers, AMemberOfAStructure) {
    const Pointers p("ld.param.u64 %rd5, [s+16]; cvta.to.global.u64 %rd6, %rd5;");
    EXPECT_EQ(p["%rd6"], (Slots{{"s", 16}}));
}

TEST(ParameterPointers, OneThatALoopMovesOn) {
    const Pointers p(
        "mov.u64 %rd5, %rd2;\nloop: add.s64 %rd6, %rd5, 128; mov.u64 %rd5, %rd6; setp.lt.u64 %p, %rd6, 9; "
        "@%p bra loop;");
    EXPECT_EQ(p["%rd5"], (Slots{{"a", 0}}));
    EXPECT_EQ(p["%rd6"], (Slots{{"a", 0}}));
}

TEST(ParameterPointers, EitherOfTwo) {
    const Pointers p("setp.eq.u32 %p, 1, 1; selp.b64 %rd5, %rd2, %rd4, %p;");
    EXPECT_EQ(p["%rd5"], (Slots{{"a", 0}, {"b", 0}}));
}

TEST(ParameterPointers, WhatMayBeSomethingElseIsNone) {
    const Pointers p(
        "ld.global.u64 %rd5, [%rd2]; add.s64 %rd6, %rd5, 4;\n"  // a pointer from memory
        "add.s64 %rd7, %rd2, %rd4;\n"                           // two pointers
        "mov.u64 %rd8, %rd2; @%p mov.u64 %rd8, %rd5;\n"         // one or the other
        "and.b64 %rd9, %rd2, -16; mov.u64 %rd10, 4096; xor.b64 %rd11, %rd2, %rd4;");
    for (const char* name : {"%rd1", "%rd5", "%rd6", "%rd7", "%rd8", "%rd9", "%rd10", "%rd11"})
        EXPECT_EQ(p[name], Slots()) << name;
}

}  // namespace
}  // namespace bulkhead::ptx
